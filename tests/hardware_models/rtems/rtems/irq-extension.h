/* SPDX-License-Identifier: BSD-2-Clause */
/* RTEMS's interrupt manager, as far as the port uses it (interrupt_line.h). */
#ifndef RTEMS_IRQ_EXTENSION_H
#define RTEMS_IRQ_EXTENSION_H

#include <rtems.h>

typedef enum { RTEMS_SUCCESSFUL, RTEMS_UNSATISFIED, RTEMS_NO_MEMORY } rtems_status_code;
typedef uint32_t rtems_option;
typedef void (*rtems_interrupt_handler)(void *argument);
typedef void (*rtems_interrupt_per_handler_routine)(void *argument, const char *information,
                                                    rtems_option options,
                                                    rtems_interrupt_handler handler,
                                                    void *handler_argument);

#define RTEMS_INTERRUPT_SHARED 0u

typedef struct {
    rtems_interrupt_handler handler;
    void *arg;
    const char *info;
} rtems_interrupt_entry;

static inline void rtems_interrupt_entry_initialize(rtems_interrupt_entry *entry,
                                                    rtems_interrupt_handler handler, void *argument,
                                                    const char *information)
{
    entry->handler = handler;
    entry->arg = argument;
    entry->info = information;
}

rtems_status_code rtems_interrupt_entry_install(rtems_vector_number vector, rtems_option options,
                                                rtems_interrupt_entry *entry);
rtems_status_code rtems_interrupt_entry_remove(rtems_vector_number vector,
                                               rtems_interrupt_entry *entry);
rtems_status_code rtems_interrupt_handler_iterate(rtems_vector_number vector,
                                                  rtems_interrupt_per_handler_routine routine,
                                                  void *argument);
rtems_status_code rtems_interrupt_vector_enable(rtems_vector_number vector);
rtems_status_code rtems_interrupt_vector_disable(rtems_vector_number vector);

#endif
