/* SPDX-License-Identifier: BSD-2-Clause */
/* A description that is right, with something of everything in it. */
#ifndef DESCRIPTION_FIXTURE_H
#define DESCRIPTION_FIXTURE_H

#include "description/check.h"
#include <stddef.h>

#define DESCRIPTION_ROOM UINT64_C(0x19000) /* that it and its images take */

/* Three cores, of which partition 0 ("control") has one and partition 1 ("linux") two; a fourth is
 * nobody's. Sealed. */
void description_make(struct description *description);

/* The checksum that it needs. */
void description_seal(struct description *description);

/* CRC-32 of IEEE 802.3. */
uint32_t description_crc(const void *data, size_t bytes);

/* Checks what may be anything. What is accepted must be right by other means too: aborts if not. */
void description_exercise(const struct description *description, uint64_t room);

#endif
