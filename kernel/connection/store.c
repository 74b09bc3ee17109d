/* SPDX-License-Identifier: BSD-2-Clause */
/* See store.h. */
#include "connection/store.h"
#include <channel/words.h>
#include <string.h>

#define STATE_OFFSET offsetof(struct store_content, state)
#define ALL_FLAGS \
    (STORE_V6 | STORE_SCALED | STORE_ENDED | STORE_CLOSED | STORE_WAITING | STORE_OPEN)
#define SCALE_MAX 14u /* RFC 7323, 2.3 */

_Static_assert((CONNECTION_SEND_BYTES & (CONNECTION_SEND_BYTES - 1)) == 0, "divides 2^32");
_Static_assert((CONNECTION_RECEIVE_BYTES & (CONNECTION_RECEIVE_BYTES - 1)) == 0, "divides 2^32");
_Static_assert(CONNECTION_SEND_BYTES % KEPT_ALIGNMENT == 0, "a slot is aligned");
_Static_assert(CONNECTION_RECEIVE_BYTES % KEPT_ALIGNMENT == 0, "a slot is aligned");

/* The sizes of the rings are a part of the version: another size is another layout. */
static const struct kept_format format = {
    .name = "connection",
    .type = 0x70637463, /* "ctcp" */
    .version = 1u << 24 | (CONNECTION_SEND_BYTES >> 10) << 12 | CONNECTION_RECEIVE_BYTES >> 10,
    .bytes_max = sizeof(struct store_content),
};

static size_t record_bytes(void)
{
    return kept_record_bytes(sizeof(struct store_content));
}

size_t store_slot_bytes(void)
{
    return record_bytes() + CONNECTION_RECEIVE_BYTES + CONNECTION_SEND_BYTES;
}

/* Until the peer has acknowledged our SYN, nothing is received, written or closed. Bytes that wait
 * in such a connection would break assumptions of lwIP about the peer's options, which a repeated
 * SYN changes. */
static bool is_half_open(const struct store_content *content)
{
    return (content->flags & (STORE_ENDED | STORE_CLOSED | STORE_WAITING)) == 0 &&
           content->received == content->consumed && content->written == content->send_first &&
           content->acknowledged == content->send_first;
}

/* Returns what is wrong with a content, NULL if nothing is. */
static const char *find_fault(const struct store_content *content, size_t bytes)
{
    uint8_t flags = content->flags;
    bool has_both_ends = (flags & STORE_ENDED) != 0 && (flags & STORE_CLOSED) != 0;

    if (bytes < STATE_OFFSET || content->reserved != 0 || (flags & ~ALL_FLAGS) != 0) {
        return "its record has no valid form";
    }
    if (content->local_port == 0 || content->remote_port == 0 || content->segment_bytes == 0 ||
        content->scale > ((flags & STORE_SCALED) != 0 ? SCALE_MAX : 0)) {
        return "its record names no connection";
    }
    if (content->received - content->consumed > CONNECTION_RECEIVE_BYTES ||
        content->written - content->acknowledged > CONNECTION_SEND_BYTES) {
        return "its record says more bytes than a ring has";
    }
    if (((flags & STORE_WAITING) != 0 &&
         (!has_both_ends || content->written != content->acknowledged)) ||
        ((flags & STORE_OPEN) == 0 && !is_half_open(content))) {
        return "its record has no valid state";
    }
    return NULL;
}

enum store_found store_open(struct store_slot *slot, void *place, const char **reason)
{
    size_t bytes;
    enum kept_start start;

    *slot = (struct store_slot){
        .receive_ring = (uint8_t *)place + record_bytes(),
        .send_ring = (uint8_t *)place + record_bytes() + CONNECTION_RECEIVE_BYTES,
    };
    start = kept_open_at(&slot->record, place, &format, &slot->content, &bytes);
    if (start == KEPT_EMPTY) {
        return STORE_EMPTY;
    }
    /* An older record would take back what was acknowledged or sent. */
    *reason = kept_start_text(start);
    if (start == KEPT_RESTORED) {
        *reason = find_fault(&slot->content, bytes);
        if (*reason == NULL) {
            slot->state_bytes = bytes - STATE_OFFSET;
            return STORE_CONNECTION;
        }
    }
    store_erase(slot);
    return STORE_BROKEN;
}

void store_write(struct store_slot *slot)
{
    /* The record's first store is a release: the bytes in the rings were stored before it. */
    (void)kept_write(&slot->record, &slot->content, STATE_OFFSET + slot->state_bytes);
    /* Bytes that this record makes invalid are overwritten after it. */
    word_fence_release();
}

void store_erase(struct store_slot *slot)
{
    kept_erase(&slot->record);
    word_fence_release();
    slot->is_used = false;
    slot->is_waiting = false;
}

/* Returns how many of `bytes` bytes at `offset` of a ring follow each other in memory. */
static size_t until_end(size_t ring_bytes, size_t offset, size_t bytes)
{
    return bytes < ring_bytes - offset ? bytes : ring_bytes - offset;
}

static void copy_in(uint8_t *ring, size_t ring_bytes, uint32_t at, const void *data, size_t bytes)
{
    size_t offset = at & (ring_bytes - 1);
    size_t first = until_end(ring_bytes, offset, bytes);

    memcpy(ring + offset, data, first);
    memcpy(ring, (const uint8_t *)data + first, bytes - first);
}

size_t store_receive_room(const struct store_slot *slot)
{
    return CONNECTION_RECEIVE_BYTES - (slot->content.received - slot->content.consumed);
}

void store_receive(struct store_slot *slot, const void *data, size_t bytes)
{
    copy_in(slot->receive_ring, CONNECTION_RECEIVE_BYTES, slot->content.received, data, bytes);
    slot->content.received += (uint32_t)bytes;
}

size_t store_peek(const struct store_slot *slot, uint32_t from, void *buffer, size_t bytes)
{
    size_t unread = slot->content.received - from;
    size_t offset = from & (CONNECTION_RECEIVE_BYTES - 1);
    size_t copied = bytes < unread ? bytes : unread;
    size_t first = until_end(CONNECTION_RECEIVE_BYTES, offset, copied);

    memcpy(buffer, slot->receive_ring + offset, first);
    memcpy((uint8_t *)buffer + first, slot->receive_ring, copied - first);
    return copied;
}

void store_send(struct store_slot *slot, uint32_t at, const void *data, size_t bytes)
{
    copy_in(slot->send_ring, CONNECTION_SEND_BYTES, at, data, bytes);
}

const uint8_t *store_sent(const struct store_slot *slot, uint32_t from, size_t *bytes)
{
    size_t offset = from & (CONNECTION_SEND_BYTES - 1);

    *bytes = until_end(CONNECTION_SEND_BYTES, offset, slot->content.written - from);
    return slot->send_ring + offset;
}
