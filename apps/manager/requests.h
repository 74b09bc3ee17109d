/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests from outside of the machine: `./bulkhead partition` writes them to the last page of the
 * staging memory, with the image before it (tools/bulkhead/managing/partitions.py).
 */
#ifndef APP_MANAGER_REQUESTS_H
#define APP_MANAGER_REQUESTS_H

#include <stdbool.h>

/* Finds the staging memory. Returns false if the partition has none. Once, first. */
bool requests_begin(void);

/* Carries out the request that has come since the last call, if there is one. Thread context. */
void requests_serve(void);

#endif
