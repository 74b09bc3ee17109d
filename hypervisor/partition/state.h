/* SPDX-License-Identifier: BSD-2-Clause */
/* The start and the stop of a partition: requests, and the progress of a transition
 * (partition/life.h). */
#ifndef PARTITION_STATE_H
#define PARTITION_STATE_H

#include "pci/state.h"
#include "smmu/state.h"
#include <stdbool.h>
#include <stdint.h>

/* A request to stop all VCPUs of a partition, and then to leave it stopped or to restart it.
 * REQUEST_RECOVER follows from an error that restarts the partition: when the VCPUs have stopped,
 * the boot VCPU replaces it by REQUEST_RESET, or by REQUEST_STOP if the partition has used up its
 * restarts (health/health.h). REQUEST_FAIL_OVER does the same, and first hands the partition's
 * movable functions to its standby (partition/ownership.h). Once a request is completed:
 * REQUEST_STOPPED, or REQUEST_FAILED if the partition's devices may still act for it
 * (PARTITION_STATE_FAILED). */
enum partition_request {
    REQUEST_NONE,
    REQUEST_STOP,
    REQUEST_RESET,
    REQUEST_RECOVER,
    REQUEST_FAIL_OVER,
    REQUEST_STOPPED,
    REQUEST_FAILED
};

/* The progress of loading a partition (partition/load.h). All zero: nothing is loaded. */
struct load_progress {
    uint32_t phase; /* enum phase of load.c */
    uint32_t index; /* index of the memory or image that is being handled */
    uint64_t done;  /* bytes of it that have been handled */
};

/* The phases in which a partition starts or stops (the drawing in partition/life.c). */
enum transition_phase {
    TRANSITION_NONE,           /* it executes, or has stopped */
    TRANSITION_BLOCK,          /* the SMMU aborts DMA */
    TRANSITION_EVENTS,         /* what the SMMU has refused until then is discarded */
    TRANSITION_RESET,          /* the PCI functions are reset */
    TRANSITION_SHARED_DEVICES, /* those of which it is the client or the back-end are ended */
    TRANSITION_INTERRUPTS,     /* the SPIs are reset */
    TRANSITION_CHANNELS,       /* the other ends of channels are told */
    TRANSITION_LOAD,           /* memory is zeroed, and images are copied */
    TRANSITION_PERMIT,         /* the SMMU permits DMA */
    TRANSITION_LINKS           /* it stays stopped: the clients of its network devices are told */
};

/* The progress of a start or a stop. Only the boot VCPU's monitor writes it. The manager's monitors
 * read `phase`, by atomic operations. */
struct transition {
    uint32_t phase; /* enum transition_phase */
    /* Next part of TRANSITION_EVENTS, _SHARED_DEVICES, _INTERRUPTS, _CHANNELS and _LINKS. */
    uint32_t index;
    int32_t failure; /* enum manager_result of the phases so far: what a stop has not achieved */
    bool is_served;  /* the failure: a back-end may still access the partition's memory */
    bool can_start;  /* all devices were reset, or the partition restarts without resets */
    /* `change` is that of a movable function (partition/ownership.h), which the SMMU has to end
     * before TRANSITION_BLOCK begins its own. */
    bool settles;
    bool hands_over; /* the standby gets the movable functions once they are reset */
    uint64_t due;    /* CNTPCT_EL0 from which on the next step may be taken */
    uint64_t limit;  /* CNTPCT_EL0 at which the wait for the SMMU, or for back-ends, fails */
    struct smmu_change change;
    struct reset_progress reset;
    struct load_progress load;
};

/* The phases in which a movable function leaves its partition (partition/ownership.c). */
enum departure_phase {
    DEPARTURE_BLOCK,     /* the SMMU aborts its DMA */
    DEPARTURE_EVENTS,    /* what the SMMU has refused until then is handled */
    DEPARTURE_RESET,     /* the function is reset */
    DEPARTURE_INTERRUPT, /* its SPI is reset */
    DEPARTURE_REPORT,    /* the terminal says where it goes */
    DEPARTURE_END        /* the partition does not hold it any more */
};

/* The progress of a function that leaves while the partition neither starts nor stops. Only the
 * boot VCPU's monitor uses it. All zero: none has begun to leave. */
struct departure {
    uint32_t function; /* 1 + its index in the description; 0: none */
    uint32_t phase;    /* enum departure_phase */
    uint32_t events;   /* steps of DEPARTURE_EVENTS */
    bool blocks;       /* of DEPARTURE_BLOCK: earlier changes of the SMMU have ended */
    bool has_failed;
    uint64_t due;   /* CNTPCT_EL0 from which on the next step may be taken */
    uint64_t limit; /* CNTPCT_EL0 at which the wait for the SMMU fails */
    struct reset_progress reset;
};

/* The request that a VCPU watches while it does not execute. Only the VCPU's monitor uses it. */
struct request_watch {
    uint32_t request;   /* enum partition_request, as last read */
    bool is_timed;      /* the time limit of the request has begun, and is not over */
    uint64_t requested; /* CNTPCT_EL0 at which the VCPU read the request first */
};

#endif
