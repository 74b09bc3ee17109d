/* SPDX-License-Identifier: BSD-2-Clause */
/* See status_vcpus.h. */
#include "status_vcpus.h"
#include "kernel/memory.h"
#include "kernel/vcpu.h"

#define LISTED_MAX 16u

static void write_vcpu(struct json *json, const struct vcpu_statistics *vcpu)
{
    json_object(json, NULL);
    json_number(json, "id", (uint64_t)vcpu->param.id);
    json_text(json, "name", vcpu->param.name);
    json_text(json, "policy", vcpu->param.policy == SCHED_PIBS ? "io" : "main");
    json_number(json, "budget_ns", vcpu->param.C);
    json_number(json, "period_ns", vcpu->param.T);
    json_number(json, "age_ns", vcpu->age_nanoseconds);
    json_number(json, "received_ns", vcpu->received_nanoseconds);
    json_number(json, "background_ns", vcpu->background_nanoseconds);
    json_number(json, "exhaustions", vcpu->exhaustions);
    json_number(json, "deadline_misses", vcpu->deadline_misses);
    json_number(json, "response_max_ns", vcpu->response_nanoseconds_max);
    json_number(json, "blocking_max_ns", vcpu->blocking_nanoseconds_max);
    json_number(json, "threads", vcpu->threads);
    json_end_object(json);
}

void status_write_vcpus(struct json *json)
{
    struct vcpu_statistics *vcpus = heap_allocate(LISTED_MAX * sizeof(*vcpus));
    size_t capacity = vcpus == NULL ? 0 : LISTED_MAX;
    size_t count = vcpu_statistics(vcpus, capacity);

    json_number(json, "vcpu_count", count);
    json_number(json, "vcpu_unpaid_ns", vcpu_unpaid_nanoseconds());
    json_array(json, "vcpus");
    for (size_t i = 0; i < count && i < capacity; i++) {
        write_vcpu(json, &vcpus[i]);
    }
    json_end_array(json);
    heap_free(vcpus);
}
