/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of learned addresses: ageing, quotas, and random use beside a model without a hash. */
#include "backend/address_table.h"
#include "backend_test.h"
#include <string.h>

#define AGE   ADDRESS_TABLE_AGE_NS
#define PORTS 3u
#define VLANS 2u

static struct address_table table;

static void begin(void)
{
    address_table_init(&table, UINT64_C(0x1234567890abcdef));
    assert_true(address_table_reserve(&table, 0, 128));
    assert_true(address_table_reserve(&table, 1, 100));
    assert_true(address_table_reserve(&table, 2, 28));
}

static void test_quotas_are_bounded(void **state)
{
    (void)state;
    begin();
    assert_false(address_table_reserve(&table, 3, 1));
    assert_true(address_table_reserve(&table, 3, 0));
    assert_false(address_table_learn(&table, 3, 0, 1, 0));
}

static void test_addresses_are_found_until_they_are_aged(void **state)
{
    (void)state;
    begin();
    assert_int_equal(address_table_find(&table, 0, 5, 0), ADDRESS_TABLE_NOWHERE);
    assert_true(address_table_learn(&table, 1, 0, 5, 10));
    assert_int_equal(address_table_find(&table, 0, 5, 10), 1);
    assert_int_equal(address_table_find(&table, 1, 5, 10), ADDRESS_TABLE_NOWHERE);
    assert_int_equal(address_table_find(&table, 0, 5, 10 + AGE), 1);
    assert_int_equal(address_table_find(&table, 0, 5, 11 + AGE), ADDRESS_TABLE_NOWHERE);
    assert_true(address_table_learn(&table, 1, 0, 5, 10 + AGE));
    assert_int_equal(address_table_find(&table, 0, 5, 11 + AGE), 1);
}

static void test_an_address_moves(void **state)
{
    (void)state;
    begin();
    assert_true(address_table_learn(&table, 1, 0, 5, 0));
    assert_true(address_table_learn(&table, 2, 0, 5, 0));
    assert_int_equal(address_table_find(&table, 0, 5, 0), 2);
    address_table_forget(&table, 1);
    assert_int_equal(address_table_find(&table, 0, 5, 0), 2);
    address_table_forget(&table, 2);
    assert_int_equal(address_table_find(&table, 0, 5, 0), ADDRESS_TABLE_NOWHERE);
}

/* A flood on one port changes nothing for the other ones, and entries are free again when aged. */
static void test_a_flood_uses_one_quota(void **state)
{
    (void)state;
    begin();
    assert_true(address_table_learn(&table, 0, 0, 1, 0));
    for (uint64_t i = 0; i < 10000; i++) {
        assert_int_equal(address_table_learn(&table, 2, 0, 1000 + i, i), i < 28);
    }
    assert_int_equal(address_table_find(&table, 0, 1, 10000), 0);
    for (uint64_t i = 0; i < 127; i++) {
        assert_true(address_table_learn(&table, 0, 0, 100 + i, 0));
    }
    assert_false(address_table_learn(&table, 0, 0, 99, 0));
    for (uint64_t i = 0; i < 28; i++) {
        assert_int_equal(address_table_find(&table, 0, 1000 + i, 10000), 2);
    }
    /* The first is aged one nanosecond before the second. */
    assert_false(address_table_learn(&table, 2, 0, 7, AGE));
    assert_true(address_table_learn(&table, 2, 0, 7, AGE + 1));
    assert_false(address_table_learn(&table, 2, 0, 8, AGE + 1));
    assert_true(address_table_learn(&table, 2, 0, 8, AGE + 2));
    assert_int_equal(address_table_find(&table, 0, 7, AGE + 2), 2);
}

/* Entries of a full port that are removed are usable at once. */
static void test_a_full_port_learns_after_it_was_forgotten(void **state)
{
    (void)state;
    begin();
    for (uint64_t i = 0; i < 29; i++) {
        assert_int_equal(address_table_learn(&table, 2, 0, i, 0), i < 28);
    }
    assert_true(address_table_learn(&table, 0, 0, 3, 1)); /* moves */
    assert_true(address_table_learn(&table, 2, 0, 50, 1));
    assert_false(address_table_learn(&table, 2, 0, 51, 1));
    address_table_forget(&table, 2);
    assert_true(address_table_learn(&table, 2, 0, 51, 1));
    assert_int_equal(address_table_find(&table, 0, 50, 1), ADDRESS_TABLE_NOWHERE);
}

/* All addresses have one hash if the attacker knows the secret: that costs time alone. */
static void test_addresses_of_one_hash(void **state)
{
    (void)state;
    address_table_init(&table, 0);
    assert_true(address_table_reserve(&table, 0, ADDRESS_TABLE_ENTRIES));
    for (uint64_t i = 0; i < ADDRESS_TABLE_ENTRIES; i++) {
        assert_true(address_table_learn(&table, 0, 0, i, i));
    }
    for (uint64_t i = 0; i < ADDRESS_TABLE_ENTRIES; i++) {
        assert_int_equal(address_table_find(&table, 0, i, i + AGE), 0);
        assert_int_equal(address_table_find(&table, 0, i, i + AGE + 1), ADDRESS_TABLE_NOWHERE);
        assert_true(address_table_learn(&table, 0, 0, 1000 + i, i + AGE + 1));
    }
}

/* With a random secret, addresses in a row are found within a few comparisons. */
static void test_addresses_are_spread(void **state)
{
    uint64_t random = 11;

    (void)state;
    address_table_init(&table, random_below(&random, UINT64_MAX));
    assert_true(address_table_reserve(&table, 0, ADDRESS_TABLE_ENTRIES));
    for (uint64_t i = 0; i < ADDRESS_TABLE_ENTRIES; i++) {
        assert_true(address_table_learn(&table, 0, 0, UINT64_C(0x020000000000) + i, 0));
    }
    for (unsigned i = 0; i < ADDRESS_TABLE_ENTRIES; i++) {
        unsigned length = 0;

        for (uint16_t next = table.heads[i]; next != ADDRESS_TABLE_ENTRIES; length++) {
            next = table.entries[next].next;
        }
        assert_true(length < 16);
    }
}

static void test_times_wrap_and_jump(void **state)
{
    (void)state;
    begin();
    assert_true(address_table_learn(&table, 1, 0, 5, UINT64_MAX));
    assert_int_equal(address_table_find(&table, 0, 5, AGE - 1), 1);
    assert_int_equal(address_table_find(&table, 0, 5, AGE), ADDRESS_TABLE_NOWHERE);
    for (uint64_t i = 0; i < 29; i++) {
        assert_int_equal(address_table_learn(&table, 2, 0, i, 1000), i < 28);
    }
    /* Back: all entries count as aged. */
    assert_true(address_table_learn(&table, 2, 0, 100, 999));
    assert_int_equal(address_table_find(&table, 0, 1, 999), ADDRESS_TABLE_NOWHERE);
    assert_int_equal(address_table_find(&table, 0, 100, 999), 2);
}

#define ADDRESSES 400u

/* The model: when and where each address of each VLAN was seen. */
static struct {
    uint64_t seen;
    uint8_t port;
} model[VLANS][ADDRESSES];

static uint8_t model_find(unsigned vlan, unsigned address, uint64_t now)
{
    if (model[vlan][address].port == ADDRESS_TABLE_NOWHERE ||
        now - model[vlan][address].seen > AGE) {
        return ADDRESS_TABLE_NOWHERE;
    }
    return model[vlan][address].port;
}

static unsigned model_count(unsigned port, uint64_t now)
{
    unsigned count = 0;

    for (unsigned i = 0; i < VLANS * ADDRESSES; i++) {
        count += model_find(i / ADDRESSES, i % ADDRESSES, now) == port;
    }
    return count;
}

static void model_learn(unsigned port, unsigned vlan, unsigned address, uint64_t now)
{
    static const unsigned quota[PORTS] = {128, 100, 28};
    bool is_own = model[vlan][address].port == port;
    bool is_fresh = model_find(vlan, address, now) != ADDRESS_TABLE_NOWHERE;
    bool is_learned = address_table_learn(&table, port, (uint16_t)vlan, address, now);

    if (!is_own || !is_fresh) {
        model[vlan][address].port = ADDRESS_TABLE_NOWHERE;
    }
    if (model[vlan][address].port == ADDRESS_TABLE_NOWHERE &&
        model_count(port, now) == quota[port]) {
        assert_true(!is_learned);
        return;
    }
    assert_true(is_learned);
    model[vlan][address].port = (uint8_t)port;
    model[vlan][address].seen = now;
}

static void test_random_use(void **state)
{
    uint64_t random = 3, now = UINT64_MAX - 100 * AGE;

    (void)state;
    begin();
    memset(model, ADDRESS_TABLE_NOWHERE, sizeof(model));
    for (unsigned i = 0; i < 100000; i++) {
        unsigned vlan = (unsigned)random_below(&random, VLANS);
        unsigned address = (unsigned)random_below(&random, ADDRESSES);

        now += random_below(&random, AGE / 200);
        if (random_below(&random, 4) == 0) {
            model_learn((unsigned)random_below(&random, PORTS), vlan, address, now);
        } else {
            assert_int_equal(address_table_find(&table, (uint16_t)vlan, address, now),
                             model_find(vlan, address, now));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotas_are_bounded),
        cmocka_unit_test(test_addresses_are_found_until_they_are_aged),
        cmocka_unit_test(test_an_address_moves),
        cmocka_unit_test(test_a_flood_uses_one_quota),
        cmocka_unit_test(test_a_full_port_learns_after_it_was_forgotten),
        cmocka_unit_test(test_addresses_of_one_hash),
        cmocka_unit_test(test_addresses_are_spread),
        cmocka_unit_test(test_times_wrap_and_jump),
        cmocka_unit_test(test_random_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
