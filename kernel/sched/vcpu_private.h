/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The structure of a VCPU, and the set of all VCPUs of a core in the order of their priorities. The
 * policy (policy_vcpu.c) owns both. Interrupts masked in every call.
 */
#ifndef SCHED_VCPU_PRIVATE_H
#define SCHED_VCPU_PRIVATE_H

#include "kernel/list.h"
#include "kernel/vcpu.h"
#include "kernel/vcpu_report.h"
#include "sched/run_queue.h"
#include "sched/vcpu_server.h"
#include <stdbool.h>
#include <stdint.h>

struct vcpu {
    int id;
    struct vcpu_record *record; /* its name, and its counters */
    struct vcpu_server server;
    uint64_t blocking;            /* nanoseconds: vcpu_param.blocking */
    uint32_t threads_expected;    /* vcpu_param.threads, at least 1 */
    unsigned level;               /* urgency level of its threads while it has budget */
    bool has_budget;              /* the state that its threads' urgencies reflect */
    struct run_queue_group group; /* of the runnable threads that execute on its budget */
    unsigned runnable;            /* runnable threads that execute on its budget */
    uint64_t span;                /* ticks from the latest settle() until the server's next event */
    uint64_t left;                /* remaining ticks of `span`; both are 0 without budget */
    uint64_t most;                /* vcpu_server_most() */
    uint64_t free_end_at;  /* value of record->received at which an end of the budget is free */
    uint64_t wanted_since; /* counter value from which on a runnable thread has had its budget */
    uint64_t blocked_at;   /* counter value at which the VCPU was created, or last blocked */
    uint64_t few_until;    /* counter value until which `few` counts */
    unsigned few;          /* callbacks in the background without budget (interrupt_payer.c) */
    struct list threads;   /* bound threads, by standing.bound_node */
    unsigned waiting[VCPU_MAX]; /* I/O VCPU: threads of VCPU id n + 1 that wait for its work */
};

struct vcpu_set {
    struct vcpu *vcpu[VCPU_MAX]; /* by id - 1; NULL: free */
    struct vcpu *main[VCPU_MAX]; /* Main VCPUs, the longest period first */
    unsigned main_count;
};

/* Returns the VCPU, NULL if there is none of this id. */
struct vcpu *vcpu_set_find(const struct vcpu_set *set, int id);

/* Returns the smallest free id, 0 if there is none. */
int vcpu_set_free_id(const struct vcpu_set *set);

/* Adds a VCPU, which has an id, or removes it. Levels change: call vcpu_set_rank(). */
void vcpu_set_add(struct vcpu_set *set, struct vcpu *vcpu);
void vcpu_set_remove(struct vcpu_set *set, const struct vcpu *vcpu);

/* Orders the Main VCPUs by their periods, and gives all VCPUs their levels. Among Main VCPUs of
 * equal periods the smaller id has the higher priority. */
void vcpu_set_rank(struct vcpu_set *set);

/* Returns the level of an I/O VCPU: just above the Main VCPU of the period that it serves while a
 * thread of a Main VCPU waits for it, otherwise below all Main VCPUs. */
unsigned vcpu_set_io_level(const struct vcpu_set *set, const struct vcpu *vcpu);

/* Returns the level that an I/O VCPU would have if it started to work now. */
unsigned vcpu_set_wake_level(const struct vcpu_set *set, const struct vcpu *vcpu);

/*
 * Returns the period that an I/O VCPU inherits when it starts to work: the shortest one of
 * the Main VCPUs whose threads wait for it. If none waits, this is the period that it served last,
 * limited to the longest one of all Main VCPUs.
 */
uint64_t vcpu_set_served_period(const struct vcpu_set *set, const struct vcpu *vcpu);

#endif
