/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads sets of VCPUs and answers each with the result of the admission tests. A set is a line:
 *
 *   COUNT {m|i} BUDGET PERIOD ...
 *
 * The answer is a line: the error's number, 1 or 0 for the quick test, the VCPU in question and its
 * excess, and the response of each VCPU (-1 for SCHEDULE_NEVER).
 */
#include "schedule/admission.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t read_number(void)
{
    uint64_t number;

    if (scanf("%" SCNu64, &number) != 1) { // NOLINT(cert-err34-c)
        abort();
    }
    return number;
}

static enum admission_kind kind_of(char kind)
{
    if (kind == 'm') {
        return ADMISSION_MAIN;
    }
    return kind == 'i' ? ADMISSION_IO : ADMISSION_IO_OF_PERIOD;
}

static void read_vcpu(struct admission_vcpu *vcpu)
{
    char kind;

    if (scanf(" %c", &kind) != 1) {
        abort();
    }
    *vcpu = (struct admission_vcpu){.kind = kind_of(kind)};
    vcpu->budget = read_number();
    vcpu->period = read_number();
}

static void answer(const struct admission_vcpu *vcpus, size_t count)
{
    struct admission_response responses[ADMISSION_VCPUS_MAX];
    struct admission_result result;
    int error = (int)admission_test(vcpus, count, responses, &result);

    printf("%d %d %zu %" PRIu64, error, admission_quick_test(vcpus, count) ? 1 : 0, result.vcpu,
           result.excess);
    for (size_t i = 0; i < count; i++) {
        printf(" %" PRId64, (int64_t)responses[i].ticks);
    }
    printf("\n");
}

int main(void)
{
    struct admission_vcpu vcpus[ADMISSION_VCPUS_MAX];
    size_t count;

    while (scanf("%zu", &count) == 1) { // NOLINT(cert-err34-c)
        if (count > ADMISSION_VCPUS_MAX) {
            abort();
        }
        for (size_t i = 0; i < count; i++) {
            read_vcpu(&vcpus[i]);
        }
        answer(vcpus, count);
    }
    return 0;
}
