/* SPDX-License-Identifier: BSD-2-Clause */
#include "backend/frame_switch.h"

#include <string.h>

#define ADDRESS_END      (UINT64_C(1) << 48)
#define RESERVED_FIRST   UINT64_C(0x0180c2000000)
#define RESERVED_LAST    UINT64_C(0x0180c200000f)
#define PRIORITY_MASK    0xf000u /* PCP and DEI (IEEE 802.1Q, 9.6) */
#define C_TAG_FIRST_BYTE 0x81u   /* type 0x8100 */
#define NO_PORT          ADDRESS_TABLE_NOWHERE
/* The network behind the card has more stations than a client. */
#define CARD_ENTRIES (ADDRESS_TABLE_ENTRIES / 2)

_Static_assert(FRAME_SWITCH_PORTS_MAX <= ADDRESS_TABLE_PORTS, "each port has a quota");

static bool is_card(unsigned port)
{
    return port == FRAME_SWITCH_CARD;
}

/* Returns true for the card too. */
static bool is_trunk(const struct frame_switch *bridge, unsigned port)
{
    return bridge->clients[port].kind == FRAME_SWITCH_TRUNK;
}

/* Returns the VLAN of untagged frames on a port. */
static uint16_t untagged_vlan(const struct frame_switch *bridge, unsigned port)
{
    return bridge->clients[port].kind == FRAME_SWITCH_ACCESS ? bridge->clients[port].vlan : 0;
}

static bool is_member(const struct frame_switch *bridge, unsigned port, uint16_t vlan)
{
    return is_trunk(bridge, port) || untagged_vlan(bridge, port) == vlan;
}

/* Returns the client that has the address by its rules, or NO_PORT. */
static unsigned client_with(const struct frame_switch *bridge, uint16_t vlan, uint64_t address)
{
    for (unsigned port = 1; port < bridge->ports; port++) {
        const struct frame_switch_rules *rules = &bridge->clients[port];

        if (!rules->is_any_address && rules->address == address && is_member(bridge, port, vlan)) {
            return port;
        }
    }
    return NO_PORT;
}

static bool share_a_vlan(const struct frame_switch_rules *one,
                         const struct frame_switch_rules *other)
{
    return one->kind == FRAME_SWITCH_TRUNK || other->kind == FRAME_SWITCH_TRUNK ||
           (one->kind == other->kind &&
            (one->kind == FRAME_SWITCH_NO_VLAN || one->vlan == other->vlan));
}

static enum frame_switch_error check_rules(const struct frame_switch_rules *rules)
{
    if (rules->kind == FRAME_SWITCH_ACCESS && (rules->vlan == 0 || rules->vlan > FRAME_VLAN_MAX)) {
        return FRAME_SWITCH_BAD_VLAN;
    }
    if (!rules->is_any_address && (rules->address == 0 || rules->address >= ADDRESS_END ||
                                   frame_address_is_group(rules->address))) {
        return FRAME_SWITCH_BAD_ADDRESS;
    }
    return FRAME_SWITCH_OK;
}

static enum frame_switch_error check_clients(const struct frame_switch_rules *clients,
                                             unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        enum frame_switch_error error = check_rules(&clients[i]);

        if (error != FRAME_SWITCH_OK) {
            return error;
        }
        for (unsigned j = 0; j < i; j++) {
            if (!clients[i].is_any_address && !clients[j].is_any_address &&
                clients[i].address == clients[j].address &&
                share_a_vlan(&clients[i], &clients[j])) {
                return FRAME_SWITCH_SAME_ADDRESS;
            }
        }
    }
    return FRAME_SWITCH_OK;
}

/* Divides the address table among the card and the clients with "any". */
static void reserve_addresses(struct frame_switch *bridge)
{
    unsigned learning = 0;

    (void)address_table_reserve(&bridge->addresses, FRAME_SWITCH_CARD, CARD_ENTRIES);
    for (unsigned port = 1; port < bridge->ports; port++) {
        learning += bridge->clients[port].is_any_address;
    }
    for (unsigned port = 1; port < bridge->ports; port++) {
        if (bridge->clients[port].is_any_address) {
            (void)address_table_reserve(&bridge->addresses, port,
                                        (ADDRESS_TABLE_ENTRIES - CARD_ENTRIES) / learning);
        }
    }
}

enum frame_switch_error frame_switch_init(struct frame_switch *bridge,
                                          const struct frame_switch_rules *clients, unsigned count,
                                          uint32_t frame_bytes_max, uint64_t secret)
{
    enum frame_switch_error error;

    if (count > FRAME_SWITCH_CLIENTS_MAX) {
        return FRAME_SWITCH_CLIENTS_OUT_OF_RANGE;
    }
    error = check_clients(clients, count);
    if (error != FRAME_SWITCH_OK) {
        return error;
    }
    *bridge = (struct frame_switch){.ports = count + 1, .frame_bytes_max = frame_bytes_max};
    bridge->clients[FRAME_SWITCH_CARD] =
        (struct frame_switch_rules){.is_any_address = true, .kind = FRAME_SWITCH_TRUNK};
    for (unsigned i = 0; i < count; i++) {
        bridge->clients[1 + i] = clients[i];
    }
    address_table_init(&bridge->addresses, secret);
    reserve_addresses(bridge);
    return FRAME_SWITCH_OK;
}

/* Finds the VLAN of a frame from `port`. A tag of VLAN 0 only has a priority: the frame belongs to
 * the VLAN of untagged frames (IEEE 802.1Q, 6.9.1). Returns false if the frame may not have its
 * tags. */
static bool find_vlan(const struct frame_switch *bridge, unsigned port,
                      const struct frame_header *header, uint16_t *vlan)
{
    *vlan = frame_vlan(header);
    if (*vlan != 0) {
        return is_trunk(bridge, port) && *vlan <= FRAME_VLAN_MAX;
    }
    *vlan = untagged_vlan(bridge, port);
    /* Without its tag, or with a tag in front that the next switch removes, the frame would have
     * the VLAN of the inner tag. */
    return !frame_type_is_tag(header->type) || (is_trunk(bridge, port) && !header->has_tag);
}

/* Checks that the source address is one that the port may use, and learns it. */
static enum frame_drop check_source(struct frame_switch *bridge, unsigned port, uint16_t vlan,
                                    uint64_t source, uint64_t now)
{
    uint8_t learned;

    if (!bridge->clients[port].is_any_address) {
        return bridge->clients[port].address == source ? FRAME_NOT_DROPPED : FRAME_DROP_SPOOFED;
    }
    if (client_with(bridge, vlan, source) != NO_PORT) {
        return is_card(port) ? FRAME_DROP_LOOPED : FRAME_DROP_SPOOFED;
    }
    learned = address_table_find(&bridge->addresses, vlan, source, now);
    if (!is_card(port) && learned != NO_PORT && learned != port) {
        return FRAME_DROP_SPOOFED;
    }
    (void)address_table_learn(&bridge->addresses, port, vlan, source, now);
    return FRAME_NOT_DROPPED;
}

/* Returns the ports that a frame of the VLAN leaves from if it is for all, or if its destination is
 * unknown. */
static uint32_t flood(const struct frame_switch *bridge, unsigned from, uint16_t vlan,
                      bool is_for_all)
{
    uint32_t ports = 0;

    for (unsigned port = 0; port < bridge->ports; port++) {
        if (port != from && is_member(bridge, port, vlan) &&
            (is_for_all || bridge->clients[port].is_any_address)) {
            ports |= 1u << port;
        }
    }
    return ports;
}

static uint32_t find_receivers(const struct frame_switch *bridge, unsigned from, uint16_t vlan,
                               uint64_t destination, uint64_t now)
{
    unsigned port;

    if (frame_address_is_group(destination)) {
        return flood(bridge, from, vlan, true);
    }
    port = client_with(bridge, vlan, destination);
    if (port == NO_PORT) {
        port = address_table_find(&bridge->addresses, vlan, destination, now);
    }
    return port == NO_PORT ? flood(bridge, from, vlan, false) : 1u << port;
}

/* Returns those of `ports` where a frame of the VLAN has a tag. */
static uint32_t tagged_ports(const struct frame_switch *bridge, uint32_t ports, uint16_t vlan)
{
    uint32_t tagged = 0;

    for (unsigned port = 0; vlan != 0 && port < bridge->ports; port++) {
        if (is_trunk(bridge, port)) {
            tagged |= 1u << port;
        }
    }
    return ports & tagged;
}

static enum frame_drop check_header(const struct frame_switch *bridge, unsigned port,
                                    const struct frame_header *header, uint32_t frame_bytes,
                                    uint16_t *vlan)
{
    if (frame_bytes - (header->has_tag ? FRAME_TAG_BYTES : 0) > bridge->frame_bytes_max) {
        return FRAME_DROP_LONG;
    }
    if (header->source == 0 || frame_address_is_group(header->source)) {
        return FRAME_DROP_GROUP;
    }
    return find_vlan(bridge, port, header, vlan) ? FRAME_NOT_DROPPED : FRAME_DROP_VLAN;
}

/* Fills in the decision about a frame whose header may enter the switch. */
static enum frame_drop forward(struct frame_switch *bridge, unsigned port,
                               const struct frame_header *header, uint16_t vlan, uint64_t now,
                               struct frame_decision *decision)
{
    enum frame_drop drop = check_source(bridge, port, vlan, header->source, now);
    uint32_t ports;

    if (drop != FRAME_NOT_DROPPED) {
        return drop;
    }
    if (header->destination >= RESERVED_FIRST && header->destination <= RESERVED_LAST) {
        return FRAME_DROP_RESERVED;
    }
    ports = find_receivers(bridge, port, vlan, header->destination, now);
    if (ports == 0) {
        return FRAME_DROP_NO_RECEIVER;
    }
    if (ports == 1u << port) {
        return FRAME_DROP_SAME_PORT;
    }
    decision->ports = ports;
    decision->tagged = tagged_ports(bridge, ports, vlan);
    decision->control = (uint16_t)((header->control & PRIORITY_MASK) | vlan);
    decision->has_tag = header->has_tag;
    return FRAME_NOT_DROPPED;
}

static void count_received(struct frame_counters *counters, enum frame_drop drop,
                           uint32_t frame_bytes)
{
    if (drop != FRAME_NOT_DROPPED) {
        counters->drops[drop]++;
        return;
    }
    counters->frames++;
    counters->bytes += frame_bytes;
}

struct frame_decision frame_switch_decide(struct frame_switch *bridge, unsigned port,
                                          const uint8_t *bytes, uint32_t frame_bytes, uint64_t now)
{
    struct frame_decision decision = {.drop = FRAME_DROP_NO_PORT};
    struct frame_header header;
    uint16_t vlan = 0;

    if (port >= bridge->ports) {
        return decision;
    }
    if (!frame_header_read(&header, bytes, frame_bytes)) {
        decision.drop = FRAME_DROP_SHORT;
    } else {
        decision.drop = check_header(bridge, port, &header, frame_bytes, &vlan);
    }
    if (decision.drop == FRAME_NOT_DROPPED) {
        decision.drop = forward(bridge, port, &header, vlan, now, &decision);
    }
    count_received(&bridge->counters[port].received, decision.drop, frame_bytes);
    return decision;
}

uint32_t frame_switch_header_bytes(const struct frame_decision *decision)
{
    return FRAME_ADDRESSES_BYTES + (decision->has_tag ? FRAME_TAG_BYTES : 0);
}

uint32_t frame_switch_write_header(const struct frame_decision *decision, unsigned port,
                                   const uint8_t *bytes, uint8_t header[FRAME_HEADER_BYTES_MAX])
{
    memcpy(header, bytes, FRAME_ADDRESSES_BYTES);
    if ((decision->tagged >> port & 1) == 0) {
        return FRAME_ADDRESSES_BYTES;
    }
    header[FRAME_ADDRESSES_BYTES] = C_TAG_FIRST_BYTE;
    header[FRAME_ADDRESSES_BYTES + 1] = 0;
    header[FRAME_ADDRESSES_BYTES + 2] = (uint8_t)(decision->control >> 8);
    header[FRAME_ADDRESSES_BYTES + 3] = (uint8_t)decision->control;
    return FRAME_ADDRESSES_BYTES + FRAME_TAG_BYTES;
}

void frame_switch_count_sent(struct frame_switch *bridge, unsigned port, uint32_t frame_bytes)
{
    bridge->counters[port].sent.frames++;
    bridge->counters[port].sent.bytes += frame_bytes;
}

void frame_switch_count_lost(struct frame_switch *bridge, unsigned port)
{
    bridge->counters[port].sent.drops[FRAME_DROP_NO_BUFFER]++;
}

void frame_switch_forget(struct frame_switch *bridge, unsigned port)
{
    address_table_forget(&bridge->addresses, port);
}
