/* SPDX-License-Identifier: BSD-2-Clause */
/* Validation of the description of channels. description_check() has validated the rest of the
 * description before. */
#ifndef CHANNEL_CHECK_H
#define CHANNEL_CHECK_H

#include "hypervisor/description.h"

/* Returns NULL if the description of all channels is valid. Otherwise returns the error, in static
 * memory, and sets *value to the address or number that it names. Boot core, also with the MMU
 * off. */
const char *channel_check(const struct description *system, uint64_t *value);

#endif
