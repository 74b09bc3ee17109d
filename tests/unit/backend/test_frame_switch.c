/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The switch: each rule, each reason of a drop, tags, counters, floods, and arbitrary frames beside
 * a model that searches lists.
 */
#include "backend/frame_switch.h"
#include "backend_test.h"
#include <string.h>

#define FRAME_MAX 1514u
#define AGE       ADDRESS_TABLE_AGE_NS
#define BROADCAST UINT64_C(0xffffffffffff)
#define STATION \
    UINT64_C(0x020000000100) /* stations behind the card, and behind clients with "any" */
#define ALL_PORTS ((1u << PORTS) - 1)

/* The ports of most tests. */
enum { CARD, PLAIN, OTHER, ANY, ANY_TOO, ACCESS, ACCESS_ANY, ACCESS_9, TRUNK, TRUNK_ANY, PORTS };

#define ADDRESS(port) (UINT64_C(0x020000000000) + (port))

static const struct frame_switch_rules clients[] = {
    {.address = ADDRESS(PLAIN)},
    {.address = ADDRESS(OTHER)},
    {.is_any_address = true},
    {.is_any_address = true},
    {.address = ADDRESS(ACCESS), .kind = FRAME_SWITCH_ACCESS, .vlan = 5},
    {.is_any_address = true, .kind = FRAME_SWITCH_ACCESS, .vlan = 5},
    /* The same address in another VLAN is another station. */
    {.address = ADDRESS(ACCESS), .kind = FRAME_SWITCH_ACCESS, .vlan = 9},
    {.address = ADDRESS(TRUNK), .kind = FRAME_SWITCH_TRUNK},
    {.is_any_address = true, .kind = FRAME_SWITCH_TRUNK},
};

static struct frame_switch bridge;
static uint8_t frame[FRAME_HEADER_BYTES_MAX];
static struct frame_decision decision;

static void begin(void)
{
    assert_int_equal(frame_switch_init(&bridge, clients, PORTS - 1, FRAME_MAX, 99),
                     FRAME_SWITCH_OK);
}

static void write_16(unsigned offset, unsigned value)
{
    frame[offset] = (uint8_t)(value >> 8);
    frame[offset + 1] = (uint8_t)value;
}

static void write_address(unsigned offset, uint64_t address)
{
    for (unsigned i = 0; i < FRAME_ADDRESS_BYTES; i++) {
        frame[offset + i] = (uint8_t)(address >> (40 - 8 * i));
    }
}

/* Makes the header of a frame. `control`: of its tag, or -1 for none. */
static void make(uint64_t source, uint64_t destination, int control, unsigned type)
{
    memset(frame, 0, sizeof(frame));
    write_address(0, destination);
    write_address(6, source);
    write_16(12, control < 0 ? type : 0x8100);
    if (control >= 0) {
        write_16(14, (unsigned)control);
        write_16(16, type);
    }
}

static enum frame_drop decide(unsigned port, uint32_t bytes, uint64_t now)
{
    decision = frame_switch_decide(&bridge, port, frame, bytes, now);
    assert_int_equal(decision.drop == FRAME_NOT_DROPPED, decision.ports != 0);
    return decision.drop;
}

static enum frame_drop pass(unsigned port, uint64_t source, uint64_t destination, int control)
{
    make(source, destination, control, 0x0800);
    return decide(port, 100, 0);
}

static void check_ports(uint32_t ports, uint32_t tagged)
{
    assert_int_equal(decision.drop, FRAME_NOT_DROPPED);
    assert_int_equal(decision.ports, ports);
    assert_int_equal(decision.tagged, tagged);
}

#define BIT(port) (1u << (port))

/* Members of VLAN 0. */
#define UNTAGGED \
    (BIT(CARD) | BIT(PLAIN) | BIT(OTHER) | BIT(ANY) | BIT(ANY_TOO) | BIT(TRUNK) | BIT(TRUNK_ANY))
#define VLAN_5 (BIT(CARD) | BIT(ACCESS) | BIT(ACCESS_ANY) | BIT(TRUNK) | BIT(TRUNK_ANY))
#define TRUNKS (BIT(CARD) | BIT(TRUNK) | BIT(TRUNK_ANY))

static enum frame_switch_error init_pair(const struct frame_switch_rules *one,
                                         const struct frame_switch_rules *other)
{
    const struct frame_switch_rules both[] = {*one, *other};

    return frame_switch_init(&bridge, both, 2, FRAME_MAX, 1);
}

static void test_rules_are_checked(void **state)
{
    const struct frame_switch_rules plain = {.address = 2}, any = {.is_any_address = true},
                                    group = {.address = BROADCAST}, none = {.address = 0},
                                    long_one = {.address = UINT64_C(1) << 49};
    struct frame_switch_rules vlan = {.address = 2, .kind = FRAME_SWITCH_ACCESS, .vlan = 1},
                              vlan_2 = vlan, trunk = {.address = 2, .kind = FRAME_SWITCH_TRUNK};

    (void)state;
    assert_int_equal(frame_switch_init(&bridge, clients, 17, FRAME_MAX, 1),
                     FRAME_SWITCH_CLIENTS_OUT_OF_RANGE);
    assert_int_equal(init_pair(&any, &group), FRAME_SWITCH_BAD_ADDRESS);
    assert_int_equal(init_pair(&any, &none), FRAME_SWITCH_BAD_ADDRESS);
    assert_int_equal(init_pair(&any, &long_one), FRAME_SWITCH_BAD_ADDRESS);
    assert_int_equal(init_pair(&any, &any), FRAME_SWITCH_OK);
    assert_int_equal(init_pair(&plain, &plain), FRAME_SWITCH_SAME_ADDRESS);
    assert_int_equal(init_pair(&plain, &vlan), FRAME_SWITCH_OK);
    assert_int_equal(init_pair(&vlan, &vlan_2), FRAME_SWITCH_SAME_ADDRESS);
    assert_int_equal(init_pair(&vlan, &trunk), FRAME_SWITCH_SAME_ADDRESS);
    assert_int_equal(init_pair(&plain, &trunk), FRAME_SWITCH_SAME_ADDRESS);
    vlan_2.vlan = FRAME_VLAN_MAX;
    assert_int_equal(init_pair(&vlan, &vlan_2), FRAME_SWITCH_OK);
    vlan_2.vlan++;
    assert_int_equal(init_pair(&any, &vlan_2), FRAME_SWITCH_BAD_VLAN);
    vlan_2.vlan = 0;
    assert_int_equal(init_pair(&any, &vlan_2), FRAME_SWITCH_BAD_VLAN);
}

static void test_known_addresses(void **state)
{
    (void)state;
    begin();
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), ADDRESS(OTHER), -1), FRAME_NOT_DROPPED);
    check_ports(BIT(OTHER), 0);
    assert_int_equal(pass(CARD, STATION, ADDRESS(OTHER), -1), FRAME_NOT_DROPPED);
    check_ports(BIT(OTHER), 0);
    /* The station was learned just now. */
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), STATION, -1), FRAME_NOT_DROPPED);
    check_ports(BIT(CARD), 0);
    assert_int_equal(pass(ANY, STATION + 1, STATION, -1), FRAME_NOT_DROPPED);
    check_ports(BIT(CARD), 0);
    assert_int_equal(pass(CARD, STATION, STATION + 1, -1), FRAME_NOT_DROPPED);
    check_ports(BIT(ANY), 0);
    assert_int_equal(pass(CARD, STATION + 2, STATION, -1), FRAME_DROP_SAME_PORT);
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), ADDRESS(PLAIN), -1), FRAME_DROP_SAME_PORT);
}

static void test_unknown_addresses(void **state)
{
    (void)state;
    begin();
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), STATION, -1), FRAME_NOT_DROPPED);
    check_ports(BIT(CARD) | BIT(ANY) | BIT(ANY_TOO) | BIT(TRUNK_ANY), 0);
    assert_int_equal(pass(CARD, STATION + 1, STATION, -1), FRAME_NOT_DROPPED);
    check_ports(BIT(ANY) | BIT(ANY_TOO) | BIT(TRUNK_ANY), 0);
    assert_int_equal(pass(ACCESS, ADDRESS(ACCESS), STATION, -1), FRAME_NOT_DROPPED);
    check_ports(BIT(CARD) | BIT(ACCESS_ANY) | BIT(TRUNK_ANY), BIT(CARD) | BIT(TRUNK_ANY));
    /* Addresses of clients in VLANs that the sender is not in are unknown to it. */
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), ADDRESS(ACCESS), -1), FRAME_NOT_DROPPED);
    check_ports(BIT(CARD) | BIT(ANY) | BIT(ANY_TOO) | BIT(TRUNK_ANY), 0);
    /* Without clients with "any", nobody needs the frame. */
    assert_int_equal(frame_switch_init(&bridge, clients, 2, FRAME_MAX, 1), FRAME_SWITCH_OK);
    assert_int_equal(pass(CARD, STATION + 1, STATION, -1), FRAME_DROP_NO_RECEIVER);
}

static void test_groups(void **state)
{
    (void)state;
    begin();
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), BROADCAST, -1), FRAME_NOT_DROPPED);
    check_ports(UNTAGGED & ~BIT(PLAIN), 0);
    assert_int_equal(pass(CARD, STATION, UINT64_C(0x333300000001), -1), FRAME_NOT_DROPPED);
    check_ports(UNTAGGED & ~BIT(CARD), 0);
    assert_int_equal(pass(CARD, STATION, BROADCAST, 5), FRAME_NOT_DROPPED);
    check_ports(VLAN_5 & ~BIT(CARD), VLAN_5 & TRUNKS & ~BIT(CARD));
    assert_int_equal(pass(CARD, STATION, BROADCAST, 6), FRAME_NOT_DROPPED);
    check_ports(BIT(TRUNK) | BIT(TRUNK_ANY), BIT(TRUNK) | BIT(TRUNK_ANY));
    assert_int_equal(pass(ACCESS_9, ADDRESS(ACCESS), BROADCAST, -1), FRAME_NOT_DROPPED);
    check_ports(TRUNKS, TRUNKS);
}

static void test_source_addresses(void **state)
{
    (void)state;
    begin();
    assert_int_equal(pass(PLAIN, ADDRESS(OTHER), BROADCAST, -1), FRAME_DROP_SPOOFED);
    assert_int_equal(pass(PLAIN, STATION, BROADCAST, -1), FRAME_DROP_SPOOFED);
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN) | UINT64_C(1) << 40, BROADCAST, -1),
                     FRAME_DROP_GROUP);
    assert_int_equal(pass(ANY, BROADCAST, BROADCAST, -1), FRAME_DROP_GROUP);
    assert_int_equal(pass(ANY, 0, BROADCAST, -1), FRAME_DROP_GROUP);
    /* "any" does not include the addresses of others in the VLAN. */
    assert_int_equal(pass(ANY, ADDRESS(PLAIN), BROADCAST, -1), FRAME_DROP_SPOOFED);
    assert_int_equal(pass(ANY, ADDRESS(TRUNK), BROADCAST, -1), FRAME_DROP_SPOOFED);
    assert_int_equal(pass(ANY, ADDRESS(ACCESS), BROADCAST, -1), FRAME_NOT_DROPPED);
    assert_int_equal(pass(TRUNK_ANY, ADDRESS(ACCESS), BROADCAST, 5), FRAME_DROP_SPOOFED);
    assert_int_equal(pass(TRUNK_ANY, ADDRESS(PLAIN), BROADCAST, 5), FRAME_NOT_DROPPED);
    /* A frame of a client that comes back. */
    assert_int_equal(pass(CARD, ADDRESS(PLAIN), BROADCAST, -1), FRAME_DROP_LOOPED);
    assert_int_equal(pass(CARD, ADDRESS(PLAIN), BROADCAST, 5), FRAME_NOT_DROPPED);
    assert_int_equal(pass(CARD, ADDRESS(TRUNK), BROADCAST, 77), FRAME_DROP_LOOPED);
}

/* A learned address can't be taken by another client, but by the card. */
static void test_learned_addresses_belong_to_one_port(void **state)
{
    (void)state;
    begin();
    assert_int_equal(pass(ANY, STATION, BROADCAST, -1), FRAME_NOT_DROPPED);
    assert_int_equal(pass(ANY_TOO, STATION, BROADCAST, -1), FRAME_DROP_SPOOFED);
    make(STATION, BROADCAST, -1, 0x0800);
    assert_int_equal(decide(ANY_TOO, 100, AGE), FRAME_DROP_SPOOFED);
    assert_int_equal(decide(ANY_TOO, 100, AGE + 1), FRAME_NOT_DROPPED);
    assert_int_equal(decide(ANY, 100, AGE + 1), FRAME_DROP_SPOOFED);
    frame_switch_forget(&bridge, ANY_TOO);
    assert_int_equal(decide(ANY, 100, AGE + 1), FRAME_NOT_DROPPED);
    assert_int_equal(decide(CARD, 100, AGE + 1), FRAME_NOT_DROPPED);
    assert_int_equal(decide(ANY, 100, AGE + 1), FRAME_DROP_SPOOFED);
    make(ADDRESS(PLAIN), STATION, -1, 0x0800);
    assert_int_equal(decide(PLAIN, 100, AGE + 1), FRAME_NOT_DROPPED);
    check_ports(BIT(CARD), 0);
}

static void test_reserved_destinations(void **state)
{
    (void)state;
    begin();
    for (uint64_t i = 0; i < 16; i++) {
        assert_int_equal(pass(CARD, STATION, UINT64_C(0x0180c2000000) + i, -1),
                         FRAME_DROP_RESERVED);
        assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), UINT64_C(0x0180c2000000) + i, -1),
                         FRAME_DROP_RESERVED);
    }
    assert_int_equal(pass(CARD, STATION, UINT64_C(0x0180c2000010), -1), FRAME_NOT_DROPPED);
    assert_int_equal(pass(CARD, STATION, UINT64_C(0x0180c1ffffff), -1), FRAME_NOT_DROPPED);
}

static void test_lengths(void **state)
{
    (void)state;
    begin();
    make(ADDRESS(PLAIN), BROADCAST, -1, 0x0800);
    assert_int_equal(decide(PLAIN, 0, 0), FRAME_DROP_SHORT);
    assert_int_equal(decide(PLAIN, 13, 0), FRAME_DROP_SHORT);
    assert_int_equal(decide(PLAIN, 14, 0), FRAME_NOT_DROPPED);
    assert_int_equal(decide(PLAIN, FRAME_MAX, 0), FRAME_NOT_DROPPED);
    assert_int_equal(decide(PLAIN, FRAME_MAX + 1, 0), FRAME_DROP_LONG);
    assert_int_equal(decide(PLAIN, UINT32_MAX, 0), FRAME_DROP_LONG);
    make(ADDRESS(TRUNK), BROADCAST, 5, 0x0800);
    assert_int_equal(decide(TRUNK, 17, 0), FRAME_DROP_SHORT);
    assert_int_equal(decide(TRUNK, 18, 0), FRAME_NOT_DROPPED);
    assert_int_equal(decide(TRUNK, FRAME_MAX + 4, 0), FRAME_NOT_DROPPED);
    assert_int_equal(decide(TRUNK, FRAME_MAX + 5, 0), FRAME_DROP_LONG);
    assert_int_equal(decide(PORTS, 100, 0), FRAME_DROP_NO_PORT);
    assert_int_equal(decide(UINT32_MAX, 100, 0), FRAME_DROP_NO_PORT);
}

static void test_vlans(void **state)
{
    (void)state;
    begin();
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), BROADCAST, 5), FRAME_DROP_VLAN);
    assert_int_equal(pass(ACCESS, ADDRESS(ACCESS), BROADCAST, 5), FRAME_DROP_VLAN);
    assert_int_equal(pass(ACCESS, ADDRESS(ACCESS), BROADCAST, 9), FRAME_DROP_VLAN);
    assert_int_equal(pass(TRUNK, ADDRESS(TRUNK), BROADCAST, 4095), FRAME_DROP_VLAN);
    assert_int_equal(pass(CARD, STATION, BROADCAST, 4095), FRAME_DROP_VLAN);
    assert_int_equal(pass(TRUNK, ADDRESS(TRUNK), BROADCAST, 4094), FRAME_NOT_DROPPED);
    assert_int_equal(pass(TRUNK, ADDRESS(TRUNK), ADDRESS(ACCESS), 5), FRAME_NOT_DROPPED);
    check_ports(BIT(ACCESS), 0);
    assert_int_equal(pass(TRUNK, ADDRESS(TRUNK), ADDRESS(ACCESS), 9), FRAME_NOT_DROPPED);
    check_ports(BIT(ACCESS_9), 0);
    assert_int_equal(pass(TRUNK, ADDRESS(TRUNK), ADDRESS(PLAIN), -1), FRAME_NOT_DROPPED);
    check_ports(BIT(PLAIN), 0);
    /* An address is learned in one VLAN. */
    assert_int_equal(pass(CARD, STATION, BROADCAST, 5), FRAME_NOT_DROPPED);
    assert_int_equal(pass(TRUNK_ANY, STATION, BROADCAST, 6), FRAME_NOT_DROPPED);
    assert_int_equal(pass(TRUNK_ANY, STATION, BROADCAST, 5), FRAME_DROP_SPOOFED);
}

/* No second tag reaches the wire as the first one. */
static void test_tags_behind_tags(void **state)
{
    static const unsigned tags[] = {0x8100, 0x88a8, 0x9100};

    (void)state;
    begin();
    for (unsigned i = 0; i < 3; i++) {
        make(ADDRESS(PLAIN), BROADCAST, 0, tags[i]);
        assert_int_equal(decide(PLAIN, 100, 0), FRAME_DROP_VLAN);
        make(ADDRESS(ACCESS), BROADCAST, 0, tags[i]);
        assert_int_equal(decide(ACCESS, 100, 0), FRAME_DROP_VLAN);
        make(ADDRESS(TRUNK), BROADCAST, 0, tags[i]);
        assert_int_equal(decide(TRUNK, 100, 0), FRAME_DROP_VLAN);
        make(ADDRESS(TRUNK), BROADCAST, 5, tags[i]);
        assert_int_equal(decide(TRUNK, 100, 0), FRAME_NOT_DROPPED);
    }
    make(ADDRESS(PLAIN), BROADCAST, -1, 0x88a8);
    assert_int_equal(decide(PLAIN, 100, 0), FRAME_DROP_VLAN);
    make(ADDRESS(ACCESS), BROADCAST, -1, 0x9100);
    assert_int_equal(decide(ACCESS, 100, 0), FRAME_DROP_VLAN);
    make(STATION, BROADCAST, -1, 0x88a8);
    assert_int_equal(decide(CARD, 100, 0), FRAME_NOT_DROPPED);
}

/* Checks the header that leaves from the port. `control`: of its tag, or -1 for none. */
static void check_header(unsigned port, int control)
{
    uint8_t header[FRAME_HEADER_BYTES_MAX];
    uint32_t bytes = frame_switch_write_header(&decision, port, frame, header);

    assert_memory_equal(header, frame, 12);
    assert_int_equal(bytes, control < 0 ? 12 : 16);
    if (control >= 0) {
        assert_int_equal(header[12] << 8 | header[13], 0x8100);
        assert_int_equal(header[14] << 8 | header[15], control);
    }
}

static void test_tags_are_added_and_removed(void **state)
{
    (void)state;
    begin();
    assert_int_equal(pass(ACCESS, ADDRESS(ACCESS), BROADCAST, -1), FRAME_NOT_DROPPED);
    assert_int_equal(frame_switch_header_bytes(&decision), 12);
    check_header(CARD, 5);
    check_header(ACCESS_ANY, -1);
    /* The priority of a tag without VLAN is kept. */
    assert_int_equal(pass(ACCESS, ADDRESS(ACCESS), BROADCAST, 0xe000), FRAME_NOT_DROPPED);
    assert_int_equal(frame_switch_header_bytes(&decision), 16);
    check_header(CARD, 0xe005);
    check_header(ACCESS_ANY, -1);
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), BROADCAST, 0xe000), FRAME_NOT_DROPPED);
    assert_int_equal(frame_switch_header_bytes(&decision), 16);
    check_header(CARD, -1);
    check_header(TRUNK, -1);
    assert_int_equal(pass(CARD, STATION, BROADCAST, 0x7005), FRAME_NOT_DROPPED);
    assert_int_equal(frame_switch_header_bytes(&decision), 16);
    check_header(TRUNK, 0x7005);
    check_header(ACCESS, -1);
}

static void test_counters(void **state)
{
    const struct frame_port_counters *counters = &bridge.counters[PLAIN];

    (void)state;
    begin();
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), BROADCAST, -1), FRAME_NOT_DROPPED);
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), ADDRESS(OTHER), -1), FRAME_NOT_DROPPED);
    assert_int_equal(pass(PLAIN, STATION, BROADCAST, -1), FRAME_DROP_SPOOFED);
    assert_int_equal(decide(PLAIN, 3, 0), FRAME_DROP_SHORT);
    assert_int_equal(decide(PLAIN, 3, 0), FRAME_DROP_SHORT);
    frame_switch_count_sent(&bridge, PLAIN, 60);
    frame_switch_count_sent(&bridge, PLAIN, 70);
    frame_switch_count_lost(&bridge, PLAIN);
    assert_true(counters->received.frames == 2 && counters->received.bytes == 200);
    assert_true(counters->received.drops[FRAME_DROP_SPOOFED] == 1);
    assert_true(counters->received.drops[FRAME_DROP_SHORT] == 2);
    assert_true(counters->received.drops[FRAME_DROP_LONG] == 0);
    assert_true(counters->sent.frames == 2 && counters->sent.bytes == 130);
    assert_true(counters->sent.drops[FRAME_DROP_NO_BUFFER] == 1);
    assert_true(bridge.counters[OTHER].received.frames == 0 &&
                bridge.counters[OTHER].sent.frames == 0);
}

/* A flood of source addresses leaves what was learned from others, and does not stop traffic. */
static void test_flood_of_source_addresses(void **state)
{
    (void)state;
    begin();
    assert_int_equal(pass(CARD, STATION, BROADCAST, -1), FRAME_NOT_DROPPED);
    assert_int_equal(pass(ANY_TOO, STATION + 1, BROADCAST, -1), FRAME_NOT_DROPPED);
    for (uint64_t i = 0; i < 100000; i++) {
        assert_int_equal(pass(ANY, STATION + 1000 + i, BROADCAST, -1), FRAME_NOT_DROPPED);
    }
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), STATION, -1), FRAME_NOT_DROPPED);
    check_ports(BIT(CARD), 0);
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), STATION + 1, -1), FRAME_NOT_DROPPED);
    check_ports(BIT(ANY_TOO), 0);
    assert_int_equal(pass(CARD, STATION + 2, BROADCAST, -1), FRAME_NOT_DROPPED);
    assert_int_equal(pass(PLAIN, ADDRESS(PLAIN), STATION + 2, -1), FRAME_NOT_DROPPED);
    check_ports(BIT(CARD), 0);
    assert_int_equal(pass(CARD, STATION, STATION + 1000, -1), FRAME_NOT_DROPPED);
    check_ports(BIT(ANY), 0);
}

/* The model: what was seen from where, in the order of time. */
#define SEEN_MAX 64u

static struct {
    uint64_t address, time;
    unsigned vlan, port;
} seen[SEEN_MAX];
static unsigned seen_count;

static unsigned model_find(unsigned vlan, uint64_t address, uint64_t now)
{
    for (unsigned port = 1; port < PORTS; port++) {
        const struct frame_switch_rules *rules = &clients[port - 1];
        bool is_in = rules->kind == FRAME_SWITCH_TRUNK || rules->vlan == vlan;

        if (is_in && !rules->is_any_address && rules->address == address) {
            return port;
        }
    }
    for (unsigned i = 0; i < seen_count; i++) {
        if (seen[i].vlan == vlan && seen[i].address == address && now - seen[i].time <= AGE) {
            return seen[i].port;
        }
    }
    return PORTS;
}

static void model_learn(unsigned port, unsigned vlan, uint64_t address, uint64_t now)
{
    unsigned i = 0;

    while (i < seen_count && (seen[i].vlan != vlan || seen[i].address != address)) {
        i++;
    }
    assert_true(i < SEEN_MAX);
    seen_count += i == seen_count;
    seen[i].vlan = vlan;
    seen[i].address = address;
    seen[i].port = port;
    seen[i].time = now;
}

static bool model_is_any(unsigned port)
{
    return port == CARD || clients[port - 1].is_any_address;
}

/* Returns the ports of a frame of few addresses and lengths; 0: it is dropped. */
static uint32_t model_decide(unsigned port, uint64_t now)
{
    static const struct frame_switch_rules card = {.is_any_address = true,
                                                   .kind = FRAME_SWITCH_TRUNK};
    const struct frame_switch_rules *rules = port == CARD ? &card : &clients[port - 1];
    bool has_tag = frame[12] == 0x81;
    unsigned vlan = has_tag ? (frame[14] & 15u) << 8 | frame[15] : 0;
    unsigned type = frame[has_tag ? 16 : 12];
    uint64_t source = ADDRESS((unsigned)frame[10] << 8 | frame[11]);
    uint64_t destination = ADDRESS((unsigned)frame[4] << 8 | frame[5]);
    uint32_t ports = 0;
    unsigned owner;

    if (vlan != 0 && (rules->kind != FRAME_SWITCH_TRUNK || vlan == 4095)) {
        return 0;
    }
    if (vlan == 0 && type != 8 && (has_tag || rules->kind != FRAME_SWITCH_TRUNK)) {
        return 0;
    }
    vlan = vlan == 0 && rules->kind == FRAME_SWITCH_ACCESS ? rules->vlan : vlan;
    owner = model_find(vlan, source, now);
    if (!rules->is_any_address && source != rules->address) {
        return 0;
    }
    if (rules->is_any_address && owner != PORTS && owner != port &&
        (port != CARD || !model_is_any(owner))) {
        return 0;
    }
    if (rules->is_any_address) {
        model_learn(port, vlan, source, now);
    }
    owner = model_find(vlan, destination, now);
    if (owner != PORTS && frame[0] == 2) {
        return owner == port ? 0 : BIT(owner);
    }
    for (unsigned i = 0; i < PORTS; i++) {
        bool is_in =
            i == CARD || clients[i - 1].kind == FRAME_SWITCH_TRUNK || clients[i - 1].vlan == vlan;

        ports |= is_in && i != port && (frame[0] != 2 || model_is_any(i)) ? BIT(i) : 0;
    }
    return ports;
}

static uint64_t random_address(uint64_t *random)
{
    return random_below(random, 2) == 0 ? ADDRESS(random_below(random, PORTS))
                                        : STATION + random_below(random, 8);
}

static void test_random_frames_beside_the_model(void **state)
{
    static const int controls[] = {-1, -1, -1, 5, 0x6005, 9, 0, 0xe000, 4095};
    static const unsigned types[] = {0x0800, 0x0800, 0x0800, 0x88a8};
    uint64_t random = 5, now = UINT64_MAX - 50 * AGE;

    (void)state;
    begin();
    seen_count = 0;
    for (unsigned i = 0; i < 200000; i++) {
        unsigned port = (unsigned)random_below(&random, PORTS);
        uint64_t source = port != CARD && random_below(&random, 2) == 0 ? clients[port - 1].address
                                                                        : random_address(&random);

        now += random_below(&random, AGE / 100);
        make(source == 0 ? STATION : source,
             random_below(&random, 4) == 0 ? BROADCAST : random_address(&random),
             controls[random_below(&random, 9)], types[random_below(&random, 4)]);
        (void)decide(port, 100, now);
        assert_int_equal(decision.ports, model_decide(port, now));
    }
}

/* Frames of any content and any length, in memory that ends where the frame ends. */
static void test_arbitrary_frames(void **state)
{
    uint64_t random = 9, frames = 0, counted = 0;

    (void)state;
    begin();
    for (unsigned i = 0; i < 300000; i++) {
        uint32_t bytes = (uint32_t)random_below(&random, 24), port = i % PORTS;
        uint32_t there = bytes < FRAME_HEADER_BYTES_MAX ? bytes : FRAME_HEADER_BYTES_MAX;
        uint8_t *start = frame + (FRAME_HEADER_BYTES_MAX - there);

        make(random_address(&random), random_address(&random), (int)random_below(&random, 3) - 1,
             0x0800);
        memmove(start, frame, there);
        for (unsigned changes = (unsigned)random_below(&random, 4); changes > 0 && there > 0;) {
            start[random_below(&random, there)] = (uint8_t)random_below(&random, 256);
            changes--;
        }
        decision = frame_switch_decide(&bridge, port, start, bytes, random_below(&random, AGE));
        frames += decision.drop == FRAME_NOT_DROPPED;
        assert_true((decision.ports & (BIT(port) | ~ALL_PORTS)) == 0);
        assert_true((decision.tagged & ~decision.ports) == 0);
        if (port != CARD && decision.ports != 0 && !clients[port - 1].is_any_address) {
            assert_int_equal(start[11], clients[port - 1].address & 0xff);
        }
    }
    for (unsigned port = 0; port < PORTS; port++) {
        counted += bridge.counters[port].received.frames;
    }
    assert_true(frames > 1000 && counted == frames);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_are_checked),
        cmocka_unit_test(test_known_addresses),
        cmocka_unit_test(test_unknown_addresses),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_source_addresses),
        cmocka_unit_test(test_learned_addresses_belong_to_one_port),
        cmocka_unit_test(test_reserved_destinations),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_vlans),
        cmocka_unit_test(test_tags_behind_tags),
        cmocka_unit_test(test_tags_are_added_and_removed),
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_flood_of_source_addresses),
        cmocka_unit_test(test_random_frames_beside_the_model),
        cmocka_unit_test(test_arbitrary_frames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
