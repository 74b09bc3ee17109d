/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses of a guest to the private interrupts of another VCPU of its partition, in that VCPU's
 * Redistributor. Whichever VCPU executes on a core has its own private interrupts there. So a VCPU
 * of another core carries out the access itself, when it executes, on its own time. Each VCPU has a
 * word for one request in the partition's page. Its instruction is repeated until the word has the
 * answer.
 */
#ifndef GIC_REMOTE_ACCESS_H
#define GIC_REMOTE_ACCESS_H

#include "hypervisor/access.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* A request or its answer. Bits 31:0 are the value, 47:32 the offset in the SGI frame, 51:48 the
 * VCPU. */
#define REMOTE_VALUE        UINT64_C(0xffffffff)
#define REMOTE_OFFSET_SHIFT 32
#define REMOTE_VCPU_SHIFT   48
#define REMOTE_WRITE        (UINT64_C(1) << 52)
#define REMOTE_BYTE         (UINT64_C(1) << 53)
#define REMOTE_ASKED        (UINT64_C(1) << 54)
#define REMOTE_ANSWERED     (UINT64_C(1) << 55)

/* Returns the request. The access is of one byte or four. */
static inline uint64_t remote_request(uint32_t vcpu, const struct access *access)
{
    return (access->write ? REMOTE_WRITE | (access->value & REMOTE_VALUE) : 0) |
           (access->bytes == 1 ? REMOTE_BYTE : 0) | access->offset << REMOTE_OFFSET_SHIFT |
           (uint64_t)vcpu << REMOTE_VCPU_SHIFT | REMOTE_ASKED;
}

/* Returns true if the word is a request to the VCPU. */
static inline bool remote_is_for(uint64_t word, uint32_t vcpu)
{
    return (word & REMOTE_ASKED) != 0 && (word >> REMOTE_VCPU_SHIFT & 0xf) == vcpu;
}

/* Returns the access that a request asks for. */
static inline struct access remote_access(uint64_t request)
{
    return (struct access){
        .offset = request >> REMOTE_OFFSET_SHIFT & 0xffff,
        .value = request & REMOTE_VALUE,
        .bytes = (request & REMOTE_BYTE) != 0 ? 1 : 4,
        .write = (request & REMOTE_WRITE) != 0,
    };
}

/* Returns the answer to a request that has been carried out. */
static inline uint64_t remote_answer(uint64_t request, const struct access *done)
{
    return (request & ~(REMOTE_ASKED | REMOTE_VALUE)) | (done->value & REMOTE_VALUE) |
           REMOTE_ANSWERED;
}

/* Returns true if the word is the answer to this request, and not to another one, which the guest
 * has given up for an interrupt. */
static inline bool remote_is_answer(uint64_t word, uint64_t request)
{
    uint64_t compared = (request & REMOTE_WRITE) != 0 ? UINT64_MAX : ~REMOTE_VALUE;

    return ((word ^ request) & compared) == (REMOTE_ASKED | REMOTE_ANSWERED);
}

/* Handles an access of the VCPU's guest to the SGI frame of another VCPU, `number`, of a partition
 * with VCPUs on shared cores. ACCESS_AGAIN: that VCPU is asked to carry it out. */
enum access_result remote_access_vcpu(struct vcpu *vcpu, uint32_t number, struct access *access);

/* Carries out the requests to a VCPU, which executes. */
void remote_carry_out(struct vcpu *vcpu);

#endif
