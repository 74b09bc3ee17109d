/* SPDX-License-Identifier: BSD-2-Clause */
/* Validates what the system description says about channels. description_check() has checked the
 * rest of it. */
#ifndef CHANNEL_CHECK_H
#define CHANNEL_CHECK_H

#include "hypervisor/description.h"

/* Returns NULL, or what is wrong, and sets *value to the address or number that the text names.
 * Boot core, also with the MMU off. */
const char *channel_check(const struct description *system, uint64_t *value);

#endif
