/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests how UDP headers are learnt, written and recognised, with a simple checksum as reference. */
#include "net/datagram_flow.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SOURCE_PORT      0x1234u
#define DESTINATION_PORT 0xfedcu
#define PAYLOAD_MAX      1472u
#define FRAME_MAX        (14u + 40u + 8u + PAYLOAD_MAX)

struct flow {
    bool ipv6;
    size_t headers; /* bytes before the payload */
    size_t address_bytes;
    uint8_t source[16];
    uint8_t destination[16];
};

/* Returns pseudorandom numbers, the same in each run. */
static uint32_t random_number(void)
{
    static uint64_t state = 1;

    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33);
}

static void put16(uint8_t *at, size_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static size_t get16(const uint8_t *at)
{
    return (size_t)at[0] << 8 | at[1];
}

/* Sums one word at a time (RFC 1071, 4.1). */
static uint32_t add_words(uint32_t sum, const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        sum += i % 2 == 0 ? (uint32_t)data[i] << 8 : data[i];
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

static struct flow make_flow(bool ipv6)
{
    struct flow flow = {.ipv6 = ipv6, .headers = ipv6 ? 62 : 42, .address_bytes = ipv6 ? 16 : 4};

    for (size_t i = 0; i < flow.address_bytes; i++) {
        flow.source[i] = (uint8_t)random_number();
        flow.destination[i] = (uint8_t)random_number();
    }
    return flow;
}

static uint32_t pseudo_sum(const struct flow *flow, size_t udp_bytes)
{
    uint32_t sum = add_words(0, flow->source, flow->address_bytes);

    sum = add_words(sum, flow->destination, flow->address_bytes);
    return sum + 17 + (uint32_t)udp_bytes;
}

static uint16_t folded(uint32_t sum)
{
    while (sum > 0xffff) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)sum;
}

/* Builds a datagram as a stack would send it. */
static size_t make_frame(const struct flow *flow, uint8_t *frame, size_t payload_bytes)
{
    uint8_t *ip = frame + 14;
    uint8_t *udp = frame + flow->headers - 8;
    size_t udp_bytes = payload_bytes + 8;
    uint16_t sum;

    memset(frame, 0x02, 14);
    put16(frame + 12, flow->ipv6 ? 0x86dd : 0x0800);
    memset(ip, 0, flow->headers - 22);
    if (flow->ipv6) {
        ip[0] = 0x60;
        put16(ip + 4, udp_bytes);
        ip[6] = 17;
        ip[7] = 64;
        memcpy(ip + 8, flow->source, 16);
        memcpy(ip + 24, flow->destination, 16);
    } else {
        ip[0] = 0x45;
        put16(ip + 2, udp_bytes + 20);
        put16(ip + 4, 7);
        ip[8] = 64;
        ip[9] = 17;
        memcpy(ip + 12, flow->source, 4);
        memcpy(ip + 16, flow->destination, 4);
        put16(ip + 10, 0xffffu - folded(add_words(0, ip, 20)));
    }
    put16(udp, SOURCE_PORT);
    put16(udp + 2, DESTINATION_PORT);
    put16(udp + 4, udp_bytes);
    put16(udp + 6, 0);
    for (size_t i = 0; i < payload_bytes; i++) {
        udp[8 + i] = (uint8_t)random_number();
    }
    sum = (uint16_t)(0xffffu - folded(add_words(pseudo_sum(flow, udp_bytes), udp, udp_bytes)));
    put16(udp + 6, sum == 0 ? 0xffffu : sum);
    return flow->headers + payload_bytes;
}

static struct datagram_key key_of(const struct flow *flow)
{
    struct datagram_key key;

    datagram_key_set(&key, flow->source, flow->destination, flow->address_bytes, SOURCE_PORT,
                     DESTINATION_PORT);
    return key;
}

/* The headers written equal those of the stack, except for the identification. */
static void test_headers_equal_those_of_the_stack(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        struct flow flow = make_flow(round % 2 == 1);
        size_t bytes = round < 100 ? round : random_number() % PAYLOAD_MAX;
        struct datagram_headers headers = {0};
        uint8_t lesson[FRAME_MAX];
        uint8_t expected[FRAME_MAX];
        uint8_t written[FRAME_MAX];
        size_t frame_bytes = make_frame(&flow, lesson, 100);

        assert_true(
            datagram_headers_learn(&headers, lesson, frame_bytes, SOURCE_PORT, DESTINATION_PORT));
        assert_int_equal(headers.bytes, flow.headers);
        frame_bytes = make_frame(&flow, expected, bytes);
        datagram_write(&headers, written + flow.headers, expected + flow.headers, bytes, false);
        if (!flow.ipv6) {
            assert_int_equal(get16(written + 18), 8);
            assert_int_equal(folded(add_words(0, written + 14, 20)), 0xffff);
            memcpy(written + 18, expected + 18, 2);
            memcpy(written + 24, expected + 24, 2);
        }
        assert_memory_equal(written, expected, frame_bytes);
    }
}

/* The device completes the checksum; the partial sum must lead to the right value. */
static void test_partial_checksum(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct flow flow = make_flow(round % 2 == 1);
        struct datagram_headers headers = {0};
        uint8_t frame[FRAME_MAX];
        uint8_t written[FRAME_MAX];
        size_t bytes = random_number() % PAYLOAD_MAX;
        uint8_t *udp = written + flow.headers - 8;

        make_frame(&flow, frame, bytes);
        assert_true(
            datagram_headers_learn(&headers, frame, flow.headers, SOURCE_PORT, DESTINATION_PORT));
        datagram_write(&headers, written + flow.headers, frame + flow.headers, bytes, true);
        assert_int_equal(get16(udp + 6), folded(pseudo_sum(&flow, bytes + 8)));
        assert_memory_equal(udp + 8, frame + flow.headers, bytes);
    }
}

static void test_headers_of_others_are_not_learnt(void **state)
{
    struct flow flow = make_flow(false);
    struct datagram_headers headers = {0};
    uint8_t frame[FRAME_MAX];

    (void)state;
    make_frame(&flow, frame, 10);
    assert_false(
        datagram_headers_learn(&headers, frame, flow.headers - 1, SOURCE_PORT, DESTINATION_PORT));
    assert_false(datagram_headers_learn(&headers, frame, 52, SOURCE_PORT, SOURCE_PORT));
    assert_false(datagram_headers_learn(&headers, frame, 52, DESTINATION_PORT, DESTINATION_PORT));
    frame[20] = 0x20; /* more fragments follow */
    assert_false(datagram_headers_learn(&headers, frame, 52, SOURCE_PORT, DESTINATION_PORT));
    assert_int_equal(headers.bytes, 0);
}

static void test_received(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        struct flow flow = make_flow(round % 2 == 1);
        struct datagram_key key = key_of(&flow);
        size_t bytes = round < 100 ? round : random_number() % PAYLOAD_MAX;
        uint8_t frame[FRAME_MAX + 20];
        uint8_t data[PAYLOAD_MAX] = {0};
        size_t frame_bytes = make_frame(&flow, frame, bytes);
        size_t payload_bytes = 0;
        /* Short frames are padded. */
        const uint8_t *payload =
            datagram_key_match(&key, frame, frame_bytes + round % 20, &payload_bytes);

        assert_ptr_equal(payload, frame + flow.headers);
        assert_int_equal(payload_bytes, bytes);
        assert_true(datagram_read(payload, bytes, flow.ipv6, data, sizeof(data)));
        assert_memory_equal(data, payload, bytes);
        data[bytes / 2] = 0xa5;
        assert_true(datagram_read(payload, bytes, flow.ipv6, data, bytes / 2));
        assert_int_equal(data[bytes / 2], 0xa5);
    }
}

/* No frame with one inverted bit and no shortened frame is accepted. The test skips the Ethernet
 * addresses and the bytes that no checksum covers. */
static void test_damage_is_detected(void **state)
{
    (void)state;
    for (unsigned version = 0; version < 2; version++) {
        struct flow flow = make_flow(version == 1);
        struct datagram_key key = key_of(&flow);
        uint8_t frame[FRAME_MAX];
        uint8_t data[PAYLOAD_MAX];
        size_t frame_bytes = make_frame(&flow, frame, 33);
        size_t payload_bytes;

        for (size_t bit = (size_t)12 * 8; bit < frame_bytes * 8; bit++) {
            bool unprotected = flow.ipv6 && (bit / 8 == 21 || (bit / 8 >= 14 && bit / 8 < 18));
            const uint8_t *payload;

            frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
            payload = datagram_key_match(&key, frame, frame_bytes, &payload_bytes);
            if (payload != NULL && !unprotected) {
                assert_false(datagram_read(payload, payload_bytes, flow.ipv6, data, sizeof(data)));
            }
            frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        for (size_t bytes = 0; bytes < frame_bytes; bytes++) {
            assert_null(datagram_key_match(&key, frame, bytes, &payload_bytes));
        }
        assert_non_null(datagram_key_match(&key, frame, frame_bytes, &payload_bytes));
    }
}

/* RFC 768 allows datagrams without a checksum, RFC 8200 does not. */
static void test_no_checksum(void **state)
{
    (void)state;
    for (unsigned version = 0; version < 2; version++) {
        struct flow flow = make_flow(version == 1);
        struct datagram_key key = key_of(&flow);
        uint8_t frame[FRAME_MAX];
        uint8_t data[PAYLOAD_MAX];
        size_t frame_bytes = make_frame(&flow, frame, 5);
        size_t payload_bytes;
        const uint8_t *payload;

        put16(frame + flow.headers - 2, 0);
        payload = datagram_key_match(&key, frame, frame_bytes, &payload_bytes);
        if (flow.ipv6) {
            assert_null(payload);
        } else {
            assert_true(datagram_read(payload, payload_bytes, false, data, sizeof(data)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers_equal_those_of_the_stack),
        cmocka_unit_test(test_partial_checksum),
        cmocka_unit_test(test_headers_of_others_are_not_learnt),
        cmocka_unit_test(test_received),
        cmocka_unit_test(test_damage_is_detected),
        cmocka_unit_test(test_no_checksum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
