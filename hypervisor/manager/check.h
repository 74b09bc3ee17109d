/* SPDX-License-Identifier: BSD-2-Clause */
/* Validation of the description of the manager. description_check() has validated the rest of the
 * description before. */
#ifndef MANAGER_CHECK_H
#define MANAGER_CHECK_H

#include "hypervisor/description.h"

/* Returns NULL if the description of the manager is valid, otherwise the error in static memory.
 * Boot. */
const char *manager_check(const struct description *system);

#endif
