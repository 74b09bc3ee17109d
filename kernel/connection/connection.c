/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface for programs (kernel/connection.h). */
#include "connection/connection_private.h"
#include "core_lock.h"
#include "lwip/priv/tcp_priv.h"
#include <string.h>

/* A window update is sent at once if the room for received bytes has grown by this much since the
 * last segment. It is less than four segments (receive_window.c). */
#define WINDOW_UPDATE_BYTES (CONNECTION_RECEIVE_BYTES / 4)

void connection_set_user(struct connection *connection, void *user)
{
    connection->user = user;
}

void *connection_user(const struct connection *connection)
{
    return connection->user;
}

bool connection_is_kept(const struct connection *connection)
{
    return connection->slot != NULL;
}

static size_t unread_bytes(const struct connection *connection)
{
    if (connection->slot != NULL) {
        return connection->slot->content.received - connection->read;
    }
    return connection->unread_bytes;
}

size_t connection_peek(const struct connection *connection, void *buffer, size_t capacity)
{
    if (connection->slot != NULL) {
        return store_peek(connection->slot, connection->read, buffer, capacity);
    }
    return connection->unread == NULL ? 0
                                      : pbuf_copy_partial(connection->unread, buffer,
                                                          (u16_t)LWIP_MIN(capacity, 0xffffu), 0);
}

/* Frees bytes of an ordinary connection, in parts that lwIP can count. */
static void skip_unread(struct connection *connection, uint32_t bytes)
{
    connection->unread_bytes -= bytes;
    connection->uncommitted += bytes;
    while (bytes != 0) {
        u16_t part = (u16_t)LWIP_MIN(bytes, 0xffffu);

        connection->unread = pbuf_free_header(connection->unread, part);
        bytes -= part;
    }
}

void connection_skip(struct connection *connection, size_t bytes)
{
    size_t skipped = LWIP_MIN(bytes, unread_bytes(connection));

    if (skipped != 0) {
        connection->idle_seconds = 0;
    }
    if (connection->slot != NULL) {
        connection->read += (uint32_t)skipped;
    } else {
        skip_unread(connection, (uint32_t)skipped);
    }
}

bool connection_has_ended(const struct connection *connection)
{
    return connection->has_ended;
}

size_t connection_room(const struct connection *connection)
{
    if (connection->is_closing) {
        return 0;
    }
    if (connection->slot == NULL) {
        return LWIP_MIN((size_t)tcp_sndbuf(connection->pcb),
                        connection_segments_room(connection->pcb, 1));
    }
    return CONNECTION_SEND_BYTES - (connection->written - connection_acknowledged(connection));
}

/* Makes room in the send ring: bytes that the record calls unacknowledged are overwritten only
 * after the record has changed. */
static void release_acknowledged(struct connection *connection, size_t bytes)
{
    struct store_content *content = &connection->slot->content;

    if (connection->written + bytes - content->acknowledged > CONNECTION_SEND_BYTES) {
        content->acknowledged = connection_acknowledged(connection);
        connection->is_stale = false;
        store_write(connection->slot);
    }
}

/* Ordinary connections: lwIP copies the bytes. */
static bool write_ordinary(struct connection *connection, const void *data, size_t bytes)
{
    return bytes <= UINT16_MAX &&
           tcp_write(connection->pcb, data, (u16_t)bytes, TCP_WRITE_FLAG_COPY) == ERR_OK;
}

bool connection_write(struct connection *connection, const void *data, size_t bytes)
{
    bool is_written = bytes <= connection_room(connection);

    if (bytes == 0) {
        return true;
    }
    if (is_written && connection->slot != NULL) {
        release_acknowledged(connection, bytes);
        store_send(connection->slot, connection->written, data, bytes);
        connection->written += (uint32_t)bytes;
    } else if (is_written) {
        is_written = write_ordinary(connection, data, bytes);
    }
    return is_written;
}

void connection_await_room(struct connection *connection)
{
    connection->wants_room = true;
}

void connection_close(struct connection *connection)
{
    connection->is_closing = true;
}

/* Keeps what was read and written. Returns the number of bytes that were consumed. */
static uint32_t keep(struct connection *connection, const void *state, size_t bytes)
{
    struct store_slot *slot = connection->slot;
    uint32_t consumed = connection->read - slot->content.consumed;

    slot->content.consumed = connection->read;
    slot->content.written = connection->written;
    slot->content.acknowledged = connection_acknowledged(connection);
    slot->content.flags |= connection->is_closing ? STORE_CLOSED : 0;
    slot->state_bytes = LWIP_MIN(bytes, (size_t)CONNECTION_STATE_MAX);
    if (slot->state_bytes != 0) {
        memcpy(slot->content.state, state, slot->state_bytes);
    }
    connection->is_stale = false;
    store_write(slot);
    return consumed;
}

/* Gives the window back that the consumed bytes took. */
static void open_window(struct connection *connection, uint32_t consumed)
{
    struct tcp_pcb *pcb = connection->pcb;

    pcb->rcv_wnd = (tcpwnd_size_t)LWIP_MIN(pcb->rcv_wnd + consumed, (u32_t)TCP_WND_MAX(pcb));
    connection_limit_window(connection);
    if ((u32_t)(pcb->rcv_nxt + pcb->rcv_ann_wnd - pcb->rcv_ann_right_edge) >= WINDOW_UPDATE_BYTES &&
        TCP_SEQ_GT(pcb->rcv_nxt + pcb->rcv_ann_wnd, pcb->rcv_ann_right_edge)) {
        tcp_ack_now(pcb);
    }
}

static void commit_ordinary(struct connection *connection)
{
    while (connection->uncommitted != 0) {
        u16_t part = (u16_t)LWIP_MIN(connection->uncommitted, 0xffffu);

        connection->uncommitted -= part;
        tcp_recved(connection->pcb, part);
    }
}

void connection_commit(struct connection *connection, const void *state, size_t bytes)
{
    if (connection->is_closing) {
        connection_skip(connection, SIZE_MAX);
        connection->is_closed = true;
    }
    if (connection->slot != NULL) {
        open_window(connection, keep(connection, state, bytes));
    } else {
        commit_ordinary(connection);
    }
    connection_queue(connection);
    (void)tcp_output(connection->pcb);
}

void connection_abort(struct connection *connection)
{
    tcp_abort(connection->pcb);
}

size_t connection_kept_bytes(void)
{
    return store_slot_bytes();
}

void connection_statistics(struct connection_statistics *statistics)
{
    *statistics = connection_counts;
}

static struct tcp_pcb *open_listener(const struct connection_service *service, enum result *result)
{
    struct tcp_pcb *pcb = tcp_new_ip_type(IPADDR_TYPE_ANY);
    struct tcp_pcb *listener;

    *result = RESULT_NO_MEMORY;
    if (pcb == NULL) {
        return NULL;
    }
    if (tcp_bind(pcb, IP_ANY_TYPE, service->port) != ERR_OK) {
        *result = RESULT_BUSY;
        (void)tcp_close(pcb);
        return NULL;
    }
    /* The priority of new control blocks: a client for which there is none waits, instead of taking
     * that of another client. */
    tcp_setprio(pcb, TCP_PRIO_MIN);
    listener = tcp_listen(pcb);
    if (listener == NULL) {
        (void)tcp_close(pcb);
        return NULL;
    }
    callbacks_listen(listener, service);
    *result = RESULT_OK;
    return listener;
}

enum result connection_serve(const struct connection_service *service)
{
    enum result result;
    struct tcp_pcb *listener;

    slots_open(service);
    network_lock();
    listener = open_listener(service, &result);
    if (listener != NULL) {
        restore_service(service, listener);
    }
    network_unlock();
    return result;
}
