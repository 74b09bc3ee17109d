/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's threads, locks and mailboxes are the kernel's (lwip/sys.h documents each call).
 */
#ifndef NETWORK_LWIP_ARCH_SYS_ARCH_H
#define NETWORK_LWIP_ARCH_SYS_ARCH_H

#include "kernel/sync.h"
#include "kernel/thread.h"
#include <stddef.h>
#include <stdint.h>

typedef uint64_t sys_prot_t;
typedef struct thread *sys_thread_t;
typedef struct mutex sys_mutex_t; /* inherits priority */

typedef struct semaphore sys_sem_t; /* limit 0: not valid */
#define sys_sem_valid(semaphore)       ((semaphore)->limit != 0)
#define sys_sem_set_invalid(semaphore) ((semaphore)->limit = 0)

typedef struct message_queue sys_mbox_t; /* of pointers; storage NULL: not valid */
#define sys_mbox_valid(mailbox)       ((mailbox)->storage != NULL)
#define sys_mbox_set_invalid(mailbox) ((mailbox)->storage = NULL)

#endif
