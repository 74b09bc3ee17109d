/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a channel of messages, for channel.c of our kernel and tests/rtems/channel/exchange.c
 * of RTEMS: sends numbered messages, checks those that arrive, follows the other end's lives, and
 * counts doorbells that did not ring. Thread context.
 */
#ifndef NUMBERED_EXCHANGE_H
#define NUMBERED_EXCHANGE_H

#include "numbered_messages.h"
#include <channel/guest.h>

struct exchange {
    struct partition_channel place;
    struct partition_waiter waiter;
    struct channel_sleeper sleeper;
    struct channel channel;
    struct numbered_messages messages;
    enum channel_state state; /* the one that was printed last */
    bool is_wrong;            /* a message of this connection was wrong */
    uint64_t wakes;           /* doorbells that ended a wait */
    uint64_t missed;          /* messages that came without a doorbell while the thread waited */
    uint64_t grace;           /* nanoseconds for a doorbell that is under way */
};

/* The program's end. */
extern struct exchange exchange;

/* The program has these two functions. They print a line with the program's name before the text,
 * and return the time after so many nanoseconds, in the clock of deadlines. */
void exchange_print(const char *text);
uint64_t exchange_time_after(uint64_t nanoseconds);

/* Opens the first channel of the devicetree, and begins a life. `to_send`: messages to each life of
 * the other end. `grace`: nanoseconds after which a doorbell that did not ring is a missed one. */
guest_status exchange_open(uint64_t to_send, uint64_t grace);

/* Receives a message and checks it, or sends one. Returns false if that is not possible now. */
bool exchange_receive(void);
bool exchange_send(void);

/* Prints changes of the state, and connects again after the other end has ended. */
void exchange_follow_state(void);

/* Writes the waits for an event after which a message can be received or sent. Returns how many: 1
 * or 2. */
size_t exchange_waits(struct channel_wait waits[2]);

#endif
