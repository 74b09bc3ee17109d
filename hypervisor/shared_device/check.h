/* SPDX-License-Identifier: BSD-2-Clause */
/* Validation of the description of shared devices. channel_check() has validated the channels, and
 * description_check() the rest of the description before. */
#ifndef SHARED_DEVICE_CHECK_H
#define SHARED_DEVICE_CHECK_H

#include "hypervisor/description.h"

/* Returns NULL if the description of all shared devices is valid. Otherwise returns the error, in
 * static memory, and sets *value to the address or number that it names. Boot core, also with the
 * MMU off. */
const char *shared_device_check(const struct description *system, uint64_t *value);

#endif
