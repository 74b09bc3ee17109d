/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest that executes for ever, without an exit: only the hypervisor's timer takes it off its
 * core. */
void guest_main(void);

void guest_main(void)
{
    for (;;) {
        __asm__ volatile("");
    }
}
