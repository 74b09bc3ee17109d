/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/standby.h"

#include "kernel/devicetree.h"
#include "kernel/kept.h"
#include "kernel/pci.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include <arch/hypercalls.h>
#include <arch/hypervisor_call.h>

/* Pause between two looks at the slot. Each look is an exit. */
#define LOOK_NANOSECONDS (2 * NANOSECONDS_PER_MILLISECOND)

#define NO_FUNCTION UINT32_MAX

/* Returns the address of the first function that moves, bus << 8 | device << 3 | function, or
 * NO_FUNCTION. */
static uint32_t first_function(void)
{
    int node = devicetree_find("/movable", sizeof("/movable") - 1);
    unsigned count = 0;
    const uint32_t *cells = node < 0 ? NULL : devicetree_cells(node, "functions", &count);

    return cells == NULL || count == 0 ? NO_FUNCTION : devicetree_cell(cells);
}

/* Looks for the function until it is there. Each look lets it arrive if it is on its way. */
static void wait_for(uint32_t function)
{
    if (pci_is_present((uint16_t)function)) {
        return;
    }
    print("standby: waits for PCI function %02x:%02x.%x\n", function >> 8, function >> 3 & 0x1f,
          function & 7);
    do {
        thread_sleep_until(time_after(LOOK_NANOSECONDS));
    } while (!pci_is_present((uint16_t)function));
    print("standby: takes over\n");
}

/* Makes the kept memory that of the owner, and lets the hypervisor know. If the function has moved
 * on meanwhile, the hypervisor takes no notice. */
static void take_over(uint32_t function)
{
    struct hypervisor_answer state = hypervisor_call(CALL_DEVICE_STATE, function, 0, 0);

    if (state.value == DEVICE_STATE_OWNED) {
        kept_take_over(state.second, state.third);
        (void)hypervisor_call(CALL_DEVICE_STATE, function, DEVICE_ADOPT, 0);
    }
}

void standby_wait(void)
{
    uint32_t function = first_function();
    enum result result;

    if (function == NO_FUNCTION) {
        return;
    }
    wait_for(function);
    result = pci_rescan();
    if (result != RESULT_OK) {
        print("standby: the function can't be used: %s\n", result_text(result));
    }
    take_over(function);
}

bool standby_has_lost_function(void)
{
    uint32_t function = first_function();

    return function != NO_FUNCTION &&
           hypervisor_call(CALL_DEVICE_STATE, function, 0, 0).value != DEVICE_STATE_OWNED;
}
