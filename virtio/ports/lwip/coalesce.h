/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive coalescing: TCP segments that follow each other within one batch of the bottom half
 * become one, so that lwIP looks up the connection once, the program is called once, and one
 * acknowledgement is sent. Nothing waits for it: what a batch leaves is handed on at its end. The
 * order of frames never changes.
 */
#ifndef VIRTIO_PORT_COALESCE_H
#define VIRTIO_PORT_COALESCE_H

#include "lwip/pbuf.h"
#include "tcp_segment.h"
#include <stdbool.h>
#include <stdint.h>

struct coalesce {
    struct pbuf *held; /* a segment that others may be joined to, or NULL */
    struct pbuf *tail; /* its last pbuf; the chain's tot_len are set when it is complete */
    uint32_t data_bytes;
    struct tcp_segment segment; /* the first one's */
    bool pushed;
    uint64_t joined; /* segments that were joined to another */
};

/* Where frames go: `checked` if the transport checksum is known to be right. Takes the pbuf. */
typedef void (*coalesce_output)(void *context, struct pbuf *frame, bool checked);

/* Takes in a frame in one pbuf; hands on what can't be held any longer. Network's lock held, like
 * all that output() calls. */
void coalesce_input(struct coalesce *coalesce, struct pbuf *frame, bool checked,
                    coalesce_output output, void *context);

/* Hands on what is held. At the end of each batch. */
void coalesce_flush(struct coalesce *coalesce, coalesce_output output, void *context);

#endif
