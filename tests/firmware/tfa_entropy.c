/* SPDX-License-Identifier: BSD-2-Clause */
/* A source of entropy for TF-A, which has none for QEMU's machine `virt`. For tests only, because
 * its numbers can be guessed. As a slow source it has none for the first calls. */
#include <arch_helpers.h>
#include <plat/common/plat_trng.h>
#include <stdbool.h>
#include <stdint.h>

#define LATE 100u                         /* calls */
#define ODD  UINT64_C(0x9e3779b97f4a7c15) /* a number to multiply with */

uuid_t plat_trng_uuid = {.time_low = {0xb5, 0x1f, 0x0a, 0x6c}, .node = {1, 2, 3, 4, 5, 6}};

void plat_entropy_setup(void)
{
}

bool plat_get_entropy(uint64_t *out)
{
    static unsigned int calls;

    *out = read_cntpct_el0() * ODD;
    calls++;
    return calls > LATE;
}
