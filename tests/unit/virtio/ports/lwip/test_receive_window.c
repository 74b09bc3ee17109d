/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the windows announced to TCP peers (receive_window.h), with a short model of lwIP's
 * part. */
#include "lwip/opt.h"
/* must follow opt.h */
#include "lwip/priv/tcp_priv.h"
#include "lwip/prot/tcp.h"
#include "receive_window.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#include <cmocka.h>

#define FIRST         (10u * TCP_MSS)
#define LEAST         (6u * TCP_MSS)
#define SEQUENCE      UINT32_C(0xffff8000) /* wraps soon */
#define MANY          32u
#define STEPS         200000u
#define EVERYTHING    UINT32_MAX
#define UPDATE_BYTES  LWIP_MIN(TCP_WND / 4u, 4u * TCP_MSS)
#define HEADER_LENGTH 5

struct tcp_pcb *tcp_active_pcbs;
u32_t tcp_ticks;

u8_t tcp_ext_arg_alloc_id(void)
{
    static u8_t next;

    return next++ % LWIP_TCP_PCB_NUM_EXT_ARGS;
}

void tcp_ext_arg_set(struct tcp_pcb *pcb, uint8_t id, void *arg)
{
    pcb->ext_args[id].data = arg;
}

void *tcp_ext_arg_get(const struct tcp_pcb *pcb, uint8_t id)
{
    return pcb->ext_args[id].data;
}

u16_t lwip_htons(u16_t x)
{
    return (u16_t)(x << 8 | x >> 8);
}

struct connections {
    struct tcp_pcb pcb[MANY];
};

/* Opens `count` connections that have just received data. The first one is under test. */
static void open_connections(struct connections *all, unsigned count)
{
    tcp_active_pcbs = count > 0 ? &all->pcb[0] : NULL;
    for (unsigned i = 0; i < count; i++) {
        all->pcb[i].next = i + 1 < count ? &all->pcb[i + 1] : NULL;
        network_window_received(&all->pcb[i]);
    }
}

static int setup(void **state)
{
    struct connections *all = calloc(1, sizeof(*all));

    assert_non_null(all);
    for (unsigned i = 0; i < MANY; i++) {
        struct tcp_pcb *pcb = &all->pcb[i];

        pcb->state = ESTABLISHED;
        pcb->mss = TCP_MSS;
        pcb->rcv_nxt = SEQUENCE;
        pcb->rcv_ann_right_edge = SEQUENCE + TCP_WND;
        pcb->rcv_wnd = TCP_WND;
        pcb->rcv_ann_wnd = TCP_WND;
#if LWIP_WND_SCALE
        pcb->rcv_scale = TCP_RCV_SCALE;
        pcb->flags = TF_WND_SCALE;
#endif
    }
    tcp_ticks = UINT32_MAX - 10; /* wraps soon */
    network_window_init();
    network_window_share(0);
    open_connections(all, 1);
    *state = all;
    return 0;
}

static int teardown(void **state)
{
    tcp_active_pcbs = NULL;
    free(*state);
    return 0;
}

/* Returns the window of a segment with these flags as the peer understands it. */
static u32_t announced(struct tcp_pcb *pcb, u8_t flags)
{
    struct tcp_hdr header = {0};

    TCPH_HDRLEN_FLAGS_SET(&header, HEADER_LENGTH, flags);
    network_window_announce(pcb, &header);
#if LWIP_WND_SCALE
    if ((flags & TCP_SYN) == 0) {
        return (u32_t)lwip_htons(header.wnd) << pcb->rcv_scale;
    }
#endif
    return lwip_htons(header.wnd);
}

/* Computes lwIP's own window after a change. Returns the increase that it could announce. */
static u32_t update(struct tcp_pcb *pcb)
{
    u32_t edge = pcb->rcv_nxt + pcb->rcv_wnd;

    if (TCP_SEQ_GEQ(edge, pcb->rcv_ann_right_edge + LWIP_MIN(TCP_WND / 2, (u32_t)pcb->mss))) {
        pcb->rcv_ann_wnd = pcb->rcv_wnd;
        return edge - pcb->rcv_ann_right_edge;
    }
    pcb->rcv_ann_wnd = (tcpwnd_size_t)(pcb->rcv_ann_right_edge - pcb->rcv_nxt);
    return 0;
}

static u32_t acknowledge(struct tcp_pcb *pcb)
{
    pcb->rcv_ann_right_edge = pcb->rcv_nxt + pcb->rcv_ann_wnd;
    return announced(pcb, TCP_ACK);
}

static void arrive(struct tcp_pcb *pcb, u32_t bytes)
{
    pcb->rcv_nxt += bytes;
    pcb->rcv_wnd = (tcpwnd_size_t)(pcb->rcv_wnd - bytes);
    (void)update(pcb);
}

static u32_t unread(const struct tcp_pcb *pcb)
{
    return TCP_WND - pcb->rcv_wnd;
}

/* Reads data. Returns true if lwIP informs the peer at once. */
static bool read_some(struct tcp_pcb *pcb, u32_t bytes)
{
    pcb->rcv_wnd = (tcpwnd_size_t)(pcb->rcv_wnd + LWIP_MIN(bytes, unread(pcb)));
    return update(pcb) >= UPDATE_BYTES;
}

static void test_one_connection_gets_the_whole_window(void **state)
{
    struct tcp_pcb *pcb = &((struct connections *)*state)->pcb[0];

    assert_int_equal(announced(pcb, TCP_SYN | TCP_ACK), FIRST);
    assert_int_equal(announced(pcb, TCP_ACK), TCP_WND);
}

static void test_connections_share(void **state)
{
    struct connections *all = *state;

    open_connections(all, 4);
    for (unsigned i = 0; i < 4; i++) {
        (void)announced(&all->pcb[i], TCP_SYN | TCP_ACK);
        assert_in_range(announced(&all->pcb[i], TCP_ACK), TCP_WND / 4 - 64, TCP_WND / 4);
    }
    network_window_share(4 * TCP_WND);
    assert_int_equal(announced(&all->pcb[0], TCP_ACK), TCP_WND);
}

/* Returns the window announced to the first of four connections while the others are in this
 * state. */
static u32_t beside(struct connections *all, enum tcp_state state, u8_t flags)
{
    open_connections(all, 4);
    (void)announced(&all->pcb[0], TCP_SYN | TCP_ACK);
    for (unsigned i = 1; i < 4; i++) {
        all->pcb[i].state = state;
        all->pcb[i].flags |= flags;
    }
    return announced(&all->pcb[0], TCP_ACK);
}

static void test_half_open_connections_take_no_share(void **state)
{
    assert_int_equal(beside(*state, SYN_RCVD, 0), TCP_WND);
}

static void test_connecting_connections_take_no_share(void **state)
{
    assert_int_equal(beside(*state, SYN_SENT, 0), TCP_WND);
}

static void test_closing_connections_take_no_share(void **state)
{
    static const enum tcp_state closing[] = {CLOSE_WAIT, CLOSING, LAST_ACK};

    for (unsigned i = 0; i < LWIP_ARRAYSIZE(closing); i++) {
        assert_int_equal(beside(*state, closing[i], 0), TCP_WND);
    }
    assert_int_equal(beside(*state, FIN_WAIT_2, TF_RXCLOSED), TCP_WND);
}

/* The program has closed its side only, so the peer may still send. */
static void test_half_closed_connections_share(void **state)
{
    assert_in_range(beside(*state, FIN_WAIT_2, 0), TCP_WND / 4 - 64, TCP_WND / 4);
}

static void test_idle_connections_take_no_share(void **state)
{
    struct connections *all = *state;

    open_connections(all, 4);
    (void)announced(&all->pcb[0], TCP_SYN | TCP_ACK);
    tcp_ticks += 1;
    assert_in_range(announced(&all->pcb[0], TCP_ACK), TCP_WND / 4 - 64, TCP_WND / 4);
    tcp_ticks += 10;
    assert_int_equal(announced(&all->pcb[0], TCP_ACK), TCP_WND);
    network_window_received(&all->pcb[1]);
    arrive(&all->pcb[0], TCP_WND);
    (void)read_some(&all->pcb[0], EVERYTHING);
    assert_in_range(acknowledge(&all->pcb[0]), TCP_WND / 2 - 64, TCP_WND / 2);
}

/* Data that a program has not read takes memory, however long ago it arrived. */
static void test_unread_data_takes_a_share(void **state)
{
    struct connections *all = *state;

    open_connections(all, 2);
    (void)announced(&all->pcb[0], TCP_SYN | TCP_ACK);
    arrive(&all->pcb[1], 1);
    all->pcb[1].state = CLOSE_WAIT;
    tcp_ticks += 100;
    assert_in_range(announced(&all->pcb[0], TCP_ACK), TCP_WND / 2 - 64, TCP_WND / 2);
}

/* The number of half-open connections that will send is unknown. */
static void test_first_windows_are_shared_by_all(void **state)
{
    struct connections *all = *state;

    (void)beside(all, SYN_RCVD, 0);
    open_connections(all, MANY);
    tcp_ticks += 100;
    assert_int_equal(announced(&all->pcb[0], TCP_SYN | TCP_ACK), LEAST);
}

static void test_each_connection_has_six_segments(void **state)
{
    struct connections *all = *state;

    open_connections(all, MANY);
    (void)announced(&all->pcb[0], TCP_SYN | TCP_ACK);
    arrive(&all->pcb[0], FIRST);
    (void)read_some(&all->pcb[0], EVERYTHING);
    assert_in_range(acknowledge(&all->pcb[0]), LEAST - 64, LEAST);
    arrive(&all->pcb[0], LEAST);
    assert_int_equal(acknowledge(&all->pcb[0]), 0);
}

static void test_announced_window_never_shrinks(void **state)
{
    struct connections *all = *state;
    struct tcp_pcb *pcb = &all->pcb[0];

    (void)announced(pcb, TCP_SYN | TCP_ACK);
    assert_int_equal(acknowledge(pcb), TCP_WND);
    open_connections(all, MANY);
    assert_int_equal(acknowledge(pcb), TCP_WND);
    arrive(pcb, TCP_MSS);
    assert_in_range(acknowledge(pcb), TCP_WND - TCP_MSS - 64, TCP_WND - TCP_MSS);
}

static void test_window_grows_in_large_steps(void **state)
{
    struct connections *all = *state;
    struct tcp_pcb *pcb = &all->pcb[0];
    u32_t before;

    open_connections(all, 4);
    (void)announced(pcb, TCP_SYN | TCP_ACK);
    before = acknowledge(pcb);
    arrive(pcb, 128);
    (void)read_some(pcb, 128);
    assert_in_range(acknowledge(pcb), before - 128 - 64, before - 128 + 64);
}

static void test_data_beyond_the_window_is_accepted(void **state)
{
    struct connections *all = *state;
    struct tcp_pcb *pcb = &all->pcb[0];

    open_connections(all, 4);
    (void)announced(pcb, TCP_SYN | TCP_ACK);
    arrive(pcb, TCP_WND / 2);
    assert_int_equal(acknowledge(pcb), 0);
}

static void test_outgoing_connections(void **state)
{
    struct connections *all = *state;
    struct tcp_pcb *pcb = &all->pcb[0];
    struct tcp_hdr answer = {.seqno = SEQUENCE - 1};
    struct tcp_hdr syn = {.wnd = 4711};

    TCPH_HDRLEN_FLAGS_SET(&syn, HEADER_LENGTH, TCP_SYN);
    network_window_announce(pcb, &syn);
    assert_int_equal(syn.wnd, 4711);
    open_connections(all, MANY);
    network_window_answered(pcb, &answer);
    assert_in_range(announced(pcb, TCP_ACK), 0xffff - 64, 0xffff);
}

/* The address sanitizer reports an access beyond a listener's structure. */
static void test_listener_is_not_a_connection(void **state)
{
    struct tcp_pcb_listen *listener = calloc(1, sizeof(*listener));
    struct tcp_hdr reset = {.wnd = 4711};

    (void)state;
    assert_non_null(listener);
    TCPH_HDRLEN_FLAGS_SET(&reset, HEADER_LENGTH, TCP_RST | TCP_ACK);
    network_window_announce((struct tcp_pcb *)listener, &reset);
    assert_int_equal(reset.wnd, 4711);
    free(listener);
}

/* Returns a number from 0 to limit - 1; the sequence is the same in every run. */
static u32_t chance(u32_t limit)
{
    static u32_t state = 1;

    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

/* The peer sends only full segments, and the program reads at random. The right edge of the window
 * never moves back, except for the bits cut off by scaling, and a waiting peer is informed in
 * time. */
static void test_waiting_peers_are_informed(void **state)
{
    struct connections *all = *state;
    struct tcp_pcb *pcb = &all->pcb[0];
    u32_t window = announced(pcb, TCP_SYN | TCP_ACK);
    u32_t edge = pcb->rcv_nxt + window;

    for (unsigned step = 0; step < STEPS; step++) {
        bool tell = false;

        tcp_ticks += chance(2);
        open_connections(all, 1 + chance(MANY));
        for (u32_t sent = chance(8); sent > 0 && window >= TCP_MSS; sent--) {
            arrive(pcb, TCP_MSS);
            window -= TCP_MSS;
            tell = true;
        }
        if (tell) {
            window = acknowledge(pcb);
        }
        if (read_some(pcb, chance(4) == 0 ? EVERYTHING : chance(4000))) {
            window = acknowledge(pcb);
        }
        assert_true(TCP_SEQ_GEQ(pcb->rcv_nxt + window + 64, edge));
        edge = pcb->rcv_nxt + window;
        assert_true(window >= TCP_MSS || unread(pcb) > 0);
    }
}

int main(void)
{
#define WINDOW_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        WINDOW_TEST(test_one_connection_gets_the_whole_window),
        WINDOW_TEST(test_connections_share),
        WINDOW_TEST(test_half_open_connections_take_no_share),
        WINDOW_TEST(test_connecting_connections_take_no_share),
        WINDOW_TEST(test_closing_connections_take_no_share),
        WINDOW_TEST(test_half_closed_connections_share),
        WINDOW_TEST(test_idle_connections_take_no_share),
        WINDOW_TEST(test_unread_data_takes_a_share),
        WINDOW_TEST(test_first_windows_are_shared_by_all),
        WINDOW_TEST(test_each_connection_has_six_segments),
        WINDOW_TEST(test_announced_window_never_shrinks),
        WINDOW_TEST(test_window_grows_in_large_steps),
        WINDOW_TEST(test_data_beyond_the_window_is_accepted),
        WINDOW_TEST(test_outgoing_connections),
        WINDOW_TEST(test_listener_is_not_a_connection),
        WINDOW_TEST(test_waiting_peers_are_informed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
