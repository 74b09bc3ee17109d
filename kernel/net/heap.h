/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's heap. What lwIP calls of it is declared in lwip/lwipopts.h. */
#ifndef NET_HEAP_H
#define NET_HEAP_H

/* Before lwIP starts. */
void network_heap_init(void);

#endif
