/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store of connections in kept memory. Each connection has a slot: a record that is written
 * whole or not at all (kernel/kept.h), a ring of the bytes that were received and not consumed, and
 * a ring of the bytes that were sent and not acknowledged.
 *
 * A ring has no pointers of its own. The byte with sequence number n is at n modulo the ring's
 * size, and the record says which numbers are valid. Bytes are stored into the part of a ring that
 * is not valid, and become valid with the next write of the record.
 *
 * The life before has written the slots, and may have failed because its memory was corrupt. Every
 * value is checked before it is used, and a slot that fails is dropped without effect on the
 * others. No digest covers the bytes in the rings.
 *
 * Callers exclude each other (lwIP's core lock).
 */
#ifndef CONNECTION_STORE_H
#define CONNECTION_STORE_H

#include "kernel/connection.h"
#include "kernel/kept.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values of `flags`. */
#define STORE_V6      1u  /* the addresses are IPv6 addresses */
#define STORE_SCALED  2u  /* windows are scaled (RFC 7323, 2) */
#define STORE_ENDED   4u  /* the peer's FIN was received, after the last byte */
#define STORE_CLOSED  8u  /* a FIN follows the last byte written */
#define STORE_WAITING 16u /* both sides have closed: TIME-WAIT */
#define STORE_OPEN    32u /* the peer has acknowledged our SYN */

/* The content of a record. Sequence numbers are those of TCP, modulo 2^32. */
struct store_content {
    uint8_t local_address[16]; /* network byte order; IPv4: the first 4 bytes */
    uint8_t remote_address[16];
    uint16_t local_port;
    uint16_t remote_port;
    uint16_t segment_bytes; /* maximum size of segments to the peer */
    uint8_t scale;          /* shift count of the peer's windows, up to 14 */
    uint8_t flags;
    uint32_t zone;          /* of link-local IPv6 addresses (RFC 4007); 0: none is link-local */
    uint32_t send_first;    /* the first byte sent: the number after that of our SYN */
    uint32_t receive_first; /* the first byte received */
    uint32_t received;      /* the next byte to receive */
    uint32_t consumed;      /* the first byte that no commit has consumed */
    uint32_t written;       /* the byte after the last one written and committed */
    uint32_t acknowledged;  /* the first byte that may be unacknowledged */
    uint32_t reserved;      /* 0 */
    uint8_t state[CONNECTION_STATE_MAX];
};

struct store_slot {
    struct kept_record record;
    struct store_content content; /* the next write of the record stores this */
    size_t state_bytes;
    uint8_t *receive_ring;  /* CONNECTION_RECEIVE_BYTES */
    uint8_t *send_ring;     /* CONNECTION_SEND_BYTES */
    bool is_used;           /* by a connection */
    bool is_waiting;        /* in TIME-WAIT: may be used for a new connection */
    uint32_t waiting_since; /* number of the slot among all that began to wait */
};

/* The content of a slot that store_open() opened. */
enum store_found { STORE_EMPTY, STORE_CONNECTION, STORE_BROKEN };

/* Returns the size of a slot, a multiple of KEPT_ALIGNMENT. */
size_t store_slot_bytes(void);

/* Opens the slot at `place`. After STORE_CONNECTION, content and state_bytes are those of the last
 * write. Otherwise the slot is empty now; *reason says why it was broken, a static text. */
enum store_found store_open(struct store_slot *slot, void *place, const char **reason);

/* Writes the record. When the function returns, a restart finds the content. */
void store_write(struct store_slot *slot);

/* Empties the slot. */
void store_erase(struct store_slot *slot);

/* Copies received bytes behind content.received and advances it. At most store_receive_room(). */
void store_receive(struct store_slot *slot, const void *data, size_t bytes);
/* Returns how many more bytes the receive ring holds. */
size_t store_receive_room(const struct store_slot *slot);
/* Copies up to `bytes` received bytes from sequence number `from` on, which is between consumed and
 * received. Returns their number. */
size_t store_peek(const struct store_slot *slot, uint32_t from, void *buffer, size_t bytes);
/* Copies bytes to send to sequence number `at`; they lie within CONNECTION_SEND_BYTES behind
 * content.acknowledged as it was written last. */
void store_send(struct store_slot *slot, uint32_t at, const void *data, size_t bytes);
/* Returns the bytes to send from sequence number `from` on, and in *bytes how many of them follow
 * each other in memory. */
const uint8_t *store_sent(const struct store_slot *slot, uint32_t from, size_t *bytes);

#endif
