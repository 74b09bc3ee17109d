/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers that a peer cannot guess: SipHash-2-4 (Aumasson and Bernstein, 2012) under a key of this
 * boot. The key is made of what the system seeds it with, such as a counter that ran before the
 * boot and the MAC address: good against blind attackers on the network, not against somebody who
 * watches the machine. Any context.
 */
#ifndef NET_RANDOM_H
#define NET_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Mixes `bytes` of `data` and the time into the key. Boot, before anything is asked. */
void network_random_seed(const void *data, size_t bytes);

uint32_t network_random(void);

/* The keyed hash of `data`. */
uint64_t network_keyed_hash(const void *data, size_t bytes);

#endif
