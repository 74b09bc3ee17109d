/* SPDX-License-Identifier: BSD-2-Clause */
/* See peer.h. Field offsets: RFC 826, 4861, 791, 8200, 9293. */
#include "peer.h"
#include "life.h"
#include "network_order.h"
#include "packets.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SYN_SEQUENCE    1000u
#define SEGMENT_BYTES   536u
#define IN_FLIGHT_MAX   4288u
#define DUPLICATES_MAX  3u /* RFC 5681, 3.2 */
#define REST_BYTES      100u
#define ETHERNET_BYTES  14u
#define ADDRESS_REQUEST 1u
#define IPV4            0x0800u
#define ARP             0x0806u
#define IPV6            0x86ddu
#define TCP             6u
#define ICMPV6          58u
#define SOLICITATION    135u

static uint32_t get16(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

static uint32_t get32(const uint8_t *bytes)
{
    return get16(bytes) << 16 | get16(bytes + 2);
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* ---- The requests ---- */

static uint32_t body_bytes(uint32_t number)
{
    return number % 5 == 2 ? 20000 : number % 3 == 0 ? 700 : 0;
}

void peer_begin(struct peer *peer)
{
    uint32_t at = 0;

    for (uint32_t number = 1; number <= peer->requests; number++) {
        uint32_t bytes = body_bytes(number);
        bool closes = peer->server_closes && number == peer->requests;
        uint32_t flag = peer->fins_cross ? LIFE_CLOSE_LATER : LIFE_CLOSE;
        struct life_request request = {number, bytes | (closes ? flag : 0)};

        assert_true(at + sizeof(request) + bytes <= PEER_STREAM_MAX);
        memcpy(peer->out + at, &request, sizeof(request));
        at += (uint32_t)sizeof(request);
        for (uint32_t i = 0; i < bytes; i++) {
            peer->out[at++] = (uint8_t)(number * 13 + i * 3 + (i >> 7));
        }
    }
    if (peer->sends_rest) {
        at += REST_BYTES;
    }
    peer->out_bytes = at;
}

/* Returns the offset up to which the peer may send, of which the last one is its FIN. */
static uint32_t allowed(const struct peer *peer)
{
    uint32_t at = 0;

    if (peer->most != 0) {
        return peer->most;
    }
    if (peer->answered == peer->requests) {
        return peer->out_bytes + (peer->server_closes && !peer->has_ended ? 0 : 1);
    }
    for (uint32_t number = 1; number <= least(peer->requests, peer->answered + 1 + peer->ahead);
         number++) {
        at += (uint32_t)sizeof(struct life_request) + body_bytes(number);
    }
    return at;
}

static uint32_t sum_of_request(uint32_t number)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < body_bytes(number); i++) {
        sum = sum * 33 + (uint8_t)(number * 13 + i * 3 + (i >> 7));
    }
    return sum;
}

/* Checks the answers that are complete. */
static void check_answers(struct peer *peer)
{
    struct life_answer answer;

    while (peer->in_bytes - peer->checked >= sizeof(answer)) {
        memcpy(&answer, peer->in + peer->checked, sizeof(answer));
        assert_int_equal(answer.number, peer->answered + 1);
        assert_int_equal(answer.sum, sum_of_request(answer.number));
        if (peer->in_bytes - peer->checked < sizeof(answer) + answer.bytes) {
            return;
        }
        for (uint32_t i = 0; i < answer.bytes; i++) {
            assert_int_equal(peer->in[peer->checked + sizeof(answer) + i], life_byte(&answer, i));
        }
        peer->checked += (uint32_t)sizeof(answer) + answer.bytes;
        peer->answered++;
    }
}

/* ---- Segments ---- */

static void send_packet(const struct peer *peer, struct packet *segment, peer_send send)
{
    if (peer->version == 4) {
        packet_ip4(segment, TCP);
    } else {
        packet_ip6(segment, TCP);
    }
    packet_ethernet(segment, peer->version == 4 ? IPV4 : IPV6);
    send(packet_start(segment), packet_bytes(segment));
}

static void send_segment(const struct peer *peer, uint32_t sequence, const uint8_t *data,
                         size_t bytes, unsigned flags, peer_send send)
{
    static const uint8_t shrunk[] = {2, 4, 0, 16};
    bool has_option = peer->shrinks && peer->in_bytes > 1000;
    struct packet packet;
    bool tells_end = peer->has_ended && (!peer->fins_cross || peer->acked > peer->out_bytes);
    uint32_t acknowledged = peer->first + 1 + peer->in_bytes + (tells_end ? 1 : 0);

    packet_data(&packet, 0);
    if (bytes != 0) {
        packet_add(&packet, data, bytes);
    }
    if (has_option) {
        packet_add(&packet, shrunk, sizeof(shrunk));
    }
    packet_tcp(&packet, peer->version, peer->port, LIFE_PORT, sequence,
               (flags & PACKET_ACK) != 0 ? acknowledged : 0, flags);
    if (has_option) {
        packet_tcp_options(&packet, peer->version, 1);
    }
    send_packet(peer, &packet, send);
}

static void send_syn(const struct peer *peer, peer_send send)
{
    uint32_t segment = peer->segment != 0 ? peer->segment : SEGMENT_BYTES;
    uint8_t options[] = {2, 4, (uint8_t)(segment >> 8), (uint8_t)segment, 1, 1, 1, 1};
    bool has_options = peer->offers_sack || peer->segment != 0;
    struct packet packet;

    if (peer->offers_sack) {
        memcpy(options + 4, (uint8_t[]){4, 2}, 2);
    }
    packet_data(&packet, 0);
    if (has_options) {
        packet_add(&packet, options, sizeof(options));
    }
    packet_tcp(&packet, peer->version, peer->port, LIFE_PORT, SYN_SEQUENCE, 0, PACKET_SYN);
    if (has_options) {
        packet_tcp_options(&packet, peer->version, sizeof(options) / 4);
    }
    send_packet(peer, &packet, send);
}

static uint32_t sequence_of(uint32_t offset)
{
    return SYN_SEQUENCE + 1 + offset;
}

static void send_ack(const struct peer *peer, peer_send send)
{
    send_segment(peer, sequence_of(peer->next), NULL, 0, PACKET_ACK, send);
}

static void send_window(struct peer *peer, peer_send send)
{
    uint32_t end = least(allowed(peer), peer->acked + least(peer->window, IN_FLIGHT_MAX));

    while (peer->next < end) {
        bool is_fin = peer->next == peer->out_bytes;
        uint32_t bytes =
            is_fin ? 0 : least(SEGMENT_BYTES, least(end, peer->out_bytes) - peer->next);

        is_fin = is_fin || (peer->sends_rest && peer->next + bytes == peer->out_bytes &&
                            allowed(peer) == peer->out_bytes + 1);
        send_segment(peer, sequence_of(peer->next), peer->out + peer->next, bytes,
                     PACKET_ACK | (is_fin ? PACKET_FIN : 0u), send);
        peer->next += bytes + (is_fin ? 1 : 0);
        if (peer->next > peer->sent_end) {
            peer->sent_end = peer->next;
        }
    }
}

void peer_advance(struct peer *peer, uint32_t now, peer_send send)
{
    if (peer->is_reset) {
        return;
    }
    if (!peer->is_connected) {
        if (peer->since == 0 || now - peer->since >= peer->rto) {
            peer->since = now + 1;
            send_syn(peer, send);
        }
        return;
    }
    if (peer->acked == peer->sent_end) {
        peer->since = now;
    } else if (now - peer->since >= peer->rto) {
        peer->since = now;
        peer->next = peer->acked;
    }
    send_window(peer, send);
}

static void take_acknowledgement(struct peer *peer, uint32_t acknowledged, bool is_empty,
                                 uint32_t now)
{
    uint32_t offset = acknowledged - sequence_of(0);

    assert_in_range(offset, peer->acked, peer->sent_end); /* neither taken back nor invented */
    if (offset > peer->acked) {
        peer->acked = offset;
        peer->next = peer->next < offset ? offset : peer->next;
        peer->since = now;
        peer->duplicates = 0;
    } else if (is_empty && peer->sent_end != peer->acked) {
        peer->duplicates++;
        if (peer->duplicates == DUPLICATES_MAX && !peer->is_recovering) {
            peer->next = peer->acked;
        }
    }
}

/* Takes bytes in order. Bytes that came before are not looked at (RFC 9293, 3.10.7.4): if frames
 * are lost, the machine may use their memory again while a segment waits for the neighbour's
 * address. */
static void take_data(struct peer *peer, uint32_t offset, const uint8_t *data, uint32_t bytes,
                      bool is_fin)
{
    if (offset > peer->in_bytes) {
        return;
    }
    assert_true(offset + bytes <= PEER_STREAM_MAX);
    if (peer->checks_repeated) {
        assert_memory_equal(data, peer->in + offset, least(bytes, peer->in_bytes - offset));
    }
    if (offset + bytes > peer->in_bytes) {
        assert_false(peer->has_ended);
        memcpy(peer->in + peer->in_bytes, data + (peer->in_bytes - offset),
               offset + bytes - peer->in_bytes);
        peer->in_bytes = offset + bytes;
    }
    peer->has_ended = peer->has_ended || (is_fin && offset + bytes == peer->in_bytes);
}

static void connect(struct peer *peer, uint32_t sequence, uint32_t acknowledged)
{
    assert_int_equal(acknowledged, sequence_of(0));
    if (peer->is_connected) {
        assert_int_equal(sequence, peer->first);
    }
    peer->first = sequence;
    peer->is_connected = true;
}

static void take_reset(struct peer *peer)
{
    assert_true(peer->may_be_reset);
    peer->is_reset = true;
}

/* Handles a message that this segment could not be delivered: a retransmission timer that has run
 * out does so again (RFC 6069, 5.1). */
static void take_unreachable(struct peer *peer, const uint8_t *icmp)
{
    const uint8_t *segment = icmp + 8 + 20;

    if (get16(icmp) != (3u << 8 | 1u) || get16(segment) != peer->port) {
        return;
    }
    assert_true(peer->is_connected); /* it would give up a connection that is not open yet */
    if (get32(segment + 4) == sequence_of(peer->acked) && peer->is_recovering) {
        peer->next = peer->acked;
    }
}

/* Returns the peer's segment in a frame, and its size; NULL if the frame has none. */
static const uint8_t *find_segment(const struct peer *peer, const uint8_t *frame, size_t bytes,
                                   uint32_t *segment_bytes)
{
    const uint8_t *ip = frame + ETHERNET_BYTES;
    const uint8_t *tcp = ip + (peer->version == 4 ? 20 : 40);
    bool is_tcp = false;

    if (bytes >= ETHERNET_BYTES + 60 && peer->version == 6 && get16(frame + 12) == IPV6) {
        is_tcp = ip[6] == TCP;
        *segment_bytes = get16(ip + 4);
    } else if (bytes >= ETHERNET_BYTES + 40 && peer->version == 4 && get16(frame + 12) == IPV4) {
        is_tcp = ip[0] == 0x45 && ip[9] == TCP;
        *segment_bytes = get16(ip + 2) - 20;
    }
    return is_tcp && get16(tcp + 2) == peer->port ? tcp : NULL;
}

void peer_receive(struct peer *peer, const uint8_t *frame, size_t bytes, uint32_t now,
                  peer_send send)
{
    const uint8_t *ip = frame + ETHERNET_BYTES;
    const uint8_t *tcp;
    bool has_to_answer = false;
    uint32_t header, length, next;

    if (bytes >= ETHERNET_BYTES + 56 && get16(frame + 12) == IPV4 && ip[9] == 1) {
        take_unreachable(peer, ip + 20);
        peer_advance(peer, now, send);
        return;
    }
    tcp = find_segment(peer, frame, bytes, &length);
    if (tcp == NULL || peer->is_reset) {
        return;
    }
    header = (uint32_t)(tcp[12] >> 4) * 4;
    length -= header;
    if ((tcp[13] & PACKET_RST) != 0) {
        take_reset(peer);
        return;
    }
    if ((tcp[13] & PACKET_SYN) != 0) {
        connect(peer, get32(tcp + 4), get32(tcp + 8));
        send_ack(peer, send);
    } else if (peer->is_connected) {
        bool is_empty = length == 0 && (tcp[13] & PACKET_FIN) == 0;

        take_acknowledgement(peer, get32(tcp + 8), is_empty, now);
        take_data(peer, get32(tcp + 4) - peer->first - 1, tcp + header, length,
                  (tcp[13] & PACKET_FIN) != 0);
        check_answers(peer);
        has_to_answer = !is_empty;
    }
    peer->window = peer->ignores_window ? IN_FLIGHT_MAX : get16(tcp + 14);
    next = peer->next;
    peer_advance(peer, now, send);
    if (has_to_answer && next == peer->next) { /* no segment has carried the acknowledgement */
        send_ack(peer, send);
    }
}

static void answer_arp(const uint8_t *frame, peer_send send)
{
    static const uint8_t mac[6] = {0x02, 0, 0, 0, 0, 1};
    uint8_t answer[42] = {0};

    if (get16(frame + 20) == ADDRESS_REQUEST && memcmp(frame + 38, packet_address4[0], 4) == 0) {
        memcpy(answer, frame + 6, 6);
        memcpy(answer + 6, mac, 6);
        memcpy(answer + 12, frame + 12, 8);
        put16(answer + 20, ADDRESS_REQUEST + 1);
        memcpy(answer + 22, mac, 6);
        memcpy(answer + 28, packet_address4[0], 4);
        memcpy(answer + 32, frame + 22, 10);
        send(answer, sizeof(answer));
    }
}

bool peer_answer_neighbour(const uint8_t *frame, size_t bytes, peer_send send)
{
    const uint8_t *ip = frame + ETHERNET_BYTES;
    struct packet packet;

    if (bytes >= 42 && get16(frame + 12) == ARP) {
        answer_arp(frame, send);
        return true;
    }
    if (bytes < ETHERNET_BYTES + 64 || get16(frame + 12) != IPV6 || ip[6] != ICMPV6 ||
        ip[40] != SOLICITATION) {
        return false;
    }
    if (memcmp(ip + 48, packet_address6[0], 16) == 0) {
        packet_advertisement(&packet);
        packet_ip6(&packet, ICMPV6);
        packet_ethernet(&packet, IPV6);
        send(packet_start(&packet), packet_bytes(&packet));
    }
    return true;
}

bool peer_is_done(const struct peer *peer)
{
    return peer->is_reset || (peer->answered == peer->requests &&
                              peer->acked == peer->out_bytes + 1 && peer->has_ended);
}
