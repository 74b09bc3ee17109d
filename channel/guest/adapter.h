/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of its system that this folder uses. Each system has a header guest_adapter.h with
 * their definitions, so that a call of the system's own function is all that they cost, and a
 * header channel/guest_types.h with
 *   guest_status            the type of results, and the values GUEST_...
 *   struct guest_interrupt  an interrupt, with whatever the system needs for its handler
 *   struct guest_signal     an object for which one thread waits
 * Both are found by the include path of the build. They are in kernel/channel/ and
 * kernel/include/channel/ for our kernel, and in channel/rtems/ for RTEMS.
 */
#ifndef CHANNEL_GUEST_ADAPTER_H
#define CHANNEL_GUEST_ADAPTER_H

#include "channel/guest.h"

/*
 * The devicetree. A node is a number; a negative one is no node. Thread context.
 */

/* Makes the devicetree readable for the other functions. Returns GUEST_OK, or GUEST_NO_DEVICETREE.
 */
static inline guest_status guest_open_devicetree(void);

/* Returns the next node after `previous` (-1: from the start) whose `compatible` has this string,
 * or a negative number. */
static inline int guest_next_node(int previous, const char *compatible);

/* Returns a property and its bytes, NULL if there is none. */
static inline const void *guest_property(int node, const char *name, unsigned *bytes);

/* Reads the first entry of `reg`, whose address is the processor's. Returns false if there is none,
 * or it is malformed. */
static inline bool guest_read_region(int node, uint64_t *address, uint64_t *bytes);

/* Reads the first entry of `interrupts`. Returns false if there is none, or the system can't use
 * it. It must be edge-triggered: the line is not held until a handler answers. */
static inline bool guest_read_interrupt(int node, struct guest_interrupt *interrupt);

/* Maps memory at its address: Normal memory, cached, readable, never executable. If the other end
 * is a PCI function, stage 2 makes it uncached (Arm ARM, "Combining the stage 1 and stage 2 memory
 * type attributes"). Returns GUEST_OK, or a status of the system's own. Thread context. */
static inline guest_status guest_map_memory(uint64_t address, uint64_t bytes, bool is_writable);

/*
 * Interrupts.
 */

/* Installs the handler, which is called in interrupt context, and leaves the interrupt masked.
 * `name`: valid as long as the handler is. Returns GUEST_OK, or a status of the system's own.
 * Thread context. */
static inline guest_status guest_attach_interrupt(struct guest_interrupt *interrupt,
                                                  const char *name, void (*handler)(void *argument),
                                                  void *argument);

/* Any context. */
static inline void guest_mask_interrupt(const struct guest_interrupt *interrupt);
static inline void guest_unmask_interrupt(const struct guest_interrupt *interrupt);

/* Load and store a flag that a handler and a thread share, with acquire and release order if they
 * may be on two processors. Any context. */
static inline bool guest_load_flag(const bool *flag);
static inline void guest_store_flag(bool *flag, bool value);

/*
 * Waits. Times are nanoseconds of the system's clock, and CHANNEL_FOREVER.
 */

static inline void guest_init_signal(struct guest_signal *signal);

/* Ends the present wait, or the next one if there is none. Any context. */
static inline void guest_post_signal(struct guest_signal *signal);

/* Takes back a post for which no wait came. It has acquire order. Thread context. */
static inline void guest_clear_signal(struct guest_signal *signal);

/* Returns after a post, with acquire order; when the clock has reached the deadline; or a little
 * before. Returns false if it knows that the deadline passed. Thread context. */
static inline bool guest_wait_for_signal(struct guest_signal *signal, uint64_t deadline);

static inline uint64_t guest_now(void);

/* Returns at once if the time has come already. Thread context. */
static inline void guest_sleep_until(uint64_t time);

/*
 * Events for the trace of the system, if it has one. Any context.
 */

/* The other end is about to be notified. */
static inline void guest_trace_notify(const struct partition_channel *channel);

/* The other end has notified this one. Interrupts are masked. */
static inline void guest_trace_doorbell(const struct partition_channel *channel);

/* A thread is about to wait for the doorbell. */
static inline void guest_trace_sleep(const struct partition_channel *channel);

/* This end is about to change its state. */
static inline void guest_trace_state(const struct partition_channel *channel, uint32_t state);

/* The connection of a channel of messages has another state, or this end another life. */
static inline void guest_trace_connection(const struct partition_channel *channel,
                                          const struct channel *connection);

#include "guest_adapter.h"

#endif
