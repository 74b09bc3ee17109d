/* SPDX-License-Identifier: BSD-2-Clause */
/* The types of RTEMS in channel/guest.h. */
#ifndef CHANNEL_GUEST_TYPES_H
#define CHANNEL_GUEST_TYPES_H

#include <rtems.h>
#include <rtems/irq-extension.h>
#include <rtems/thread.h>

typedef rtems_status_code guest_status;

#define GUEST_OK            RTEMS_SUCCESSFUL
#define GUEST_NO_DEVICETREE RTEMS_NOT_CONFIGURED
#define GUEST_NOT_FOUND     RTEMS_INVALID_NAME
#define GUEST_MALFORMED     RTEMS_INVALID_NODE
#define GUEST_OTHER_KIND    RTEMS_NOT_DEFINED
#define GUEST_INVALID_SIZE  RTEMS_INVALID_SIZE
#define GUEST_NO_INTERRUPT  RTEMS_NOT_DEFINED

struct guest_interrupt {
    rtems_vector_number vector;
    rtems_interrupt_entry entry;
};

struct guest_signal {
    rtems_binary_semaphore semaphore;
};

#endif
