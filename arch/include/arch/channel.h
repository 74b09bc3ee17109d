/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels between partitions, as guests see them: calls of the hypervisor, and the page with the
 * states of both ends, which guests can only read.
 */
#ifndef ARCH_CHANNEL_H
#define ARCH_CHANNEL_H

#include <stdint.h>

/* Function identifiers (DEN0028, "Vendor specific hypervisor services"), with arguments of 32 bits.
 * W1 is the index of a channel in the system description. The result is 0, or -1 if the caller's
 * partition is no end of such a channel. At the receiving end of a one-way channel the calls have
 * no effect, because nothing flows back to the sender. */
/* Rings the doorbell of the other end. */
#define CALL_CHANNEL_NOTIFY 0x86000020u
/* Sets the state of the caller's end to W2: writes it to the state page, ordered after all earlier
 * stores of the caller, and rings the doorbell of the other end. */
#define CALL_CHANNEL_SET_STATE 0x86000021u

/* The state page. Each word is written at once (single-copy atomic). */
struct channel_states {
    uint32_t ends[2]; /* 0: absent. The hypervisor writes it when the end's partition stops. */
};

#endif
