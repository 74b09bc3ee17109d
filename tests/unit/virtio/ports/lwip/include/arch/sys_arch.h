/* SPDX-License-Identifier: BSD-2-Clause */
/* Types that lwIP's headers need; nothing in these tests waits. */
#ifndef NETWORK_LWIP_ARCH_SYS_ARCH_H
#define NETWORK_LWIP_ARCH_SYS_ARCH_H

typedef void *sys_sem_t;
typedef void *sys_mutex_t;
typedef void *sys_mbox_t;
typedef void *sys_thread_t;
typedef int sys_prot_t;

#endif
