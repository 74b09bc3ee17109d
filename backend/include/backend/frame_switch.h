/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A learning switch between a card and up to 16 clients: for each frame it decides which ports it
 * leaves from, or why it is dropped. It is a VLAN bridge (IEEE 802.1Q, 8.6) whose ports have rules
 * that a client can't break.
 *
 *   addresses  A client has one MAC address and sends from no other. A client with "any" address
 *              may use those that nobody else has. An address belongs to, in this order: the
 *              client that has it by the rules; the card, if it was seen there in the last 300 s;
 *              the client with "any" that sent from it in the last 300 s.
 *   VLANs      A client is in no VLAN, in one as an access port (frames are untagged on its side),
 *              or in all as a trunk. The card is in all. Frames without VLAN are VLAN 0 here.
 *   unknown    A frame to an unknown address goes to the card and to clients with "any". A frame
 *              from the card to an unknown address goes to clients with "any".
 *   tags       Frames of VLAN 0 leave without tag. A tag behind a tag that is removed, and a tag of
 *              another standard from a client that is no trunk, would select a VLAN outside: such
 *              frames are dropped.
 *
 * The switch only reads the header. It does not hold frames. It counts frames, bytes and drops of
 * each port and direction.
 *
 * Times are nanoseconds, and may wrap at 2^64. No function takes longer than a search of the
 * address table. The caller serialises all calls for one switch. Any context.
 */
#ifndef BACKEND_FRAME_SWITCH_H
#define BACKEND_FRAME_SWITCH_H

#include "backend/address_table.h"
#include "backend/frame_header.h"
#include <stdbool.h>
#include <stdint.h>

#define FRAME_SWITCH_CLIENTS_MAX 16u
#define FRAME_SWITCH_PORTS_MAX   (FRAME_SWITCH_CLIENTS_MAX + 1)
#define FRAME_SWITCH_CARD        0u /* the card's port; the clients follow from 1 on */

enum frame_switch_vlan {
    FRAME_SWITCH_NO_VLAN, /* only untagged frames, on the card's side too */
    FRAME_SWITCH_ACCESS,  /* untagged towards the client, tagged towards the card */
    FRAME_SWITCH_TRUNK,   /* all VLANs and untagged frames, as they are */
};

/* A client's rules in the system file. */
struct frame_switch_rules {
    uint64_t address; /* not used with is_any_address */
    enum frame_switch_vlan kind;
    uint16_t vlan; /* of an access port: 1 .. FRAME_VLAN_MAX */
    bool is_any_address;
};

enum frame_switch_error {
    FRAME_SWITCH_OK,
    FRAME_SWITCH_CLIENTS_OUT_OF_RANGE, /* more than FRAME_SWITCH_CLIENTS_MAX */
    FRAME_SWITCH_BAD_ADDRESS,          /* 0, of a group, or longer than 48 bits */
    FRAME_SWITCH_SAME_ADDRESS,         /* two clients have it in one VLAN */
    FRAME_SWITCH_BAD_VLAN,
};

enum frame_drop {
    FRAME_NOT_DROPPED,
    FRAME_DROP_NO_PORT,   /* the switch has no such port; not counted */
    FRAME_DROP_SHORT,     /* the frame ends in its header */
    FRAME_DROP_LONG,      /* longer than the largest frame */
    FRAME_DROP_GROUP,     /* the source address is 0 or that of a group */
    FRAME_DROP_VLAN,      /* the port is not in the VLAN, or the frame has a tag that it may not */
    FRAME_DROP_SPOOFED,   /* the source address is not the client's */
    FRAME_DROP_LOOPED,    /* from the card, with the source address of a client */
    FRAME_DROP_RESERVED,  /* to 01-80-C2-00-00-00 .. 0F (IEEE 802.1Q, table 8-1) */
    FRAME_DROP_SAME_PORT, /* the destination is behind the port that the frame came from */
    FRAME_DROP_NO_RECEIVER, /* no port needs the frame */
    FRAME_DROP_NO_BUFFER,   /* the receiver had no buffer: frame_switch_count_lost() */
    FRAME_DROP_COUNT,
};

struct frame_counters {
    uint64_t frames; /* not dropped */
    uint64_t bytes;  /* of these */
    uint64_t drops[FRAME_DROP_COUNT];
};

struct frame_port_counters {
    struct frame_counters received; /* by the switch, from the port */
    struct frame_counters sent;     /* by the switch, to the port */
};

/* Private to switch/, and visible so that a switch can be embedded. */
struct frame_switch {
    struct frame_switch_rules clients[FRAME_SWITCH_PORTS_MAX]; /* by port */
    struct frame_port_counters counters[FRAME_SWITCH_PORTS_MAX];
    struct address_table addresses;
    uint32_t ports;
    uint32_t frame_bytes_max;
};

struct frame_decision {
    enum frame_drop drop; /* FRAME_NOT_DROPPED: the frame leaves from `ports` */
    uint32_t ports;       /* a bit a port */
    uint32_t tagged;      /* of `ports`, those where the frame has a tag */
    uint16_t control;     /* of that tag */
    bool has_tag;         /* the frame came with a tag */
};

/* Initialises a switch whose clients are the ports 1 .. `count`. `frame_bytes_max`: the largest
 * frame, not counting a tag. `secret`: a random number, see address_table.h. After an error the
 * switch can't be used. */
enum frame_switch_error frame_switch_init(struct frame_switch *bridge,
                                          const struct frame_switch_rules *clients, unsigned count,
                                          uint32_t frame_bytes_max, uint64_t secret);

/*
 * Decides about a frame that came from `port`, learns from it, and counts it. `bytes`: at least the
 * first FRAME_HEADER_BYTES_MAX bytes of the frame, or all of a shorter frame. It is a copy that no
 * client can change, from which frame_switch_write_header() makes the header that leaves.
 * `frame_bytes`: length of the frame.
 */
struct frame_decision frame_switch_decide(struct frame_switch *bridge, unsigned port,
                                          const uint8_t *bytes, uint32_t frame_bytes, uint64_t now);

/* Returns the number of bytes at the start of the frame that frame_switch_write_header() replaces:
 * the addresses, and the tag if there is one. */
uint32_t frame_switch_header_bytes(const struct frame_decision *decision);

/* Writes the start of the frame as it leaves from `port` to `header`. `bytes`: as for the decision.
 * Returns its length: the addresses, and a tag if the port needs one. */
uint32_t frame_switch_write_header(const struct frame_decision *decision, unsigned port,
                                   const uint8_t *bytes, uint8_t header[FRAME_HEADER_BYTES_MAX]);

/* Counts a frame that was passed on to `port`, or one that was lost because the receiver had no
 * buffer. `frame_bytes`: as it left. */
void frame_switch_count_sent(struct frame_switch *bridge, unsigned port, uint32_t frame_bytes);
void frame_switch_count_lost(struct frame_switch *bridge, unsigned port);

/* Forgets the addresses learned behind a port, because its client begins a new life. */
void frame_switch_forget(struct frame_switch *bridge, unsigned port);

#endif
