/* SPDX-License-Identifier: BSD-2-Clause */
#include "interrupt_line.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct interrupt_line interrupt_line;

void interrupt_line_reset(rtems_vector_number vector)
{
    interrupt_line = (struct interrupt_line){.vector = vector};
}

static void other_handler(void *argument)
{
    (void)argument;
}

void interrupt_line_share(void)
{
    static rtems_interrupt_entry other;

    rtems_interrupt_entry_initialize(&other, other_handler, NULL, "another device");
    (void)rtems_interrupt_entry_install(interrupt_line.vector, RTEMS_INTERRUPT_SHARED, &other);
}

void interrupt_line_raise(void)
{
    for (unsigned i = 0; interrupt_line.enabled && i < interrupt_line.count; i++) {
        interrupt_line.entry[i]->handler(interrupt_line.entry[i]->arg);
    }
}

rtems_status_code rtems_interrupt_entry_install(rtems_vector_number vector, rtems_option options,
                                                rtems_interrupt_entry *entry)
{
    struct interrupt_line *line = &interrupt_line;

    assert_int_equal(vector, line->vector);
    assert_non_null(entry->info);
    assert_int_equal(options, RTEMS_INTERRUPT_SHARED);
    if (line->refuses) {
        return RTEMS_NO_MEMORY;
    }
    assert_true(line->count < INTERRUPT_LINE_HANDLERS);
    line->entry[line->count] = entry;
    if (line->count++ == 0) {
        line->enabled = true;
    }
    return RTEMS_SUCCESSFUL;
}

rtems_status_code rtems_interrupt_entry_remove(rtems_vector_number vector,
                                               rtems_interrupt_entry *entry)
{
    struct interrupt_line *line = &interrupt_line;

    assert_int_equal(vector, line->vector);
    for (unsigned i = 0; i < line->count; i++) {
        if (line->entry[i] == entry) {
            line->entry[i] = line->entry[--line->count];
            line->enabled = line->enabled && line->count != 0;
            return RTEMS_SUCCESSFUL;
        }
    }
    return RTEMS_UNSATISFIED;
}

rtems_status_code rtems_interrupt_handler_iterate(rtems_vector_number vector,
                                                  rtems_interrupt_per_handler_routine routine,
                                                  void *argument)
{
    struct interrupt_line *line = &interrupt_line;

    assert_int_equal(vector, line->vector);
    for (unsigned i = 0; i < line->count; i++) {
        routine(argument, line->entry[i]->info, RTEMS_INTERRUPT_SHARED, line->entry[i]->handler,
                line->entry[i]->arg);
    }
    return RTEMS_SUCCESSFUL;
}

/* An interrupt that has no handler ends RTEMS. */
rtems_status_code rtems_interrupt_vector_enable(rtems_vector_number vector)
{
    assert_int_equal(vector, interrupt_line.vector);
    assert_int_not_equal(interrupt_line.count, 0);
    interrupt_line.enabled = true;
    return RTEMS_SUCCESSFUL;
}

rtems_status_code rtems_interrupt_vector_disable(rtems_vector_number vector)
{
    assert_int_equal(vector, interrupt_line.vector);
    interrupt_line.enabled = false;
    return RTEMS_SUCCESSFUL;
}
