/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's timer of TCP (external/lwip_corrections/control_block.c) against peers that close and open
 * their windows while bytes wait, and close while the program refuses data. An assertion of lwIP
 * that fails ends the test.
 */
#include "lwip/priv/tcp_priv.h"
#include "lwip/timeouts.h"
#include "lwip_stack.h"
#include "network_order.h"
#include "packets.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define IPV4        0x0800u
#define ARP         0x0806u
#define TCP         6u
#define PORT        7u
#define PEER_PORT   40000u
#define SYN_NUMBER  1000u
#define SCALE       1u /* of the peer's windows */
#define BYTES       100u
#define PATIENCE_MS 10000u

static struct tcp_pcb *connection;
static uint32_t next; /* the peer's next sequence number */

static err_t accept_connection(void *argument, struct tcp_pcb *pcb, err_t error)
{
    (void)argument;
    assert_int_equal(error, ERR_OK);
    connection = pcb;
    tcp_nagle_disable(pcb);
    return ERR_OK;
}

/* Hands over the segment that `packet` has so far: its data, with options at their beginning. */
static void receive(struct packet *packet, uint32_t acknowledged, unsigned flags, uint16_t window,
                    unsigned option_words)
{
    packet_tcp(packet, 4, PEER_PORT, PORT, next, acknowledged, flags);
    packet_tcp_window(packet, 4, window);
    packet_tcp_options(packet, 4, option_words);
    packet_ip4(packet, TCP);
    packet_ethernet(packet, IPV4);
    stack_receive(packet_start(packet), packet_bytes(packet));
}

/* Acknowledges bytes, and announces a window. A byte goes in front, because a smaller window counts
 * only if it comes behind new bytes (RFC 9293, 3.10.7.4). */
static void acknowledge(uint32_t number, uint16_t window)
{
    struct packet packet;

    packet_data(&packet, 1);
    receive(&packet, connection->lastack, PACKET_ACK, window, 0);
    next++;
    packet_data(&packet, 0);
    receive(&packet, number, PACKET_ACK, window, 0);
}

static void pass(uint32_t milliseconds)
{
    for (uint32_t end = stack.now + milliseconds; stack.now != end;) {
        stack.now++;
        sys_check_timeouts();
    }
}

/* Opens a connection on which BYTES bytes are in flight. */
static int open_connection(void **state)
{
    static const uint8_t options[] = {2, 4, 1460 >> 8, 1460 & 0xff, 1, 3, 3, SCALE};
    static uint8_t data[BYTES];
    struct packet packet;

    (void)state;
    connection = NULL;
    next = SYN_NUMBER;
    packet_data(&packet, 0);
    packet_add(&packet, options, sizeof(options));
    receive(&packet, 0, PACKET_SYN, 8000, sizeof(options) / 4);
    next++;
    packet_data(&packet, 0);
    receive(&packet, tcp_active_pcbs->snd_nxt, PACKET_ACK, 8000, 0);
    assert_non_null(connection);
    assert_int_equal(tcp_write(connection, data, BYTES, TCP_WRITE_FLAG_COPY), ERR_OK);
    assert_int_equal(tcp_output(connection), ERR_OK);
    assert_non_null(connection->unacked);
    return 0;
}

static int close_connection(void **state)
{
    (void)state;
    netif_set_link_up(&stack.interface.netif);
    tcp_abort(connection);
    return 0;
}

/* The peer closes its window while bytes are in flight. They are not acknowledged in time, and may
 * not be sent again. */
static void close_window(void)
{
    acknowledge(connection->lastack, 0);
    for (uint32_t waited = 0; connection->persist_backoff == 0; waited++) {
        assert_true(waited < PATIENCE_MS);
        pass(1);
    }
    assert_non_null(connection->unsent);
}

static void bytes_are_acknowledged_while_the_window_is_closed(void **state)
{
    (void)state;
    close_window();
    acknowledge(connection->lastack + BYTES, 0);
    assert_null(connection->unsent);
    pass(PATIENCE_MS);
    assert_int_equal(connection->persist_backoff, 0);
}

static void a_probe_of_one_byte_is_acknowledged(void **state)
{
    (void)state;
    acknowledge(connection->lastack + BYTES, 0);
    assert_int_equal(tcp_write(connection, "", 1, TCP_WRITE_FLAG_COPY), ERR_OK);
    assert_int_equal(tcp_output(connection), ERR_OK);
    while (connection->persist_probe == 0) {
        pass(1);
    }
    acknowledge(connection->lastack + 1, 0);
    assert_null(connection->unsent);
    pass(PATIENCE_MS);
    assert_int_equal(connection->persist_backoff, 0);
}

/* The probes of a window that stays closed go on, and bytes follow when it opens. */
static void a_window_opens_again(void **state)
{
    unsigned sent;

    (void)state;
    close_window();
    sent = stack.sent;
    pass(PATIENCE_MS);
    assert_true(stack.sent > sent + 1);
    acknowledge(connection->lastack, 8000);
    assert_null(connection->unsent);
    assert_int_equal(connection->persist_backoff, 0);
}

/* While there is no route, the window opens by 65536 bytes if it is scaled. */
static void a_window_opens_without_a_route(void **state)
{
    (void)state;
    close_window();
    netif_set_link_down(&stack.interface.netif);
    acknowledge(connection->lastack, 65536 >> SCALE);
    pass(PATIENCE_MS);
    netif_set_link_up(&stack.interface.netif);
    pass(PATIENCE_MS);
    assert_null(connection->unsent);
    acknowledge(connection->lastack + BYTES, 8000);
    assert_null(connection->unacked);
}

/* A peer announces no window at first, and a small one when bytes wait already. */
static void a_window_grows_from_nothing(void **state)
{
    static const uint8_t data[2 * TCP_MSS];
    struct packet packet;

    (void)close_connection(state);
    for (uint16_t first = 0; first < 2; first++) {
        static const uint8_t options[] = {2, 4, 1460 >> 8, 1460 & 0xff};

        next = SYN_NUMBER;
        packet_data(&packet, 0);
        packet_add(&packet, options, sizeof(options));
        receive(&packet, 0, PACKET_SYN, first, sizeof(options) / 4);
        next++;
        packet_data(&packet, 0);
        receive(&packet, tcp_active_pcbs->snd_nxt, PACKET_ACK, first, 0);
        assert_int_equal(tcp_write(connection, data, TCP_MSS, TCP_WRITE_FLAG_COPY), ERR_OK);
        assert_int_equal(tcp_output(connection), ERR_OK);
        acknowledge(connection->lastack, (uint16_t)(first + 2));
        assert_int_equal(tcp_write(connection, data, TCP_MSS, TCP_WRITE_FLAG_COPY), ERR_OK);
        tcp_abort(connection);
    }
    (void)open_connection(state); /* for the end of the test */
}

/* ---- Data that the program refuses for the moment ---- */

static bool refuses, has_ended;
static size_t read_bytes;

static err_t receive_later(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
    (void)argument;
    (void)error;
    if (refuses) {
        return ERR_MEM;
    }
    if (data == NULL) {
        has_ended = true;
        return ERR_OK;
    }
    read_bytes += data->tot_len;
    tcp_recved(pcb, data->tot_len);
    pbuf_free(data);
    return ERR_OK;
}

/* The program has closed its side, and refuses the last data, with which the peer's FIN comes. */
static void refuse_last_data(void)
{
    struct packet packet;

    refuses = true;
    has_ended = false;
    read_bytes = 0;
    tcp_recv(connection, receive_later);
    assert_int_equal(tcp_shutdown(connection, 0, 1), ERR_OK);
    packet_data(&packet, BYTES);
    receive(&packet, connection->snd_nxt, PACKET_ACK | PACKET_FIN, 8000, 0);
    assert_int_equal(connection->state, TIME_WAIT);
    assert_non_null(connection->refused_data);
}

static void refused_data_are_offered_in_time_wait(void **state)
{
    (void)state;
    refuse_last_data();
    pass(1000);
    assert_int_equal(read_bytes, 0);
    refuses = false;
    pass(1000);
    assert_int_equal(read_bytes, BYTES);
    assert_true(has_ended);
}

/* Called when lwIP frees the control block of a program that does not close it. */
static void lose(void *argument, err_t error)
{
    unsigned *times = argument;

    assert_int_equal(error, ERR_CLSD);
    (*times)++;
}

static void a_program_is_told_that_its_control_block_is_freed(void **state)
{
    struct tcp_pcb *others[MEMP_NUM_TCP_PCB];
    unsigned times = 0, count = 0;

    (void)state;
    refuse_last_data();
    tcp_arg(connection, &times);
    tcp_err(connection, lose);
    pass(3 * TCP_MSL);
    assert_int_equal(times, 1);
    (void)open_connection(state);
    refuse_last_data();
    tcp_arg(connection, &times);
    tcp_err(connection, lose);
    while (times == 1 && count < MEMP_NUM_TCP_PCB) {
        others[count++] = tcp_new();
    }
    assert_int_equal(times, 2);
    while (count != 0) {
        tcp_abort(others[--count]);
    }
    (void)open_connection(state);
}

static void refused_data_are_freed(void **state)
{
    (void)state;
    refuse_last_data();
    pass(3 * TCP_MSL);
    assert_null(tcp_tw_pcbs);
    assert_int_equal(stack.interface.blocks_free, stack.interface.blocks_count);
    (void)open_connection(state); /* for the end of the test */
}

static int start(void **state)
{
    struct tcp_pcb *listener;
    struct packet packet;

    (void)state;
    stack_start(96);
    packet_arp(&packet);
    packet_ethernet(&packet, ARP);
    stack_receive(packet_start(&packet), packet_bytes(&packet));
    listener = tcp_new();
    assert_int_equal(tcp_bind(listener, IP4_ADDR_ANY, PORT), ERR_OK);
    listener = tcp_listen(listener);
    tcp_accept(listener, accept_connection);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_are_acknowledged_while_the_window_is_closed,
                                        open_connection, close_connection),
        cmocka_unit_test_setup_teardown(a_probe_of_one_byte_is_acknowledged, open_connection,
                                        close_connection),
        cmocka_unit_test_setup_teardown(a_window_opens_again, open_connection, close_connection),
        cmocka_unit_test_setup_teardown(a_window_opens_without_a_route, open_connection,
                                        close_connection),
        cmocka_unit_test_setup_teardown(a_window_grows_from_nothing, open_connection,
                                        close_connection),
        cmocka_unit_test_setup_teardown(refused_data_are_offered_in_time_wait, open_connection,
                                        close_connection),
        cmocka_unit_test_setup_teardown(a_program_is_told_that_its_control_block_is_freed,
                                        open_connection, close_connection),
        cmocka_unit_test_setup_teardown(refused_data_are_freed, open_connection, close_connection),
    };

    return cmocka_run_group_tests(tests, start, NULL);
}
