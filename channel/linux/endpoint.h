/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints. An endpoint has two kinds, and a table of operations for each: that of its channel
 * (kind.h), and that of its peer, another partition by a PCI function (function.c) or another
 * process by a file (file.c). Such a file defines a struct that begins with the struct
 * linux_endpoint, and the operations that get it.
 */
#ifndef LINUX_ENDPOINT_H
#define LINUX_ENDPOINT_H

#include "channel/linux.h"

/* Where a region has the states of both sides; the sections follow. */
#define REGION_STATE_BYTES UINT64_C(4096)

#define ENDPOINT_LOOK_NS (LINUX_DEATH_NS / 2) /* between two looks for a peer */

/* The operations of endpoints of one kind of peer. NULL: there is nothing to do. */
struct endpoint_operations {
    /* Prepares the doorbell, and shows the peer that this end is used. The end is locked. Returns
     * false with a problem. */
    bool (*begin)(struct linux_endpoint *endpoint, char *problem);

    /* Shows the peer that this end is not used any more. Safe in a signal handler. */
    void (*end)(struct linux_endpoint *endpoint);

    /* Makes the doorbell able to ring. */
    void (*arm)(struct linux_endpoint *endpoint);

    /* Takes back that the doorbell rang. Never NULL. */
    void (*quiet)(struct linux_endpoint *endpoint);

    /* Returns true if the peer's death rings no doorbell, so that somebody must look for it. NULL:
     * false. */
    bool (*watches_peer)(const struct linux_endpoint *endpoint);

    /* linux_look_for_peer(), if watches_peer() returns true. */
    void (*look_for_peer)(struct linux_endpoint *endpoint);

    /* Closes the parts that only this kind has, as far as they are open. Never NULL. */
    void (*close)(struct linux_endpoint *endpoint);
};

struct linux_endpoint {
    const struct endpoint_operations *operations;
    const struct kind_operations *kind_operations;
    enum linux_kind kind;
    unsigned end;                /* 0 or 1 */
    char name[LINUX_NAME_BYTES]; /* for problems: the first characters of the name or path */
    unsigned forks;              /* of this process and its parents, when it was mapped */
    bool is_locked;              /* linux_begin() has locked the end */
    bool is_used;                /* between linux_begin() and linux_end() */

    uint64_t common_bytes;        /* of the section between the states and those of the ends */
    struct channel_memory memory; /* a section that does not exist is NULL */
    struct channel_port port;

    /* Objects of the channel's kind. Valid after linux_begin(). */
    union {
        struct channel channel;
        struct {
            struct value_writer writer;
            struct value_reader reader;
        } values;
        struct broadcast_sender sender;     /* at end 0 */
        struct broadcast_receiver receiver; /* at end 1 */
    } objects;

    int bell;      /* the doorbell: readable after it rang. -1: not open */
    bool is_armed; /* linux_arm() has returned true last */
    bool is_alarmed;
    int alarm; /* an eventfd, readable while is_alarmed: a wait has heard a doorbell that rang for
                * an event loop. -1: not open */
    int loop_file; /* of epoll, for event loops: the doorbell and the alarm. -1: not open */
    bool is_rung;  /* it ended the last sleep of the sleeper that linux_sleeper() returned */
    int lock_file; /* a file that both ends open, with their locks */
    bool inherits_lock_file; /* other processes may have the same open file */
    void *region;            /* the mapped memory; NULL: it is not mapped */
    size_t region_bytes;
};

/* Writes a line about a problem, as printf(). Returns false. */
bool endpoint_fail(char *problem, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns a new endpoint with nothing open: `bytes` of zeros, which begin with a struct
 * linux_endpoint. NULL with a problem if there is no memory. */
struct linux_endpoint *endpoint_make(size_t bytes, const struct endpoint_operations *operations,
                                     const char *name, char *problem);

/* Closes the parts that are open, and frees the endpoint. */
void endpoint_free(struct linux_endpoint *endpoint);

/* Sets the kind of the channel. */
void endpoint_set_kind(struct linux_endpoint *endpoint, enum linux_kind kind);

/* Returns true if rings can have this size. */
bool endpoint_check(uint64_t ring_bytes, char *problem);

/* Returns the bytes of a region with rings of this size. The kind and `common_bytes` are set. */
uint64_t endpoint_region_bytes(const struct linux_endpoint *endpoint, uint64_t ring_bytes);

/* Maps the region from this offset of the file on, and sets `memory` without `peer_state`. `end`
 * and the kind are set, and endpoint_check() has checked the size. */
bool endpoint_map(struct linux_endpoint *endpoint, int file, uint64_t offset, uint64_t ring_bytes,
                  char *problem);

/* Opens what event loops need. The doorbell is open. */
bool endpoint_open_loop(struct linux_endpoint *endpoint, char *problem);

/* Makes the doorbell able to ring. */
void endpoint_arm(struct linux_endpoint *endpoint);

/* Takes back that the doorbell rang. */
void endpoint_quiet(struct linux_endpoint *endpoint);

/* Returns true if linux_look_for_peer() must be called from time to time. */
bool endpoint_watches_peer(const struct linux_endpoint *endpoint);

#endif
