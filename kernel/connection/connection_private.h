/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations shared by the files of this folder. Core lock held for all of them. */
#ifndef CONNECTION_PRIVATE_H
#define CONNECTION_PRIVATE_H

#include "connection/store.h"
#include "kernel/connection.h"
#include "lwip/ip_addr.h"
#include "lwip/tcp.h"

struct connection {
    const struct connection_service *service; /* NULL: the structure is free */
    struct tcp_pcb *pcb;                      /* NULL: the connection has ended */
    struct store_slot *slot;                  /* NULL: an ordinary connection */
    void *user;
    uint32_t read;         /* kept: sequence number of the next byte to read */
    uint32_t written;      /* kept: sequence number behind the last byte written */
    uint32_t queued;       /* kept: sequence number behind the last byte that lwIP has */
    uint32_t resent_end;   /* restored: sequence number behind the bytes that may have been sent */
    struct pbuf *unread;   /* ordinary: bytes received and not read; tot_len may be too small */
    uint32_t unread_bytes; /* of them: more than tot_len can say if the window is scaled */
    uint32_t uncommitted;  /* ordinary: bytes read since the last commit */
    uint16_t idle_seconds; /* time without progress */
    uint8_t announcements; /* restored: how often the peer is still to be told */
    bool is_open;          /* the program knows the connection */
    bool has_ended;        /* the peer's FIN was received */
    bool is_closing;       /* the program has closed; effective with the next commit */
    bool is_closed;        /* the same, committed */
    bool is_finished;      /* our FIN is queued */
    bool is_resending;     /* restored: not all bytes that may have been sent are queued */
    bool is_stale;         /* kept: the record does not have the last received bytes */
    bool has_crossed;      /* the FINs of both sides have crossed */
    bool wants_room;
};

/* lwIP's side (callbacks.c). */

/* Sets lwIP's callbacks of a listener or of a connection. */
void callbacks_listen(struct tcp_pcb *listener, const struct connection_service *service);
void callbacks_attach(struct connection *connection, struct tcp_pcb *pcb);
/* Calls opened() and, if there is something, ready(). Returns false if the program has aborted the
 * connection. */
bool connection_tell_opened(struct connection *connection);
/* Announces no more than the receive ring has room for. For a kept connection. */
void connection_limit_window(struct connection *connection);
/* Passes committed bytes, and then the FIN, to lwIP, as far as lwIP has room. */
void connection_queue(struct connection *connection);
/* Returns the number of bytes for which lwIP has room in the connection's queue, if each segment
 * takes `pieces` buffers. */
size_t connection_segments_room(const struct tcp_pcb *pcb, unsigned pieces);
/* Returns the sequence number up to which lwIP needs no byte of the send ring any more. */
uint32_t connection_acknowledged(const struct connection *connection);

/* Structures and slots (entries.c). */

/* Returns a free structure of the service, or NULL. */
struct connection *entry_take(const struct connection_service *service);
void entry_free(struct connection *connection);
/* Returns the i-th structure; NULL behind the last one. */
struct connection *entry_get(unsigned i);
/* Opens the kept memory of a service, and its slots. */
void slots_open(const struct connection_service *service);
/* Takes a slot for a new connection between these addresses, also one in TIME-WAIT; NULL if all are
 * in use. */
struct store_slot *slots_take(const struct connection_service *service,
                              const struct store_content *content);
/* The slot's connection is in TIME-WAIT. Its record has been written. */
void slots_wait(struct store_slot *slot);
/* Calls the function with each slot of the service that has a connection of the life before. */
void slots_each_found(const struct connection_service *service,
                      void (*restore)(const struct connection_service *service,
                                      struct store_slot *slot));
extern struct connection_statistics connection_counts;

/* Restarts (restore.c). */

/* Continues the connections of the life before. `listener`: that of the service. */
void restore_service(const struct connection_service *service, struct tcp_pcb *listener);
/* Writes the addresses, ports and options of a connection that is being opened into `content`. */
void restore_describe(const struct tcp_pcb *pcb, struct store_content *content);

#endif
