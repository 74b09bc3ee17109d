/* SPDX-License-Identifier: BSD-2-Clause */
/* The reports of the back-end for tools outside: its counters, and a mirror of its clients' frames.
 */
#ifndef BACKEND_REPORTS_H
#define BACKEND_REPORTS_H

#include "backend/network.h"
#include "card.h"
#include "devices.h"

/* Publishes the counters, and a mirror if there is memory for one: the boot argument `mirror` says
 * how many KiB. `life`: a random number. Thread context, once. */
void reports_begin(struct network *network, const struct device *devices, const struct card *card,
                   uint64_t life, uint64_t now);

/* Updates the counters, unless that was a short time ago. */
void reports_tend(uint64_t now);
/* Updates the counters, because nothing will change them for a while. */
void reports_finish(uint64_t now);

#endif
