/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drivers on the back-end of block devices, for its tests: clients whose rings are written by this
 * library's driver side of a queue, with the page as the hypervisor writes it, and a disk with a
 * volatile cache that executes transfers in any order.
 */
#ifndef STORAGE_FIXTURE_H
#define STORAGE_FIXTURE_H

#include "driver_fixture.h"

#include "backend/storage.h"

#define CLIENTS        3u
#define CLIENT_SECTORS 300u
#define DISK_SECTORS   (CLIENTS * CLIENT_SECTORS)
#define SECTOR         VIRTIO_BLOCK_SECTOR_BYTES

struct driver {
    struct virtqueue queue;
    struct shared_device_page page;
    uint32_t acknowledged; /* generation */
    unsigned acknowledgements;
    unsigned interrupts;
    unsigned failures;
    bool has_queue;
};

/* A request of a driver. */
struct order {
    void *owner; /* the test's: allocated, and freed with the order, or NULL */
    uint64_t sector;
    uint32_t bytes; /* of data */
    uint32_t type;
    uint8_t header[VIRTIO_BLOCK_HEADER_BYTES];
    uint8_t status;
    uint8_t data[];
};

struct storage_fixture {
    struct storage storage;
    struct storage_client clients[CLIENTS];
    struct storage_client_setup setups[CLIENTS];
    struct driver drivers[CLIENTS];
    uint8_t buffers[CLIENTS][STORAGE_MEMORY_BYTES];
    struct storage_disk disk;
    uint8_t cached[DISK_SECTORS][SECTOR]; /* what the disk reads */
    uint8_t stable[DISK_SECTORS][SECTOR]; /* what a flush has saved */
    struct storage_transfer *submitted[CLIENTS * STORAGE_TRANSFERS];
    unsigned count; /* of submitted transfers */
    unsigned room;  /* of the disk for more */
    unsigned flushes;
    unsigned total;            /* transfers submitted */
    bool has_error;            /* the disk fails all transfers */
    void (*on_callback)(void); /* before each callback of the back-end, and after it has submitted a
                                  transfer, or NULL */
};

extern struct storage_fixture fixture;

/* Describes the clients, each with its part of the disk. The test may change setups before
 * fixture_begin(). */
void fixture_prepare(void);
/* Begins a life of the back-end, and opens the disk. */
void fixture_begin(void);
/* Frees all memory. */
void fixture_end(void);

/* The driver of a client sets up its device with these features. */
void driver_start(unsigned index, uint64_t features);
/* It resets its device, or its partition ends. */
void driver_reset(unsigned index);
/* Frees the queue, and with it all orders that were not finished. */
void driver_free(unsigned index);
/* Returns a new order. The test fills in the data of a write. */
struct order *driver_order(uint32_t type, uint64_t sector, uint32_t sectors);
/* Makes an order available. Returns false, and frees it, if the ring is full. */
bool driver_send(unsigned index, struct order *order);
/* Takes an order that is finished, or NULL. The caller frees it. */
struct order *driver_take(unsigned index);

/* Executes a round with this budget. */
enum storage_answer turn_round(unsigned budget);
/* Lets the disk execute a transfer, and finishes it in a round. */
void disk_execute(unsigned place);
/* Executes rounds and transfers until nothing is left. */
void settle(void);
/* Executes some sectors of a transfer, by random, as a disk that is reset. */
void disk_execute_part(const struct storage_transfer *transfer, uint64_t *seed);

#endif
