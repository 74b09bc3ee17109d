/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses of a guest to the private interrupts of another VCPU of its partition, by that VCPU's
 * Redistributor. A core has the private interrupts of whichever VCPU executes. So a VCPU of another
 * core carries out the access itself, when it executes, on its own time. Each VCPU has a word for
 * one request in the partition's page. The guest repeats the instruction until the word has the
 * answer.
 */
#ifndef GIC_REMOTE_ACCESS_H
#define GIC_REMOTE_ACCESS_H

#include "hypervisor/access.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Fields of a request or its answer: the value in bits 31:0, the offset in the SGI frame in 47:32,
 * the number of the VCPU in 51:48. */
#define REMOTE_VALUE        UINT64_C(0xffffffff)
#define REMOTE_OFFSET_SHIFT 32
#define REMOTE_VCPU_SHIFT   48
#define REMOTE_WRITE        (UINT64_C(1) << 52)
#define REMOTE_BYTE         (UINT64_C(1) << 53)
#define REMOTE_ASKED        (UINT64_C(1) << 54)
#define REMOTE_ANSWERED     (UINT64_C(1) << 55)

/* Returns the request to a VCPU. The access has one byte or four. */
static inline uint64_t remote_request(uint32_t vcpu, const struct access *access)
{
    return (access->write ? REMOTE_WRITE | (access->value & REMOTE_VALUE) : 0) |
           (access->bytes == 1 ? REMOTE_BYTE : 0) | access->offset << REMOTE_OFFSET_SHIFT |
           (uint64_t)vcpu << REMOTE_VCPU_SHIFT | REMOTE_ASKED;
}

/* Returns true if the word is a request to VCPU `vcpu`. */
static inline bool remote_is_for(uint64_t word, uint32_t vcpu)
{
    return (word & REMOTE_ASKED) != 0 && (word >> REMOTE_VCPU_SHIFT & 0xf) == vcpu;
}

/* Returns the access that is requested. */
static inline struct access remote_access(uint64_t request)
{
    return (struct access){
        .offset = request >> REMOTE_OFFSET_SHIFT & 0xffff,
        .value = request & REMOTE_VALUE,
        .bytes = (request & REMOTE_BYTE) != 0 ? 1 : 4,
        .write = (request & REMOTE_WRITE) != 0,
    };
}

/* Returns the answer to a request that was carried out. */
static inline uint64_t remote_answer(uint64_t request, const struct access *done)
{
    return (request & ~(REMOTE_ASKED | REMOTE_VALUE)) | (done->value & REMOTE_VALUE) |
           REMOTE_ANSWERED;
}

/* Returns true if the word is the answer to this request. Returns false for the answer to another
 * request, which the guest has given up for an interrupt. */
static inline bool remote_is_answer(uint64_t word, uint64_t request)
{
    uint64_t compared = (request & REMOTE_WRITE) != 0 ? UINT64_MAX : ~REMOTE_VALUE;

    return ((word ^ request) & compared) == (REMOTE_ASKED | REMOTE_ANSWERED);
}

/* Handles an access of the VCPU's guest to the SGI frame of another VCPU of its partition, which
 * has shared cores. `number`: of the other VCPU. Returns ACCESS_AGAIN if the other VCPU has been
 * asked to carry out the access. */
enum access_result remote_access_vcpu(struct vcpu *vcpu, uint32_t number, struct access *access);

/* Carries out the requests to a VCPU. The state of the VCPU is loaded on this core. */
void remote_carry_out(struct vcpu *vcpu);

#endif
