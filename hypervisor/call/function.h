/* SPDX-License-Identifier: BSD-2-Clause */
/* Function identifiers of calls by HVC and SMC, and results of all services (DEN0028, "Function
 * identifier ranges"): fast call, owner, number. */
#ifndef CALL_FUNCTION_H
#define CALL_FUNCTION_H

#include <stdint.h>

/* Bits 31 and 29 to 24: fast calls of each owner. */
#define CALL_SERVICE_MASK        0xbf000000u
#define CALL_ARCHITECTURE        0x80000000u
#define CALL_STANDARD_SECURE     0x84000000u /* PSCI */
#define CALL_STANDARD_HYPERVISOR 0x85000000u
#define CALL_VENDOR_HYPERVISOR   0x86000000u /* the hypervisor's own calls */
#define CALL_64                  0x40000000u /* arguments and results of 64 bits */

enum call_result {
    CALL_SUCCESS = 0,
    CALL_NOT_SUPPORTED = -1,
};

#endif
