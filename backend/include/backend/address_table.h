/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dynamic filtering entries of a bridge (IEEE 802.1Q, 8.8.3): the port behind which a MAC
 * address of a VLAN was seen last. Each VLAN is learned alone.
 *
 * The table is bounded. Each port has a number of entries of its own, so a port that shows many
 * addresses can neither remove entries of another port nor keep it from learning. A port whose
 * entries are all in use learns no further address until one of them is ADDRESS_TABLE_AGE_NS old.
 *
 * The place of an address depends on a secret (multiply-shift hashing, Dietzfelbinger et al., "A
 * Reliable Randomized Algorithm for the Closest-Pair Problem", 1997), so that nobody can choose
 * addresses that make the search slow. At worst it compares ADDRESS_TABLE_ENTRIES addresses.
 *
 * Times are nanoseconds, and may wrap at 2^64. If the time jumps back, entries of later times count
 * as aged: their addresses are learned again. The caller serialises all calls for one table. Any
 * context.
 */
#ifndef BACKEND_ADDRESS_TABLE_H
#define BACKEND_ADDRESS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define ADDRESS_TABLE_ENTRIES 256u
#define ADDRESS_TABLE_PORTS   17u
#define ADDRESS_TABLE_AGE_NS  (300 * UINT64_C(1000000000)) /* IEEE 802.1Q, table 8-6 */
#define ADDRESS_TABLE_NOWHERE UINT8_MAX

/* Private to switch/, as all below. */
struct address_entry {
    uint64_t key;  /* VLAN and address */
    uint64_t seen; /* time of the last frame from the address */
    uint16_t next; /* entry with the same hash, or ADDRESS_TABLE_ENTRIES */
    uint8_t port;
    bool is_used;
};

/* Entries of a port: `count` ones from `first` on. */
struct address_quota {
    uint16_t first;
    uint16_t count;
    /* No entry is free until `full_time` ns after `full_since`. */
    uint64_t full_since;
    uint64_t full_time;
};

struct address_table {
    struct address_entry entries[ADDRESS_TABLE_ENTRIES];
    uint16_t heads[ADDRESS_TABLE_ENTRIES]; /* first entry of each hash */
    struct address_quota quotas[ADDRESS_TABLE_PORTS];
    uint64_t multiplier; /* odd, secret */
    uint16_t reserved;   /* entries of all quotas */
};

/* Initialises an empty table without quotas. `secret`: a random number. */
void address_table_init(struct address_table *table, uint64_t secret);

/* Gives a port its entries, once. `port`: less than ADDRESS_TABLE_PORTS. Returns false if fewer are
 * left than `entries`. */
bool address_table_reserve(struct address_table *table, unsigned port, unsigned entries);

/* Returns the port behind which the address was seen in the last ADDRESS_TABLE_AGE_NS, or
 * ADDRESS_TABLE_NOWHERE. `vlan`: 0 to 4095. */
uint8_t address_table_find(const struct address_table *table, uint16_t vlan, uint64_t address,
                           uint64_t now);

/* Records that the address was seen behind the port, and behind no other any more. Returns false if
 * the entries of the port are all in use. */
bool address_table_learn(struct address_table *table, unsigned port, uint16_t vlan,
                         uint64_t address, uint64_t now);

/* Removes all addresses behind a port. */
void address_table_forget(struct address_table *table, unsigned port);

#endif
