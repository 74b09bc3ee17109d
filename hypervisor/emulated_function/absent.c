/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces host.c in images without channels. No function has an effect. */
#include "emulated_function/host.h"

/* NOLINTBEGIN(readability-non-const-parameter): emulated_function/host.c writes to them */
bool function_host_access(struct partition *partition, uint64_t address, struct access *access,
                          enum access_result *result)
{
    (void)partition;
    (void)address;
    (void)access;
    (void)result;
    return false;
}
/* NOLINTEND(readability-non-const-parameter) */

bool function_host_has_near(const struct partition *partition, uint64_t address)
{
    (void)partition;
    (void)address;
    return false;
}
