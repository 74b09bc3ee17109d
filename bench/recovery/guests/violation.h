/* SPDX-License-Identifier: BSD-2-Clause */
/* A memory violation: the guest accesses an address that its partition does not have. */
#ifndef RECOVERY_VIOLATION_H
#define RECOVERY_VIOLATION_H

#include <stdbool.h>

/* Maps the address. Returns false if there is no memory for it. Thread context. */
bool violation_prepare(void);

/* Accesses the address. It does not return in a partition. Any context, after violation_prepare().
 */
void violation_make(void);

#endif
