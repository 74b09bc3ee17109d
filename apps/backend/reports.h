/* SPDX-License-Identifier: BSD-2-Clause */
/* The reports of the back-end for tools outside: the counters of its network and of its storage,
 * and a mirror of its clients' frames. */
#ifndef BACKEND_REPORTS_H
#define BACKEND_REPORTS_H

#include "backend/network.h"
#include "backend/storage.h"
#include "card.h"
#include "devices.h"
#include "disk.h"

/* Publishes the counters, and a mirror if there is memory for one: the boot argument `mirror` says
 * how many KiB. `life`: a random number. Thread context, once. */
void reports_begin_network(struct network *network, const struct device *devices,
                           const struct card *card, uint64_t life, uint64_t now);
/* The same for a storage, which has no mirror. */
void reports_begin_storage(const struct storage *storage, const struct device *devices,
                           const struct disk *disk, uint64_t life, uint64_t now);

/* Update the counters, unless that was a short time ago. */
void reports_tend_network(uint64_t now);
void reports_tend_storage(uint64_t now);
/* Update the counters, because nothing will change them for a while. */
void reports_finish_network(uint64_t now);
void reports_finish_storage(uint64_t now);

#endif
