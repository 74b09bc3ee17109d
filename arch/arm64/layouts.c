/* SPDX-License-Identifier: BSD-2-Clause */
/* Offsets for the assembly of this folder (tools/layouts/layout.h). */
#include "layout.h"

#include <arch/cpu_inline.h>
#include <arch/exception.h>
#include <stdint.h>

void layouts_assembly(void);

void layouts_assembly(void)
{
    LAYOUT_ASSEMBLY(CONTEXT_X, offsetof(struct arch_context, x));
    LAYOUT_ASSEMBLY(CONTEXT_STACK_POINTER, offsetof(struct arch_context, stack_pointer));
    LAYOUT_ASSEMBLY(CONTEXT_PROGRAM_COUNTER, offsetof(struct arch_context, program_counter));
    LAYOUT_ASSEMBLY(CONTEXT_PROCESSOR_STATE, offsetof(struct arch_context, processor_state));
    LAYOUT_ASSEMBLY(CONTEXT_COMPLETE, offsetof(struct arch_context, complete));
    LAYOUT_ASSEMBLY(CONTEXT_FLOATING_POINT, offsetof(struct arch_context, floating_point));
    LAYOUT_ASSEMBLY(CONTEXT_AREA, offsetof(struct arch_context, area));
    LAYOUT_ASSEMBLY(FRAME_X, offsetof(struct exception_frame, x));
    LAYOUT_ASSEMBLY(FRAME_STACK_POINTER, offsetof(struct exception_frame, stack_pointer));
    LAYOUT_ASSEMBLY(FRAME_PROGRAM_COUNTER, offsetof(struct exception_frame, program_counter));
    LAYOUT_ASSEMBLY(FRAME_PROCESSOR_STATE, offsetof(struct exception_frame, processor_state));
    LAYOUT_ASSEMBLY(FRAME_SYNDROME, offsetof(struct exception_frame, syndrome));
    LAYOUT_ASSEMBLY(FRAME_ADDRESS, offsetof(struct exception_frame, address));
    LAYOUT_ASSEMBLY(FRAME_VECTOR, offsetof(struct exception_frame, vector));
}
