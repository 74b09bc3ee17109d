/* SPDX-License-Identifier: BSD-2-Clause */
#include "numbered_exchange.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define REPORT     1000u /* messages */
#define TEXT_BYTES 160u

struct exchange exchange;

static void print_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void print_text(const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    exchange_print(text);
}

/* Returns true if a message lies in the other end's ring. */
static bool is_in_ring(const uint8_t *content, uint64_t length)
{
    uint64_t offset = (uint64_t)(content - (const uint8_t *)exchange.place.peer);

    return offset >= CHANNEL_CONTROL_BYTES && offset <= exchange.place.section_bytes &&
           length <= exchange.place.section_bytes - offset;
}

/* Reports the first wrong message of a connection only: after it the expected ones are wrong, too.
 */
static void check_message(const uint8_t *content, uint64_t length, uint32_t tag)
{
    if (!is_in_ring(content, length)) {
        print_text("OUTSIDE: %p with %" PRIu64 " bytes", (const void *)content, length);
    } else if (!exchange.is_wrong &&
               !numbered_messages_are_right(&exchange.messages, content, length, tag)) {
        print_text("WRONG: message %" PRIu64 " has %" PRIu64 " bytes and tag %" PRIu32,
                   exchange.messages.received, length, tag);
        exchange.is_wrong = true;
    }
}

static void begin_connection(void)
{
    numbered_messages_begin(&exchange.messages);
    exchange.is_wrong = false;
}

bool exchange_receive(void)
{
    uint64_t length;
    uint32_t tag;
    const uint8_t *content = channel_receive_begin(&exchange.channel, &length, &tag);

    if (content == NULL) {
        return false;
    }
    check_message(content, length, tag);
    channel_receive_end(&exchange.channel);
    exchange.messages.received++;
    if (exchange.messages.received % REPORT == 0) {
        print_text("received %" PRIu64 ", wakes %" PRIu64 ", missed %" PRIu64,
                   exchange.messages.received, exchange.wakes, exchange.missed);
    }
    return true;
}

bool exchange_send(void)
{
    return numbered_messages_send(&exchange.messages, &exchange.channel);
}

void exchange_follow_state(void)
{
    enum channel_state state = channel_update(&exchange.channel);

    if (state == exchange.state) {
        return;
    }
    exchange.state = state;
    if (state == CHANNEL_CONNECTED) {
        print_text("connected by %s, end %" PRIu32, exchange.place.name, exchange.place.end);
    } else if (state == CHANNEL_ENDED) {
        print_text("ended after %" PRIu64 ", the other end is %s", exchange.messages.received,
                   partition_channel_peer_state(&exchange.place) == 0 ? "absent" : "there");
        begin_connection();
        channel_accept(&exchange.channel);
        exchange_follow_state();
    } else if (state == CHANNEL_FAILED) {
        print_text("FAILED: %s (0x%" PRIx64 ")", channel_error_text(exchange.channel.error.kind),
                   exchange.channel.error.value);
        begin_connection();
        channel_reset(&exchange.channel);
        /* So that the next failure is noticed if no other state is seen before it. */
        exchange.state = CHANNEL_CONNECTING;
    }
}

static bool has_message(void)
{
    uint64_t length;
    uint32_t tag;

    return channel_receive_begin(&exchange.channel, &length, &tag) != NULL;
}

/* Sleeps, and counts messages for which no doorbell rang: it is still armed. */
static bool sleep_and_count(void *context, uint64_t deadline)
{
    bool is_in_time = partition_waiter_sleep(context, deadline);

    if (is_in_time) {
        exchange.wakes++;
    } else if (has_message() && partition_channel_is_armed(&exchange.place) &&
               !partition_waiter_sleep(context, exchange_time_after(exchange.grace))) {
        exchange.missed++;
    }
    return is_in_time;
}

size_t exchange_waits(struct channel_wait waits[2])
{
    const struct numbered_messages *messages = &exchange.messages;
    size_t count = 1;

    waits[0] = channel_wait_for_message(&exchange.channel);
    if (messages->sent < messages->to_send && exchange.state == CHANNEL_CONNECTED) {
        waits[count++] = channel_wait_for_space(&exchange.channel,
                                                numbered_messages_length(messages, messages->sent));
    }
    return count;
}

guest_status exchange_open(uint64_t to_send, uint64_t grace)
{
    guest_status status = partition_channel_open(&exchange.place, NULL);

    if (status != GUEST_OK) {
        return status;
    }
    partition_waiter_init(&exchange.waiter);
    status = partition_waiter_add(&exchange.waiter, &exchange.place);
    if (status != GUEST_OK) {
        return status;
    }
    exchange.sleeper = partition_waiter_sleeper(&exchange.waiter);
    exchange.sleeper.sleep = sleep_and_count;
    exchange.grace = grace;
    exchange.state = CHANNEL_CONNECTING;
    numbered_messages_init(&exchange.messages, exchange.place.section_bytes);
    exchange.messages.to_send = to_send;
    return partition_channel_begin(&exchange.place, &exchange.channel);
}
