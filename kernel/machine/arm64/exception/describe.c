/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text for an exception: decodes ESR_EL1 (Arm ARM, ESR_EL1 and its ISS encodings).
 */
#include "exception/describe.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "sched/thread_private.h"
#include <arch/image.h>
#include <stdbool.h>
#include <stddef.h>

enum exception_class {
    CLASS_FLOATING_POINT = 0x07,
    CLASS_INSTRUCTION_ABORT_LOWER = 0x20,
    CLASS_INSTRUCTION_ABORT = 0x21,
    CLASS_DATA_ABORT_LOWER = 0x24,
    CLASS_DATA_ABORT = 0x25
};

#define ABORT_WRITE           (1u << 6)  /* ISS.WnR */
#define ABORT_ADDRESS_UNKNOWN (1u << 10) /* ISS.FnV */
#define FAULT_ALIGNMENT       0x21u

#define VECTOR_KIND(vector) ((vector) % 4)
#define VECTOR_SYNCHRONOUS  0u
#define VECTOR_FROM(vector) ((vector) / 4)

static const struct {
    uint8_t number;
    const char *text;
} class_texts[] = {
    {0x00, "undefined instruction"},
    {0x01, "trapped WFI or WFE"},
    {0x09, "trapped SVE or SME use"},
    {0x0d, "branch target exception"},
    {0x0e, "illegal execution state"},
    {0x15, "supervisor call (SVC)"},
    {0x16, "hypervisor call (HVC)"},
    {0x17, "secure monitor call (SMC)"},
    {0x18, "trapped system register access"},
    {0x19, "trapped SVE use"},
    {0x1c, "pointer authentication failure"},
    {0x22, "misaligned program counter"},
    {0x26, "misaligned stack pointer"},
    {0x27, "memory copy exception"},
    {0x2c, "floating-point exception"},
    {0x2f, "system error (SError)"},
    {0x30, "breakpoint"},
    {0x31, "breakpoint"},
    {0x32, "software step"},
    {0x33, "software step"},
    {0x34, "watchpoint"},
    {0x35, "watchpoint"},
    {0x3c, "breakpoint instruction (BRK)"},
};

static const char *class_text(unsigned class)
{
    for (size_t i = 0; i < sizeof class_texts / sizeof class_texts[0]; i++) {
        if (class_texts[i].number == class) {
            return class_texts[i].text;
        }
    }
    return "exception of an unknown class";
}

/* Returns the text for DFSC or IFSC. In the first four kinds the low two bits are the table level.
 */
static const char *fault_text(unsigned status)
{
    static const char *const by_level[] = {"address size", "translation (not mapped)",
                                           "access flag", "permission"};

    if (status < 0x10) {
        return by_level[status >> 2];
    }
    switch (status) {
    case 0x10:
        return "synchronous external abort";
    case 0x14:
    case 0x15:
    case 0x16:
    case 0x17:
        return "external abort on a table walk";
    case 0x18:
        return "memory error";
    case FAULT_ALIGNMENT:
        return "alignment";
    case 0x30:
        return "TLB conflict";
    case 0x31:
        return "atomic update of a table entry";
    case 0x34:
        return "lockdown";
    case 0x35:
        return "exclusive or atomic access that the memory does not support";
    default:
        return "fault of an unknown kind";
    }
}

static bool in_page(uint64_t address, uintptr_t page)
{
    return address >= page && address - page < PAGE_BYTES;
}

/* If the address is in a stack's guard page, prints the name of the stack. Returns false otherwise.
 */
static bool describe_overflow(uint64_t address)
{
    const struct thread *thread = thread_current();

    if (in_page(address, (uintptr_t)interrupt_stack_guard)) {
        print("stack overflow of the interrupt stack (guard page)\n");
        return true;
    }
    if (thread != NULL && in_page(address, (uintptr_t)thread->stack - PAGE_BYTES)) {
        print("stack overflow of thread %s (guard page)\n", thread_name(thread));
        return true;
    }
    return false;
}

static void describe_abort(const struct exception_frame *frame, bool instruction)
{
    unsigned status = (unsigned)frame->syndrome & 0x3f;
    unsigned long long address = (unsigned long long)frame->address;
    const char *access = "execute";

    if (!instruction) {
        access = (frame->syndrome & ABORT_WRITE) != 0 ? "write" : "read";
    }
    if (status == 0x10 && (frame->syndrome & ABORT_ADDRESS_UNKNOWN) != 0) {
        print("%s abort: %s, address unknown\n", instruction ? "instruction" : "data",
              fault_text(status));
        return;
    }
    if (describe_overflow(frame->address)) {
        return;
    }
    print("%s abort: %s at 0x%llx: %s%s\n", instruction ? "instruction" : "data", access, address,
          fault_text(status), address < PAGE_BYTES ? " (NULL pointer)" : "");
}

void exception_describe(const struct exception_frame *frame)
{
    static const char *const kinds[] = {"", "unexpected interrupt (IRQ)",
                                        "unexpected fast interrupt (FIQ)", "system error (SError)"};
    unsigned kind = (unsigned)VECTOR_KIND(frame->vector);
    unsigned class = (unsigned)(frame->syndrome >> 26) & 0x3f;

    print("\npanic: ");
    if (VECTOR_FROM(frame->vector) > 1) {
        print("exception from a lower level: ");
    }
    if (kind != VECTOR_SYNCHRONOUS) {
        print("%s\n", kinds[kind]);
    } else if (class == CLASS_FLOATING_POINT) {
        print("floating point used in boot code\n");
    } else if (class == CLASS_INSTRUCTION_ABORT || class == CLASS_INSTRUCTION_ABORT_LOWER) {
        describe_abort(frame, true);
    } else if (class == CLASS_DATA_ABORT || class == CLASS_DATA_ABORT_LOWER) {
        describe_abort(frame, false);
    } else {
        print("%s\n", class_text(class));
    }
}
