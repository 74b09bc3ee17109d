/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order in which the frames of several clients are served: deficit round robin by bytes
 * (Shreedhar and Varghese, "Efficient Fair Queuing Using Deficit Round Robin", 1995), with a weight
 * and a token bucket for each client.
 *
 * A client has a deficit in bytes. A turn adds the client's quantum to it, and the client is served
 * as long as its next frame costs no more than its deficit. So a client that always has frames, and
 * whose limit does not hold it back, sends in m turns m quantums, up to one frame more or less.
 *
 *   quantums   They are the weights times one number, so that they have exactly their ratio. The
 *              number is chosen so that the largest quantum is about an Ethernet frame: turns are
 *              short. A client needs several rounds for a larger frame, or with a small weight.
 *              Rounds in which nobody could be served are counted in one step.
 *   no frames  A client without frames has no deficit: it can't save turns.
 *   copies     Each further copy of a frame, to several ports, is taken from the deficit, which may
 *              become less than 0. Turns of the client then pay the debt first.
 *   limits     A client whose bucket does not pay its next frame receives no quantum, and keeps its
 *              deficit. A turn that the bucket ends goes on later, without a further quantum.
 *   cost       A frame costs its bytes, but at least FAIR_QUEUE_COST_MIN, as on a wire, because
 *              each frame costs the same time whatever its length. Frames that the switch drops
 *              cost as much. A frame that is too long costs the largest frame: nobody copies it.
 *
 * The size of a client's next frame is not known before the caller has taken the frame from the
 * client's ring. So the caller takes it, and gives it back if fair_queue_charge() refuses it. A
 * frame is refused once. A client that makes its frame larger after it was refused waits until it
 * could send any frame.
 *
 * Loop of a caller:
 *
 *   while (fair_queue_next(&queue, now, &turn) == FAIR_QUEUE_SERVE) {
 *       take a frame of turn.client; without one: fair_queue_empty()
 *       fair_queue_charge(); if it returns false: give the frame back
 *   }
 *
 * Times are nanoseconds, as in token_bucket.h. No function loops longer than five times over the
 * clients. The caller serialises all calls for one queue. Any context.
 */
#ifndef BACKEND_FAIR_QUEUE_H
#define BACKEND_FAIR_QUEUE_H

#include "backend/token_bucket.h"
#include <stdbool.h>
#include <stdint.h>

#define FAIR_QUEUE_CLIENTS_MAX     16u
#define FAIR_QUEUE_WEIGHT_MAX      65535u
#define FAIR_QUEUE_FRAME_BYTES_MAX (1u << 17)
#define FAIR_QUEUE_TURN_BYTES      1518u /* largest frame with a tag, of 1500 bytes of data */
#define FAIR_QUEUE_COST_MIN        60u /* smallest frame, without check sequence (IEEE 802.3, 4A.4.2) */

enum fair_queue_error {
    FAIR_QUEUE_OK,
    FAIR_QUEUE_CLIENTS_OUT_OF_RANGE, /* more than FAIR_QUEUE_CLIENTS_MAX */
    FAIR_QUEUE_FRAME_OUT_OF_RANGE,   /* FAIR_QUEUE_COST_MIN .. FAIR_QUEUE_FRAME_BYTES_MAX */
    FAIR_QUEUE_WEIGHT_OUT_OF_RANGE,  /* 1 .. FAIR_QUEUE_WEIGHT_MAX */
    FAIR_QUEUE_RATE_OUT_OF_RANGE,    /* more than TOKEN_BUCKET_RATE_MAX */
    FAIR_QUEUE_BURST_OUT_OF_RANGE,   /* less than the largest frame, which could never be sent */
};

/* A client's part of the system file. */
struct fair_share {
    uint64_t rate;  /* limit in bytes/s; 0: no limit */
    uint32_t burst; /* bytes; not used without a limit */
    uint32_t weight;
};

/* Private to switch/, and visible so that a queue can be embedded. */
struct fair_client {
    struct token_bucket bucket;
    int32_t quantum;
    int32_t deficit;   /* less than the largest frame and the quantum together */
    int32_t next_cost; /* of the next frame, or the least cost if it is unknown */
    bool has_frames;
    bool was_refused;  /* the next frame */
    bool is_held_back; /* by its limit */
    uint64_t waits;    /* number of times that its limit has held it back */
};

struct fair_queue {
    struct fair_client clients[FAIR_QUEUE_CLIENTS_MAX];
    uint32_t frame_bytes_max;
    uint32_t count;
    uint32_t current; /* the client whose turn it is or was last */
    bool is_in_turn;
};

enum fair_queue_answer {
    FAIR_QUEUE_SERVE, /* `client` may send frames of `bytes` together */
    FAIR_QUEUE_WAIT,  /* all clients with frames are held back by their limits until `time` */
    FAIR_QUEUE_IDLE,  /* no client has frames */
};

struct fair_turn {
    uint64_t time;
    uint32_t client;
    uint32_t bytes;
};

/* Initialises a queue for `count` clients, numbered from 0, without frames. `frame_bytes_max`: the
 * largest frame, with its tag. After an error the queue can't be used. */
enum fair_queue_error fair_queue_init(struct fair_queue *queue, uint32_t frame_bytes_max,
                                      const struct fair_share *shares, unsigned count,
                                      uint64_t now);

/* Records that a client may have frames: its driver has notified, or polling has found one. */
void fair_queue_ready(struct fair_queue *queue, unsigned client);

/* Records that a client has no frame, and ends its turn. */
void fair_queue_empty(struct fair_queue *queue, unsigned client);

/* Returns true if the client has frames that wait for a turn. */
static inline bool fair_queue_has_frames(const struct fair_queue *queue, unsigned client)
{
    return queue->clients[client].has_frames;
}

/* Finds the client to serve. The turn of a client goes on over several calls until it ends. */
enum fair_queue_answer fair_queue_next(struct fair_queue *queue, uint64_t now,
                                       struct fair_turn *turn);

/* Charges a frame of the client whose turn it is. Returns false if the frame is not to be served
 * now: it is larger than what the client may send, and the turn has ended. */
bool fair_queue_charge(struct fair_queue *queue, uint32_t frame_bytes);

/* Charges further copies of the frame that was charged last, as many as there are ports besides the
 * first. They cost the client turns, and count nothing for its limit. `copies`: at most
 * FAIR_QUEUE_CLIENTS_MAX. */
void fair_queue_charge_copies(struct fair_queue *queue, uint32_t frame_bytes, unsigned copies);

#endif
