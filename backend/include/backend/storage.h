/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The back-end of shared block devices: it serves the drivers of up to 16 clients, each of which
 * has a range of one disk. It reads what a driver has set up from the page of its device
 * (backend/client_page.h), serves its requests (virtio/device_block.h), and copies their data
 * through memory of the program, in transfers of bounded size.
 *
 * A program owns the disk and the doorbells. It executes rounds, in one thread:
 *
 *   storage_begin()      looks for drivers that have started or stopped
 *   storage_finished()   for transfers that the disk has finished
 *   storage_service()    takes requests, and submits transfers
 *   storage_end()        publishes finished requests, with at most one interrupt for each client
 *
 * A client's rings and buffers are accessed between storage_begin() and storage_end(), and in
 * storage_sleep() and storage_wake(). When nothing is left, storage_sleep() asks the drivers to
 * notify, and the program waits for a doorbell or the disk.
 *
 * The drivers are not trusted. One that breaks a rule is reported to fail() and not served any more
 * until it resets its device. Clients take turns, a transfer each, and each has transfers and
 * requests of its own, so none delays the others by more than a transfer.
 *
 * Flushes. A flush of a client is submitted when all its earlier requests have been executed. A
 * write of a driver that does not flush is followed by a flush before it is finished.
 *
 * Lives. A program that begins again resets the disk before it opens it here. It takes the requests
 * that were not finished once more. A driver that has reset its device is served again when the
 * disk has finished the transfers of its earlier requests
 * (docs/decisions/0094-shared-disk.md).
 *
 * No function waits, and each has a bound: a number of transfers, requests or clients. The caller
 * serialises all calls. Any context.
 */
#ifndef BACKEND_STORAGE_H
#define BACKEND_STORAGE_H

#include "backend/client_page.h"
#include "virtio/device_block.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORAGE_CLIENTS_MAX    16u
#define STORAGE_REQUESTS       16u /* of a client that are taken and not finished */
#define STORAGE_TRANSFERS      8u  /* of a client that are with the disk */
#define STORAGE_TRANSFER_BYTES 32768u
#define STORAGE_MEMORY_BYTES   ((size_t)STORAGE_TRANSFERS * STORAGE_TRANSFER_BYTES)

/* The start of a client's range that is not known: its requests fail. It is beyond any disk. */
#define STORAGE_NOWHERE (UINT64_C(1) << 55)

/* A client's device, as the system file describes it. */
struct storage_client_setup {
    const struct shared_device_page *page; /* outlives the storage, as does: */
    struct device_memory memory;           /* of the client */
    uint64_t features;                     /* offered; RO: the client does not write */
    uint64_t start;                        /* its first sector on the disk, or STORAGE_NOWHERE */
    uint64_t sectors;                      /* > 0; the end is below 2^55 sectors */
    char id[VIRTIO_BLOCK_ID_BYTES];        /* for GET_ID; a shorter text is followed by zeros */
    uint8_t *buffers;                      /* STORAGE_MEMORY_BYTES that the disk can access */
};

enum storage_state {
    STORAGE_CLOSED, /* the disk takes no transfers now: requests wait */
    STORAGE_OPEN,
    STORAGE_GONE, /* there is no disk: requests fail */
};

struct storage_disk {
    enum storage_state state;
    /* If it is open: */
    uint64_t sectors;
    bool is_read_only;
    bool is_write_back; /* what it has finished is stable after a flush */
};

enum storage_kind { STORAGE_READ, STORAGE_WRITE, STORAGE_FLUSH };

enum storage_transfer_state {
    STORAGE_IDLE,
    STORAGE_WAITING, /* to be submitted: the disk had no room, or was reset */
    STORAGE_SUBMITTED,
};

/* A part of a request on its way to the disk. */
struct storage_transfer {
    enum storage_kind kind;
    unsigned client;
    unsigned number; /* of the client's transfers */
    uint64_t sector; /* of the disk */
    uint32_t bytes;  /* 0 for a flush */
    uint8_t *memory; /* to read from, or to write to */

    /* Private to storage/. */
    enum storage_transfer_state state;
    struct storage_request *request; /* NULL: its driver was stopped */
    uint32_t offset;                 /* in the request */
};

/* The program's part. The functions call none of this library's for the same storage. `client`: by
 * its place in the setup. */
struct storage_operations {
    /* CALL_SHARED_DEVICE_ACKNOWLEDGE: the client's queues before `generation` are not accessed any
     * more. */
    void (*acknowledge)(void *context, unsigned client, uint32_t generation);
    /* CALL_SHARED_DEVICE_INTERRUPT, because of used buffers. */
    void (*interrupt)(void *context, unsigned client);
    /* CALL_SHARED_DEVICE_FAIL. `reason`: a static text. */
    void (*fail)(void *context, unsigned client, const char *reason);
    /* Gives a transfer to the disk, which is open. Returns false if it has no room before it has
     * finished one. The disk may execute the transfers that it has in any order. */
    bool (*submit)(void *context, struct storage_transfer *transfer);
};

/* Private to storage/, and visible so that its owner can allocate it and read counters: */

struct storage_request {
    struct device_block_request block;
    uint32_t sent;        /* bytes that were given to transfers */
    unsigned outstanding; /* transfers */
    bool needs_flush;     /* which was not sent */
};

enum storage_client_state {
    STORAGE_CLIENT_STOPPED, /* its driver has not started */
    STORAGE_CLIENT_RUNNING,
    STORAGE_CLIENT_FAILED, /* until the driver resets the device */
};

/* Requests of a client that were finished, or transfers that the disk has finished. Those with an
 * error are in `errors` alone. */
struct storage_counters {
    uint64_t reads;
    uint64_t read_bytes;
    uint64_t writes;
    uint64_t written_bytes;
    uint64_t flushes;
    uint64_t errors; /* that the disk could not execute, or does not have the sectors for */
};

struct storage_client_statistics {
    uint64_t starts;  /* of its driver */
    uint64_t resumed; /* of these, continued from an earlier life of this program */
    uint64_t failures;
    struct storage_counters requests;
    uint64_t refused; /* requests that the device does not execute: bad ones, unknown types */
    uint64_t interrupts;
};

struct storage_client {
    struct storage_client_setup setup;
    enum storage_client_state state;
    const char *failure; /* the last reason, or NULL */
    struct storage_client_statistics statistics;
    struct device_block block;
    struct client_page page;
    bool owes_interrupt;
    unsigned first; /* place of the oldest request */
    unsigned count;
    struct storage_request requests[STORAGE_REQUESTS]; /* in the order of the queue */
    struct storage_transfer transfers[STORAGE_TRANSFERS];
};

struct storage {
    const struct storage_operations *operations;
    void *context;
    struct storage_client *clients;
    unsigned count;
    unsigned turn; /* the client that is served next */
    struct storage_disk disk;
    struct storage_counters transfers; /* without those that are submitted once more */
    uint64_t moved;                    /* requests taken, and transfers submitted and finished */
};

/* Initialises a storage for `count` clients, whose memory the caller provides in `clients`. The
 * disk is closed. Returns NULL, or a static text that says which part of the setup can't be used:
 * too many clients, a range without sectors or beyond 2^55, or two ranges that overlap and are not
 * both read-only. */
const char *storage_init(struct storage *storage, struct storage_client *clients,
                         const struct storage_client_setup *setups, unsigned count,
                         const struct storage_operations *operations, void *context);

/* Gives a client whose range is not known one that begins at `start`. The disk is closed. Returns
 * NULL, or a static text that says why it can't be used, as storage_init(). */
const char *storage_place(struct storage *storage, unsigned client, uint64_t start);

/* Changes the state of the disk. A disk that is closed or gone has returned all transfers. */
void storage_set_disk(struct storage *storage, const struct storage_disk *disk);

/* Begins a round. */
void storage_begin(struct storage *storage);

enum storage_result {
    STORAGE_DONE,
    STORAGE_ERROR,
    STORAGE_AGAIN, /* the disk was reset: it is submitted once more */
};

/* The disk has finished a transfer. In a round. */
void storage_finished(struct storage *storage, struct storage_transfer *transfer,
                      enum storage_result result);

enum storage_answer {
    STORAGE_MORE,    /* `budget` is used up */
    STORAGE_NO_ROOM, /* until the disk has finished a transfer */
    STORAGE_NONE,    /* nothing can be done before a doorbell, or the disk */
};

/* Takes requests and submits transfers, at most `budget` in all. */
enum storage_answer storage_service(struct storage *storage, unsigned budget);
/* Ends a round. */
void storage_end(struct storage *storage);

/* Asks the drivers to notify. Returns false if there is work already: the caller executes a round,
 * and tries again. Not in a round. */
bool storage_sleep(struct storage *storage);
/* Asks the drivers not to notify, because rounds follow. */
void storage_wake(struct storage *storage);

#endif
