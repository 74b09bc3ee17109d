/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between the vectors (exception/vectors.S) and C. The program that links the vectors
 * defines the functions.
 */
#ifndef ARCH_EXCEPTION_H
#define ARCH_EXCEPTION_H

#include <arch/cpu_inline.h>
#include <stdint.h>

/* The processor's state at a fatal exception. */
struct exception_frame {
    uint64_t x[31];
    uint64_t stack_pointer;
    uint64_t program_counter;
    uint64_t processor_state; /* SPSR_EL1 */
    uint64_t syndrome;        /* ESR_EL1 */
    uint64_t address;         /* FAR_EL1; valid for some syndromes only */
    uint64_t vector;          /* 0..15 */
};

/* Called by vectors.S for an IRQ, on the interrupt stack with interrupts masked. `interrupted`: the
 * interrupted context. Returns the context to continue. */
struct arch_context *exception_interrupt(struct arch_context *interrupted);

/* Called by vectors.S on the emergency stack: reports the exception and ends the machine. */
_Noreturn void exception_fatal(const struct exception_frame *frame);

#endif
