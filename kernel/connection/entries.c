/* SPDX-License-Identifier: BSD-2-Clause */
/* The structures of connections, and the slots of kept memory. */
#include "connection/connection_private.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include <string.h>

#define SERVICES_MAX 4u

/* Core lock held. */
static struct connection connections[MEMP_NUM_TCP_PCB];
struct connection_statistics connection_counts;

/* The slots of a service. */
static struct slots {
    const struct connection_service *service;
    struct store_slot *slots;
    unsigned count;
    bool is_full_told;
} all_slots[SERVICES_MAX];

static uint32_t waiting_count; /* connections that have begun to wait */

struct connection *entry_get(unsigned i)
{
    return i < MEMP_NUM_TCP_PCB ? &connections[i] : NULL;
}

struct connection *entry_take(const struct connection_service *service)
{
    for (unsigned i = 0; i < MEMP_NUM_TCP_PCB; i++) {
        if (connections[i].service == NULL) {
            connections[i] = (struct connection){.service = service};
            return &connections[i];
        }
    }
    return NULL;
}

void entry_free(struct connection *connection)
{
    *connection = (struct connection){.service = NULL};
}

static struct slots *slots_of(const struct connection_service *service)
{
    for (unsigned i = 0; i < SERVICES_MAX; i++) {
        if (all_slots[i].service == service) {
            return &all_slots[i];
        }
    }
    return NULL;
}

static bool is_same_pair(const struct store_content *a, const struct store_content *b)
{
    return a->remote_port == b->remote_port && a->local_port == b->local_port &&
           (a->flags & STORE_V6) == (b->flags & STORE_V6) && a->zone == b->zone &&
           memcmp(a->remote_address, b->remote_address, sizeof(a->remote_address)) == 0 &&
           memcmp(a->local_address, b->local_address, sizeof(a->local_address)) == 0;
}

/* Returns the slot in TIME-WAIT that a new connection takes: that of the same addresses, because a
 * restart could not tell the two apart, or else the one that has waited for longest. NULL: none. */
static struct store_slot *find_waiting(struct slots *slots, const struct store_content *content)
{
    struct store_slot *found = NULL;

    for (unsigned i = 0; i < slots->count; i++) {
        struct store_slot *slot = &slots->slots[i];

        if (slot->is_waiting && is_same_pair(&slot->content, content)) {
            return slot;
        }
        if (slot->is_waiting &&
            (found == NULL || (int32_t)(slot->waiting_since - found->waiting_since) < 0)) {
            found = slot;
        }
    }
    return found;
}

static struct store_slot *find_free(struct slots *slots)
{
    for (unsigned i = 0; i < slots->count; i++) {
        if (!slots->slots[i].is_used && !slots->slots[i].is_waiting) {
            return &slots->slots[i];
        }
    }
    return NULL;
}

struct store_slot *slots_take(const struct connection_service *service,
                              const struct store_content *content)
{
    struct slots *slots = slots_of(service);
    struct store_slot *waiting = slots == NULL ? NULL : find_waiting(slots, content);
    struct store_slot *slot = slots == NULL ? NULL : find_free(slots);

    if (waiting != NULL && (slot == NULL || is_same_pair(&waiting->content, content))) {
        store_erase(waiting);
        slot = waiting;
    }
    if (slot != NULL) {
        slot->is_used = true;
        connection_counts.kept++;
        return slot;
    }
    connection_counts.ordinary++;
    if (slots != NULL && slots->count != 0 && !slots->is_full_told) {
        slots->is_full_told = true;
        print("connection: port %u: more than %u connections: the others are not kept\n",
              service->port, slots->count);
    }
    return NULL;
}

void slots_wait(struct store_slot *slot)
{
    slot->is_used = false;
    slot->is_waiting = true;
    slot->waiting_since = waiting_count++;
    connection_counts.kept--;
}

/* Opens one more slot. Returns RESULT_OK, or why there is no memory for it. */
static enum result open_slot(const struct connection_service *service, struct store_slot *slot)
{
    void *place;
    const char *reason;
    enum result result = kept_take(store_slot_bytes(), &place);
    enum store_found found;

    if (result != RESULT_OK) {
        return result;
    }
    found = store_open(slot, place, &reason);
    slot->is_used = found == STORE_CONNECTION; /* until it is restored */
    if (found == STORE_BROKEN) {
        connection_counts.dropped++;
        print("connection: port %u: a kept connection is dropped: %s\n", service->port, reason);
    }
    return RESULT_OK;
}

void slots_open(const struct connection_service *service)
{
    struct slots *slots = slots_of(NULL);
    enum result result = RESULT_NO_MEMORY;

    if (slots == NULL || service->kept_max == 0) {
        return;
    }
    slots->slots = heap_allocate(service->kept_max * sizeof(*slots->slots));
    slots->service = service;
    while (slots->slots != NULL && slots->count < service->kept_max) {
        result = open_slot(service, &slots->slots[slots->count]);
        if (result != RESULT_OK) {
            break;
        }
        slots->count++;
    }
    connection_counts.slots += slots->count;
    if (slots->count < service->kept_max) {
        print("connection: port %u: %u of %u connections can be kept (%s)\n", service->port,
              slots->count, service->kept_max, result_text(result));
    }
}

void slots_each_found(const struct connection_service *service,
                      void (*restore)(const struct connection_service *service,
                                      struct store_slot *slot))
{
    struct slots *slots = slots_of(service);

    for (unsigned i = 0; slots != NULL && i < slots->count; i++) {
        if (slots->slots[i].is_used) {
            restore(service, &slots->slots[i]);
        }
    }
}
