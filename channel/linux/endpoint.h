/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kinds of endpoints share. */
#ifndef LINUX_ENDPOINT_H
#define LINUX_ENDPOINT_H

#include "channel/linux.h"

/* Where a region has the states of both sides; the sections follow. */
#define REGION_STATE_BYTES UINT64_C(4096)

/* Writes a line about a problem, as printf(). Returns false. */
bool endpoint_fail(char *problem, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Keeps the name for problems. */
void endpoint_name(struct linux_endpoint *endpoint, const char *name);

/* Returns true if rings can have this size. */
bool endpoint_check(uint64_t ring_bytes, char *problem);

/* Returns how many sections a channel of this kind has. */
static inline uint64_t endpoint_sections(enum linux_kind kind)
{
    return kind == LINUX_ONE_WAY ? 1 : 2;
}

/* Sets where the sections are. The region is mapped, and `end` and `kind` are set. */
void endpoint_place(struct linux_endpoint *endpoint, uint64_t ring_bytes);

/* Maps the region from this offset of the file on. `region_bytes`, `end` and `kind` are set. */
bool endpoint_map(struct linux_endpoint *endpoint, int file, uint64_t offset, char *problem);

/* Makes the doorbell able to ring, if it is a function's. */
void endpoint_arm(const struct linux_endpoint *endpoint);

/* Takes back that the doorbell rang. */
void endpoint_quiet(const struct linux_endpoint *endpoint);

#endif
