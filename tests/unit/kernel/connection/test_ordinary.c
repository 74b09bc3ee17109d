/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections of a service that has no kept memory, on lwIP itself: more unread bytes than lwIP can
 * count in one number, windows that are closed on both sides, and as many silent clients as lwIP
 * has control blocks.
 */
#include "core_lock.h"
#include "kernel/connection.h"
#include "kernel/kept.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/timeouts.h"
#include "lwip_stack.h"
#include "net/stack_call.h"
#include "network_order.h"
#include "packets.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <channel/words.h>
#include <cmocka.h>

#define IPV4          0x0800u
#define ARP           0x0806u
#define TCP           6u
#define PORT          80u
#define FIRST_PORT    5000u
#define SYN_NUMBER    1000u
#define SEGMENT_BYTES 1400u
#define IDLE_SECONDS  30u
#define BLOCKS        200u

/* ---- The kernel ---- */

enum result kept_take(size_t bytes, void **place)
{
    (void)bytes;
    (void)place;
    return RESULT_NOT_FOUND;
}

void *heap_allocate(size_t bytes)
{
    return malloc(bytes);
}

void print(const char *format, ...)
{
    (void)format;
}

void network_lock(void)
{
}

void network_unlock(void)
{
}

void network_call_in_stack(void (*function)(void *argument), void *argument)
{
    function(argument);
}

void before_store(void)
{
}

/* ---- The service ---- */

static struct connection *newest;
static unsigned open_count;

static void opened(struct connection *connection, const void *state, size_t bytes)
{
    (void)state;
    assert_int_equal(bytes, 0);
    newest = connection;
    open_count++;
}

static void ready(struct connection *connection)
{
    (void)connection;
}

static void gone(struct connection *connection)
{
    newest = newest == connection ? NULL : newest;
    open_count--;
}

/* ---- The clients ---- */

static uint32_t get32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void send_segment(uint16_t port, uint32_t sequence, uint32_t acknowledged, unsigned flags,
                         uint16_t window, size_t bytes)
{
    struct packet packet;

    packet_data(&packet, bytes);
    packet_tcp(&packet, 4, port, PORT, sequence, acknowledged, flags);
    packet_tcp_window(&packet, 4, window);
    packet_ip4(&packet, TCP);
    packet_ethernet(&packet, IPV4);
    stack_receive(packet_start(&packet), packet_bytes(&packet));
}

/* Sends a SYN that permits scaled windows. Returns the number behind the SYN of the answer, 0 if
 * there is none. */
static uint32_t send_syn(uint16_t port)
{
    static const uint8_t options[] = {1, 3, 3, 2};
    unsigned sent = stack.sent;
    struct packet packet;

    packet_data(&packet, 0);
    packet_add(&packet, options, sizeof(options));
    packet_tcp(&packet, 4, port, PORT, SYN_NUMBER, 0, PACKET_SYN);
    packet_tcp_options(&packet, 4, sizeof(options) / 4);
    packet_ip4(&packet, TCP);
    packet_ethernet(&packet, IPV4);
    stack_receive(packet_start(&packet), packet_bytes(&packet));
    return stack.sent == sent ? 0 : get32(stack.last_sent + 14 + 20 + 4) + 1;
}

static bool open_connection(uint16_t port, uint32_t *acknowledged)
{
    unsigned before = open_count;

    *acknowledged = send_syn(port);
    if (*acknowledged != 0) {
        send_segment(port, SYN_NUMBER + 1, *acknowledged, PACKET_ACK, 8000, 0);
    }
    return open_count == before + 1;
}

static void pass(uint32_t milliseconds)
{
    for (uint32_t end = stack.now + milliseconds; stack.now != end; stack.now += 50) {
        sys_check_timeouts();
    }
}

static int end_all(void **state)
{
    (void)state;
    while (tcp_active_pcbs != NULL) {
        tcp_abort(tcp_active_pcbs);
    }
    assert_int_equal(open_count, 0);
    return stack.interface.blocks_free == stack.interface.blocks_count ? 0 : -1;
}

static void unread_bytes_are_counted(void **state)
{
    static uint8_t buffer[3 * 65536];
    uint32_t acknowledged;
    size_t sent = 0;

    (void)state;
    assert_true(open_connection(FIRST_PORT, &acknowledged));
    while (sent + SEGMENT_BYTES < TCP_WND && sent < 131072u) {
        send_segment(FIRST_PORT, SYN_NUMBER + 1 + (uint32_t)sent, acknowledged, PACKET_ACK, 8000,
                     SEGMENT_BYTES);
        sent += SEGMENT_BYTES;
    }
    assert_int_equal(connection_peek(newest, buffer, sizeof(buffer)), LWIP_MIN(sent, 0xffffu));
    connection_skip(newest, 100);
    assert_int_equal(connection_peek(newest, buffer, 1), 1);
    assert_int_equal(buffer[0], 100);
    connection_skip(newest, sent - 101);
    assert_int_equal(connection_peek(newest, buffer, sizeof(buffer)), 1);
    assert_int_equal(buffer[0], (SEGMENT_BYTES - 1) & 0xff);
    connection_skip(newest, SIZE_MAX);
    assert_int_equal(connection_peek(newest, buffer, sizeof(buffer)), 0);
    connection_commit(newest, NULL, 0);
}

/* The program does not read, and the peer fills the window, which ends between two segments. */
static void closed_windows_are_not_acknowledged_for_ever(void **state)
{
    uint32_t acknowledged, sequence = SYN_NUMBER + 1;
    const struct tcp_pcb *pcb;
    unsigned sent;

    (void)state;
    assert_true(open_connection(FIRST_PORT, &acknowledged));
    pcb = tcp_active_pcbs;
    while (pcb->rcv_wnd != 0) {
        size_t bytes = LWIP_MIN((size_t)pcb->rcv_wnd, SEGMENT_BYTES);

        send_segment(FIRST_PORT, sequence, acknowledged, PACKET_ACK, 8000, bytes);
        sequence += (uint32_t)bytes;
    }
    pass(1000);
    send_segment(FIRST_PORT, sequence, acknowledged, PACKET_ACK, 0, 0); /* closes its window, too */
    pass(1000);
    sent = stack.sent;
    for (unsigned i = 0; i < 10; i++) {
        send_segment(FIRST_PORT, sequence, acknowledged, PACKET_ACK, 0, 0);
    }
    assert_int_equal(stack.sent, sent);
    /* A probe of the window is answered, and a window that opens is noticed. */
    send_segment(FIRST_PORT, sequence, acknowledged, PACKET_ACK, 0, 1);
    assert_int_equal(stack.sent, sent + 1);
    assert_true(connection_write(newest, "answer", 6));
    connection_commit(newest, NULL, 0);
    assert_int_equal(stack.sent, sent + 1);
    send_segment(FIRST_PORT, sequence, acknowledged, PACKET_ACK, 8000, 0);
    assert_true(stack.sent > sent + 1);
}

/* A client that sends nothing keeps its control block no longer than twice the idle time. */
static void silent_clients_make_place(void **state)
{
    uint32_t acknowledged;

    (void)state;
    for (uint16_t i = 0; i < MEMP_NUM_TCP_PCB; i++) {
        assert_true(open_connection((uint16_t)(FIRST_PORT + i), &acknowledged));
    }
    assert_false(open_connection(FIRST_PORT + MEMP_NUM_TCP_PCB, &acknowledged));
    pass(2 * (IDLE_SECONDS + 2) * 1000);
    assert_int_equal(open_count, 0);
    assert_true(open_connection(FIRST_PORT + MEMP_NUM_TCP_PCB, &acknowledged));
}

static void serve(void)
{
    static const struct connection_operations operations = {opened, ready, gone};
    static const struct connection_service service = {
        .port = PORT, .idle_seconds = IDLE_SECONDS, .operations = &operations};

    assert_int_equal(connection_serve(&service), RESULT_OK);
}

static int start(void **state)
{
    struct packet packet;

    (void)state;
    stack.before_address = serve;
    stack_start(BLOCKS);
    packet_arp(&packet);
    packet_ethernet(&packet, ARP);
    stack_receive(packet_start(&packet), packet_bytes(&packet));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(unread_bytes_are_counted, end_all),
        cmocka_unit_test_teardown(closed_windows_are_not_acknowledged_for_ever, end_all),
        cmocka_unit_test_teardown(silent_clients_make_place, end_all),
    };

    return cmocka_run_group_tests(tests, start, NULL);
}
