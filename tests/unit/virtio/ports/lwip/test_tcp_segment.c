/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which TCP segments may be joined, and the headers of the joined segment. */
#include "network_order.h"
#include "tcp_segment.h"
#include <libc/internet_checksum.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DATA_MAX 1500u

struct frame {
    uint8_t bytes[14 + 60 + DATA_MAX];
    uint32_t length;
    bool version_6;
};

static uint8_t *ip_of(struct frame *frame)
{
    return frame->bytes + 14;
}

static uint8_t *tcp_of(struct frame *frame)
{
    return ip_of(frame) + (frame->version_6 ? 40 : 20);
}

static uint16_t sum_bytewise(const uint8_t *bytes, size_t count, uint32_t sum)
{
    for (size_t i = 0; i < count; i++) {
        sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
    }
    while (sum >> 16 != 0) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)sum;
}

static void seal(struct frame *frame, uint32_t data)
{
    uint8_t *ip = ip_of(frame);
    uint8_t *tcp = tcp_of(frame);
    size_t addresses = frame->version_6 ? 32 : 8;

    if (!frame->version_6) {
        put16(ip + 10, 0);
        put16(ip + 10, (uint16_t)~sum_bytewise(ip, 20, 0));
    }
    put16(tcp + 16, 0);
    put16(tcp + 16, (uint16_t)~sum_bytewise(tcp - addresses, addresses + 20 + data, 6 + 20 + data));
}

static struct frame make(bool version_6, uint32_t sequence, uint32_t data)
{
    struct frame frame = {.version_6 = version_6};
    uint8_t *ip = ip_of(&frame);
    uint8_t *tcp = tcp_of(&frame);

    memset(frame.bytes, 0x52, 12);
    put16(frame.bytes + 12, version_6 ? 0x86dd : 0x0800);
    if (version_6) {
        ip[0] = 0x60;
        put16(ip + 4, 20 + data);
        ip[6] = 6;
        ip[7] = 64;
        memset(ip + 8, 0x11, 32);
    } else {
        ip[0] = 0x45;
        put16(ip + 2, 40 + data);
        put16(ip + 4, sequence); /* differs in each packet */
        ip[6] = 0x40;
        ip[8] = 64;
        ip[9] = 6;
        memset(ip + 12, 0x11, 8);
    }
    put16(tcp, 40000);
    put16(tcp + 2, 5001);
    put32(tcp + 4, sequence);
    put32(tcp + 8, 77);
    tcp[12] = 5 << 4;
    tcp[13] = 0x10;
    put16(tcp + 14, 1000);
    for (uint32_t i = 0; i < data; i++) {
        tcp[20 + i] = (uint8_t)(sequence + i);
    }
    frame.length = (uint32_t)(tcp - frame.bytes) + 20 + data;
    seal(&frame, data);
    return frame;
}

static void test_parses_plain_segments(void **state)
{
    (void)state;
    for (int version_6 = 0; version_6 < 2; version_6++) {
        struct frame frame = make(version_6 != 0, 0xfffffff0, 1000);
        struct tcp_segment segment;

        assert_true(tcp_segment_parse(frame.bytes, frame.length, frame.length, &segment));
        assert_int_equal(segment.data_bytes, 1000);
        assert_int_equal(segment.sequence, 0xfffffff0);
        assert_int_equal(segment.header_bytes, version_6 ? 74 : 54);
        assert_true(tcp_segment_checksum_valid(frame.bytes, &segment));
        tcp_of(&frame)[100] ^= 1;
        assert_false(tcp_segment_checksum_valid(frame.bytes, &segment));
    }
}

static void test_padding_is_not_data(void **state)
{
    struct frame frame = make(false, 5, 3);
    struct tcp_segment segment;

    (void)state;
    assert_true(tcp_segment_parse(frame.bytes, 60, 60, &segment));
    assert_int_equal(segment.data_bytes, 3);
    assert_true(tcp_segment_checksum_valid(frame.bytes, &segment));
}

struct change {
    const char *what;
    int from_tcp; /* offset counts from the TCP header, else from the IP header */
    unsigned offset;
    uint8_t value;
};

static const struct change no_candidates[] = {
    {"version", 0, 0, 0x55},
    {"IP options", 0, 0, 0x46},
    {"fragment offset", 0, 7, 1},
    {"more fragments", 0, 6, 0x20},
    {"UDP", 0, 9, 17},
    {"longer than the frame", 0, 2, 0x7f},
    {"TCP options", 1, 12, 6 << 4},
    {"SYN", 1, 13, 0x12},
    {"FIN", 1, 13, 0x11},
    {"RST", 1, 13, 0x14},
    {"URG", 1, 13, 0x30},
    {"no ACK", 1, 13, 0x08},
    {"CWR", 1, 13, 0x90},
    {"short TCP header", 1, 12, 4 << 4},
};

static void test_refuses_special_segments(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(no_candidates) / sizeof(no_candidates[0]); i++) {
        const struct change *change = &no_candidates[i];
        struct frame frame = make(false, 1, 100);
        struct tcp_segment segment;

        (change->from_tcp ? tcp_of(&frame) : ip_of(&frame))[change->offset] = change->value;
        seal(&frame, 100);
        if (tcp_segment_parse(frame.bytes, frame.length, frame.length, &segment)) {
            fail_msg("%s was taken", change->what);
        }
    }
}

static void test_refuses_bad_header_checksum_and_no_data(void **state)
{
    struct frame frame = make(false, 1, 100);
    struct tcp_segment segment;

    (void)state;
    ip_of(&frame)[10] ^= 1;
    assert_false(tcp_segment_parse(frame.bytes, frame.length, frame.length, &segment));
    frame = make(false, 1, 0);
    assert_false(tcp_segment_parse(frame.bytes, 60, 60, &segment));
    frame = make(true, 1, 0);
    assert_false(tcp_segment_parse(frame.bytes, frame.length, frame.length, &segment));
}

/* Parses every truncation of a frame in memory of exactly that size, so that the sanitizer reports
 * each byte read too far. */
static void test_never_reads_beyond_the_frame(void **state)
{
    (void)state;
    for (int version_6 = 0; version_6 < 2; version_6++) {
        struct frame frame = make(version_6 != 0, 1, 20);

        for (uint32_t length = 1; length <= frame.length; length++) {
            uint8_t *cut = malloc(length);
            struct tcp_segment segment;

            assert_non_null(cut);
            memcpy(cut, frame.bytes, length);
            assert_int_equal(tcp_segment_parse(cut, length, length, &segment),
                             length == frame.length);
            free(cut);
        }
    }
}

static bool follows(struct frame *first, struct frame *second)
{
    struct tcp_segment held;
    struct tcp_segment next;

    assert_true(tcp_segment_parse(first->bytes, first->length, first->length, &held));
    assert_true(tcp_segment_parse(second->bytes, second->length, second->length, &next));
    return tcp_segment_follows(first->bytes, &held, held.data_bytes, second->bytes, &next);
}

static const struct change differences[] = {
    {"traffic class", 0, 1, 0x03},
    {"don't fragment", 0, 6, 0},
    {"time to live", 0, 8, 63},
    {"source", 0, 12, 9},
    {"destination", 0, 19, 9},
    {"source port", 1, 0, 9},
    {"port", 1, 3, 9},
    {"acknowledgement", 1, 11, 9},
    {"window", 1, 15, 9},
    {"gap", 1, 7, 9},
};

static void test_joins_only_consecutive_segments(void **state)
{
    (void)state;
    for (int version_6 = 0; version_6 < 2; version_6++) {
        struct frame first = make(version_6 != 0, 0xffffff00, 1000);
        struct frame second = make(version_6 != 0, 0xffffff00 + 1000, 500);
        struct frame other = make(version_6 == 0, 0xffffff00 + 1000, 500);
        struct frame again = first;

        assert_true(follows(&first, &second));
        assert_false(follows(&first, &other));
        assert_false(follows(&first, &again));
        second.bytes[6] ^= 1; /* another station */
        assert_false(follows(&first, &second));
    }
    for (size_t i = 0; i < sizeof(differences) / sizeof(differences[0]); i++) {
        const struct change *change = &differences[i];
        struct frame first = make(false, 1, 1000);
        struct frame second = make(false, 1001, 500);

        (change->from_tcp ? tcp_of(&second) : ip_of(&second))[change->offset] = change->value;
        seal(&second, 500);
        if (follows(&first, &second)) {
            fail_msg("a different %s was joined", change->what);
        }
    }
}

static void test_difference_in_version_6(void **state)
{
    static const unsigned offsets[] = {1, 3, 7, 8, 39};

    (void)state;
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        struct frame first = make(true, 1, 1000);
        struct frame second = make(true, 1001, 500);

        ip_of(&second)[offsets[i]] ^= 0x01;
        assert_false(follows(&first, &second));
    }
}

static void test_headers_of_joined_segments(void **state)
{
    (void)state;
    for (int version_6 = 0; version_6 < 2; version_6++) {
        struct frame frame = make(version_6 != 0, 1, 1000);
        uint8_t *ip = ip_of(&frame);
        struct tcp_segment segment;
        uint32_t data;

        assert_true(tcp_segment_parse(frame.bytes, frame.length, frame.length, &segment));
        assert_false(tcp_segment_pushed(frame.bytes, &segment));
        data = tcp_segment_data_max(&segment);
        assert_int_equal(segment.header_bytes + data, 65535);
        tcp_segment_extend(frame.bytes, &segment, data, true);
        assert_true(tcp_segment_pushed(frame.bytes, &segment));
        if (version_6) {
            assert_int_equal((ip[4] << 8) | ip[5], 20 + data);
        } else {
            assert_int_equal((ip[2] << 8) | ip[3], 40 + data);
            assert_int_equal(sum_bytewise(ip, 20, 0), 0xffff);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parses_plain_segments),
        cmocka_unit_test(test_padding_is_not_data),
        cmocka_unit_test(test_refuses_special_segments),
        cmocka_unit_test(test_refuses_bad_header_checksum_and_no_data),
        cmocka_unit_test(test_never_reads_beyond_the_frame),
        cmocka_unit_test(test_joins_only_consecutive_segments),
        cmocka_unit_test(test_difference_in_version_6),
        cmocka_unit_test(test_headers_of_joined_segments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
