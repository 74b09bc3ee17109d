/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer of the server in life.h: a small TCP client of its own, which checks what every peer may
 * expect of a machine that never failed:
 *
 * - no reset
 * - no acknowledgement that is taken back, and none of bytes that were not sent
 * - each request answered once, by one life
 */
#ifndef TESTS_CONNECTION_PEER_H
#define TESTS_CONNECTION_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_STREAM_MAX (256u * 1024u)

struct peer {
    uint16_t port;
    uint32_t requests;    /* that it makes in all */
    uint32_t ahead;       /* requests that it sends before the answer to the first arrives */
    uint32_t rto;         /* ms until it sends again */
    uint32_t most;        /* bytes that it sends, until the test raises this; 0: all */
    bool server_closes;   /* asks the server to close after the last answer */
    bool fins_cross;      /* the server closes later, and the peer at the same time */
    bool sends_rest;      /* with its FIN, sends bytes that the server does not wait for */
    bool ignores_window;  /* sends more than the announced window */
    bool checks_repeated; /* bytes that came before are the same ones */
    bool offers_sack;     /* permits selective acknowledgements (RFC 2018) */
    bool shrinks;         /* sends a small maximum size of segments while the answers arrive */
    unsigned version;     /* of IP: 4 or 6 */
    uint16_t segment; /* maximum size of segments to the peer; 0: the default (RFC 9293, 3.7.1) */
    /* Is in loss recovery: duplicates say nothing new, but messages of RFC 6069 do. */
    bool is_recovering;
    bool may_be_reset; /* a reset ends the connection, and is no error */
    bool is_reset;
    bool is_connected;
    bool has_ended;     /* the server's FIN was received */
    uint32_t answered;  /* requests with a complete answer */
    uint32_t out_bytes; /* bytes to send in all, without the FIN */
    uint32_t acked;     /* offset of the first byte that was not acknowledged */
    uint32_t next;      /* offset of the next byte to send */
    uint32_t sent_end;  /* offset behind the last byte that was ever sent */
    uint32_t window;
    uint32_t in_bytes;   /* bytes received in order */
    uint32_t checked;    /* of those, the bytes of complete answers */
    uint32_t first;      /* the server's initial sequence number */
    unsigned duplicates; /* acknowledgements of the same byte in a row */
    uint32_t since;      /* time of the last progress */
    uint8_t in[PEER_STREAM_MAX];
    uint8_t out[PEER_STREAM_MAX];
};

/* Takes each frame that a peer sends. */
typedef void (*peer_send)(const uint8_t *frame, size_t bytes);

/* Makes the requests. Sets the members down to may_be_reset before. */
void peer_begin(struct peer *peer);
/* Sends what can be sent, and again what was not acknowledged in time. */
void peer_advance(struct peer *peer, uint32_t now, peer_send send);
/* Handles a frame that the machine has sent, if it is for the peer. */
void peer_receive(struct peer *peer, const uint8_t *frame, size_t bytes, uint32_t now,
                  peer_send send);
/* Answers a request for the peers' MAC address (ARP, or a neighbour solicitation). Returns false if
 * the frame is none. */
bool peer_answer_neighbour(const uint8_t *frame, size_t bytes, peer_send send);
/* Returns true if all is done: requests answered, both sides closed. */
bool peer_is_done(const struct peer *peer);

#endif
