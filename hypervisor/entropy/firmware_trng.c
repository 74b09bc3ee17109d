/* SPDX-License-Identifier: BSD-2-Clause */
#include "entropy/firmware_trng.h"

#include "hypervisor/firmware.h"
#include <arch/hypercalls.h>
#include <stdbool.h>

#define PSCI_VERSION_1_0  0x10000
#define SMCCC_VERSION_1_1 0x10001

#define TRNG_NO_ENTROPY (-3) /* the caller may try again (DEN0098, TRNG_RND) */
#define TRNG_BITS       64u
#define TRNG_TRIES      1000u

/* Returns true if the firmware has a TRNG. A firmware before SMCCC 1.1 is asked for nothing that it
 * may not know (DEN0028, "Discovery of SMCCC_VERSION"). */
static bool has_trng(void)
{
    return (int32_t)firmware_call(PSCI_VERSION, 0, 0, 0) >= PSCI_VERSION_1_0 &&
           (int32_t)firmware_call(PSCI_FEATURES, CALL_SMCCC_VERSION, 0, 0) >= 0 &&
           (int32_t)firmware_call(CALL_SMCCC_VERSION, 0, 0, 0) >= SMCCC_VERSION_1_1 &&
           (int32_t)firmware_call(CALL_TRNG_VERSION, 0, 0, 0) > 0 &&
           (int32_t)firmware_call(CALL_TRNG_FEATURES, CALL_TRNG_RND64, 0, 0) >= 0;
}

/* Asks for 64 bits: a slow source has them sooner than the 192 of the largest request. Returns the
 * status of the call: the low half of X0, because firmware may return a status of 32 bits. */
static int32_t read_bits(uint32_t words[2])
{
    uint64_t registers[4] = {CALL_TRNG_RND64, TRNG_BITS};
    int32_t status;

    firmware_call_for_results(registers);
    status = (int32_t)registers[0];
    if (status == 0) {
        /* The bits are in X3 (DEN0098, TRNG_RND). */
        words[0] = (uint32_t)registers[3];
        words[1] = (uint32_t)(registers[3] >> 32);
    }
    *(volatile uint64_t *)&registers[3] = 0;
    return status;
}

uint32_t firmware_trng_read(uint32_t words[GENERATOR_WORDS])
{
    unsigned tries = has_trng() ? TRNG_TRIES : 0;
    uint32_t bits = 0;

    while (tries != 0 && bits < 32 * GENERATOR_WORDS) {
        int32_t status = read_bits(&words[bits / 32]);

        bits += status == 0 ? TRNG_BITS : 0;
        tries = status == 0 || status == TRNG_NO_ENTROPY ? tries - 1 : 0;
    }
    return bits;
}
