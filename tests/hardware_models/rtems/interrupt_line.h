/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RTEMS's interrupt manager in the test process, behind rtems/irq-extension.h: one vector, which
 * several devices may share. RTEMS enables it with its first handler and disables it with its last.
 * A call for another vector, or with other options than a shared handler's, fails the test.
 */
#ifndef TESTS_HARDWARE_MODELS_RTEMS_INTERRUPT_LINE_H
#define TESTS_HARDWARE_MODELS_RTEMS_INTERRUPT_LINE_H

#include <rtems/irq-extension.h>
#include <stdbool.h>

#define INTERRUPT_LINE_HANDLERS 2u

struct interrupt_line {
    rtems_vector_number vector;
    rtems_interrupt_entry *entry[INTERRUPT_LINE_HANDLERS];
    unsigned count; /* of entries */
    bool enabled;
    bool refuses; /* more handlers */
};

extern struct interrupt_line interrupt_line;

/* A line without handlers. */
void interrupt_line_reset(rtems_vector_number vector);
/* Installs the handler of another device, which does nothing. */
void interrupt_line_share(void);
/* Calls the handlers, one after the other, for as long as the line is enabled. */
void interrupt_line_raise(void);

#endif
