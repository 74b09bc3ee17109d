/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random numbers for the network: TCP's initial sequence numbers, ports, transaction ids.
 * SipHash-2-4 (Aumasson and Bernstein, 2012) with a key that is made at each boot. If the system
 * seeds the key with at least 128 random bits, nobody can guess the numbers, or derive the next
 * ones from earlier ones. A system without a source of random numbers has only clocks and addresses
 * as seeds; a peer that knows when the machine started can then guess the numbers. Any context.
 */
#ifndef NET_RANDOM_H
#define NET_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Mixes `bytes` of `data` and the time into the key, in addition to earlier seeds. Call it at boot
 * for each source, before the first number is requested. */
void network_random_seed(const void *data, size_t bytes);

uint32_t network_random(void);

/* Returns the keyed hash of `data`. */
uint64_t network_keyed_hash(const void *data, size_t bytes);

#endif
