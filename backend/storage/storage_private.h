/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to the back-end of block devices. */
#ifndef BACKEND_STORAGE_PRIVATE_H
#define BACKEND_STORAGE_PRIVATE_H

#include "backend/storage.h"

/* Reads the client's page: stops a driver whose queue has changed, and acknowledges that; starts
 * one that is ready. */
void storage_follow(struct storage *storage, unsigned index);
/* The client's driver broke a rule, and is not served any more. */
void storage_fail(struct storage *storage, unsigned index, const char *reason);

enum storage_step {
    STORAGE_STEP_NONE,    /* there is nothing to do */
    STORAGE_STEP_DONE,    /* a request was taken, or a transfer was made */
    STORAGE_STEP_NO_ROOM, /* the disk has none */
};

/* Does the next piece of a client's work. The disk is not closed. */
enum storage_step storage_step(struct storage *storage, struct storage_client *client);
/* Finishes the requests that have been executed, in order. */
void storage_collect(struct storage_client *client);

/* Counts a transfer that the disk has finished. */
void storage_count_transfer(struct storage *storage, const struct storage_transfer *transfer,
                            enum storage_result result);
/* Counts a request that is being finished. */
void storage_count_request(struct storage_client *client,
                           const struct device_block_request *request);

#endif
