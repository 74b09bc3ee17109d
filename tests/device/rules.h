/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Watches the driver's accesses to its device and fails the test at the first violation of a rule
 * of the standard. Rules on registers are checked at each access (rules_registers.c), rules on the
 * ring when it is published (rules_split.c, rules_packed.c). Every rule counts its checks, so that
 * a test can tell "held" from "never checked".
 */
#ifndef TESTS_DEVICE_RULES_H
#define TESTS_DEVICE_RULES_H

#include "station.h"
#include "virtio/virtqueue.h"

#define RULES_QUEUES 9u /* four pairs and the control queue */

/* Each rule has a name, and a text that begins with its clause. */
#define RULES(RULE)                                                                              \
    RULE(STATUS_KEPT, "2.1.1 a status bit is never cleared")                                     \
    RULE(STATUS_ORDER, "3.1.1 status bits are set in order")                                     \
    RULE(RESET_AWAITED, "4.1.4.3.2 after a reset the status is read until it is 0")              \
    RULE(FAILED_RESET, "2.1.1 after FAILED nothing but a reset is written")                      \
    RULE(FEATURES_CHECKED, "3.1.1 FEATURES_OK is read back before anything else is set up")      \
    RULE(FEATURES_OFFERED, "2.2.1 only offered features are accepted")                           \
    RULE(FEATURES_FIXED, "3.1.1 features do not change after FEATURES_OK")                       \
    RULE(FEATURES_DEPENDENT, "2.2.1 features are accepted with what they require")               \
    RULE(VERSION_1, "6.1 VERSION_1 is accepted")                                                 \
    RULE(FEATURES_SELECTED, "4.2.2.2 both feature words are selected before they are read")      \
    RULE(CONFIG_UNTOUCHED, "2.5 the device's configuration is not written")                      \
    RULE(CONFIG_GENERATION, "2.5.1 fields are read between two reads of the generation")         \
    RULE(CONFIG_TWICE, "2.5.3 legacy: a field is read until two reads are equal")                \
    RULE(CONFIG_WIDTH, "4.1.3.1 fields are read with their own width")                           \
    RULE(REGISTER_WIDTH, "4.2.2.2 registers are accessed with their own width")                  \
    RULE(REGISTER_KNOWN, "4.2.2.2 undefined registers are not accessed")                         \
    RULE(QUEUE_SIZE, "2.7 a queue's size is a power of two and no more than the device allows")  \
    RULE(QUEUE_ALIGNED, "2.7, 2.8.11 descriptors are aligned to 16, the areas as their formats") \
    RULE(QUEUE_IDLE, "4.2.2.2 a queue's registers are not written while it is enabled")          \
    RULE(QUEUE_ENABLED, "4.1.4.3.2 1 is written to enable a queue, after everything else")       \
    RULE(VECTOR_READ, "4.1.5.1.2.2 a vector is read back")                                       \
    RULE(VECTOR_INSIDE, "4.1.5.1.2.2 a vector is one of the table, or none")                     \
    RULE(NOTIFY_RUNNING, "3.1.1 no notification comes before DRIVER_OK")                         \
    RULE(NOTIFY_QUEUE, "4.1.5.2 a notification names a queue that is enabled")                   \
    RULE(CAUSE_MSIX, "4.1.4.5 the interrupt status is not read with MSI-X")                      \
    RULE(CAUSE_ACKNOWLEDGED, "4.2.2.2 only causes that were read are acknowledged")              \
    RULE(INDEX_FORWARD, "2.7.6.1 the available index never goes back, or past the queue's size") \
    RULE(DESCRIPTOR_FREE, "2.7.13 a descriptor that the device holds is not published again")    \
    RULE(CHAIN_FREE, "2.7.13, 2.8.21.1 an id that the device holds is not published again")      \
    RULE(CHAIN_BOUNDED, "2.7.5.2, 2.8.17 a chain is no longer than the queue and has no loop")   \
    RULE(CHAIN_BYTES, "2.7.5.2 a chain has less than 2^32 bytes, and no empty buffer")           \
    RULE(CHAIN_ORDER, "2.7.4.2, 2.8.17 readable buffers come before writable ones")              \
    RULE(BUFFER_OURS, "2.7.5 a buffer lies in memory that was shared")                           \
    RULE(INDIRECT_AGREED, "2.7.5.3.1, 2.8.19 indirect tables only if negotiated")                \
    RULE(INDIRECT_PLAIN, "2.7.5.3.1, 2.8.19 no NEXT beside INDIRECT, no table in a table")       \
    RULE(FLAGS_ZERO, "2.7.7.1 the available flags stay 0 with EVENT_IDX")                        \
    RULE(FLAGS_VALID, "2.7.7.1 the available flags are 0 or 1 without EVENT_IDX")                \
    RULE(IN_ORDER_NEXT, "2.7.5.2 with IN_ORDER the next descriptor is the following one")        \
    RULE(IN_ORDER_RING, "2.7.9 with IN_ORDER descriptors are used in ring order")                \
    RULE(PACKED_WRAP, "2.8.1 a descriptor is made available with its lap's wrap counter")        \
    RULE(PACKED_COMPLETE, "2.8.17 the first descriptor of a list is made available last")        \
    RULE(PACKED_ROOM, "2.8.17 a list is made available when there is room for all of it")        \
    RULE(PACKED_UNTOUCHED, "2.8.16 a descriptor that the device holds is not changed")           \
    RULE(EVENT_RESERVED, "2.8.14 the event flags never have a reserved value")                   \
    RULE(EVENT_AGREED, "2.8.10 an event for a descriptor only with EVENT_IDX")                   \
    RULE(EVENT_INSIDE, "2.8.10 the event's offset lies in the ring")                             \
    RULE(RECEIVE_ROOM, "5.1.6.3.1 a receive buffer has room for header and 1514 bytes")          \
    RULE(RECEIVE_WRITABLE, "5.1.6.3 receive buffers are writable, transmit buffers readable")    \
    RULE(HEADER_BUFFERS, "5.1.6.2.1 num_buffers is 0 when transmitting")                         \
    RULE(HEADER_FLAGS, "5.1.6.2.1 flags are 0 without CSUM")                                     \
    RULE(HEADER_GSO, "5.1.6.2.1 gso_type is NONE unless negotiated")                             \
    RULE(HEADER_CUT, "5.1.6.2.1 a frame to segment says how, and leaves the checksum")           \
    RULE(HEADER_ALONE, "2.7.4.3 legacy: the header is alone without ANY_LAYOUT")                 \
    RULE(RESET_AGREED, "2.6.1 a queue reset is only used if negotiated, and awaited")            \
    RULE(COMMAND_SHAPE, "5.1.6.5 a command's class and data are readable, its answer writable")  \
    RULE(COMMAND_AGREED, "5.1.6.5 a command only if negotiated")                                 \
    RULE(PAIRS_OFFERED, "5.1.6.5.6.1 no more queue pairs are requested than there are")          \
    RULE(PAIRS_READY, "5.1.6.5.6.1 queue pairs are set up before they are requested")            \
    RULE(PAIRS_TOLD, "5.1.6.5.6.1 packets go to requested pairs, at first to the first pair")    \
    RULE(FRAME_MTU, "5.1.4.2 no frame is larger than the MTU")

#define RULE_NUMBER(name, text) RULE_##name,
enum rule { RULES(RULE_NUMBER) RULE_COUNT };
#undef RULE_NUMBER

/* Checks a rule; the test fails if it does not hold. */
void rules_check(enum rule rule, bool holds);
/* Prints the number of checks of each rule. */
void rules_report(void);

/* A queue as described by the registers. */
struct rules_queue {
    uint32_t size;
    uint32_t size_max;
    uint64_t descriptors;
    uint64_t driver_area;
    uint64_t device_area;
    bool enabled;
    bool reset_pending; /* reset of this queue alone: 1 was written, and 0 not yet read */
    bool was_reset;     /* was reset alone, so it may be enabled while the device runs */
    bool enabled_once;  /* the addresses are valid */
    uint16_t published; /* available index; packed: place of the next descriptor */
    uint16_t used;      /* used entries read so far; packed: place */
    bool with_device[VIRTQUEUE_SIZE_MAX];        /* split: by descriptor number */
    uint16_t next[VIRTQUEUE_SIZE_MAX];           /* of these descriptors: value when published */
    uint16_t next_in_order;                      /* split, with IN_ORDER: the next head */
    uint16_t descriptors_of[VIRTQUEUE_SIZE_MAX]; /* by a chain's id; 0: not with the device */
    uint16_t order[VIRTQUEUE_SIZE_MAX];          /* ids in the order of publication */
    unsigned chains_given;
    unsigned chains_returned;
};

/* A chain that was checked and is about to be published. */
struct rules_publication {
    const struct rules_queue *queue;
    uint16_t at; /* its first descriptor, in the table or ring */
    /* Packed: the second half of the first descriptor, which is stored after this call. */
    uint64_t *rest;
};

/* The state that the driver and the device have agreed on. */
struct rules {
    const struct station *station;
    uint64_t offered;
    uint64_t accepted;
    uint32_t pairs_told; /* number of queue pairs to be used */
    struct rules_queue queue[RULES_QUEUES];
};

extern struct rules rules;

/* Starts watching this station and those of the other pairs. Its driver must not exist yet. */
void rules_watch(const struct station *station);
/* Prints the state of the queues. */
void rules_describe(void);
void rules_queue_enabled(struct rules_queue *queue);

enum rules_register {
    REGISTER_UNKNOWN,
    REGISTER_CONSTANT, /* magic, version and ids */
    REGISTER_STATUS,
    REGISTER_DEVICE_FEATURES,
    REGISTER_DEVICE_FEATURES_SELECT,
    REGISTER_DRIVER_FEATURES,
    REGISTER_DRIVER_FEATURES_SELECT,
    REGISTER_QUEUE_SELECT,
    REGISTER_QUEUE_SIZE_MAX,
    REGISTER_QUEUE_SIZE,
    REGISTER_QUEUE_ENABLE,
    REGISTER_QUEUE_PAGE,
    REGISTER_PAGE_SIZE,
    REGISTER_QUEUE_ALIGN,
    REGISTER_DESCRIPTORS,
    REGISTER_DESCRIPTORS_HIGH,
    REGISTER_DRIVER_AREA,
    REGISTER_DRIVER_AREA_HIGH,
    REGISTER_DEVICE_AREA,
    REGISTER_DEVICE_AREA_HIGH,
    REGISTER_QUEUE_NOTIFY_OFFSET,
    REGISTER_QUEUE_RESET,
    REGISTER_NOTIFY,
    REGISTER_CAUSE,
    REGISTER_ACKNOWLEDGE,
    REGISTER_GENERATION,
    REGISTER_CONFIG_VECTOR,
    REGISTER_QUEUE_VECTOR,
    REGISTER_CONFIG,
};

/* Returns the number of chains of queue `number` that the device has returned so far. */
unsigned rules_returned(unsigned number);

/* Hooks for cases that change values, NULL if unused. Called after an access, and before a chain
 * becomes visible to the device. */
extern void (*rules_on_access)(enum rules_register what, const struct qtest_access *access);
extern void (*rules_on_publish)(const struct rules_publication *publication);
/* Called when the driver is about to request the next interrupt. */
extern void (*rules_on_wish)(unsigned queue);

#endif
