/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters of a storage's clients and disk, for tools outside of the program (kernel/report.h,
 * REPORT_STORAGE). `./bulkhead stat` and `top` read them while the program runs; their reader is
 * tools/bulkhead/inspecting/storage_report.py.
 *
 * The program writes the report now and then, and waits for nobody. Each number is one store, and
 * no counter decreases while `life` is the same; `state`, `sectors` and `in_flight` are no
 * counters. A tool reads the report twice, as that of a network (backend/network_report.h).
 *
 * Times are nanoseconds since boot. The caller serialises all calls. Any context.
 */
#ifndef BACKEND_STORAGE_REPORT_H
#define BACKEND_STORAGE_REPORT_H

#include "backend/storage.h"
#include <stdint.h>

#define STORAGE_REPORT_VERSION    1u
#define STORAGE_REPORT_NAME_BYTES 16u

/* The disk. A request of a client takes several transfers, or none. */
struct storage_disk_record {
    uint64_t state;   /* enum storage_state */
    uint64_t sectors; /* 0 unless it is open */
    struct storage_counters transfers;
    uint64_t in_flight; /* transfers that the disk has, at most STORAGE_TRANSFERS for each client */
    uint64_t starts;    /* of its driver */
    uint64_t failures;  /* of its driver: each led to a restart, or to another attempt to start */
};

/* A client's device. The names are terminated by 0. */
struct storage_record {
    char device[STORAGE_REPORT_NAME_BYTES];
    char client[STORAGE_REPORT_NAME_BYTES];
    uint64_t state; /* enum storage_client_state */
    struct storage_counters requests;
    uint64_t refused;    /* requests: storage_client_statistics */
    uint64_t in_flight;  /* requests that were taken and not finished, at most STORAGE_REQUESTS */
    uint64_t doorbells;  /* from the client */
    uint64_t interrupts; /* to the client */
    uint64_t starts;     /* of the client's driver */
    uint64_t resumed;    /* of these, may have continued an earlier life of this program */
    uint64_t failures;   /* rules that the driver has broken */
};

struct storage_report {
    uint64_t life; /* a random number, another one in each life of the program */
    uint64_t started;
    uint64_t updated;
    uint64_t record_count; /* of those that are used: the clients */
    uint64_t record_bytes; /* sizeof(struct storage_record) */
    struct storage_disk_record disk;
    struct storage_record records[STORAGE_CLIENTS_MAX];
};

/* Facts of a client's device that the storage does not know. */
struct storage_report_device {
    const char *device; /* names */
    const char *client;
    uint64_t doorbells;
};

/* Facts of the disk that the storage does not know. */
struct storage_report_disk {
    uint64_t starts;
    uint64_t failures;
};

/* Begins the report of a life. */
void storage_report_begin(struct storage_report *report, uint64_t life, uint64_t now);

/* Writes all records. `devices`: as many as the storage has clients, in their order. */
void storage_report_update(struct storage_report *report, const struct storage *storage,
                           const struct storage_report_device *devices,
                           const struct storage_report_disk *disk, uint64_t now);

#endif
