/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the network's random numbers come from. */
#ifndef NET_RANDOM_SEED_H
#define NET_RANDOM_SEED_H

/*
 * Seeds network_random() (random.h) with every source of randomness that the machine has: the
 * bootloader's (/chosen/rng-seed), the processor's (RNDR), and if there is neither, a virtio
 * entropy device. Prints on the console which there were. Without any the numbers depend on nothing
 * but the time since the start of the machine, and can be guessed. Thread context, once, before
 * lwIP starts.
 */
void random_seed_collect(void);

#endif
