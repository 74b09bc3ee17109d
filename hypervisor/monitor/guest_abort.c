/* SPDX-License-Identifier: BSD-2-Clause */
#include "monitor/guest_state.h"
#include "monitor/inject.h"
#include "monitor/registers.h"

void inject_external_abort(struct registers *registers, uint64_t syndrome, uint64_t address)
{
    register_write(far_el1, address);
    guest_state_take_exception(registers, inject_abort_syndrome(syndrome, registers->state));
}
