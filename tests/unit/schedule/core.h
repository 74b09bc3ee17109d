/* SPDX-License-Identifier: BSD-2-Clause */
/* A processor core that executes VCPUs tick by tick, for tests: at each tick the VCPU of the
 * highest priority that has work and budget. The priority is the period; before a Main VCPU of the
 * same period go I/O VCPUs, and Main VCPUs of a lower index; those with deferrable servers come
 * last. */
#ifndef CORE_H
#define CORE_H

#include "schedule/admission.h"
#include "schedule/deferrable_server.h"
#include "schedule/pibs_server.h"
#include "schedule/sporadic_server.h"
#include <stdbool.h>
#include <stdint.h>

#define CORE_VCPUS_MAX 8u

struct core_vcpu {
    enum admission_kind kind;
    bool is_deferrable;                  /* Main: it has a deferrable server */
    struct sporadic_server sporadic;     /* Main */
    struct deferrable_server deferrable; /* Main */
    struct pibs_server pibs;             /* I/O */
    bool runnable;
    uint64_t woken;    /* time at which it became runnable */
    uint64_t executed; /* ticks since then */
};

struct core {
    struct core_vcpu vcpu[CORE_VCPUS_MAX];
    unsigned count;
    uint64_t now;
};

/* Add a VCPU that is blocked. Return it. */
struct core_vcpu *core_add_main(struct core *core, uint64_t budget, uint64_t period,
                                unsigned capacity);
struct core_vcpu *core_add_deferrable(struct core *core, uint64_t budget, uint64_t period);
struct core_vcpu *core_add_io(struct core *core, uint64_t budget, uint64_t period);

/* `served_period` is for I/O VCPUs, which may be runnable already. */
void core_wake(struct core *core, struct core_vcpu *vcpu, uint64_t served_period);
void core_block(struct core *core, struct core_vcpu *vcpu);

/* Returns the ticks that are left of the VCPU's present budget. */
uint64_t core_available(const struct core_vcpu *vcpu, uint64_t now);

/* Returns the time from which on the next tick of a Main VCPU that is runnable was available to
 * it. */
uint64_t core_available_since(const struct core_vcpu *vcpu, uint64_t now);

/* Returns the VCPU that executes the tick that begins now, or NULL. */
struct core_vcpu *core_pick(struct core *core);
/* Executes it, for NULL nothing; one tick passes. */
void core_execute(struct core *core, struct core_vcpu *vcpu);

#endif
