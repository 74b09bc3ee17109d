/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive coalescing. Joins consecutive TCP segments of one batch of the bottom half, so that lwIP
 * looks up the connection once, calls the program once and sends one acknowledgement. No frame is
 * delayed beyond the end of its batch, and the order of frames never changes.
 */
#ifndef VIRTIO_PORT_COALESCE_H
#define VIRTIO_PORT_COALESCE_H

#include "lwip/pbuf.h"
#include "tcp_segment.h"
#include <stdbool.h>
#include <stdint.h>

struct coalesce {
    struct pbuf *held; /* the segment to which others can be joined, or NULL */
    struct pbuf *tail; /* its last pbuf; coalesce_flush() sets the tot_len of the chain */
    uint32_t frames;   /* number of frames in the chain */
    uint32_t data_bytes;
    struct tcp_segment segment; /* the first of the joined segments */
    bool pushed;
};

/* Takes a frame. `checked`: its transport checksum has been verified. `frames`: number of received
 * frames that it was made of. */
typedef void (*coalesce_output)(void *context, struct pbuf *frame, bool checked, uint32_t frames);

/* Takes a frame in one pbuf, and calls output() with frames that cannot be held any longer. Network
 * lock held, also in output(). */
void coalesce_input(struct coalesce *coalesce, struct pbuf *frame, bool checked,
                    coalesce_output output, void *context);

/* Calls output() with the frame that is held. Call it at the end of each batch. */
void coalesce_flush(struct coalesce *coalesce, coalesce_output output, void *context);

#endif
