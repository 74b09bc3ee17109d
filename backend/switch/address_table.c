/* SPDX-License-Identifier: BSD-2-Clause */
#include "backend/address_table.h"

#define NONE       ADDRESS_TABLE_ENTRIES
#define HASH_SHIFT 56u /* the highest 8 bits: ADDRESS_TABLE_ENTRIES values */

_Static_assert(ADDRESS_TABLE_ENTRIES == 1u << (64 - HASH_SHIFT), "each hash has a head");

static uint64_t key_of(uint16_t vlan, uint64_t address)
{
    return (uint64_t)vlan << 48 | address;
}

static uint16_t *head_of(struct address_table *table, uint64_t key)
{
    return &table->heads[key * table->multiplier >> HASH_SHIFT];
}

static bool is_fresh(const struct address_entry *entry, uint64_t now)
{
    return now - entry->seen <= ADDRESS_TABLE_AGE_NS;
}

void address_table_init(struct address_table *table, uint64_t secret)
{
    *table = (struct address_table){.multiplier = secret | 1};
    for (unsigned i = 0; i < ADDRESS_TABLE_ENTRIES; i++) {
        table->heads[i] = NONE;
    }
}

bool address_table_reserve(struct address_table *table, unsigned port, unsigned entries)
{
    if (entries > ADDRESS_TABLE_ENTRIES - table->reserved) {
        return false;
    }
    table->quotas[port] =
        (struct address_quota){.first = table->reserved, .count = (uint16_t)entries};
    table->reserved = (uint16_t)(table->reserved + entries);
    return true;
}

/* Returns the number of the entry that has the key, fresh or aged, or NONE. */
static uint16_t find(const struct address_table *table, uint64_t key)
{
    uint16_t number = table->heads[key * table->multiplier >> HASH_SHIFT];

    while (number != NONE && table->entries[number].key != key) {
        number = table->entries[number].next;
    }
    return number;
}

static void remove_entry(struct address_table *table, uint16_t number)
{
    struct address_entry *entry = &table->entries[number];
    uint16_t *link = head_of(table, entry->key);

    while (*link != number) {
        link = &table->entries[*link].next;
    }
    *link = entry->next;
    entry->is_used = false;
    table->quotas[entry->port].full_time = 0;
}

uint8_t address_table_find(const struct address_table *table, uint16_t vlan, uint64_t address,
                           uint64_t now)
{
    uint16_t number = find(table, key_of(vlan, address));

    if (number == NONE || !is_fresh(&table->entries[number], now)) {
        return ADDRESS_TABLE_NOWHERE;
    }
    return table->entries[number].port;
}

/* Returns a free entry of the port, or NONE. If all are in use, the time is kept until the first of
 * them is aged, so that a flood of addresses does not search the entries for each of its frames. */
static uint16_t free_entry(struct address_table *table, unsigned port, uint64_t now)
{
    struct address_quota *quota = &table->quotas[port];
    uint64_t oldest = 0;

    if (now - quota->full_since < quota->full_time) {
        return NONE;
    }
    for (uint16_t i = quota->first; i < quota->first + quota->count; i++) {
        const struct address_entry *entry = &table->entries[i];

        if (!entry->is_used) {
            return i;
        }
        if (!is_fresh(entry, now)) {
            remove_entry(table, i);
            return i;
        }
        oldest = now - entry->seen > oldest ? now - entry->seen : oldest;
    }
    quota->full_since = now;
    quota->full_time = ADDRESS_TABLE_AGE_NS - oldest + 1;
    return NONE;
}

bool address_table_learn(struct address_table *table, unsigned port, uint16_t vlan,
                         uint64_t address, uint64_t now)
{
    uint64_t key = key_of(vlan, address);
    uint16_t number = find(table, key), *head = head_of(table, key);

    if (number != NONE && table->entries[number].port == port) {
        table->entries[number].seen = now;
        return true;
    }
    if (number != NONE) {
        remove_entry(table, number);
    }
    number = free_entry(table, port, now);
    if (number == NONE) {
        return false;
    }
    table->entries[number] = (struct address_entry){
        .key = key, .seen = now, .next = *head, .port = (uint8_t)port, .is_used = true};
    *head = number;
    return true;
}

void address_table_forget(struct address_table *table, unsigned port)
{
    const struct address_quota *quota = &table->quotas[port];

    for (uint16_t i = quota->first; i < quota->first + quota->count; i++) {
        if (table->entries[i].is_used) {
            remove_entry(table, i);
        }
    }
}
