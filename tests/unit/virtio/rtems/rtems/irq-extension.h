/* SPDX-License-Identifier: BSD-2-Clause */
/* The interrupt manager, as far as test_rtems_discovery.c implements it. */
#ifndef TESTS_VIRTIO_RTEMS_IRQ_EXTENSION_H
#define TESTS_VIRTIO_RTEMS_IRQ_EXTENSION_H

#include <rtems.h>

#define RTEMS_INTERRUPT_SHARED 1u

typedef void (*rtems_interrupt_handler)(void *argument);
typedef void (*rtems_interrupt_per_handler_routine)(void *argument, const char *information,
                                                    rtems_option options,
                                                    rtems_interrupt_handler handler,
                                                    void *handler_argument);

rtems_status_code rtems_interrupt_vector_enable(rtems_vector_number vector);
rtems_status_code rtems_interrupt_vector_disable(rtems_vector_number vector);
rtems_status_code rtems_interrupt_handler_install(rtems_vector_number vector,
                                                  const char *information, rtems_option options,
                                                  rtems_interrupt_handler handler, void *argument);
rtems_status_code rtems_interrupt_handler_remove(rtems_vector_number vector,
                                                 rtems_interrupt_handler handler, void *argument);
rtems_status_code rtems_interrupt_handler_iterate(rtems_vector_number vector,
                                                  rtems_interrupt_per_handler_routine routine,
                                                  void *argument);

#endif
