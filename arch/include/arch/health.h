/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Health monitoring: errors of a partition, actions, and the log of errors. The terms are those of
 * ARINC 653 part 1 (2.4, "Health Monitor"). The hypervisor, guests and the tools use the numbers:
 * append only.
 */
#ifndef ARCH_HEALTH_H
#define ARCH_HEALTH_H

#include <stdint.h>

enum health_error {
    /* The guest accessed memory or a register that it does not own. */
    HEALTH_ERROR_MEMORY_VIOLATION,
    HEALTH_ERROR_REFUSED_DMA, /* the SMMU refused DMA of a device of the partition */
    /* An SError, which the guest or its monitor took for an earlier access. */
    HEALTH_ERROR_SERROR,
    HEALTH_ERROR_DEVICE_FAILURE, /* a device did not answer the partition's monitor */
    HEALTH_ERROR_PANIC,          /* the guest reported that it can't go on */
    HEALTH_ERROR_WATCHDOG,       /* the guest did not refresh its watchdog in time */
    HEALTH_ERROR_HEARTBEAT,      /* the guest's heartbeat stood still */
    /* The errors before this one are those of the table in the description. */
    HEALTH_TABLE_ERRORS,
    /* The partition had an error that restarts it, and has used up its restarts. */
    HEALTH_ERROR_RESTARTS = HEALTH_TABLE_ERRORS,
    HEALTH_ERRORS
};

/* Reaction of the hypervisor to an error, as the table in the description has it. */
enum health_action {
    HEALTH_ACTION_STOP,   /* the partition is stopped */
    HEALTH_ACTION_IGNORE, /* the error is counted, and the guest continues */
    HEALTH_ACTION_LOG,    /* the error is recorded, and the guest continues */
    /* The partition restarts, as often as its table allows; then it is stopped. */
    HEALTH_ACTION_RESTART,
    /* The movable devices of the partition move to its standby, and it restarts without them. If
     * the standby does not execute, the partition restarts and keeps them. */
    HEALTH_ACTION_FAILOVER,
    HEALTH_ACTIONS
};

/* A record of the log. */
struct health_record {
    uint64_t number; /* of the record, from 1; 0: none */
    uint64_t time;   /* CNTPCT_EL0 */
    /* Guest physical address of the access, or UINT64_MAX if it is unknown. Input address of DMA.
     * Value that a guest reported. Count of a heartbeat. */
    uint64_t address;
    /* ESR_EL2. For refused DMA: number of the SMMU's event (IHI 0070, 7.3). For
     * HEALTH_ERROR_RESTARTS: number of restarts. */
    uint64_t syndrome;
    uint64_t pc;     /* the guest's program counter, or 0 */
    uint16_t error;  /* enum health_error */
    uint16_t action; /* enum health_action. HEALTH_ACTION_LOG also if the partition was being
                      * stopped already */
    /* Index of the core in the description. For refused DMA: address of the PCI function, bus << 8
     * | device << 3 | function. */
    uint32_t source;
};

#define HEALTH_LOG_RECORDS 64u

/* The log of a partition: the last HEALTH_LOG_RECORDS records. Record n is at (n - 1) %
 * HEALTH_LOG_RECORDS. Only one record is written at a time, before `written` counts it; so a reader
 * that finds `written` to be w after it read the records has all from w - HEALTH_LOG_RECORDS + 2
 * on. */
struct health_log {
    uint64_t written;
    struct health_record records[HEALTH_LOG_RECORDS];
};

#endif
