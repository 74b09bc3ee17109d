/* SPDX-License-Identifier: BSD-2-Clause */
/* A processor core that executes VCPUs tick by tick, for tests: at each tick the VCPU of the
 * highest priority that has work and budget. The priority is the period; before a Main VCPU of the
 * same period go I/O VCPUs, and Main VCPUs of a lower index. */
#ifndef CORE_H
#define CORE_H

#include "schedule/admission.h"
#include "schedule/pibs_server.h"
#include "schedule/sporadic_server.h"
#include <stdbool.h>
#include <stdint.h>

#define CORE_VCPUS_MAX 8u

struct core_vcpu {
    enum admission_kind kind;
    struct sporadic_server sporadic; /* Main */
    struct pibs_server pibs;         /* I/O */
    bool runnable;
    uint64_t executed; /* ticks since it became runnable */
};

struct core {
    struct core_vcpu vcpu[CORE_VCPUS_MAX];
    unsigned count;
    uint64_t now;
};

/* Add a VCPU that is blocked. Return it. */
struct core_vcpu *core_add_main(struct core *core, uint64_t budget, uint64_t period,
                                unsigned capacity);
struct core_vcpu *core_add_io(struct core *core, uint64_t budget, uint64_t period);

/* `served_period` is for I/O VCPUs, which may be runnable already. */
void core_wake(struct core *core, struct core_vcpu *vcpu, uint64_t served_period);
void core_block(struct core *core, struct core_vcpu *vcpu);

/* Returns the VCPU that executes the tick that begins now, or NULL. */
struct core_vcpu *core_pick(struct core *core);
/* Executes it, for NULL nothing; one tick passes. */
void core_execute(struct core *core, struct core_vcpu *vcpu);

#endif
