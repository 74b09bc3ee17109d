/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that lwIP calls for a connection. They keep the rule of output commit by the order
 * in which lwIP (2.1.3) works:
 *
 * - passive_open() is called before lwIP makes the SYN-ACK. So a connection that the peer may
 *   believe to be open is in kept memory.
 * - tcp_input() calls receive() after it has advanced rcv_nxt, and sends the acknowledgement when
 *   receive() has returned. The exception is a segment that fills a gap while selective
 *   acknowledgements are in use: then an acknowledgement is sent before. So kept connections do not
 *   offer selective acknowledgements (RFC 2018). They would be of little use: a restart loses
 *   what was received out of order, and a receiver should not take back what it has reported (8).
 * - Bytes to send are in the send ring, and the record says so, before tcp_write() gets them. lwIP
 *   refers to them there.
 * - A FIN in either direction is written to the record before it is acknowledged or sent.
 *
 * lwIP's own receive window is not changed, because the port computes shares with it
 * (receive_window.c). The window that is announced is limited by rcv_ann_wnd instead.
 */
#include "connection/connection_private.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/timeouts.h"
#include <string.h>

/* lwIP's pointers for a listener are not in use otherwise (ext_args). */
#define LISTENER_CALLBACKS 0u

/* Buffers that lwIP takes for a segment with bytes in kept memory: the header, and a reference. */
#define REFERENCE_PIECES 2u

#define POLL_INTERVAL 2u /* of lwIP's slow timer: a second */

/* Returns the smaller of a sequence number and that of a list's first segment. */
static uint32_t before_segments(uint32_t sequence, const struct tcp_seg *segments)
{
    uint32_t first = segments == NULL ? sequence : lwip_ntohl(segments->tcphdr->seqno);

    return TCP_SEQ_LT(first, sequence) ? first : sequence;
}

/* After a restart, segments have other limits than those that the peer acknowledges. lwIP keeps a
 * segment that is acknowledged in part, and may send all of it again. So none of its bytes is
 * released. */
uint32_t connection_acknowledged(const struct connection *connection)
{
    const struct tcp_pcb *pcb = connection->pcb;
    uint32_t acknowledged =
        before_segments(before_segments(pcb->lastack, pcb->unacked), pcb->unsent);

    /* The acknowledgement of our FIN is beyond the last byte, that of our SYN is still missing
     * before the first one. */
    if (TCP_SEQ_GT(acknowledged, connection->slot->content.written)) {
        return connection->slot->content.written;
    }
    return TCP_SEQ_LT(acknowledged, connection->slot->content.acknowledged)
               ? connection->slot->content.acknowledged
               : acknowledged;
}

void connection_limit_window(struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;
    size_t room = store_receive_room(connection->slot);

    pcb->rcv_ann_wnd = (tcpwnd_size_t)LWIP_MIN((size_t)pcb->rcv_wnd, room);
}

/* Writes the record if received bytes are not in it yet. */
static void keep_received(struct connection *connection)
{
    if (connection->is_stale) {
        connection->is_stale = false;
        store_write(connection->slot);
    }
}

/* Sends the FIN if all committed bytes are with lwIP. */
static void finish(struct connection *connection)
{
    bool is_queued =
        connection->slot == NULL || connection->queued == connection->slot->content.written;

    if (connection->is_closed && !connection->is_finished && is_queued) {
        connection->is_finished = tcp_shutdown(connection->pcb, 0, 1) == ERR_OK;
    }
}

/* The peer may acknowledge all that the life before has sent, also bytes for which lwIP has had no
 * room yet. Then lwIP's queue is empty, and goes on behind them. A FIN is queued in any case: lwIP
 * has to learn that it is acknowledged. */
static void skip_acknowledged(struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;

    if (TCP_SEQ_GT(pcb->lastack, connection->queued) && !connection->is_finished) {
        if (TCP_SEQ_GT(pcb->lastack, connection->slot->content.written)) {
            pcb->lastack = connection->slot->content.written;
        }
        pcb->snd_lbb = pcb->lastack;
        connection->queued = pcb->lastack;
    }
    connection->is_resending = TCP_SEQ_LT(connection->queued, connection->resent_end) ||
                               connection->is_closed != connection->is_finished;
}

size_t connection_segments_room(const struct tcp_pcb *pcb, unsigned pieces)
{
    size_t left = TCP_SND_QUEUELEN - LWIP_MIN((size_t)pcb->snd_queuelen + 1, TCP_SND_QUEUELEN);
    size_t half_window = (size_t)pcb->snd_wnd_max / 2;
    size_t segment = half_window != 0 ? LWIP_MIN((size_t)pcb->mss, half_window) : pcb->mss;

    return left / pieces * segment;
}

/* Passes bytes to lwIP. Returns their number, 0 if there is no memory. lwIP takes all bytes of a
 * call or none. So if it takes none, which happens if the segments are small, a second call passes
 * only as many as it has room for. */
static u16_t queue_part(struct tcp_pcb *pcb, const void *data, size_t bytes, u8_t flags)
{
    u16_t part = (u16_t)LWIP_MIN(LWIP_MIN(bytes, (size_t)tcp_sndbuf(pcb)), 0xffffu);
    u16_t fitting;

    if (part == 0 ||
        tcp_write(pcb, data, part, part == bytes ? flags : TCP_WRITE_FLAG_MORE) == ERR_OK) {
        return part;
    }
    fitting = (u16_t)LWIP_MIN(connection_segments_room(pcb, REFERENCE_PIECES), (size_t)part - 1);
    return fitting != 0 && tcp_write(pcb, data, fitting, TCP_WRITE_FLAG_MORE) == ERR_OK ? fitting
                                                                                        : 0;
}

void connection_queue(struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;
    struct store_slot *slot = connection->slot;

    if (connection->is_resending) {
        skip_acknowledged(connection);
    }
    while (slot != NULL && connection->queued != slot->content.written) {
        size_t bytes;
        const uint8_t *data = store_sent(slot, connection->queued, &bytes);
        bool is_last = connection->queued + bytes == slot->content.written;
        u16_t part = queue_part(pcb, data, bytes, is_last ? 0 : TCP_WRITE_FLAG_MORE);

        if (part == 0) {
            break; /* again when the peer has acknowledged something, or in a second */
        }
        connection->queued += part;
    }
    finish(connection);
}

/* Calls ready(). Returns false if the connection has ended meanwhile. */
static bool tell_ready(struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;

    if (connection->is_open && !connection->is_closed) {
        connection->service->operations->ready(connection);
    }
    return connection->pcb == pcb;
}

bool connection_tell_opened(struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;
    struct store_slot *slot = connection->slot;
    bool has_bytes =
        slot == NULL ? connection->unread != NULL : slot->content.received != connection->read;

    connection->is_open = true;
    if (slot == NULL) {
        connection->service->operations->opened(connection, NULL, 0);
    } else {
        connection->service->operations->opened(connection, slot->content.state, slot->state_bytes);
    }
    if (connection->pcb != pcb) {
        return false;
    }
    return !(has_bytes || connection->has_ended || slot != NULL) || tell_ready(connection);
}

/* ---- Reception ---- */

/* Takes bytes back that the receive ring has no room for: a peer may send one to probe a window
 * that is closed. They were not acknowledged yet. Returns false if a FIN follows them, which only
 * an attacker sends beyond the window. */
static bool take_back(struct tcp_pcb *pcb, u16_t bytes)
{
    bool can_receive =
        pcb->state == ESTABLISHED || pcb->state == FIN_WAIT_1 || pcb->state == FIN_WAIT_2;

    if (!can_receive) {
        return false;
    }
    pcb->rcv_nxt -= bytes;
    pcb->rcv_wnd = (tcpwnd_size_t)(pcb->rcv_wnd + bytes);
    tcp_ack_now(pcb);
    return true;
}

/* Copies bytes into the receive ring. Returns false if the connection has to be reset. */
static bool keep_bytes(struct connection *connection, const struct pbuf *data)
{
    size_t room = store_receive_room(connection->slot);
    size_t left = LWIP_MIN(room, (size_t)data->tot_len);
    u16_t excess = (u16_t)(data->tot_len - left);

    for (const struct pbuf *piece = data; left != 0; piece = piece->next) {
        size_t bytes = LWIP_MIN(left, (size_t)piece->len);

        store_receive(connection->slot, piece->payload, bytes);
        left -= bytes;
    }
    connection->is_stale = true;
    return excess == 0 || take_back(connection->pcb, excess);
}

/* Bytes that arrive after the program has closed are acknowledged and forgotten, also if there is
 * no room for them. */
static void discard(struct connection *connection, u16_t bytes)
{
    struct tcp_pcb *pcb = connection->pcb;

    if (connection->slot == NULL) {
        tcp_recved(pcb, bytes);
        return;
    }
    connection->slot->content.received += bytes;
    connection->slot->content.consumed = connection->slot->content.received;
    connection->read = connection->slot->content.received;
    connection->is_stale = true;
    pcb->rcv_wnd = (tcpwnd_size_t)LWIP_MIN((u32_t)pcb->rcv_wnd + bytes, (u32_t)TCP_WND_MAX(pcb));
}

/* ---- The end ---- */

/* Time until the next look at connections whose FINs have crossed, in ms. */
#define CROSSED_MILLISECONDS 250u

static void watch_crossed(void *argument);
static void fail(void *argument, err_t error);

static void note_end(struct connection *connection)
{
    connection->has_ended = true;
    if (connection->slot != NULL) {
        connection->slot->content.flags |= STORE_ENDED;
        connection->is_stale = true;
    }
    if (connection->pcb->state == CLOSING) {
        connection->has_crossed = true;
        sys_untimeout(watch_crossed, NULL);
        sys_timeout(CROSSED_MILLISECONDS, watch_crossed, NULL);
    }
}

/* In TIME-WAIT the program has nothing to do any more, and lwIP frees the connection without a
 * call. Returns true if the connection was released. */
static bool release_waiting(struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;
    struct store_slot *slot = connection->slot;

    if (pcb->state != TIME_WAIT) {
        return false;
    }
    if (slot != NULL) {
        slot->content.flags |= STORE_ENDED | STORE_WAITING;
        slot->content.received = pcb->rcv_nxt - 1; /* before the FIN, with what came with it */
        slot->content.consumed = slot->content.received;
        slot->content.acknowledged = slot->content.written;
        store_write(slot);
        slots_wait(slot);
        connection->slot = NULL;
    }
    tcp_arg(pcb, NULL);
    tcp_recv(pcb, NULL);
    tcp_sent(pcb, NULL);
    tcp_err(pcb, NULL);
    tcp_poll(pcb, NULL, 0);
    if (connection->is_open) {
        connection->service->operations->gone(connection);
    }
    entry_free(connection);
    return true;
}

/* Returns true if the connection's control block is in the list. It may have been freed, and may
 * be that of another connection. */
static bool is_listed(const struct connection *connection, const struct tcp_pcb *list)
{
    while (list != NULL && (list != connection->pcb || list->callback_arg != connection)) {
        list = list->next;
    }
    return list != NULL;
}

/*
 * A timer function of lwIP. When our FIN is acknowledged after that of the peer (CLOSING), lwIP
 * enters TIME-WAIT, and calls sent() only if bytes were acknowledged, too. It calls nobody when it
 * frees the control block then. So the connections in this state are looked at.
 */
static void watch_crossed(void *argument)
{
    struct connection *connection;
    bool has_more = false;

    for (unsigned i = 0; (connection = entry_get(i)) != NULL; i++) {
        if (!connection->has_crossed) {
            continue;
        }
        if (is_listed(connection, tcp_active_pcbs)) {
            has_more = true;
        } else if (is_listed(connection, tcp_tw_pcbs)) {
            (void)release_waiting(connection);
        } else {
            fail(connection, ERR_CLSD);
        }
    }
    if (has_more) {
        sys_timeout(CROSSED_MILLISECONDS, watch_crossed, argument);
    }
}

static void add_unread(struct connection *connection, struct pbuf *data)
{
    connection->unread_bytes += data->tot_len;
    if (connection->unread == NULL) {
        connection->unread = data;
    } else {
        pbuf_cat(connection->unread, data);
    }
}

/* Takes received bytes. Returns false if the connection has to be reset. */
static bool take_bytes(struct connection *connection, struct pbuf *data)
{
    bool is_sound = true;

    if (connection->is_closed) {
        discard(connection, data->tot_len);
        pbuf_free(data);
    } else if (connection->slot != NULL) {
        is_sound = keep_bytes(connection, data);
        pbuf_free(data);
    } else {
        add_unread(connection, data);
    }
    return is_sound;
}

static err_t receive(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
    struct connection *connection = argument;

    (void)error;
    connection->announcements = 0; /* the peer sends, so its timer does not wait */
    if (data == NULL) {
        note_end(connection);
        if (release_waiting(connection)) {
            return ERR_OK;
        }
    } else if (!take_bytes(connection, data)) {
        tcp_abort(pcb);
        return ERR_ABRT;
    }
    if (!tell_ready(connection)) {
        return ERR_ABRT;
    }
    if (connection->slot != NULL) {
        keep_received(connection);
        connection_limit_window(connection);
    }
    return ERR_OK;
}

/* ---- Other events ---- */

static err_t sent(void *argument, struct tcp_pcb *pcb, u16_t bytes)
{
    struct connection *connection = argument;

    (void)pcb;
    (void)bytes;
    connection->idle_seconds = 0;
    if (release_waiting(connection)) {
        return ERR_OK;
    }
    connection_queue(connection);
    if (connection->wants_room) {
        connection->wants_room = false;
        return tell_ready(connection) ? ERR_OK : ERR_ABRT;
    }
    return ERR_OK;
}

static void fail(void *argument, err_t error)
{
    struct connection *connection = argument;

    (void)error;
    connection->pcb = NULL; /* lwIP has freed it, or is about to */
    if (connection->slot != NULL) {
        store_erase(connection->slot);
        connection_counts.kept--;
    }
    if (connection->unread != NULL) {
        pbuf_free(connection->unread);
    }
    if (connection->is_open) {
        connection->service->operations->gone(connection);
    }
    entry_free(connection);
}

/* Closes a connection without progress; resets it if that does not help within the same time. */
static err_t end_idle(struct connection *connection, struct tcp_pcb *pcb)
{
    if (connection->is_closed || !connection->is_open) {
        tcp_abort(pcb);
        return ERR_ABRT;
    }
    connection->idle_seconds = 0;
    if (connection->slot != NULL) {
        connection->written = connection->slot->content.written; /* only what was committed */
    }
    connection_close(connection);
    connection_commit(connection, NULL, 0);
    return ERR_OK;
}

/* Called by lwIP once a second. */
static err_t poll(void *argument, struct tcp_pcb *pcb)
{
    struct connection *connection = argument;

    connection->idle_seconds++;
    if (connection->idle_seconds > connection->service->idle_seconds) {
        return end_idle(connection, pcb);
    }
    connection_queue(connection);
    if (connection->wants_room) {
        connection->wants_room = false;
        if (!tell_ready(connection)) {
            return ERR_ABRT;
        }
    }
    (void)tcp_output(pcb);
    return ERR_OK;
}

/* ---- Opening ---- */

void callbacks_attach(struct connection *connection, struct tcp_pcb *pcb)
{
    connection->pcb = pcb;
    tcp_arg(pcb, connection);
    tcp_err(pcb, fail);
    tcp_recv(pcb, receive);
    tcp_sent(pcb, sent);
    tcp_poll(pcb, poll, POLL_INTERVAL);
    tcp_nagle_disable(pcb);
}

/* Called when a SYN has arrived, before the SYN-ACK is made. */
static err_t passive_open(u8_t id, struct tcp_pcb_listen *listener, struct tcp_pcb *pcb)
{
    const struct connection_service *service = listener->callback_arg;
    struct connection *connection = entry_take(service);
    struct store_content content;

    (void)id;
    if (connection == NULL) {
        return ERR_MEM;
    }
    restore_describe(pcb, &content);
    connection->slot = slots_take(service, &content);
    if (connection->slot != NULL) {
        tcp_setprio(pcb, TCP_PRIO_NORMAL); /* no other connection takes its control block */
        tcp_clear_flags(pcb, TF_SACK);
        connection->slot->content = content;
        connection->slot->state_bytes = 0;
        store_write(connection->slot);
        connection->read = content.received;
        connection->written = content.written;
        connection->queued = content.written;
    }
    callbacks_attach(connection, pcb);
    return ERR_OK;
}

static err_t accept(void *argument, struct tcp_pcb *pcb, err_t error)
{
    struct connection *connection = argument;

    if (pcb == NULL || error != ERR_OK) {
        return ERR_OK; /* no memory for a connection: the peer sends its SYN again */
    }
    if (connection->slot != NULL) {
        tcp_clear_flags(pcb, TF_SACK); /* set again if the peer has repeated its SYN */
        connection_limit_window(connection);
        connection->slot->content.flags |= STORE_OPEN;
        store_write(connection->slot);
    }
    return connection_tell_opened(connection) ? ERR_OK : ERR_ABRT;
}

void callbacks_listen(struct tcp_pcb *listener, const struct connection_service *service)
{
    static const struct tcp_ext_arg_callbacks callbacks = {.passive_open = passive_open};

    tcp_arg(listener, (void *)(uintptr_t)service);
    tcp_ext_arg_set_callbacks(listener, LISTENER_CALLBACKS, &callbacks);
    tcp_accept(listener, accept);
}
