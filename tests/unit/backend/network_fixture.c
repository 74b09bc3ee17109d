/* SPDX-License-Identifier: BSD-2-Clause */
#include "network_fixture.h"

#include "backend/frame_copy.h"
#include <stdlib.h>
#include <string.h>

struct fixture fixture;

/* A buffer of a ring. */
struct buffer {
    uint32_t bytes;
    uint8_t header[HEADER];
    uint8_t memory[];
};

static void called(void)
{
    if (fixture.on_callback != NULL) {
        fixture.on_callback();
    }
}

static void acknowledge(void *context, unsigned client, uint32_t generation)
{
    assert_ptr_equal(context, &fixture);
    called();
    fixture.stations[client].acknowledged = generation;
    fixture.stations[client].acknowledgements++;
}

static void interrupt(void *context, unsigned client)
{
    assert_ptr_equal(context, &fixture);
    called();
    fixture.stations[client].interrupts++;
}

static void configure(void *context, unsigned client, uint16_t status)
{
    assert_ptr_equal(context, &fixture);
    called();
    fixture.stations[client].status = status;
}

static void fail_client(void *context, unsigned client, const char *reason)
{
    assert_ptr_equal(context, &fixture);
    assert_non_null(reason);
    called();
    fixture.stations[client].failures++;
    driver_set_failed(&fixture.stations[client].page);
}

static bool has_room(void *context)
{
    assert_ptr_equal(context, &fixture);
    called();
    return fixture.card_room != 0;
}

static bool send_frame(void *context, const struct device_net_frame *frame)
{
    struct card_frame *sent = &fixture.card[fixture.card_count];
    struct device_segment piece;

    assert_ptr_equal(context, &fixture);
    called();
    assert_true(fixture.card_count < CARD_FRAMES && fixture.card_room != 0);
    if (frame->bytes > fixture.card_limit) {
        return false;
    }
    fixture.card_room--;
    fixture.card_count++;
    sent->bytes = malloc(frame->bytes);
    sent->count = frame->bytes;
    sent->is_partial = frame->checksum_partial && !fixture.card_completes;
    sent->checksum_start = frame->checksum_start;
    sent->gso = frame->gso;
    piece = (struct device_segment){sent->bytes, frame->bytes};
    assert_int_equal(frame_copy(frame, &piece, fixture.card_completes), 1);
    assert_int_equal(piece.bytes, frame->bytes);
    called();
    return true;
}

static void describe_frame(void *context, void *token, struct device_net_frame *frame)
{
    static struct device_segment segments[2];
    struct waiting_frame *waiting = token;
    uint32_t half = waiting->frame.bytes / 2;

    assert_ptr_equal(context, &fixture);
    segments[0] = (struct device_segment){waiting->bytes, half};
    segments[1] = (struct device_segment){waiting->bytes + half, waiting->frame.bytes - half};
    *frame = waiting->frame;
    frame->segments = segments;
    frame->count = 2;
}

static void release_frame(void *context, void *token)
{
    struct waiting_frame **link = &fixture.waiting_first;

    assert_ptr_equal(context, &fixture);
    while (*link != token) {
        assert_non_null(*link);
        link = &(*link)->next;
    }
    *link = (*link)->next;
    fixture.waiting--;
    free(token);
}

/* A life of the back-end ends, and with it the frames that it keeps. */
static void forget_waiting(void)
{
    while (fixture.waiting_first != NULL) {
        release_frame(&fixture, fixture.waiting_first);
    }
}

static const struct network_operations operations = {
    .acknowledge = acknowledge,
    .interrupt = interrupt,
    .configure = configure,
    .fail = fail_client,
    .has_room = has_room,
    .send = send_frame,
    .describe = describe_frame,
    .release = release_frame,
};

void fixture_prepare(void)
{
    memset(&fixture, 0, sizeof(fixture));
    driver_fixture_begin();
    fixture.card_room = CARD_FRAMES;
    fixture.card_limit = UINT32_MAX;
    for (unsigned i = 0; i < STATIONS; i++) {
        fixture.setups[i] = (struct network_client_setup){
            .page = &fixture.stations[i].page,
            .memory = driver_fixture_memory(),
            .features = DEVICE_NET_FEATURES,
            .rules = {.address = 0x020000000001u + i},
            .share = {.weight = 1},
            .mtu = 1500,
            .mac = {2, 0, 0, 0, 0, (uint8_t)(i + 1)},
        };
    }
}

void fixture_begin(void)
{
    const struct network_card card = {.is_open = true, .completes_checksums = true};

    forget_waiting();
    assert_null(network_init(&fixture.network, fixture.clients, fixture.setups, STATIONS,
                             &operations, &fixture, 1, fixture.now));
    network_set_card(&fixture.network, &card);
    network_set_link(&fixture.network, true);
}

void fixture_end(void)
{
    forget_waiting();
    for (unsigned i = 0; i < STATIONS; i++) {
        if (fixture.stations[i].has_queues) {
            station_free(i);
        }
    }
    for (unsigned i = 0; i < fixture.card_count; i++) {
        free(fixture.card[i].bytes);
    }
    driver_fixture_end();
}

void station_start(unsigned index, uint64_t features)
{
    struct station *station = &fixture.stations[index];
    uint16_t tables = (features & VIRTIO_F_INDIRECT_DESC) != 0 ? RING : 0;

    for (unsigned i = 0; i < DEVICE_NET_QUEUES; i++) {
        driver_create_queue(&station->page, i, &station->queues[i], features, tables);
    }
    station->has_queues = true;
    driver_set_started(&station->page, features);
}

void station_reset(unsigned index)
{
    driver_set_reset(&fixture.stations[index].page, DEVICE_NET_QUEUES);
}

void station_free(unsigned index)
{
    struct station *station = &fixture.stations[index];

    for (unsigned i = 0; i < DEVICE_NET_QUEUES; i++) {
        driver_free_queue(&station->queues[i], free);
    }
    station->has_queues = false;
}

static struct virtqueue_segment segment(const uint8_t *at, uint32_t bytes)
{
    return (struct virtqueue_segment){virtio_platform_dma_address(at), bytes};
}

void station_expose(unsigned index, unsigned count, uint32_t bytes)
{
    struct virtqueue *queue = &fixture.stations[index].queues[DEVICE_NET_RECEIVE];

    for (; count != 0; count--) {
        struct buffer *buffer = malloc(sizeof(*buffer) + bytes);
        struct virtqueue_segment whole = segment(buffer->memory, bytes);

        buffer->bytes = bytes;
        assert_true(virtqueue_add(queue, &whole, 0, 1, buffer));
    }
    (void)virtqueue_publish(queue);
    (void)virtqueue_enable(queue, 0);
}

uint8_t *station_send(unsigned index, const uint8_t header[HEADER], const uint8_t *frame,
                      uint32_t bytes, bool is_apart)
{
    struct virtqueue *queue = &fixture.stations[index].queues[DEVICE_NET_TRANSMIT];
    struct buffer *buffer = malloc(sizeof(*buffer) + HEADER + bytes);
    uint8_t *memory = buffer->memory + (is_apart ? 0 : HEADER);
    struct virtqueue_segment segments[2];

    memcpy(is_apart ? buffer->header : buffer->memory, header, HEADER);
    memcpy(memory, frame, bytes);
    segments[0] =
        is_apart ? segment(buffer->header, HEADER) : segment(buffer->memory, HEADER + bytes);
    segments[1] = segment(memory, bytes);
    if (!virtqueue_add(queue, segments, is_apart ? 2 : 1, 0, buffer)) {
        free(buffer);
        return NULL;
    }
    (void)virtqueue_publish(queue);
    return memory;
}

bool station_send_parts(unsigned index, const uint8_t *frame, uint32_t bytes)
{
    struct virtqueue *queue = &fixture.stations[index].queues[DEVICE_NET_TRANSMIT];
    struct buffer *buffer = calloc(1, sizeof(*buffer) + HEADER + bytes);
    struct virtqueue_segment segments[PARTS];

    memcpy(buffer->memory + HEADER, frame, bytes);
    for (unsigned i = 0; i + 1 < PARTS; i++) {
        segments[i] = segment(&buffer->memory[i], 1);
    }
    segments[PARTS - 1] = segment(&buffer->memory[PARTS - 1], HEADER + bytes - (PARTS - 1));
    if (!virtqueue_add(queue, segments, PARTS, 0, buffer)) {
        free(buffer);
        return false;
    }
    (void)virtqueue_publish(queue);
    return true;
}

unsigned station_sent(unsigned index)
{
    unsigned count = 0;
    uint32_t bytes;
    void *token;

    while ((token = virtqueue_take(&fixture.stations[index].queues[DEVICE_NET_TRANSMIT], &bytes)) !=
           NULL) {
        free(token);
        count++;
    }
    assert_null(fixture.stations[index].queues[DEVICE_NET_TRANSMIT].broken);
    return count;
}

uint32_t station_receive(unsigned index, uint8_t *frame)
{
    uint32_t bytes;
    struct buffer *buffer =
        virtqueue_take(&fixture.stations[index].queues[DEVICE_NET_RECEIVE], &bytes);

    assert_null(fixture.stations[index].queues[DEVICE_NET_RECEIVE].broken);
    if (buffer == NULL) {
        return 0;
    }
    assert_true(bytes <= buffer->bytes);
    memcpy(frame, buffer->memory, bytes);
    free(buffer);
    return bytes;
}

enum network_answer turn_round(unsigned budget)
{
    enum network_answer answer;
    uint64_t time;

    network_begin(&fixture.network, fixture.now);
    network_deliver(&fixture.network, budget);
    answer = network_service(&fixture.network, budget, &time);
    network_end(&fixture.network);
    return answer;
}

void settle(void)
{
    for (unsigned rounds = 0; turn_round(64) == NETWORK_MORE; rounds++) {
        assert_true(rounds < 100000);
    }
}

void card_receive(const uint8_t *frame, uint32_t bytes)
{
    uint8_t *copy = malloc(bytes);
    const struct device_segment whole = {copy, bytes};
    const struct device_net_frame received = {.segments = &whole, .count = 1, .bytes = bytes};

    memcpy(copy, frame, bytes);
    (void)card_receive_frame(&received);
    free(copy);
}

unsigned card_receive_frame(const struct device_net_frame *frame)
{
    enum network_reception reception;
    unsigned steps = 1;

    network_begin(&fixture.network, fixture.now);
    reception = network_receive(&fixture.network, frame, NULL, 0);
    for (; reception == NETWORK_PARTLY; steps++) {
        network_end(&fixture.network); /* each step may be in a round of its own */
        network_begin(&fixture.network, fixture.now);
        reception = network_receive_more(&fixture.network);
    }
    assert_int_equal(reception, NETWORK_RECEIVED);
    network_end(&fixture.network);
    return steps;
}

static uint8_t pattern(uint32_t number, uint32_t place)
{
    return (uint8_t)(number * 37u + place * 11u + 1u);
}

static void put_address(uint8_t *to, uint8_t last)
{
    memset(to, last == 0xff ? 0xff : 0, 6);
    to[0] = last == 0xff ? 0xff : 2;
    to[5] = last;
}

void make_frame(uint8_t *frame, uint32_t bytes, uint8_t to, uint8_t from, uint32_t number)
{
    assert_true(bytes >= 18);
    put_address(frame, to);
    put_address(frame + 6, from);
    frame[12] = 0x88; /* a local experimental type (IEEE 802, 9.2.3) */
    frame[13] = 0xb5;
    memcpy(frame + 14, &number, sizeof(number));
    for (uint32_t i = 18; i < bytes; i++) {
        frame[i] = pattern(number, i);
    }
}

uint32_t check_frame(const uint8_t *frame, uint32_t bytes)
{
    uint32_t number;

    assert_true(bytes >= 18 && frame[12] == 0x88 && frame[13] == 0xb5);
    memcpy(&number, frame + 14, sizeof(number));
    for (uint32_t i = 18; i < bytes; i++) {
        if (frame[i] != pattern(number, i)) {
            fail_msg("frame %u differs at byte %u", number, i);
        }
    }
    return number;
}

enum network_reception card_receive_waiting(const struct device_net_frame *frame,
                                            const uint8_t *bytes)
{
    struct waiting_frame *waiting = malloc(sizeof(*waiting) + frame->bytes);
    enum network_reception reception;
    struct device_net_frame described;

    waiting->frame = *frame;
    memcpy(waiting->bytes, bytes, frame->bytes);
    describe_frame(&fixture, waiting, &described);
    network_begin(&fixture.network, fixture.now);
    reception = network_receive(&fixture.network, &described, waiting, frame->bytes);
    while (reception == NETWORK_PARTLY) {
        reception = network_receive_more(&fixture.network);
    }
    if (reception == NETWORK_WAITS) {
        waiting->next = fixture.waiting_first;
        fixture.waiting_first = waiting;
        fixture.waiting++;
    } else {
        free(waiting);
    }
    network_end(&fixture.network); /* a client may fail, and its frames are released */
    return reception;
}
