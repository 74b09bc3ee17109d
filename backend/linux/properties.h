/* SPDX-License-Identifier: BSD-2-Clause */
/* The node of a shared device's function in the devicetree (docs/shared-devices.md). */
#ifndef BACKEND_LINUX_PROPERTIES_H
#define BACKEND_LINUX_PROPERTIES_H

#include "backend/network.h"
#include <stdbool.h>
#include <stdint.h>

#define PROPERTIES_NAME_BYTES  16u
#define PROPERTIES_WINDOWS_MAX 8u

/* A part of the client's memory. */
struct properties_window {
    uint64_t client; /* address in the client */
    uint64_t here;   /* physical address in this Linux */
    uint64_t bytes;
};

/* Memory of this Linux. */
struct properties_memory {
    uint64_t here; /* physical address */
    uint64_t bytes;
};

struct properties {
    char label[PROPERTIES_NAME_BYTES];
    char client[PROPERTIES_NAME_BYTES];
    uint32_t number;                  /* of the device in the description */
    uint64_t page;                    /* physical address in this Linux */
    struct properties_memory reports; /* 0 bytes: none */
    unsigned window_count;
    struct properties_window windows[PROPERTIES_WINDOWS_MAX];
    /* All but `page` and `memory`. */
    struct network_client_setup setup;
};

/* Returns true if the function, an entry of PCI_FUNCTIONS, is that of a shared network device. */
bool properties_are_of_network(const char *function);

/* Reads the node. Returns false with a problem if a property is missing or has another form. */
bool properties_read(const char *function, struct properties *properties, char *problem);

#endif
