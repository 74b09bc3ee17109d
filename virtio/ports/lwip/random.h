/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random numbers for the network: TCP's initial sequence numbers, ports, transaction ids.
 * SipHash-2-4 (Aumasson and Bernstein, 2012) under a key of this boot. Nobody can guess them, or
 * the next from those before, if the system seeds the key with 128 random bits or more. A system
 * without a source of random numbers has only clocks and addresses for a seed: then a peer that
 * knows when the machine started can guess. Any context.
 */
#ifndef NET_RANDOM_H
#define NET_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Mixes `bytes` of `data` and the time into the key: what was mixed in before stays in it. At boot,
 * before the first number is asked for, as often as there are sources. */
void network_random_seed(const void *data, size_t bytes);

uint32_t network_random(void);

/* The keyed hash of `data`. */
uint64_t network_keyed_hash(const void *data, size_t bytes);

#endif
