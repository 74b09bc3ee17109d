/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A block device, written from the standard (VIRTIO 1.3, 5.2), for the registers of fake.h and the
 * rings of hardware_models/. It fails the test if the driver breaks a rule, keeps requests until
 * the test lets them finish, and has a cache that a flush empties.
 */
#ifndef TESTS_VIRTIO_DISK_MODEL_H
#define TESTS_VIRTIO_DISK_MODEL_H

#include "fake.h"

#define DISK_SECTORS  64u
#define DISK_BYTES    (DISK_SECTORS * 512u)
#define DISK_REQUESTS 512u

struct disk_model {
    struct fake_device device;
    uint8_t cached[DISK_BYTES];              /* what a read returns */
    uint8_t stable[DISK_BYTES];              /* what a flush has saved */
    struct ring_chain chains[DISK_REQUESTS]; /* taken, and not finished */
    unsigned count;
    unsigned flushes;
    unsigned segments; /* of data in the last request */
    uint32_t largest;  /* segment of data so far */
    int status;        /* that all requests get, or -1: the true one */
    bool is_unwritten; /* requests are finished without a status */
};

extern struct disk_model disk;

/* A device with all features, on the bus. */
void disk_prepare(enum fake_bus bus, uint16_t vectors);
/* Sets a field of 32 bits of the configuration. */
void disk_configure(unsigned offset, uint32_t value);
/* Takes all requests that are available. */
void disk_take(void);
/* Executes and finishes the request with this place in disk.chains; interrupts if the driver wants
 * that. */
void disk_finish(unsigned place);

#endif
