/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's control blocks of TCP with corrections (to 2.1.3) of states that a peer can cause.
 *
 * The persist timer probes a window that is closed (RFC 9293, 3.8.6.1). Two assertions of
 * tcp_slowtmr() depend on the peer:
 *
 * - "persist ticking with empty send buffer": the peer closes its window while bytes are in flight.
 *   They are to be sent again, find the window closed, and the persist timer starts. Then the peer
 *   acknowledges them. The queue is empty, and lwIP does not stop the timer.
 * - "Can't split segment into length 0": the window opens by a multiple of 65536 bytes while there
 *   is no route to the peer. The timer takes the lowest 16 bits for the window.
 *
 * A program that has closed its side may refuse the last data for the moment, because its mailbox
 * is full. If the peer's FIN came with them, the connection is in TIME-WAIT already. lwIP offers
 * the data again only to open connections, and does not free them with the control block. So the
 * program would wait for ever, and receive buffers would be lost. Here they are offered, and freed.
 *
 * A program that has closed only its own side still has its control block in TIME-WAIT. lwIP frees
 * it without telling the program when the time is over, or, if a flood of SYNs takes all others, at
 * once. Here the program is told, as it is when its connection ends in LAST-ACK.
 *
 * Compiled with lwIP's arguments; the include path has the folder of tcp.c. Core lock held.
 */
#include "lwip/priv/tcp_priv.h"

static void free_block(memp_t type, void *block);
static void run_timers(void);
static void remove_block(struct tcp_pcb **list, struct tcp_pcb *pcb);

/* lwIP's tcp_tmr() is called by the corrected one. */
#define tcp_tmr   run_timers
#define memp_free free_block
#undef TCP_RMV
#define TCP_RMV remove_block

#include "tcp.c"

#undef memp_free
#undef tcp_tmr

/* Tells the program once. */
static void tell_closed(struct tcp_pcb *pcb)
{
    tcp_err_fn tell = pcb->errf;

    pcb->errf = NULL;
    if (tell != NULL) {
        tell(pcb->callback_arg, ERR_CLSD);
    }
}

/* A listener has another type, and no data. */
static void free_block(memp_t type, void *block)
{
    struct tcp_pcb *pcb = block;

    if (type == MEMP_TCP_PCB && pcb->refused_data != NULL) {
        pbuf_free(pcb->refused_data);
    }
    if (type == MEMP_TCP_PCB && pcb->state == TIME_WAIT) {
        tell_closed(pcb);
    }
    memp_free(type, block);
}

/* Removes a control block from a list. From that of TIME-WAIT, another connection takes it. */
static void remove_block(struct tcp_pcb **list, struct tcp_pcb *pcb)
{
    while (*list != NULL && *list != pcb) {
        list = &(*list)->next;
    }
    if (*list != NULL) {
        *list = pcb->next;
    }
    pcb->next = NULL;
    if (pcb->state == TIME_WAIT) {
        tell_closed(pcb);
    }
}

static void correct_persist_timer(struct tcp_pcb *pcb)
{
    if (pcb->unsent == NULL) {
        pcb->persist_backoff = 0;
    } else if (pcb->snd_wnd != 0 && (u16_t)pcb->snd_wnd == 0) {
        pcb->persist_cnt = 0; /* no probe: the window is open */
        (void)tcp_output(pcb);
    }
}

static void offer_refused_data(void)
{
    struct tcp_pcb *pcb = tcp_tw_pcbs;

    while (pcb != NULL && pcb->refused_data == NULL) {
        pcb = pcb->next;
    }
    if (pcb != NULL) { /* one at a time, because the program may end connections */
        (void)tcp_process_refused_data(pcb);
    }
}

void tcp_tmr(void)
{
    for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb != NULL; pcb = pcb->next) {
        if (pcb->persist_backoff != 0) {
            correct_persist_timer(pcb);
        }
    }
    offer_refused_data();
    run_timers();
}
