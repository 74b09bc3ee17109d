/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A malicious network device in the test process, and an owner of the driver that detects all harm.
 *
 *     program.c   a program of steps (steps.c): calls of the owner, actions of the device,
 *                 and wrong values that it shows
 *     owner.c     the application, which starts and stops the driver, and counts
 *     calls.c     its calls of the driver, each with a bound on its work
 *     control.c   commands: the owner's side and the device's
 *     pools.c     its buffers and packets, each of which has one holder at any moment
 *     device.c    the device's state, correct until a step changes it
 *     registers.c the registers that the driver sees: MMIO, PCI, and the legacy interface of each
 *     traffic.c   frames and control commands, moved correctly or incorrectly
 *     ring_lies.c wrong values in a ring of either format; the correct ring is the model in
 *                 hardware_models/virtio
 *     snare.c     wrong values that wait for an access of the driver: a register or a word of
 *                 shared memory differs from one access to the next
 *     platform.c  virtio/platform.h
 *     memory.c    the memory that the device can access
 *
 * As long as the device has been correct since the driver started, the checks are strict: the
 * driver follows the standard, and no frame is lost or changed. After a wrong value the checks are
 * those that hold against any device: no access out of bounds, nothing lost or returned twice,
 * bounded work, and a driver that works again after it was stopped and created again.
 */
#ifndef TESTS_HOSTILE_H
#define TESTS_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hardware_models/pci/pci.h"
#include "hardware_models/virtio/ring.h"
#include "virtio/mmio.h"
#include "virtio/net.h"
#include "virtio/net_control.h"
#include "virtio/pci.h"
#include "virtio/pool.h"

#define HOSTILE_CHECK(condition, ...)                      \
    do {                                                   \
        if (!(condition)) {                                \
            hostile_fail(__FILE__, __LINE__, __VA_ARGS__); \
        }                                                  \
    } while (0)

/* Says what is wrong, and aborts: for libFuzzer and cmocka alike. */
void hostile_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

/* The kinds of invalid answers that the device has given since the driver was started. */
enum lie {
    LIE_RING = 1,     /* anything in shared memory */
    LIE_REGISTER = 2, /* status, queues, vectors, capabilities */
    LIE_CONFIG = 4,   /* its configuration, features, NEEDS_RESET: it may do that, with results */
    LIE_FRAME = 8,    /* what is in a frame or its header */
};

/* ---- memory.c ---- */

/* The address at which the device sees a buffer or packet is its pointer plus this offset. Rings
 * have addresses of their own, which legacy devices can name too. */
#define DMA_OFFSET UINT64_C(0x0123400000000000)

#define RING_REGIONS 32u
#define SLOT_BYTES   2304u
#define BUFFER_SLOTS 48u
#define PACKET_SLOTS 96u

/* The device can access a pool only: reach_pool.c or reach_all.c. */
extern const bool memory_has_pool;
/* Returns the pool for the next driver, NULL without one. */
struct virtio_pool *memory_pool(void);
/* The driver's pieces of the pool are lost: they are free again. */
void memory_renew_pool(void);
/* Returns the address at which the device sees the pool. */
uint64_t memory_pool_address(const void *memory);
/* The device was given this memory for a frame: the driver must not read it in place, because the
 * frame can change between two reads. */
void memory_mark_received(uint64_t address, uint32_t bytes);
void memory_forget_received(void);
/* Writes over all that was marked; if `all`, over the whole pool. */
void memory_scribble_pool(uint32_t value, bool all);

void memory_clear(void);
uint64_t memory_add_ring(void *memory, size_t bytes);
void memory_remove_ring(const void *memory);
/* Memory of receive buffers and packets. */
uint8_t *memory_buffer_slot(unsigned index);
uint8_t *memory_packet_slot(unsigned index);
/* Lets the device access the first `bytes` bytes of a slot. */
void memory_expose_buffer(unsigned index, uint32_t bytes);
void memory_expose_packet(unsigned index, uint32_t bytes);
/* The host's pointer for [address, address + bytes), NULL if the device may not touch that, which
 * is the driver's fault unless the device has lied. */
uint8_t *memory_reach(uint64_t address, uint32_t bytes, bool write);
/* Through memory_reach(). False, and nothing done, if the device can't. */
bool memory_load(uint64_t address, void *to, uint32_t bytes);
bool memory_store(uint64_t address, const void *from, uint32_t bytes);
/* Returns which kind of memory the address is in: shared with the device, or private. */
enum memory_kind { MEMORY_PRIVATE, MEMORY_RING, MEMORY_BUFFER, MEMORY_RECEIVED };
enum memory_kind memory_kind(const void *address);
/* Where in its buffer that is. */
size_t memory_buffer_offset(const void *address);
/* Neither is seen by AddressSanitizer: the device's own view of memory. */
void memory_read(void *to, const void *shared, size_t bytes);
void memory_write(void *shared, const void *from, size_t bytes);

/* ---- snare.c ---- */

enum access {
    ACCESS_ANY,
    ACCESS_RING_READ,
    ACCESS_RING_WRITE,
    ACCESS_BUFFER_READ,
    ACCESS_STATUS,
    ACCESS_FEATURES,
    ACCESS_CONFIG,
    ACCESS_GENERATION,
    ACCESS_QUEUE, /* size, ready, notify offset, vectors */
    ACCESS_CAUSE,
    ACCESS_IDENTITY, /* magic, version, device id; PCI configuration space */
    ACCESS_REGISTER_WRITE,
    ACCESS_UNLOCK,
    ACCESS_KINDS,
};

enum snare_effect {
    SNARE_REPLACE,
    SNARE_XOR,
    SNARE_ADD,
    SNARE_ACT,         /* the device does something between two accesses: snare_act() */
    SNARE_NEEDS_RESET, /* it asks for a reset: device_fail() */
    SNARE_EFFECTS,
};

#define SNARES 8u

struct snare {
    enum access access;
    enum snare_effect effect;
    uint32_t countdown; /* 1: the next such access */
    uint32_t every;     /* then again after so many, 0: never */
    uint32_t value;
};

/* Bounds on one call of the driver. */
struct work {
    uint64_t registers;
    uint64_t shared; /* loads and stores in shared memory */
    uint64_t all;    /* all its loads and stores */
};

void snare_clear(void);
void snare_set(const struct snare *snare);
/* Returns one of the effects but SNARE_ACT, for any number. */
enum snare_effect snare_effect_of(unsigned number);
bool snare_any(void);
/* True if the driver was compiled with calls for its accesses to memory (by Clang). */
bool snare_sees_memory(void);
/* Returns the value that the driver reads instead of `value`. */
uint32_t snare_register_read(enum access access, uint32_t value, unsigned bytes);
void snare_register_write(void);
void snare_unlock(void);
/* The driver lets time pass: others do something. */
void snare_pause(void (*others)(void));
/* The effect SNARE_ACT: program.c's. */
void snare_act(uint32_t value, bool unlocked);
/* Around each call of the driver; they nest. Work above the limit fails the test. */
struct driver_call {
    const char *name;
    struct work work;
    struct work limit;
};
struct driver_call snare_enter(const char *name, const struct work *limit);
void snare_leave(const struct driver_call *outer);

/* ---- device.c ---- */

#define QUEUES       8u
#define QUEUE_LIMIT  256u /* entries */
#define HELD_MAX     64u
#define MMIO_BASE    ((virtio_register)0x0a000000)
#define MMIO_BYTES   0x140u
#define BAR_BASE     ((virtio_register)0x40000000)
#define BAR_STRIDE   ((virtio_register)0x100000)
#define CONFIG_BYTES 0x40u
#define PCI_BYTES    0x100u /* of configuration space */
#define VECTORS      4u

/* In PCI's BAR, but of legacy devices. */
#define PCI_COMMON_BYTES      0x40u
#define PCI_ISR_OFFSET        0x1000u
#define PCI_CONFIG_OFFSET     0x2000u
#define PCI_NOTIFY_OFFSET     0x3000u
#define PCI_NOTIFY_MULTIPLIER 4u

enum bus { BUS_MMIO, BUS_PCI };

/* How the device answers the reset of a queue (2.6.1): it completes the reset after
 * device.queue_reset_reads reads of the register, or it gives an invalid answer. */
enum queue_reset {
    QUEUE_RESET_DONE,
    QUEUE_RESET_NEVER,    /* it does not end */
    QUEUE_RESET_STAYS,    /* it is said to have ended, and the queue is still enabled */
    QUEUE_RESET_GOES_ON,  /* the queue is enabled again where it was before */
    QUEUE_RESET_GIVES_UP, /* the device asks for a reset as a whole; it may do that */
    QUEUE_RESETS,
};

struct queue {
    uint16_t size_max;
    uint16_t vector;
    uint16_t notify_offset;
    bool enabled;
    bool told_reset;                  /* the driver was told that its reset has ended */
    struct ring_chain held[HELD_MAX]; /* taken from the ring, not returned */
    unsigned held_count;
    uint16_t last_id; /* returned last, for lies */
    uint64_t notifications;
    struct ring ring;
};

struct device {
    enum bus bus;
    bool legacy;
    bool line;                /* interrupts by line, no vectors */
    uint16_t vectors_granted; /* more are refused */
    uint64_t offered;
    uint64_t accepted;
    uint32_t device_feature_select;
    uint32_t driver_feature_select;
    uint32_t identity[3]; /* magic, version, device id */
    uint8_t status;
    uint8_t config[CONFIG_BYTES];
    uint32_t generation;
    uint16_t queue_select;
    uint16_t config_vector;
    uint8_t cause;
    bool raised[VECTORS]; /* interrupts the driver has not handled: [0] is the line too */
    enum queue_reset queue_reset;
    uint32_t queue_reset_reads;
    uint32_t queue_reset_left;
    unsigned queue_resets_told; /* to the driver: the queue is reset, and disabled */
    struct queue queue[QUEUES];
    struct pci_model pci;
    uint64_t bar_bytes[6];
    struct {
        virtio_register base;
        uint64_t bytes;
    } window[16]; /* what was mapped */
    unsigned windows;
    unsigned lies; /* LIE_ */
    /* The last answers to the driver: if one is true, the driver may use its memory again. */
    bool told_reset;
    bool told_disabled;
    bool in_use;
    bool knows_memory; /* a queue was enabled since the driver was created */
};

extern struct device device;

/* Honest, as it comes from the factory, with `offered` features. */
void device_power_on(enum bus bus, bool legacy, uint16_t vectors, uint64_t offered);
uint32_t device_pci_read(uint16_t offset, unsigned bytes);
void device_pci_write(uint16_t offset, unsigned bytes, uint32_t value);
virtio_register device_pci_map(unsigned bar, uint64_t offset, uint64_t bytes);
void device_raise(uint16_t vector, uint8_t cause);
/* The device sets NEEDS_RESET, and tells so, if it runs (2.1.2). It may do that. */
void device_fail(void);
bool device_running(void); /* DRIVER_OK */
/* The device did nothing against the standard, apart from frames, since it was made. */
bool device_strict(void);
/* No queue was enabled, or the driver was told that the device has let go of all of them. */
bool device_let_go(void);
/* A driver is created, with new memory. */
void device_forget_memory(void);
bool device_features(uint64_t mask);
/* NULL: not enabled, or its memory can't be reached any more. */
struct queue *device_queue(unsigned index);

/* For registers.c: the queue that is selected, and what is done to it and the device. */
struct queue *device_selected(void);
void device_write_status(uint8_t value);
uint32_t device_read_status(void);
void device_enable_queue(void);
void device_place_queue(uint32_t page);
uint32_t device_read_enabled(unsigned bytes);
void device_begin_queue_reset(void);
uint32_t device_read_queue_reset(unsigned bytes);

/* ---- ring_lies.c ---- */

/* One of the lies that only this format of the ring knows. */
void ring_lie(struct queue *queue, unsigned which, uint32_t value);
/* The bytes of the queue's parts in shared memory: descriptors, driver area, device area. */
uint32_t ring_area_bytes(const struct ring *ring, unsigned area);

/* ---- traffic.c ---- */

/* `count` frames to the driver, `bytes` long; `header`: 0 as the standard says, else a seed for
 * what stands in the header instead. */
void traffic_receive(unsigned pair, unsigned count, uint32_t bytes, uint32_t header);
unsigned traffic_control_index(void);
uint32_t traffic_header_bytes(void);
/* Takes up to `count` chains of a queue, sends them or obeys them. */
void traffic_take(unsigned index, unsigned count);
/* Returns up to `count` of the chains taken; `order` chooses which comes next. */
void traffic_return(unsigned index, unsigned count, uint32_t order);
void traffic_ask(unsigned index, bool never);
void traffic_signal(unsigned index);
/* Lies about a used chain: `which` of them. */
void traffic_lie(unsigned index, unsigned which, uint32_t value);
#define TRAFFIC_LIES 12u
/* Writes `value` somewhere into the queue's shared memory. */
void traffic_poke(unsigned index, uint32_t where, uint32_t value);
/* Writes over whatever the device was ever given and still reaches. */
void traffic_scribble(uint32_t value);

/* ---- control.c ---- */

/* How the device answers commands. */
enum control_manner {
    CONTROL_HONEST,
    CONTROL_REFUSES,
    CONTROL_SILENT,
    CONTROL_LATE,      /* after so many of the driver's looks, but in time */
    CONTROL_ODD,       /* neither OK nor ERR; this and what follows are lies */
    CONTROL_EMPTY,     /* it says that it wrote nothing */
    CONTROL_UNWRITTEN, /* it says that it wrote, and did not */
    CONTROL_LONGER,    /* it wrote more than there was room for */
    CONTROL_WRONG_ID,
    CONTROL_TWICE,
    CONTROL_UNASKED, /* a command that was never given; silent from then on */
    CONTROL_MANNERS,
};

void control_power_on(void); /* honest */
void control_answers(enum control_manner manner, uint32_t value);
bool control_obeys(void);        /* honest, if slow */
unsigned control_commands(void); /* obeyed */
/* The device looks at its control queue. */
void control_run(void);
/* A command as the device took it is the one that the owner gave, or the driver's own. */
void control_check_command(const struct ring_chain *chain, const uint8_t *command, uint32_t bytes);

enum owner_command { COMMAND_MODE, COMMAND_FILTER, COMMAND_MAC, COMMAND_VLAN, COMMANDS };
/* Gives a command with operands made of b and c. The answer is the one that is due, unless the
 * device lies. */
enum virtio_net_answer owner_command(enum owner_command which, uint8_t b, uint8_t c);
bool owner_announce_asked(void);

/* ---- platform.c ---- */

extern unsigned platform_locked;
void platform_clear(void);
void platform_fail_allocations(unsigned after); /* so many succeed; UINT_MAX: all */
unsigned platform_allocations(void);
/* Frees what the driver could not: its device never confirmed a reset. */
void platform_free_lost(void);

/* ---- owner.c, calls.c ---- */

struct frame_seen { /* of a frame that came up */
    uint32_t bytes;
    enum virtio_net_checksum checksum;
};

#define PAIRS 2u

void owner_power_on(void);
/* Further calls are about this pair, if there is one, else about the first. */
void owner_choose(unsigned pair);
unsigned owner_chosen(void);
bool owner_signalled(unsigned pair); /* its bottom half has to run */
/* Probes and creates. NULL: it runs, else why not. */
const char *owner_create(const struct virtio_net_parameters *parameters, uint32_t capacity);
struct virtio_net *owner_net(void);
/* Stops and frees. False: the device does not confirm the reset; everything is as before. */
bool owner_destroy(void);
/* Stops only; stays stopped, and can be called again. */
bool owner_stop(void);
void owner_short_buffers(bool shorter); /* buffers that are too small */
/* False: refused, or no packet free. */
bool owner_transmit(uint32_t bytes, unsigned segments, bool checksum);

/* A frame that the device is to cut, or one that is too large. */
struct owner_segments {
    enum virtio_net_gso type;
    uint32_t bytes;
    uint16_t header_bytes;
    uint16_t gso_bytes;
    uint8_t pieces; /* of each packet of the frame */
    bool without_checksum;
};
bool owner_transmit_segments(const struct owner_segments *large);
void owner_flush(void);
unsigned owner_fetch_packets(unsigned count);
unsigned owner_fetch_frames(unsigned count);
void owner_bottom_half(bool whole);
void owner_poll(void);
void owner_refill(void);
void owner_look_at_link(void);
void owner_look(void); /* at what can be asked for at any time */
void owner_interrupt(unsigned vector);
/* Handles what is raised. */
void owner_interrupts(void);
bool owner_running(void);       /* created, not stopped, and not broken */
bool owner_interruptible(void); /* a handler may run now: the driver is not being made or stopped */
void owner_settle(void);
void owner_getters(void);
/* Counters and holders agree. */
void owner_check(void);
unsigned owner_frames_received(void);
struct frame_seen owner_last_frame(void);

/* ---- pools.c ---- */

void pool_clear(void);
void pool_limit_buffers(unsigned count);
unsigned pool_buffers_held(void); /* by the driver */
unsigned pool_packets_held(void);
struct virtio_net_buffer *pool_take_buffer(uint32_t capacity);
void pool_return_buffer(const struct virtio_net_buffer *buffer);
/* Of a driver that could not start, and whose device never confirmed a reset. */
void pool_take_back(void);
/* A frame of `bytes`, filled, in so many pieces, or in several packets of so many. */
struct virtio_net_packet *pool_take_packet(uint32_t bytes, unsigned segments, bool checksum);
/* The driver has accepted it: it has no business in the frame any more. */
void pool_hide_packet(const struct virtio_net_packet *packet);
/* True: the device had sent it. */
bool pool_return_packet(const struct virtio_net_packet *packet);
/* The device took this frame, header included: it is one that was to be sent, whole, and once. */
void pool_check_sent(const uint8_t *frame, uint32_t bytes);
/* The number for the next frame to the driver, which is expected from then on. */
uint32_t pool_expect(uint32_t bytes);
void pool_forget_expected(void);
void pool_check_frame(const struct virtio_net_buffer *buffer, uint32_t bytes);
void frame_fill(uint8_t *frame, uint32_t number, uint32_t bytes);

/* ---- program.c ---- */

#define LARGE_MTU 9000u /* of HEADER_LARGE_MTU */

/* A program is a header and then steps of equal size, so that a fuzzer can cut and join them. */
#define PROGRAM_HEADER 8u
#define STEP_BYTES     4u

/* Of the header's first byte, beside bus (bit 0) and vectors (bits 1 and 2). */
#define HEADER_LEGACY     0x08u
#define HEADER_ANY_LAYOUT 0x10u
#define HEADER_PAIRS      0x20u /* as many as there are */
#define HEADER_COMMANDS   0x40u
#define HEADER_LARGE_MTU  0x80u /* of the device, and an owner that uses it */

/* Runs a program; returns the number of steps. */
unsigned program_run(const uint8_t *program, size_t bytes);
/* Its parts: a device, and a driver that runs. */
void program_begin(const uint8_t header[PROGRAM_HEADER]);
/* The device is honest again, and the driver has to come back and move frames. */
void program_finish(void);
/* Says what it does on standard error. */
void program_trace(bool on);

#endif
