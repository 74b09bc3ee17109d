/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A system for channel/guest/ that is a table: nodes of a devicetree, mappings, two interrupt
 * lines, and a clock that moves while a thread sleeps.
 */
#ifndef GUEST_ADAPTER_H
#define GUEST_ADAPTER_H

#include <string.h>

#define FAKE_NODES      3
#define FAKE_PROPERTIES 8
#define FAKE_MAPPINGS   8
#define FAKE_LINES      2

struct fake_property {
    const char *name; /* NULL: none */
    const void *value;
    unsigned bytes;
};

struct fake_node {
    const char *compatible;
    struct fake_property properties[FAKE_PROPERTIES];
    uint64_t address, bytes; /* 0 bytes: there is no region */
    bool has_interrupt;
    unsigned line;
};

struct fake_mapping {
    uint64_t address, bytes;
    bool is_writable;
};

struct fake_line {
    void (*handler)(void *argument); /* NULL: none */
    void *argument;
    bool is_masked;
    unsigned calls; /* of the handler */
};

extern struct fake_system {
    bool has_devicetree;
    int node_count;
    struct fake_node nodes[FAKE_NODES];
    unsigned mapping_count;
    unsigned mapping_limit; /* after which mappings fail */
    struct fake_mapping mappings[FAKE_MAPPINGS];
    bool refuses_handlers;
    struct fake_line lines[FAKE_LINES];
    uint64_t now;
    void (*meanwhile)(void); /* happens while a thread sleeps; NULL: nothing */
    unsigned notified, doorbells, sleeps, states, connections; /* events of the trace */
} fake_system;

/* The other end rings. */
static inline void fake_ring(unsigned line)
{
    struct fake_line *rung = &fake_system.lines[line];

    if (rung->handler != NULL && !rung->is_masked) {
        rung->calls++;
        rung->handler(rung->argument);
    }
}

static inline guest_status guest_open_devicetree(void)
{
    return fake_system.has_devicetree ? GUEST_OK : GUEST_NO_DEVICETREE;
}

static inline int guest_next_node(int previous, const char *compatible)
{
    for (int node = previous + 1; node < fake_system.node_count; node++) {
        if (strcmp(fake_system.nodes[node].compatible, compatible) == 0) {
            return node;
        }
    }
    return -1;
}

static inline const void *guest_property(int node, const char *name, unsigned *bytes)
{
    for (unsigned i = 0; i < FAKE_PROPERTIES; i++) {
        const struct fake_property *property = &fake_system.nodes[node].properties[i];

        if (property->name != NULL && strcmp(property->name, name) == 0) {
            *bytes = property->bytes;
            return property->value;
        }
    }
    return NULL;
}

static inline bool guest_read_region(int node, uint64_t *address, uint64_t *bytes)
{
    *address = fake_system.nodes[node].address;
    *bytes = fake_system.nodes[node].bytes;
    return *bytes != 0;
}

static inline bool guest_read_interrupt(int node, struct guest_interrupt *interrupt)
{
    interrupt->line = fake_system.nodes[node].line;
    return fake_system.nodes[node].has_interrupt;
}

static inline guest_status guest_map_memory(uint64_t address, uint64_t bytes, bool is_writable)
{
    if (fake_system.mapping_count == fake_system.mapping_limit) {
        return GUEST_NOT_MAPPED;
    }
    fake_system.mappings[fake_system.mapping_count++] =
        (struct fake_mapping){address, bytes, is_writable};
    return GUEST_OK;
}

static inline void guest_mask_interrupt(const struct guest_interrupt *interrupt)
{
    fake_system.lines[interrupt->line].is_masked = true;
}

static inline void guest_unmask_interrupt(const struct guest_interrupt *interrupt)
{
    fake_system.lines[interrupt->line].is_masked = false;
}

static inline guest_status guest_attach_interrupt(struct guest_interrupt *interrupt,
                                                  const char *name, void (*handler)(void *argument),
                                                  void *argument)
{
    (void)name;
    if (fake_system.refuses_handlers) {
        return GUEST_NOT_ATTACHED;
    }
    fake_system.lines[interrupt->line] =
        (struct fake_line){.handler = handler, .argument = argument, .is_masked = true};
    return GUEST_OK;
}

static inline bool guest_load_flag(const bool *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static inline void guest_store_flag(bool *flag, bool value)
{
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}

static inline void guest_init_signal(struct guest_signal *signal)
{
    signal->is_posted = false;
}

static inline void guest_post_signal(struct guest_signal *signal)
{
    signal->is_posted = true;
}

static inline void guest_clear_signal(struct guest_signal *signal)
{
    signal->is_posted = false;
}

static inline void fake_sleep(void)
{
    if (fake_system.meanwhile != NULL) {
        fake_system.meanwhile();
    }
}

static inline bool guest_wait_for_signal(struct guest_signal *signal, uint64_t deadline)
{
    if (!signal->is_posted) {
        fake_sleep();
    }
    if (!signal->is_posted) {
        fake_system.now = deadline;
        return false;
    }
    signal->is_posted = false;
    return true;
}

static inline uint64_t guest_now(void)
{
    return fake_system.now;
}

static inline void guest_sleep_until(uint64_t time)
{
    fake_system.now = time > fake_system.now ? time : fake_system.now;
}

static inline void guest_trace_notify(const struct partition_channel *channel)
{
    (void)channel;
    fake_system.notified++;
}

static inline void guest_trace_doorbell(const struct partition_channel *channel)
{
    (void)channel;
    fake_system.doorbells++;
}

static inline void guest_trace_sleep(const struct partition_channel *channel)
{
    (void)channel;
    fake_system.sleeps++;
}

static inline void guest_trace_state(const struct partition_channel *channel, uint32_t state)
{
    (void)channel;
    (void)state;
    fake_system.states++;
}

static inline void guest_trace_connection(const struct partition_channel *channel,
                                          const struct channel *connection)
{
    (void)channel;
    (void)connection;
    fake_system.connections++;
}

#endif
