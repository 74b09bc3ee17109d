/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Feeds arbitrary bytes to the program that opens a slot of the store of connections: as the record
 * itself, and as the content of a record with correct digests. Every access stays within the slot,
 * and what is found is within the bounds that its users rely on.
 */
#include "connection/store.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void expect(bool is_right)
{
    if (!is_right) {
        abort();
    }
}

static void check_found(struct store_slot *slot)
{
    uint8_t copy[CONNECTION_RECEIVE_BYTES];
    uint32_t at = slot->content.acknowledged;

    expect(slot->state_bytes <= CONNECTION_STATE_MAX);
    expect(store_receive_room(slot) <= CONNECTION_RECEIVE_BYTES);
    (void)store_peek(slot, slot->content.consumed, copy, sizeof(copy));
    while (at != slot->content.written) {
        size_t length;
        const uint8_t *sent = store_sent(slot, at, &length);

        expect(length != 0 && sent[0] + sent[length - 1] >= 0);
        at += (uint32_t)length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t *place = aligned_alloc(KEPT_ALIGNMENT, store_slot_bytes());
    struct store_slot slot;
    const char *reason = NULL;
    enum store_found found;

    if (place == NULL || bytes == 0) {
        free(place);
        return 0;
    }
    memset(place, 0, store_slot_bytes());
    if (data[0] % 2 == 0) {
        size_t length = bytes < sizeof(slot.content) ? bytes : sizeof(slot.content);

        expect(store_open(&slot, place, &reason) == STORE_EMPTY);
        memcpy(&slot.content, data, length);
        expect(kept_write(&slot.record, &slot.content, length));
    } else {
        memcpy(place, data, bytes < store_slot_bytes() ? bytes : store_slot_bytes());
    }
    found = store_open(&slot, place, &reason);
    if (found == STORE_CONNECTION) {
        check_found(&slot);
    } else {
        expect(found == STORE_EMPTY || reason != NULL);
        expect(store_open(&slot, place, &reason) == STORE_EMPTY);
    }
    free(place);
    return 0;
}
