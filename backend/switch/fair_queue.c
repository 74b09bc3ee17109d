/* SPDX-License-Identifier: BSD-2-Clause */
#include "backend/fair_queue.h"

static enum fair_queue_error check_share(const struct fair_share *share, uint32_t frame_bytes_max)
{
    if (share->weight == 0 || share->weight > FAIR_QUEUE_WEIGHT_MAX) {
        return FAIR_QUEUE_WEIGHT_OUT_OF_RANGE;
    }
    if (share->rate > TOKEN_BUCKET_RATE_MAX) {
        return FAIR_QUEUE_RATE_OUT_OF_RANGE;
    }
    if (share->rate != 0 && share->burst < frame_bytes_max) {
        return FAIR_QUEUE_BURST_OUT_OF_RANGE;
    }
    return FAIR_QUEUE_OK;
}

/* Sets the quantums: the largest one is at most a turn, or the weight if that is more. */
static void set_quantums(struct fair_queue *queue, const struct fair_share *shares)
{
    uint32_t turn = queue->frame_bytes_max < FAIR_QUEUE_TURN_BYTES ? queue->frame_bytes_max
                                                                   : FAIR_QUEUE_TURN_BYTES;
    uint32_t weight_max = 1, unit;

    for (unsigned i = 0; i < queue->count; i++) {
        weight_max = shares[i].weight > weight_max ? shares[i].weight : weight_max;
    }
    unit = turn > weight_max ? turn / weight_max : 1;
    for (unsigned i = 0; i < queue->count; i++) {
        queue->clients[i].quantum = (int32_t)(shares[i].weight * unit);
    }
}

enum fair_queue_error fair_queue_init(struct fair_queue *queue, uint32_t frame_bytes_max,
                                      const struct fair_share *shares, unsigned count, uint64_t now)
{
    if (count > FAIR_QUEUE_CLIENTS_MAX) {
        return FAIR_QUEUE_CLIENTS_OUT_OF_RANGE;
    }
    if (frame_bytes_max < FAIR_QUEUE_COST_MIN || frame_bytes_max > FAIR_QUEUE_FRAME_BYTES_MAX) {
        return FAIR_QUEUE_FRAME_OUT_OF_RANGE;
    }
    *queue = (struct fair_queue){.frame_bytes_max = frame_bytes_max, .count = count};
    for (unsigned i = 0; i < count; i++) {
        enum fair_queue_error error = check_share(&shares[i], frame_bytes_max);

        if (error != FAIR_QUEUE_OK) {
            return error;
        }
        (void)token_bucket_init(&queue->clients[i].bucket, shares[i].rate, shares[i].burst, now);
    }
    set_quantums(queue, shares);
    return FAIR_QUEUE_OK;
}

/* The next frame of the client is one that the queue knows nothing of. */
static void expect_frame(struct fair_client *client)
{
    client->next_cost = FAIR_QUEUE_COST_MIN;
    client->was_refused = false;
}

void fair_queue_ready(struct fair_queue *queue, unsigned client)
{
    struct fair_client *ready = &queue->clients[client];

    if (!ready->has_frames) {
        ready->has_frames = true;
        expect_frame(ready);
    }
}

void fair_queue_empty(struct fair_queue *queue, unsigned client)
{
    struct fair_client *empty = &queue->clients[client];

    empty->has_frames = false;
    if (empty->deficit > 0) { /* a debt remains; without a deficit the turn has ended */
        empty->deficit = 0;
    }
}

/* Returns true if the client has frames, and its limit lets the next one pass. */
static bool is_eligible(struct fair_client *client, uint64_t now)
{
    bool is_held_back;

    token_bucket_refill(&client->bucket, now);
    if (!client->has_frames) {
        return false;
    }
    is_held_back = (uint32_t)client->next_cost > token_bucket_bytes(&client->bucket);
    client->waits += is_held_back && !client->is_held_back;
    client->is_held_back = is_held_back;
    return !is_held_back;
}

/* Begins the turn of a client, or goes on with one that its limit has ended. Returns true if the
 * client can be served. */
static bool begin_turn(struct fair_client *client, uint64_t now)
{
    if (!is_eligible(client, now)) {
        return false;
    }
    if (client->deficit < client->next_cost) {
        client->deficit += client->quantum;
    }
    return client->deficit >= client->next_cost;
}

/* Begins turns, from the client behind the current one on, until one can be served. Returns false
 * if there is none in a round. */
static bool find_turn(struct fair_queue *queue, uint64_t now)
{
    for (unsigned i = 0; i < queue->count; i++) {
        queue->current = queue->current + 1 < queue->count ? queue->current + 1 : 0;
        if (begin_turn(&queue->clients[queue->current], now)) {
            return true;
        }
    }
    return false;
}

/* Returns the number of rounds, 1 or more, after which the client can be served. */
static int32_t rounds_until_served(const struct fair_client *client)
{
    return (client->next_cost - client->deficit + client->quantum - 1) / client->quantum;
}

/* Counts the rounds in which no client can be served, so that one can be in the next round. Returns
 * false if all clients with frames are held back by their limits. No client can be served without a
 * further quantum. */
static bool skip_rounds(struct fair_queue *queue, uint64_t now)
{
    int32_t rounds = INT32_MAX;

    for (unsigned i = 0; i < queue->count; i++) {
        struct fair_client *client = &queue->clients[i];

        if (is_eligible(client, now) && rounds_until_served(client) < rounds) {
            rounds = rounds_until_served(client);
        }
    }
    if (rounds == INT32_MAX) {
        return false;
    }
    for (unsigned i = 0; i < queue->count; i++) {
        if (is_eligible(&queue->clients[i], now)) {
            queue->clients[i].deficit += (rounds - 1) * queue->clients[i].quantum;
        }
    }
    return true;
}

static enum fair_queue_answer wait_for_limits(const struct fair_queue *queue, uint64_t now,
                                              struct fair_turn *turn)
{
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < queue->count; i++) {
        const struct fair_client *client = &queue->clients[i];

        if (client->has_frames) {
            uint64_t wait = token_bucket_wait(&client->bucket, (uint32_t)client->next_cost);

            least = wait < least ? wait : least;
        }
    }
    turn->time = now + least;
    return least == UINT64_MAX ? FAIR_QUEUE_IDLE : FAIR_QUEUE_WAIT;
}

/* Returns the bytes that the client whose turn it is may send. */
static uint32_t allowance(const struct fair_client *client)
{
    uint32_t bytes = token_bucket_bytes(&client->bucket);
    uint32_t deficit = client->deficit > 0 ? (uint32_t)client->deficit : 0;

    return bytes < deficit ? bytes : deficit;
}

/* Returns true if the turn goes on: the client has frames, and what it may send suffices for one.
 */
static bool goes_on(struct fair_queue *queue, uint64_t now)
{
    struct fair_client *client = &queue->clients[queue->current];

    return queue->is_in_turn && is_eligible(client, now) && client->deficit >= client->next_cost;
}

enum fair_queue_answer fair_queue_next(struct fair_queue *queue, uint64_t now,
                                       struct fair_turn *turn)
{
    *turn = (struct fair_turn){.time = now};
    queue->is_in_turn = goes_on(queue, now) || find_turn(queue, now) ||
                        (skip_rounds(queue, now) && find_turn(queue, now));
    if (!queue->is_in_turn) {
        return wait_for_limits(queue, now, turn);
    }
    turn->client = queue->current;
    turn->bytes = allowance(&queue->clients[queue->current]);
    return FAIR_QUEUE_SERVE;
}

static uint32_t cost_of(const struct fair_queue *queue, uint32_t frame_bytes)
{
    if (frame_bytes < FAIR_QUEUE_COST_MIN) {
        return FAIR_QUEUE_COST_MIN;
    }
    return frame_bytes < queue->frame_bytes_max ? frame_bytes : queue->frame_bytes_max;
}

bool fair_queue_charge(struct fair_queue *queue, uint32_t frame_bytes)
{
    struct fair_client *client = &queue->clients[queue->current];
    uint32_t cost = cost_of(queue, frame_bytes);

    if (!queue->is_in_turn) {
        return false;
    }
    if (cost > allowance(client)) {
        client->next_cost = (int32_t)(client->was_refused ? queue->frame_bytes_max : cost);
        client->was_refused = true;
        queue->is_in_turn = false;
        return false;
    }
    client->deficit -= (int32_t)cost;
    token_bucket_charge(&client->bucket, cost);
    expect_frame(client);
    return true;
}

void fair_queue_charge_copies(struct fair_queue *queue, uint32_t frame_bytes, unsigned copies)
{
    queue->clients[queue->current].deficit -= (int32_t)(cost_of(queue, frame_bytes) * copies);
}
