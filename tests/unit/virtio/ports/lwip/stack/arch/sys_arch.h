/* SPDX-License-Identifier: BSD-2-Clause */
/* The types of lwIP's operating system layer in tests that run lwIP in one thread. */
#ifndef NETWORK_LWIP_ARCH_SYS_ARCH_H
#define NETWORK_LWIP_ARCH_SYS_ARCH_H

#define MAILBOX_MAX 64

typedef struct {
    void *message[MAILBOX_MAX];
    unsigned count;
    unsigned capacity; /* 0: not valid */
} sys_mbox_t;

typedef unsigned sys_sem_t; /* 1 more than its count; 0: not valid */
typedef unsigned sys_mutex_t;
typedef void *sys_thread_t;
typedef int sys_prot_t;

#define sys_mbox_valid(mailbox)        ((mailbox)->capacity != 0)
#define sys_mbox_set_invalid(mailbox)  ((mailbox)->capacity = 0)
#define sys_sem_valid(semaphore)       (*(semaphore) != 0)
#define sys_sem_set_invalid(semaphore) (*(semaphore) = 0)

#endif
