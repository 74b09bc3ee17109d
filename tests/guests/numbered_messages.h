/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbered messages of various sizes, which the programs at both ends of a channel send and check:
 * channel.c of our kernel, and tests/rtems/channel/exchange.c of RTEMS. Thread context.
 */
#ifndef NUMBERED_MESSAGES_H
#define NUMBERED_MESSAGES_H

#include <channel/connection.h>
#include <string.h>

#define NUMBERED_MESSAGES_MAX \
    UINT64_C(2000) /* bytes of the largest one, if the ring has the room */

struct numbered_messages {
    uint64_t largest;        /* bytes */
    uint64_t to_send;        /* in each connection */
    uint64_t sent, received; /* in this connection */
};

/* `section_bytes`: of each side's section of the channel. */
static inline void numbered_messages_init(struct numbered_messages *messages,
                                          uint64_t section_bytes)
{
    uint64_t fitting = channel_content_max(section_bytes - CHANNEL_CONTROL_BYTES);

    *messages = (struct numbered_messages){
        .largest = fitting < NUMBERED_MESSAGES_MAX ? fitting : NUMBERED_MESSAGES_MAX,
    };
}

/* A connection begins. The next one may have begun, and a message come, before a program looks at
 * the state, so this is called as soon as the last one has ended. */
static inline void numbered_messages_begin(struct numbered_messages *messages)
{
    messages->sent = 0;
    messages->received = 0;
}

/* Returns the bytes of a message. */
static inline uint64_t numbered_messages_length(const struct numbered_messages *messages,
                                                uint64_t number)
{
    uint64_t mixed = (number * 2654435761u) >> 7;

    return sizeof(number) + mixed % (messages->largest - sizeof(number) + 1);
}

static inline uint8_t numbered_messages_byte(uint64_t number, uint64_t index)
{
    return (uint8_t)(number * 31 + index * 7);
}

/* Sends the next message. Returns false if all were sent, or if there is no space. */
static inline bool numbered_messages_send(struct numbered_messages *messages,
                                          struct channel *channel)
{
    uint64_t number = messages->sent;
    uint64_t length = numbered_messages_length(messages, number);
    uint8_t *content = number == messages->to_send ? NULL : channel_send_begin(channel, length);

    if (content == NULL) {
        return false;
    }
    memcpy(content, &number, sizeof(number));
    for (uint64_t i = sizeof(number); i < length; i++) {
        content[i] = numbered_messages_byte(number, i);
    }
    channel_send_end(channel, length, (uint32_t)number);
    messages->sent++;
    return true;
}

/* Returns true if a message is the next one, and as it was sent. */
static inline bool numbered_messages_are_right(const struct numbered_messages *messages,
                                               const uint8_t *content, uint64_t length,
                                               uint32_t tag)
{
    uint64_t number = messages->received;

    if (length != numbered_messages_length(messages, number) || tag != (uint32_t)number ||
        memcmp(content, &number, sizeof(number)) != 0) {
        return false;
    }
    for (uint64_t i = sizeof(number); i < length; i++) {
        if (content[i] != numbered_messages_byte(number, i)) {
            return false;
        }
    }
    return true;
}

#endif
