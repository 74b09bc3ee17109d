/* SPDX-License-Identifier: BSD-2-Clause */
/* Validates what the system description says about the manager. description_check() has checked the
 * rest of it. */
#ifndef MANAGER_CHECK_H
#define MANAGER_CHECK_H

#include "hypervisor/description.h"

/* Returns NULL, or what is wrong. */
const char *manager_check(const struct description *system);

#endif
