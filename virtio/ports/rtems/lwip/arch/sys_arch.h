/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's locks and mailboxes (specified in lwip/sys.h), implemented with RTEMS's self-contained
 * objects, which need no configuration (RTEMS Classic API Guide, "Self-Contained Objects"). */
#ifndef NETWORK_RTEMS_ARCH_SYS_ARCH_H
#define NETWORK_RTEMS_ARCH_SYS_ARCH_H

#include <rtems.h>
#include <rtems/thread.h>
#include <stdbool.h>

typedef rtems_id sys_thread_t;   /* 0: none */
typedef rtems_mutex sys_mutex_t; /* inherits priority */

typedef struct {
    rtems_binary_semaphore object;
    bool valid;
} sys_sem_t;
#define sys_sem_valid(semaphore)       ((semaphore)->valid)
#define sys_sem_set_invalid(semaphore) ((semaphore)->valid = false)

typedef struct {
    void **messages; /* a ring; NULL: not valid */
    unsigned capacity;
    unsigned first; /* index of the oldest */
    unsigned count; /* read by external/lwip_corrections/netconn.c, as is the capacity */
    rtems_counting_semaphore filled;
} sys_mbox_t;
#define sys_mbox_trypost_fromisr      sys_mbox_trypost
#define sys_mbox_valid(mailbox)       ((mailbox)->messages != NULL)
#define sys_mbox_set_invalid(mailbox) ((mailbox)->messages = NULL)

#endif
