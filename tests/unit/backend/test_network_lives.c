/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lives of the back-end of network devices that end in any of its callbacks. The next life
 * continues with the same drivers. Each frame that a driver was told to be sent has arrived; frames
 * are never reordered; those that a life sent and did not report are sent again by the next one.
 */
#include "network_fixture.h"

#include <setjmp.h>
#include <string.h>

#define FRAMES       1500u
#define FRAME_BYTES  64u
#define CARD_STATION 0x81u

static const uint8_t plain_header[HEADER];
static uint8_t frame[FRAME_ROOM], received[FRAME_ROOM];
static uint64_t seed;

/* The life ends in one of the next callbacks. */
static jmp_buf end_of_life;
static unsigned callbacks_left;

static void count_down(void)
{
    if (--callbacks_left == 0) {
        longjmp(end_of_life, 1);
    }
}

/* Frames of station 0 to one receiver. */
struct stream {
    uint32_t sent;     /* number of the next one */
    uint32_t finished; /* told to the driver */
    uint32_t seen;     /* by the receiver: the next one that it has not seen */
    uint32_t expected; /* the next one of this life */
    bool is_new;       /* no frame of this life was seen */
};

static struct stream to_card, to_client;
static bool kinds[2 * FRAMES + 1000]; /* of the frames of station 0, in order: is it for the card */
static unsigned kinds_sent, kinds_finished;
static uint32_t from_card, from_card_seen;
static unsigned card_seen; /* of fixture.card */
static unsigned repeated;

/* The first frame of a life may be any one that the driver was not told to be finished. */
static void check_order(struct stream *stream, uint32_t number)
{
    if (stream->is_new) {
        assert_in_range(number, stream->finished, stream->seen);
        stream->expected = number;
        stream->is_new = false;
    }
    assert_int_equal(number, stream->expected);
    stream->expected++;
    if (number < stream->seen) {
        repeated++;
    } else {
        stream->seen++;
    }
}

/* Takes the frames that have left from the card. */
static void check_card(void)
{
    for (; card_seen < fixture.card_count; card_seen++) {
        const struct card_frame *seen = &fixture.card[card_seen];

        assert_int_equal(seen->count, FRAME_BYTES);
        check_order(&to_card, check_frame(seen->bytes, seen->count));
    }
}

/* Takes what station 1 has received, from station 0 and from the card. */
static void check_station(void)
{
    while (station_receive(1, received) != 0) {
        uint32_t number = check_frame(received + HEADER, FRAME_BYTES);

        if (received[HEADER + 11] == CARD_STATION) {
            assert_int_equal(number, from_card_seen);
            from_card_seen++;
        } else {
            check_order(&to_client, number);
        }
        station_expose(1, 1, 2048);
    }
}

/* Each frame that the driver was told to be finished has arrived. */
static void check_finished(void)
{
    for (unsigned count = station_sent(0); count != 0; count--) {
        struct stream *stream = kinds[kinds_finished++] ? &to_card : &to_client;

        stream->finished++;
        assert_true(stream->finished <= stream->seen);
    }
}

static void send_some(void)
{
    for (uint64_t burst = random_below(&seed, 5); burst != 0; burst--) {
        bool is_for_card = random_below(&seed, 2) == 0;
        struct stream *stream = is_for_card ? &to_card : &to_client;

        make_frame(frame, FRAME_BYTES, is_for_card ? CARD_STATION : 2, 1, stream->sent);
        if (stream->sent == FRAMES ||
            station_send(0, plain_header, frame, FRAME_BYTES, stream->sent % 2 == 0) == NULL) {
            break;
        }
        kinds[kinds_sent++] = is_for_card;
        stream->sent++;
    }
}

static void check_all(void)
{
    check_card();
    check_station();
    check_finished();
}

/* A round, which may not end. A frame from the card is lost if the round ended before it was
 * published. */
static void live(void)
{
    static struct device_net_frame from;
    static struct device_segment whole;
    volatile bool has_frame = random_below(&seed, 2) == 0;
    uint64_t time;

    fixture.card_room = (unsigned)random_below(&seed, 6);
    if (setjmp(end_of_life) != 0) {
        fixture.on_callback = NULL;
        check_all();
        from_card = from_card_seen;
        to_card.is_new = true;
        to_client.is_new = true;
        fixture_begin();
        return;
    }
    fixture.on_callback = count_down;
    network_begin(&fixture.network, fixture.now);
    if (has_frame) {
        make_frame(frame, FRAME_BYTES, 2, CARD_STATION, from_card);
        whole = (struct device_segment){frame, FRAME_BYTES};
        from = (struct device_net_frame){.segments = &whole, .count = 1, .bytes = FRAME_BYTES};
        assert_int_equal(network_receive(&fixture.network, &from, NULL, 0), NETWORK_RECEIVED);
    }
    (void)network_service(&fixture.network, 1 + (unsigned)random_below(&seed, 8), &time);
    network_end(&fixture.network);
    fixture.on_callback = NULL;
    from_card += has_frame;
    check_all();
    assert_int_equal(from_card_seen, from_card);
}

static void exchange(uint64_t features)
{
    unsigned lives = 0;

    fixture_prepare();
    fixture_begin();
    memset(&to_card, 0, sizeof(to_card));
    memset(&to_client, 0, sizeof(to_client));
    kinds_sent = kinds_finished = card_seen = repeated = 0;
    from_card = from_card_seen = 0;
    station_start(0, features);
    station_start(1, features);
    station_expose(1, RING, 2048);
    callbacks_left = 10;
    while (to_card.finished < FRAMES || to_client.finished < FRAMES) {
        send_some();
        live();
        if (callbacks_left == 0) {
            callbacks_left = 1 + (unsigned)random_below(&seed, 60);
            lives++;
        }
    }
    assert_int_equal(to_card.seen, FRAMES);
    assert_int_equal(to_client.seen, FRAMES);
    assert_true(lives > 50);
    assert_true(repeated > 20);
    assert_int_equal(fixture.stations[0].failures + fixture.stations[1].failures, 0);
    fixture_end();
}

static void test_lives(void **state)
{
    (void)state;
    seed = 1;
    exchange(DEVICE_NET_FEATURES);
    exchange(VIRTIO_F_VERSION_1);
    exchange(DEVICE_NET_FEATURES & ~VIRTIO_F_EVENT_IDX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
