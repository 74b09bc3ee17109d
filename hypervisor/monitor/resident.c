/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trap of a guest's steady state: an interrupt to another core of its partition. It is handled
 * on the resident tables, without the services.
 */
#include "gic/sgi.h"
#include "monitor/core.h"
#include "monitor/registers.h"
#include "monitor/syndrome.h"

bool monitor_answer(struct registers *registers, unsigned kind)
{
    struct core *core = (struct core *)(uintptr_t)register_read(tpidr_el2);
    uint64_t syndrome = register_read(esr_el2);
    uint64_t value = register_value(registers, (unsigned)REGISTER_TARGET(syndrome));

    if (kind != VECTOR_SYNCHRONOUS || SYNDROME_CLASS(syndrome) != CLASS_REGISTER ||
        ((unsigned)syndrome & REGISTER_NAME_MASK) != REGISTER_SGI1R) {
        return false;
    }
    core->report.exits[EXIT_SGI]++;
    core->report.refused += sgi_send(core->partition, core->index, value) == ACCESS_REFUSED;
    registers->pc += INSTRUCTION_BYTES;
    return true;
}
