/* SPDX-License-Identifier: BSD-2-Clause */
#include "malicious.h"

#include "channel/broadcast.h"
#include "channel/call.h"
#include "channel/copy.h"
#include "channel/run.h"
#include "channel/value.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RING_BYTES    CHANNEL_RING_MIN
#define SECTION_BYTES (CHANNEL_CONTROL_BYTES + RING_BYTES)
#define CALL_DEADLINE 16u
#define LOOKS_MAX     4u    /* at the clock after the deadline, which goes on at each */
#define LOADS_MAX     1200u /* of one call: four attempts to copy the largest broadcast */

/* The low byte of a format, less one. */
enum kind { KIND_MESSAGES, KIND_VALUE, KIND_BROADCAST, KINDS };

/* The user, its peer's memory, and the rest of the program. */
static struct {
    enum kind kind; /* what the user uses */
    const uint8_t *next;
    const uint8_t *end;
    uint8_t *own;
    uint8_t *peer;
    uint32_t peer_state;
    unsigned loads; /* since the call began */
    struct channel channel;
    struct call_client client;
    struct value_reader reader;
    struct value_writer writer;
    struct broadcast_receiver receiver;
} user;

static void check(bool is_kept, const char *promise)
{
    if (!is_kept) {
        (void)fprintf(stderr, "malicious: broken promise: %s\n", promise);
        abort();
    }
}

/* The program's next byte, 0 at its end. */
static uint8_t next_byte(void)
{
    return user.next < user.end ? *user.next++ : 0;
}

/* The header of a run, of no tag: it is small, as long as the ring, or anything. */
static uint64_t next_run(void)
{
    uint64_t length = next_byte();
    uint64_t count = next_byte();

    return CHANNEL_RUN | (count * next_byte() << CHANNEL_RUN_COUNT_SHIFT) % CHANNEL_RUN | length;
}

/* A value near something that matters: an index, a power of two, the ring's size, a small number.
 */
static uint64_t next_value(void)
{
    const struct channel_control *own = (const void *)user.own;
    const struct channel_control *peer = (const void *)user.peer;
    const uint64_t bases[] = {
        0,
        own->produced,
        own->consumed,
        peer->produced,
        peer->consumed,
        own->generation,
        RING_BYTES,
        ring_consumer_position(&user.channel.in),
        ring_consumer_position(&user.channel.in) + RING_BYTES,
        UINT64_C(1) << (next_byte() % 64),
        CHANNEL_FORMAT_MESSAGES,
        CHANNEL_FORMAT_VALUE,
        CHANNEL_FORMAT_BROADCAST,
        CHANNEL_SKIP,
        next_run(),
        user.receiver.position,
        channel_content_max(RING_BYTES),
    };
    uint8_t choice = next_byte();
    uint64_t offset = (uint64_t)(int64_t)(int8_t)next_byte();

    return bases[choice % (sizeof(bases) / sizeof(bases[0]))] +
           ((choice & 16) != 0 ? offset : 8 * offset);
}

/* Writes a value to a word of the peer's section that the user reads. */
static void write_word(void)
{
    struct channel_control *peer = (void *)user.peer;
    uint64_t *words[] = {
        &peer->format, &peer->ring_bytes, &peer->generation, &peer->acknowledged,
        &peer->start,  &peer->produced,   &peer->consumed,   &peer->overwritten,
        &peer->last,   &peer->latest,     &peer->newest[0],  &peer->reading,
        &peer->waits,  &peer->newest[1],  &peer->connected,
    };

    *words[next_byte() % (sizeof(words) / sizeof(words[0]))] = next_value();
}

/* Writes a value to the ring, where the user reads next or anywhere. */
static void write_ring(void)
{
    uint8_t choice = next_byte();
    uint64_t position = (choice & 3) == 0   ? ring_consumer_position(&user.channel.in)
                        : (choice & 3) == 1 ? user.receiver.position
                        : (choice & 3) == 2 ? (choice >> 2) % 4 * (RING_BYTES / 4)
                                            : UINT64_C(64) * choice;
    uint64_t value = next_value();

    position = (position & (RING_BYTES - 1)) & ~UINT64_C(7);
    memcpy(user.peer + CHANNEL_CONTROL_BYTES + position, &value, sizeof(value));
}

/* Puts a message without content into the ring at a position, and one behind it that is larger than
 * the largest, and publishes both. */
static void publish_too_large(uint64_t position)
{
    struct channel_control *peer = (void *)user.peer;
    uint64_t offset = position & (RING_BYTES - CHANNEL_ALIGNMENT);
    const uint64_t headers[] = {0, RING_BYTES - offset - 2 * sizeof(uint64_t)};

    if (headers[1] <= RING_BYTES && offset + sizeof(headers) <= RING_BYTES) {
        memcpy(user.peer + CHANNEL_CONTROL_BYTES + offset, headers, sizeof(headers));
        peer->produced = position + RING_BYTES - offset;
    }
}

/* Puts a message with a possible length into the ring at a position, and publishes it. */
static void publish(uint64_t position, uint64_t header_bytes)
{
    struct channel_control *peer = (void *)user.peer;
    uint64_t offset = position & (RING_BYTES - CHANNEL_ALIGNMENT);
    uint64_t length = next_byte() * UINT64_C(8);

    if (offset + header_bytes + length > RING_BYTES) {
        length = CHANNEL_SKIP;
        peer->produced = position + RING_BYTES - offset;
    } else {
        peer->produced = position + header_bytes + length;
    }
    memcpy(user.peer + CHANNEL_CONTROL_BYTES + offset, &length, sizeof(length));
}

/* Puts a run into the ring at a position, if there is space before the ring's end, and publishes
 * it.
 */
static void publish_run(uint64_t position)
{
    struct channel_control *peer = (void *)user.peer;
    uint64_t offset = position & (RING_BYTES - CHANNEL_ALIGNMENT);
    uint64_t length = 1 + next_byte() % 32;
    uint64_t count = 1 + next_byte() % 32;
    uint64_t size = ring_size(count * ring_run_step(length));
    uint64_t header = CHANNEL_RUN | count << CHANNEL_RUN_COUNT_SHIFT | length;

    if (offset + size <= RING_BYTES) {
        memcpy(user.peer + CHANNEL_CONTROL_BYTES + offset, &header, sizeof(header));
        peer->produced = position + size;
    }
}

/* Does what an honest peer would do, so that the program gets beyond the first checks. */
static void be_honest(void)
{
    struct channel_control *peer = (void *)user.peer;
    const struct channel_control *own = (const void *)user.own;

    peer->format = CHANNEL_FORMAT | (1 + user.kind);
    peer->ring_bytes = RING_BYTES;
    peer->generation += peer->generation == 0;
    peer->acknowledged = own->generation;
    peer->connected = own->generation; /* otherwise the user sends nothing */
    peer->consumed = own->produced;
    if (user.kind == KIND_BROADCAST) {
        publish(user.receiver.position, sizeof(struct broadcast_message));
        peer->overwritten = 0;
    } else if (user.kind == KIND_VALUE) {
        peer->produced++;
    } else if (user.channel.state == CHANNEL_CONNECTED && next_byte() % 4 == 0) {
        publish_run(ring_consumer_position(&user.channel.in));
    } else if (user.channel.state == CHANNEL_CONNECTED && next_byte() % 8 == 0) {
        publish_too_large(ring_consumer_position(&user.channel.in));
    } else if (user.channel.state == CHANNEL_CONNECTED) {
        publish(ring_consumer_position(&user.channel.in), sizeof(struct channel_message));
    }
}

void malicious_before_load(const void *word, size_t bytes)
{
    check(++user.loads < LOADS_MAX, "a call ends");
    if ((size_t)((const uint8_t *)word - user.peer) < SECTION_BYTES && next_byte() % 8 == 1) {
        uint64_t value = next_value();

        memcpy(user.peer + ((const uint8_t *)word - user.peer), &value, bytes);
    }
}

/* Checks that a message lies in the ring of a section, and reads or writes all of it. */
static void check_place(const uint8_t *section, const uint8_t *content, uint64_t length)
{
    uint64_t offset = (uint64_t)(content - section);

    check(offset >= CHANNEL_CONTROL_BYTES && offset <= SECTION_BYTES &&
              length <= SECTION_BYTES - offset,
          "a message lies in the ring");
    check(offset % CHANNEL_ALIGNMENT == 0, "a message is aligned");
}

/* The same for a message that was received, which is not larger than the largest one. */
static void check_received(const uint8_t *content, uint64_t length)
{
    check_place(user.peer, content, length);
    check(length <= channel_content_max(RING_BYTES), "no message is larger than the largest");
}

static void receive(void)
{
    uint64_t length = 0;
    uint32_t tag;
    const uint8_t *content = channel_receive_begin(&user.channel, &length, &tag);

    if (content != NULL) {
        check_received(content, length);
        check(user.channel.state == CHANNEL_CONNECTED || user.channel.state == CHANNEL_ENDING,
              "a message is received while there is a connection");
        if (next_byte() % 4 != 0) {
            channel_receive_end(&user.channel);
        }
    }
}

static void receive_batch(void)
{
    struct receive_batch batch = channel_receive_batch_begin(&user.channel);
    uint64_t wanted = next_byte();
    const uint8_t *content;
    uint64_t length = 0;
    uint32_t tag;

    while (batch.count < wanted && (content = receive_batch_next(&batch, &length, &tag)) != NULL) {
        check_received(content, length);
    }
    channel_receive_batch_end(&user.channel, &batch);
}

static void receive_many(void)
{
    struct receive_batch batch = channel_receive_batch_begin(&user.channel);
    uint64_t length = next_byte() % 64;
    uint64_t count;
    uint32_t tag;
    const uint8_t *contents = receive_batch_next_many(&batch, length, next_byte(), &count, &tag);

    for (uint64_t i = 0; i < count; i++) {
        check_received(contents + i * ring_run_step(length), length);
    }
    channel_receive_batch_end(&user.channel, &batch);
}

static void send_run(void)
{
    struct send_run run = channel_send_run_begin(&user.channel, next_byte() * UINT64_C(3), 1);
    uint64_t wanted = next_byte();
    uint8_t *place;

    while (run.count < wanted && (place = send_run_reserve(&run)) != NULL) {
        check_place(user.own, place, run.step);
        memset(place, 0x5a, run.step);
        send_run_commit(&run);
    }
    channel_send_run_end(&user.channel, &run);
}

static void send(void)
{
    uint64_t length = next_byte() * UINT64_C(17);
    uint8_t *place = channel_send_begin(&user.channel, length);

    if (place != NULL) {
        check_place(user.own, place, length);
        check(user.channel.state == CHANNEL_CONNECTED, "a message is sent while connected");
        memset(place, 0x5a, length);
        channel_send_end(&user.channel, length, 1);
    }
}

static void read_value(void)
{
    uint64_t length = 0;
    const uint8_t *content = value_read(&user.reader, &length);

    if (content != NULL) {
        check_place(user.peer, content, length);
    } else if (user.reader.error.kind != CHANNEL_ERROR_NONE) {
        value_reader_begin(&user.reader, user.peer, (void *)user.own, RING_BYTES);
    }
    (void)value_is_new(&user.reader);
}

static void write_value(void)
{
    uint8_t *place = value_write_begin(&user.writer);

    check_place(user.own, place, value_content_max(RING_BYTES));
    memset(place, 0x5a, value_content_max(RING_BYTES));
    (void)value_write_end(&user.writer, value_content_max(RING_BYTES));
}

static void receive_broadcast(void)
{
    uint64_t size = next_byte() * UINT64_C(16);
    uint64_t length = 0;
    uint32_t tag;
    enum broadcast_result result;
    void *buffer;

    /* A buffer of its own, so that AddressSanitizer notices what is written beyond it. */
    buffer = malloc(size == 0 ? 1 : size);
    check(buffer != NULL, "there is memory");
    result = broadcast_receive(&user.receiver, buffer, size, &length, &tag);
    free(buffer);
    check(result != BROADCAST_RECEIVED || length <= size, "a broadcast fits the buffer");
    if (result == BROADCAST_FAILED || next_byte() % 16 == 0) {
        broadcast_receiver_begin(&user.receiver, user.peer, RING_BYTES, next_byte() % 2 == 0);
    }
}

static void open_channel(void)
{
    const struct channel_memory memory = {user.own, user.peer, RING_BYTES, &user.peer_state};

    check(channel_open(&user.channel, &memory, &(struct channel_port){0}), "a channel opens");
}

static void change_life(void)
{
    switch (next_byte() % 8) {
    case 0:
        open_channel();
        break;
    case 1:
        channel_reset(&user.channel);
        break;
    case 2:
        channel_close(&user.channel);
        break;
    default:
        channel_accept(&user.channel);
    }
}

/* The peer acts while the user sleeps. The clock advances by one at each look. */
static void prepare(void *context)
{
    (void)context;
}

static bool has_passed(void *now, uint64_t deadline)
{
    return ++*(uint64_t *)now >= deadline;
}

/* Gives the message at the user's position the tag of the request, so that some are responses. */
static void answer_request(void)
{
    uint64_t position = ring_consumer_position(&user.channel.in) & (RING_BYTES - CHANNEL_ALIGNMENT);

    memcpy(user.peer + CHANNEL_CONTROL_BYTES + position + sizeof(uint32_t), &user.client.tag,
           sizeof(uint32_t));
}

static bool sleep_until(void *now, uint64_t deadline)
{
    uint8_t choice = next_byte() % 4;

    if (choice == 0) {
        write_word();
    } else {
        be_honest();
    }
    if (choice == 1) {
        answer_request();
    }
    return !has_passed(now, deadline);
}

/* Connects with the peer, unless a word that it writes is in the way. */
static void connect(void)
{
    be_honest();
    channel_accept(&user.channel);
    (void)channel_update(&user.channel);
    be_honest();
    (void)channel_update(&user.channel);
    user.loads = 0;
}

static void call(void)
{
    uint64_t now = 0;
    const struct channel_sleeper sleeper = {
        .context = &now, .prepare = prepare, .sleep = sleep_until, .has_passed = has_passed};
    const uint8_t *content = NULL;
    uint64_t length = 0;

    connect();
    if (next_byte() % 4 != 0) {
        (void)call_request(&user.client, &sleeper, CALL_DEADLINE, user.own, next_byte());
    }
    user.loads = 0;
    now = 0;
    switch (call_wait(&user.client, &sleeper, CALL_DEADLINE, &content, &length)) {
    case CALL_ANSWERED:
        check_received(content, length);
        call_end(&user.client);
        break;
    case CALL_TIMED_OUT:
        check(now >= CALL_DEADLINE, "a call lasts until its deadline");
        break;
    case CALL_NOT_CONNECTED:
        check(user.channel.state != CHANNEL_CONNECTED ||
                  user.channel.generation != user.client.generation ||
                  user.channel.peer != user.client.peer,
              "a call ends with its life");
        break;
    }
    check(now <= CALL_DEADLINE + LOOKS_MAX, "a call ends at its deadline");
}

static void answer(void)
{
    uint64_t now = 0;
    const struct channel_sleeper sleeper = {
        .context = &now, .prepare = prepare, .sleep = sleep_until, .has_passed = has_passed};

    (void)call_answer(&user.channel, &sleeper, CALL_DEADLINE, user.own, next_byte() * UINT64_C(8),
                      CALL_TAG);
    check(now <= CALL_DEADLINE + LOOKS_MAX, "an answer ends at its deadline");
}

static void use_messages(void)
{
    const struct channel_control *own = (const void *)user.own;
    uint64_t produced = own->produced;
    uint64_t length;
    uint32_t tag;

    switch (next_byte() % 12) {
    case 0:
        change_life();
        break;
    case 8:
    case 9:
        call();
        break;
    case 10:
        answer();
        break;
    case 1:
        channel_update(&user.channel);
        break;
    case 2:
        send();
        break;
    case 3:
        send_run();
        break;
    case 4:
        receive_batch();
        break;
    case 5:
        receive_many();
        break;
    default:
        receive();
    }
    check(own->produced >= produced, "what was published stays published");
    if (user.channel.state == CHANNEL_FAILED) {
        check(user.channel.error.kind != CHANNEL_ERROR_NONE, "a failure has a reason");
        check(channel_send_begin(&user.channel, 8) == NULL &&
                  channel_receive_begin(&user.channel, &length, &tag) == NULL &&
                  user.channel.state == CHANNEL_FAILED,
              "a failure lasts until a reset");
        channel_reset(&user.channel);
    }
}

static void use_value(void)
{
    if (next_byte() % 2 == 0) {
        read_value();
    } else {
        write_value();
    }
}

static void take_step(void)
{
    user.loads = 0;
    switch (next_byte() % 8) {
    case 0:
        write_word();
        break;
    case 1:
        write_ring();
        break;
    case 2:
    case 3:
        be_honest();
        break;
    case 4:
        user.peer_state = next_byte() % 4;
        break;
    default:
        if (user.kind == KIND_MESSAGES) {
            use_messages();
        } else if (user.kind == KIND_VALUE) {
            use_value();
        } else {
            receive_broadcast();
        }
    }
}

uint64_t malicious_run(const uint8_t *program, size_t bytes)
{
    uint64_t steps = 0;

    user.next = program;
    user.end = program + bytes;
    user.kind = next_byte() % KINDS;
    user.own = aligned_alloc(CHANNEL_CONTROL_BYTES, SECTION_BYTES);
    user.peer = aligned_alloc(CHANNEL_CONTROL_BYTES, SECTION_BYTES);
    check(user.own != NULL && user.peer != NULL, "there is memory");
    memset(user.own, 0, SECTION_BYTES);
    memset(user.peer, 0, SECTION_BYTES);
    user.peer_state = 1;
    user.loads = 0;
    open_channel();
    call_begin(&user.client, &user.channel);
    value_writer_begin(&user.writer, user.own, (const void *)user.peer, RING_BYTES);
    value_reader_begin(&user.reader, user.peer, (void *)user.own, RING_BYTES);
    broadcast_receiver_begin(&user.receiver, user.peer, RING_BYTES, false);
    while (user.next < user.end) {
        take_step();
        steps++;
    }
    free(user.own);
    free(user.peer);
    return steps;
}
