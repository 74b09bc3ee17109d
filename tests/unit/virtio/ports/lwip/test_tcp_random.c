/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's TCP, with the port's guard and our corrections, against peers that send any segments: with
 * numbers near those that matter, any flags, options and windows, while a program writes, reads,
 * closes and does not. An assertion of lwIP that fails ends the test, because it would be a panic
 * that a peer can cause. An argument is the number of the first seed, and of seeds.
 */
#include "lwip/priv/tcp_priv.h"
#include "lwip/timeouts.h"
#include "lwip_stack.h"
#include "network_order.h"
#include "packets.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define IPV4      0x0800u
#define ARP       0x0806u
#define TCP       6u
#define PORT      7u
#define PEERS     3u
#define PEER_PORT 40000u
#define STEPS     400u
#define BLOCKS    200u
#define PSH       0x08u

static uint32_t random_state;
static unsigned first_seed = 1, seeds = 60;

/* The program's state of each connection. */
static struct pbuf *unread;
static struct tcp_pcb *connections[PEERS];

static uint32_t draw(uint32_t bound)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % bound;
}

/* ---- The program ---- */

static unsigned place_of(const struct tcp_pcb *pcb)
{
    return pcb->remote_port - PEER_PORT;
}

static void lost(void *argument, err_t error)
{
    struct tcp_pcb **place = (struct tcp_pcb **)argument;

    (void)error;
    *place = NULL;
}

/* Keeps the data, or reads them at once. A program that refuses data gets them again. */
static err_t receive(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
    (void)argument;
    (void)error;
    if (data == NULL) {
        return ERR_OK;
    }
    if (draw(8) == 0) {
        return ERR_MEM;
    }
    if (draw(3) != 0) {
        tcp_recved(pcb, data->tot_len);
    }
    if (unread != NULL) {
        pbuf_free(unread);
    }
    unread = data;
    return ERR_OK;
}

static err_t accept_connection(void *argument, struct tcp_pcb *pcb, err_t error)
{
    struct tcp_pcb **place;

    (void)argument;
    if (pcb == NULL || error != ERR_OK) {
        return ERR_OK;
    }
    place = &connections[place_of(pcb)];
    *place = pcb;
    tcp_arg(pcb, (void *)place);
    tcp_recv(pcb, receive);
    tcp_err(pcb, lost);
    return ERR_OK;
}

static void end_connection(struct tcp_pcb **place)
{
    struct tcp_pcb *pcb = *place;

    if (draw(3) == 0) {
        tcp_abort(pcb);
    } else if (tcp_close(pcb) == ERR_OK) {
        *place = NULL;
        return;
    }
    *place = NULL;
}

static void act(void)
{
    static uint8_t data[5000];
    struct tcp_pcb **place = &connections[draw(PEERS)];

    if (*place == NULL) {
        return;
    }
    switch (draw(8)) {
    case 0:
        (void)tcp_shutdown(*place, 0, 1);
        break;
    case 1:
        if (draw(8) == 0) {
            end_connection(place);
        }
        break;
    case 2:
        tcp_recved(*place, (u16_t)draw(3000));
        break;
    case 3:
        (*place)->flags ^= draw(2) == 0 ? TF_NODELAY : 0;
        break;
    default:
        (void)tcp_write(*place, data, (u16_t)(draw(4) == 0 ? draw(sizeof(data)) : draw(20)),
                        (u8_t)draw(4));
        (void)tcp_output(*place);
        break;
    }
}

/* ---- The peers ---- */

static struct tcp_pcb *find(struct tcp_pcb *list, uint16_t port)
{
    while (list != NULL && list->remote_port != port) {
        list = list->next;
    }
    return list;
}

/* Returns a number near one that matters. */
static uint32_t near(uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t numbers[] = {a, a, a, b, c, a + draw(3000), draw(UINT32_MAX)};

    return numbers[draw(sizeof(numbers) / sizeof(numbers[0]))] + (draw(4) == 0 ? draw(5) - 2 : 0);
}

static unsigned draw_flags(void)
{
    static const unsigned likely[] = {
        PACKET_ACK, PACKET_ACK, PACKET_ACK | PSH, PACKET_ACK | PACKET_FIN, PACKET_SYN, PACKET_ACK};

    return draw(12) == 0 ? draw(64) : likely[draw(sizeof(likely) / sizeof(likely[0]))];
}

static unsigned add_options(struct packet *packet)
{
    uint8_t options[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    uint16_t segment = (uint16_t)(draw(2) == 0 ? draw(20) : draw(2000));

    if (draw(2) == 0) {
        memcpy(options, (uint8_t[]){2, 4, (uint8_t)(segment >> 8), (uint8_t)segment}, 4);
    }
    if (draw(2) == 0) {
        memcpy(options + 4, (uint8_t[]){3, 3, (uint8_t)draw(16)}, 3);
    }
    if (draw(2) == 0) {
        memcpy(options + 8, (uint8_t[]){4, 2}, 2);
    }
    if (draw(8) == 0) {
        options[draw(sizeof(options))] = (uint8_t)draw(256);
    }
    packet_add(packet, options, sizeof(options));
    return sizeof(options) / 4;
}

static void send_segment(void)
{
    uint16_t port = (uint16_t)(PEER_PORT + draw(PEERS));
    const struct tcp_pcb *pcb = find(tcp_active_pcbs, port);
    static const struct tcp_pcb none;
    unsigned flags = draw_flags(), options = 0;
    struct packet packet;

    if (pcb == NULL) {
        pcb = find(tcp_tw_pcbs, port);
    }
    if (pcb == NULL) {
        pcb = &none;
        flags = draw(4) == 0 ? flags : PACKET_SYN;
    }
    packet_data(&packet, (flags & PACKET_SYN) != 0 || draw(3) == 0 ? 0
                         : draw(2) == 0                            ? draw(4)
                                                                   : draw(1460));
    if ((flags & PACKET_SYN) != 0 || draw(8) == 0) {
        options = add_options(&packet);
    }
    packet_tcp(&packet, 4, port, PORT,
               near(pcb->rcv_nxt, pcb->rcv_nxt - 1, pcb->rcv_nxt + pcb->rcv_wnd),
               near(pcb->snd_nxt, pcb->lastack, pcb->lastack + 1), flags);
    packet_tcp_window(&packet, 4, (uint16_t)(draw(3) == 0 ? draw(4) : draw(65536)));
    packet_tcp_options(&packet, 4, options);
    packet_ip4(&packet, TCP);
    packet_ethernet(&packet, IPV4);
    if (stack.interface.blocks_free != 0) {
        stack_receive(packet_start(&packet), packet_bytes(&packet));
    }
}

static void pass(uint32_t milliseconds)
{
    for (uint32_t end = stack.now + milliseconds; stack.now < end; stack.now += 50) {
        sys_check_timeouts();
    }
}

static void end_all(void)
{
    while (tcp_active_pcbs != NULL) {
        tcp_abort(tcp_active_pcbs);
    }
    while (tcp_tw_pcbs != NULL) {
        tcp_abort(tcp_tw_pcbs);
    }
    if (unread != NULL) {
        pbuf_free(unread);
        unread = NULL;
    }
    for (unsigned i = 0; i < PEERS; i++) {
        connections[i] = NULL;
    }
}

static void any_segments(void **state)
{
    (void)state;
    for (unsigned seed = first_seed; seed < first_seed + seeds; seed++) {
        random_state = seed;
        for (unsigned step = 0; step < STEPS; step++) {
            switch (draw(8)) {
            case 0:
                pass(draw(4) == 0 ? draw(20000) : draw(1000));
                break;
            case 1:
            case 2:
                act();
                break;
            default:
                send_segment();
                break;
            }
            if (draw(50) == 0) {
                netif_set_link_down(&stack.interface.netif);
            } else if (draw(5) == 0) {
                netif_set_link_up(&stack.interface.netif);
            }
        }
        end_all();
        assert_int_equal(stack.interface.blocks_free, stack.interface.blocks_count);
    }
}

static int start(void **state)
{
    struct tcp_pcb *listener;
    struct packet packet;

    (void)state;
    stack_start(BLOCKS);
    packet_arp(&packet);
    packet_ethernet(&packet, ARP);
    stack_receive(packet_start(&packet), packet_bytes(&packet));
    listener = tcp_new();
    assert_int_equal(tcp_bind(listener, IP4_ADDR_ANY, PORT), ERR_OK);
    listener = tcp_listen(listener);
    tcp_accept(listener, accept_connection);
    return 0;
}

int main(int count, char *arguments[])
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_segments)};

    if (count == 3) {
        first_seed = (unsigned)strtoul(arguments[1], NULL, 10);
        seeds = (unsigned)strtoul(arguments[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, start, NULL);
}
