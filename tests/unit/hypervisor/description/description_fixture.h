/* SPDX-License-Identifier: BSD-2-Clause */
/* A valid description that contains every kind of entry. */
#ifndef DESCRIPTION_FIXTURE_H
#define DESCRIPTION_FIXTURE_H

#include "description/check.h"
#include <stddef.h>

#define DESCRIPTION_ROOM UINT64_C(0x19000) /* bytes of the description and its images */

/* Offset of the first image: the first page after the description. */
#define DESCRIPTION_FIRST_IMAGE \
    ((sizeof(struct description) + DESCRIPTION_PAGE_BYTES - 1) & ~(DESCRIPTION_PAGE_BYTES - 1))

/* Makes a description with four cores and seals it. Partition 0 ("control") owns one core,
 * partition 1 ("linux") two; no partition owns the fourth. */
void description_make(struct description *description);

/* Makes the same description, except that VCPU 0 of both partitions has core 0, and seals it. */
void description_make_shared(struct description *description);

/* Makes the same description, except that core 0 is shared by weights, and seals it. */
void description_make_weighted(struct description *description);

/* Makes the same description as description_make(), with two channels between the partitions, and
 * seals it. The first is from partition 0 to 1, has sections of 0x11000 bytes, lies at 0x60000000
 * in both, and at 0x600000000 in partition 1; the second is one-way, and from partition 1 to 0. */
void description_make_connected(struct description *description);

/* Makes the same description as description_make_connected(), with two shared devices, and seals
 * it. Partition 0 is the client of the first one and partition 1 of the second, and the other one
 * is the back-end. Each has all of its client's first memory as a window, the first one in two
 * parts.
 */
void description_make_served(struct description *description);

/* Computes and stores the description's checksum. */
void description_seal(struct description *description);

/* Returns the CRC-32 of IEEE 802.3. */
uint32_t description_crc(const void *data, size_t bytes);

/* Checks a description with arbitrary content. Aborts if the checker accepts it although an
 * independent check finds an error. */
void description_exercise(const struct description *description, uint64_t room);

#endif
