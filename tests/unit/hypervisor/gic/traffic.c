/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "traffic.h"

#include "gic/distributor.h"
#include "gic/redistributor.h"
#include "gic/sgi.h"
#include "machine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUEST (~(1u << 15 | 1u << 25 | 1u << 26 | 1u << 28))

/* Number of Redistributor places. The partition has three VCPUs, finds three Redistributors, and
 * none after them. */
#define PLACES 4u

static struct machine machines[2];

static void require(bool holds, const char *rule, const struct access *access)
{
    if (!holds) {
        (void)fprintf(stderr, "rule broken: %s (%#lx, %u bytes, %s)\n", rule,
                      (unsigned long)access->offset, access->bytes,
                      access->write ? "written" : "read");
        abort();
    }
}

/* Nobody else's bits are alike in the two. */
static void fill(struct gic_bank *bank, const uint32_t *owned, unsigned words, uint32_t pattern)
{
    for (unsigned word = 0; word < 32; word++) {
        uint32_t others = word < words ? ~owned[word] : UINT32_MAX;

        bank->enabled[word] = bank->pending[word] = bank->active[word] = others & pattern;
        bank->groups[word] = (others & pattern) | ~others;
        for (unsigned bit = 0; bit < 32; bit++) {
            bool own = (others >> bit & 1) == 0;

            bank->priorities[32 * word + bit] = own ? 0xa0 : (uint8_t)pattern;
            bank->triggers[(32 * word + bit) / 16] |= own ? 0 : (pattern & 3) << bit % 16 * 2;
        }
    }
}

static void prepare(struct machine *made, uint32_t pattern)
{
    static const uint32_t private_owned = GUEST;

    machine_reset(made);
    fill(&made->gic.distributor, machine_partition.constant.described->interrupts, 32, pattern);
    for (unsigned core = 0; core < MACHINE_CORES; core++) {
        fill(&made->gic.redistributors[core].bank, &private_owned, 1, pattern);
    }
    for (uint32_t interrupt = 32; interrupt < 1020; interrupt++) {
        made->gic.routes[interrupt] =
            partition_owns_interrupt(&machine_partition, interrupt) ? 0 : pattern;
    }
    made->guarded = true;
}

/* Makes an access on one machine; its value is stored in `access`. */
static enum access_result apply(struct machine *made, unsigned kind, struct access *access)
{
    machine = made;
    made->group1_count = 0;
    if (kind % 4 < 2) {
        access->offset %= 0x10000;
        return distributor_access(&machine_vcpu, access);
    }
    if (kind % 4 == 2) {
        return redistributor_access(&machine_vcpu,
                                    machine_redistributor(kind / 4 % PLACES) +
                                        access->offset % REDISTRIBUTOR_BYTES,
                                    access);
    }
    return sgi_send(&machine_partition, kind / 4 % 3, access->value);
}

static void check_sent(const struct machine *made, const struct access *access)
{
    for (unsigned i = 0; i < made->group1_count; i++) {
        uint64_t sent = made->group1[i], number = sent >> 24 & 0xf;
        uint64_t to = sent & ~(UINT64_C(0xf) << 24);

        require(number != 15 && number == (access->value >> 24 & 0xf), "guests send their numbers",
                access);
        require(to == machine_sgi_target(0) || to == machine_sgi_target(1) ||
                    to == machine_sgi_target(3),
                "guests send to their cores", access);
    }
}

static void step(const uint8_t *data)
{
    static const uint8_t sizes[] = {1, 2, 4, 4, 4, 4, 8, 8};
    struct access first = {.write = (data[0] & 0x80) != 0, .bytes = sizes[data[0] >> 4 & 7]};
    struct access second;
    enum access_result results[2];

    first.offset = (uint64_t)(data[3] << 16 | data[2] << 8 | data[1]);
    first.offset -= first.offset % first.bytes;
    memcpy(&first.value, data + 4, sizeof(first.value));
    if (data[0] % 4 != 3 && first.bytes < 8) {
        first.value &= (UINT64_C(1) << 8 * first.bytes) - 1;
    }
    second = first;
    results[0] = apply(&machines[0], data[0], &first);
    check_sent(&machines[0], &first);
    results[1] = apply(&machines[1], data[0], &second);
    require(results[0] == results[1], "what comes of an access does not depend on others", &first);
    require((results[0] == ACCESS_FORBIDDEN) ==
                (data[0] % 4 == 2 && data[0] / 4 % PLACES == PLACES - 1),
            "all but what is behind its Redistributors is answered", &first);
    require(first.offset == second.offset && first.value == second.value,
            "others' state is not seen", &first);
    require(first.write || data[0] % 4 == 3 || first.bytes == 8 ||
                first.value >> 8 * first.bytes == 0,
            "no more is read than was asked for", &first);
}

void traffic_run(const uint8_t *data, size_t bytes)
{
    prepare(&machines[0], 0x55555555);
    prepare(&machines[1], 0xaaaaaaaa);
    for (size_t at = 0; bytes - at >= TRAFFIC_STEP_BYTES; at += TRAFFIC_STEP_BYTES) {
        step(data + at);
    }
}
