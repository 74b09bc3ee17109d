/* SPDX-License-Identifier: BSD-2-Clause */
/* The first core starts the second one and turns off. The second one then writes to an address that
 * the partition does not have. */
#include "machine.h"

#define NOWHERE UINT64_C(0x3000000000)

static void begin_second(void)
{
    print("second core writes\n");
    write32(NOWHERE, 0);
    print("FAIL: second core continues\n");
}

void guest_main(void)
{
    (void)call(CPU_ON, 1, (uintptr_t)guest_other, (uintptr_t)begin_second);
    (void)call(CPU_OFF, 0, 0, 0);
    print("FAIL: first core continues\n");
}
