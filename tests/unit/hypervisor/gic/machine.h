/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A GICv3 with one security state (hardware_models/gic), and a system with two partitions on it.
 * While `guarded` is set, a write to anything that is not the first partition's, or that would give
 * it more than a guest may have, ends the program.
 */
#ifndef HYPERVISOR_TEST_MACHINE_H
#define HYPERVISOR_TEST_MACHINE_H

#include "hardware_models/gic/gic.h"
#include "hypervisor/access.h"
#include "hypervisor/vcpu.h"
#include "interface.h"

#define MACHINE_CORES    5u
#define MACHINE_SENT_MAX 32u

/* Cores 0, 1 and 3 are the first partition's, 2 the second's, 4 nobody's. */
#define MACHINE_FAR_AFFINITY UINT64_C(0x0700020312) /* core 3: another cluster, Aff0 above 15 */

/* SPIs. */
#define MACHINE_UART 36u
#define MACHINE_SMMU 37u

struct machine {
    struct gic gic;
    bool legacy, other_affinity;
    bool guarded;
    /* The CPU interface. */
    unsigned starts, resets;
    bool has_group0; /* enabled */
    uint32_t to_acknowledge, ended;
    uint64_t active;            /* ICC_AP1R0_EL1 */
    struct interface interface; /* of core 1, on which the first partition's VCPU 0 executes */
    uint64_t group0[MACHINE_SENT_MAX], group1[MACHINE_SENT_MAX];
    unsigned group0_count, group1_count;
};

extern struct machine *machine; /* the one that device_*() reaches */
extern struct description machine_system;
extern struct partition machine_partition; /* the first */
extern struct vcpu machine_vcpu;           /* its VCPU 0 */

/* As after power-on; the partition is made anew. */
void machine_reset(struct machine *made);
/* Takes all steps of gic_reset_partition(). */
void machine_reset_partition(void);
/* Where `core`'s Redistributor is. */
uint64_t machine_redistributor(unsigned core);
/* Affinity of the core as ICC_SGI1R_EL1 names it alone. */
uint64_t machine_sgi_target(unsigned core);
/* An access that must end with `result`; what was read. `place`: of the machine's Redistributors,
 * the one where the partition does it. */
uint64_t machine_distributor_access(struct access access, enum access_result result);
uint64_t machine_redistributor_access(unsigned place, struct access access,
                                      enum access_result result);

#define READ(at, size)          ((struct access){.offset = (at), .bytes = (size)})
#define WRITE(at, size, number) ((struct access){(at), (number), (size), true})

#endif
