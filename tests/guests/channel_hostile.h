/* SPDX-License-Identifier: BSD-2-Clause */
/* A malicious end of a channel of messages, without the library: it writes to its section what no
 * honest end writes. */
#ifndef CHANNEL_HOSTILE_H
#define CHANNEL_HOSTILE_H

#include "kernel/partition_channel.h"

/* Attacks the other end, and prints a line at the end. Other seeds give other attacks. The section
 * is left as it is then. Thread context. */
void channel_hostile_attack(struct partition_channel *place, uint64_t seed);

#endif
