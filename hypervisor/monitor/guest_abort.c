/* SPDX-License-Identifier: BSD-2-Clause */
#include "monitor/inject.h"
#include "monitor/registers.h"

void inject_external_abort(struct registers *registers, uint64_t syndrome, uint64_t address)
{
    register_write(esr_el1, inject_abort_syndrome(syndrome, registers->state));
    register_write(far_el1, address);
    register_write(elr_el1, registers->pc);
    register_write(spsr_el1, registers->state);
    registers->pc = register_read(vbar_el1) + inject_vector_offset(registers->state);
    registers->state = inject_state(registers->state, register_read(sctlr_el1));
}
