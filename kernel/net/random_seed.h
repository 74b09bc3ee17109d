/* SPDX-License-Identifier: BSD-2-Clause */
/* The sources of the network's random numbers. */
#ifndef NET_RANDOM_SEED_H
#define NET_RANDOM_SEED_H

/*
 * Seeds network_random() (random.h) from the bootloader's seed (/chosen/rng-seed) and from the
 * processor (RNDR) or, if both are missing, from a virtio entropy device. Prints the names of the
 * sources on the console. Without any source the numbers depend only on the time since the start of
 * the machine, and can be guessed. Thread context, once, before lwIP starts.
 */
void random_seed_collect(void);

#endif
