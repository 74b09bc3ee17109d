/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A virtio network device inside the test process: the device's side of the registers (MMIO and
 * PCI), written from the standard, on the model of the rings (hardware_models/virtio/ring.h), and a
 * test implementation of virtio/platform.h that leads the driver's accesses to it. The device fails
 * the test when the driver breaks a rule of the standard.
 */
#ifndef TESTS_VIRTIO_FAKE_H
#define TESTS_VIRTIO_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hardware_models/pci/pci.h"
#include "hardware_models/virtio/ring.h"
#include "virtio/mmio.h"
#include "virtio/pci.h"
#include "virtio/platform.h"
#include "virtio/pool.h"
#include "virtio/transport.h"

/* The address that the device sees is the pointer plus this offset. So a missing translation fails,
 * and both halves of an address register matter. */
#define FAKE_DMA_OFFSET UINT64_C(0x0123400000000000)

#define FAKE_MMIO_BASE ((virtio_register)0x0a000000)
#define FAKE_PCI_BASE  ((virtio_register)0x40000000) /* + bar * FAKE_BAR_BYTES */
#define FAKE_BAR_BYTES ((virtio_register)0x10000)
#define FAKE_QUEUES    9u /* four pairs and the control queue */
#define FAKE_TRACE_MAX 256u

#define FAKE_CONFIG_BYTES 256u /* of PCI, which is not Express */

enum fake_bus { FAKE_MMIO, FAKE_PCI };

struct fake_queue {
    uint16_t size_max;
    uint16_t vector;
    uint16_t notify_offset;
    bool enabled;
    unsigned resets; /* by itself (2.6.1) */
    unsigned reset_reads_left;
    uint64_t notifications; /* by the driver */
    uint64_t interrupts;    /* to the driver */
    struct ring ring;
};

struct fake_write {
    uint32_t where;
    uint32_t value;
};

struct fake_device {
    enum fake_bus bus;
    unsigned offer_reads; /* reads of 32 offered features */
    uint64_t offered;
    uint64_t accepted;
    uint64_t withdrawn; /* features that are not offered any more when the offer is read again */
    uint8_t status;
    uint8_t config[64];
    uint8_t config_widths[64]; /* of the field at each offset, 0 where none begins */
    uint32_t generation;
    uint32_t device_feature_select;
    uint32_t driver_feature_select;
    uint16_t queue_select;
    uint8_t isr;
    uint16_t config_vector;
    bool raised[16]; /* interrupts the driver has not handled: [0] the line, or vectors */
    bool line;       /* interrupts by line */

    /* Behaviour to choose. */
    uint32_t magic;
    uint32_t version;
    uint32_t device_id;
    bool refuse_features; /* clears FEATURES_OK again */
    bool stuck_in_reset;
    unsigned reset_reads; /* status reads until a reset is over */
    unsigned reset_reads_left;
    uint8_t status_before;   /* shown until then */
    unsigned config_changes; /* how many more config reads see the generation change afterwards */
    bool no_queue_reset;     /* MMIO: the register is not there */
    unsigned queue_reset_reads;        /* of its register until a queue's reset is over */
    uint16_t common_bytes;             /* PCI: of the common configuration */
    bool ready_stuck;                  /* queues never read as not ready */
    uint16_t vectors_granted;          /* vectors beyond are refused */
    void (*on_notify)(unsigned index); /* what the device does inside a notification */
    bool no_notifications;   /* without EVENT_IDX: the flag; with it: avail_event is left behind */
    bool gone;               /* registers read as all ones */
    bool line_stuck;         /* acknowledging changes nothing */
    bool acknowledge_posted; /* MMIO: written, and no register read since */
    void (*on_acknowledge)(void); /* MMIO: what the device does just before that takes effect */
    bool locked_status;           /* the status was read with the driver's lock held */

    /* PCI */
    struct pci_model pci;
    unsigned map_calls;

    /* The writes of the driver, in order. */
    struct fake_write trace[FAKE_TRACE_MAX];
    unsigned trace_count;

    struct fake_queue queue[FAKE_QUEUES];
};

extern struct fake_device *fake;

/* A device with all features this driver may want, on the bus; `vectors`: 0 for a line. */
void fake_reset_device(struct fake_device *device, enum fake_bus bus, uint16_t vectors);
/* Resets it, as somebody else than the driver may do. */
void fake_hot_reset(void);
/* Probes it with the library. */
struct virtio_transport *fake_probe(struct virtio_mmio *mmio, struct virtio_pci *pci);
/* Ring features the device has besides; what the arguments say: "packed", "in_order"; and "batch".
 */
extern uint64_t fake_ring_features;
extern bool fake_batches;
/* Argument "pool": all that the device can access, in each transport that fake_probe() returns. */
#define FAKE_POOL_BYTES (1024u * 1024)
extern struct virtio_pool *fake_pool;
void fake_choose_ring(int count, char **arguments);
/* Ends a test that is about another kind of ring than the one chosen. */
static inline void fake_skip(uint64_t features)
{
    if ((fake_ring_features & features) != 0) {
        skip();
    }
}
static inline void fake_skip_pool(void)
{
    if (fake_pool != NULL) {
        skip();
    }
}
static inline bool fake_packed(void)
{
    return (fake->accepted & VIRTIO_F_RING_PACKED) != 0;
}
#define FAKE_FEATURES_ALL                                                                   \
    (VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC | VIRTIO_NET_F_MAC |  \
     VIRTIO_NET_F_MTU | VIRTIO_NET_F_STATUS | VIRTIO_NET_F_CSUM | VIRTIO_NET_F_GUEST_CSUM | \
     VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6)

#define FAKE_FEATURES_CONTROL                                               \
    (VIRTIO_NET_F_CTRL_VQ | VIRTIO_NET_F_CTRL_RX | VIRTIO_NET_F_CTRL_VLAN | \
     VIRTIO_NET_F_CTRL_RX_EXTRA | VIRTIO_NET_F_GUEST_ANNOUNCE | VIRTIO_NET_F_CTRL_MAC_ADDR)

/* The device's side of the control queue (5.1.6.5): with on_notify = fake_control_notify each
 * command is kept, and answered unless `silent`. */
struct fake_control {
    unsigned index; /* of the queue */
    unsigned commands;
    uint8_t last[512]; /* class, command, data */
    uint32_t last_bytes;
    unsigned readable; /* descriptors of the last */
    uint8_t answer;
    uint32_t written; /* the length it claims */
    bool silent;
    bool unwritten;          /* says that it answered, and leaves what stood there */
    struct ring_chain chain; /* not yet answered */
};
extern struct fake_control fake_control;
/* The queue's number is `index`; answers are VIRTIO_NET_OK. */
void fake_control_begin(unsigned index);
void fake_control_notify(unsigned index);
void fake_control_answer(void);

/* PCI capabilities of the usual device; `fake_pci_capability` appends one more at `at`. */
void fake_pci_describe(struct fake_device *device, uint16_t device_id);
void fake_pci_capability(struct fake_device *device, unsigned at, unsigned next, unsigned length,
                         unsigned type, unsigned bar, uint32_t offset, uint32_t bytes);

/* The rings (hardware_models/virtio/ring.h), by the queue's number. */
struct ring *fake_ring(unsigned index);
/* Memory of a chain's segment. */
uint8_t *fake_memory(const struct ring_segment *segment);
bool fake_pop(unsigned index, struct ring_chain *chain);
/* Number of chains that fake_pop() would find. */
unsigned fake_available(unsigned index);
/* Any id: chains that the device has are known by it. */
void fake_push(unsigned index, uint32_t id, uint32_t written);
/* IN_ORDER: the next chains the device has, all at once, by the id of the last. */
void fake_push_batch(unsigned index, const struct ring_chain *chain, unsigned count,
                     uint32_t written);
/* Interrupts if the driver wants to know about what was pushed since the last decision. */
void fake_signal(unsigned index);
/* Both. */
void fake_complete(unsigned index, const struct ring_chain *chain, uint32_t written);
/* Tells the driver when to notify: at the next chain the device has not taken; at the next one that
 * is not yet available; at none for now (with EVENT_IDX; without, `no_notifications` says so). */
void fake_ask_notification(unsigned index);
void fake_ask_new_notification(unsigned index);
void fake_ask_no_notification(unsigned index);
/* Returns true if the driver wants interrupts of the queue, now or at an event. */
bool fake_interrupts_wanted(unsigned index);
void fake_config_interrupt(void);
bool fake_raised(void);

/* The shared words themselves, for lies: split. */
uint16_t *fake_used_index(unsigned index);
uint16_t *fake_used_flags(unsigned index);
uint16_t *fake_available_event(unsigned index);
uint32_t *fake_used_element(unsigned index, uint16_t position); /* id, length */
uint16_t *fake_available_flags(unsigned index);
uint16_t *fake_used_event(unsigned index);
uint16_t *fake_available_index(unsigned index);
/* The same: packed. Length, id and flags of a descriptor; offset and flags of the events. */
struct fake_packed_descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t id;
    uint16_t flags;
};
struct fake_packed_event {
    uint16_t where;
    uint16_t flags;
};
struct fake_packed_descriptor *fake_packed_descriptor(unsigned index, uint64_t total);
struct fake_packed_event *fake_driver_event(unsigned index);
struct fake_packed_event *fake_device_event(unsigned index);
uint16_t fake_packed_wrap(unsigned index, uint64_t total);
/* Marks as used, whatever is there. */
void fake_packed_mark(unsigned index, uint64_t total, uint16_t id, uint32_t bytes);

/* Writes a frame with its header into the next receive buffer. False: none exposed. */
bool fake_receive(const void *frame, uint32_t bytes, uint8_t header_flags);
/* The same, with csum_start and csum_offset of the header (5.1.6). */
bool fake_receive_partial(const void *frame, uint32_t bytes, uint8_t header_flags, uint16_t start,
                          uint16_t offset);
/* Takes the next frame to send, and completes it if asked. Returns its bytes (header included), 0:
 * none. */
uint32_t fake_transmit(uint8_t *frame, uint32_t limit, bool complete, struct ring_chain *chain);

/* Platform. */
extern unsigned fake_lock_depth;
extern unsigned fake_allocations;      /* now */
extern unsigned fake_allocations_left; /* until the next ones fail; UINT_MAX: never */
extern uint64_t fake_clock;
extern uint32_t fake_instructions; /* the count, and what is added to it before each reading */
extern uint32_t fake_instructions_step;
extern unsigned fake_log_lines;
extern void (*fake_on_unlock)(void);
extern unsigned fake_barriers[3]; /* the platform's, by enum virtio_barrier */

#endif
