/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels between partitions, as guests see them: the page with the states of both ends, which
 * guests can only read. Calls change the states (arch/hypercalls.h).
 */
#ifndef ARCH_CHANNEL_H
#define ARCH_CHANNEL_H

#include <stdint.h>

/* The state page. Each word is written at once (single-copy atomic). */
struct channel_states {
    uint32_t ends[2]; /* 0: absent. The hypervisor writes it when the end's partition stops. */
};

#endif
