/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's own code of one-way channels, for GenMC. CASE chooses what the sender does:
 *   1  it sends two messages, which the receiver gets
 *   2  it overwrites the message at which the receiver is
 *   3  the same, and the message does not fit before the end of the ring
 *   4  it sends a message, and begins the largest one, which overwrites the one before
 *   5  the same, and the first one ends where the ring does
 * A message that was received is complete. When both have ended, the receiver gets the newest one,
 * which nothing overwrites, unless it has it already.
 */
#include "sides.h"

#include "../../../channel/broadcast.c"

#define LENGTH  sizeof(uint64_t)
#define SIZE    (sizeof(struct broadcast_message) + LENGTH)
#define LARGEST broadcast_content_max(RING_BYTES)

static struct section section;
static struct broadcast_sender sender;
static struct broadcast_receiver receiver;
static uint64_t received; /* number of the message that was received last */

/* The content of a message is its number. */
static void send(uint64_t length)
{
    uint64_t *content = (uint64_t *)broadcast_send_begin(&sender, length);

    word_store(content, sender.number + 1);
    broadcast_send_end(&sender, length, 0);
}

static enum broadcast_result receive(void)
{
    uint64_t content = 0;
    uint64_t length;
    uint32_t tag;
    enum broadcast_result result = broadcast_receive(&receiver, &content, LENGTH, &length, &tag);

    assert(result != BROADCAST_FAILED);
    if (result == BROADCAST_RECEIVED) {
        assert(length == LENGTH && content == receiver.number && content > received);
        received = content;
    }
    return result;
}

/* Sets the fields as broadcast_sender_begin() and broadcast_receiver_begin() do. GenMC can't
 * execute their copies of structs. */
static void begin(void)
{
    sender.ring = section.ring;
    sender.bytes = RING_BYTES;
    sender.own = &section.control;
    receiver.ring = section.ring;
    receiver.bytes = RING_BYTES;
    receiver.peer = &section.control;
    section.control.format = CHANNEL_FORMAT_BROADCAST;
}

/* The receiver has the whole ring before it. `rest`: bytes that remain for the next message. */
static void fill(uint64_t rest)
{
    send(LENGTH);
    send(LARGEST - SIZE);
    send(LARGEST - rest);
}

/* The receiver is at the newest message, which the largest one will overwrite. */
static void approach_middle(void)
{
    send(RING_BYTES / 2 - SIZE - sizeof(struct broadcast_message));
    receiver.position = section.control.produced;
    send(LENGTH);
}

static void *run_sender(void *argument)
{
    send(CASE == 5 ? LARGEST : LENGTH);
    if (CASE == 1) {
        send(LENGTH);
    } else if (CASE >= 4) {
        (void)broadcast_send_begin(&sender, LARGEST);
    }
    return argument;
}

static void *run_receiver(void *argument)
{
    (void)receive();
    (void)receive();
    return argument;
}

int main(void)
{
    enum broadcast_result result;

    begin();
    if (CASE == 2 || CASE == 3) {
        fill(CASE == 2 ? 0 : SIZE - sizeof(uint64_t));
    } else if (CASE >= 4) {
        approach_middle();
    }
    run_sides(run_sender, run_receiver);
    broadcast_skip_to_newest(&receiver);
    do {
        result = receive();
    } while (result == BROADCAST_RECEIVED);
    assert(result == (CASE == 5 ? BROADCAST_TOO_LARGE : BROADCAST_NONE));
    assert(CASE == 5 || received == sender.number);
    assert(CASE == 5 || !broadcast_is_new(&receiver));
    return 0;
}
