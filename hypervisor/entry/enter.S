/* SPDX-License-Identifier: BSD-2-Clause */
/* The entry into a monitor: from the boot core's tables, or from the start of a core with its MMU
 * off. */
#include "entry/macros.inc"
#include "hypervisor_offsets.h"

/* TCR_EL2 (Arm ARM): RES1; T0SZ 25; walks write-back, Inner Shareable. PS is read from the
 * processor. */
#define TCR_BASE  0x80803519
#define PS_SHIFT  16
#define PS_MAX    5 /* PS: 48 bits */
/* SCTLR_EL2: RES1 | WXN | I | SA | C | M */
#define SCTLR_ON  0x30cd183d
#define MAIR      0x04ff

/* monitor_mmu_on(root): turns on the MMU with the tables at `root`, and the caches. The tables map
 * this code one to one. Changes x1 to x3. */
    .text
    .global monitor_mmu_on
monitor_mmu_on:
    mrs x2, id_aa64mmfr0_el1
    and x2, x2, #0xf /* PARange has the same coding as PS */
    mov x3, #PS_MAX
    cmp x2, x3
    csel x2, x2, x3, lo
    ldr w1, =TCR_BASE
    orr x1, x1, x2, lsl #PS_SHIFT
    mov x2, #MAIR
    msr mair_el2, x2
    msr tcr_el2, x1
    msr ttbr0_el2, x0
    isb
    tlbi alle2
    ic iallu
    dsb nsh
    isb
    ldr w1, =SCTLR_ON
    msr sctlr_el2, x1
    isb
    ret

/* The first instruction of a processor that PSCI has started with its MMU off. x0: its struct
 * processor. */
    .global monitor_processor_entry
monitor_processor_entry:
    msr daifset, #0xf
    mov x19, x0
    take_el2 x1, x2
    tbnz x1, #HCR_EL2_E2H, 1f
    ldr x0, [x19, #PROCESSOR_SERVICES]
    bl monitor_mmu_on
    mov x0, x19
    b monitor_enter
1:  wfi /* halt: E2H is RES1, unlike that of the boot core (boot_early()) */
    b 1b

/* monitor_enter(processor): switches from the tables and the stack in use to those of the
 * processor's monitor. */
    .global monitor_enter
monitor_enter:
    change_tables x0, PROCESSOR_SERVICES
    ldr x1, [x0, #PROCESSOR_STACK]
    sub sp, x1, #FRAME_BYTES /* room for the registers with which the guest starts */
    msr tpidr_el2, x0
    address x1, monitor_vectors
    msr vbar_el2, x1
    mov x29, xzr
    mov x30, xzr
    b monitor_main
    .ltorg
