/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/vcpus.h"

#include "boot/supply.h"
#include "boot/vcpu_arguments.h"
#include "kernel/devicetree.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/vcpu.h"
#include "kernel/virtual_time.h"
#include "machine/absence.h"
#include "sched/core.h"
#include "sched/vcpu_supply.h"
#include "time/clock.h"
#include <string.h>

/* The VCPUs and their threads, while the kernel runs with them; NULL: without. `id` is in the order
 * of arguments.vcpus. */
static struct boot_vcpus {
    struct vcpu_arguments arguments;
    int id[VCPU_MAX];
} *boot_vcpus;

static int vcpu_of_thread(const char *name)
{
    const struct vcpu_argument *vcpu = vcpu_arguments_find(&boot_vcpus->arguments, name);

    return vcpu == NULL ? 0 : boot_vcpus->id[vcpu - boot_vcpus->arguments.vcpus];
}

/* Reads the boot argument. Returns false if there is none, or prints why it can't be used. */
static bool read_argument(struct vcpu_arguments *arguments, char *text)
{
    struct vcpu_argument_error error;

    if (!boot_argument("vcpus", text, VCPU_ARGUMENTS_TEXT_BYTES)) {
        return false;
    }
    if (!vcpu_arguments_parse(arguments, text, &error)) {
        print("boot: no VCPUs: boot argument vcpus, character %zu: %s\n", error.position,
              error.what);
        return false;
    }
    return true;
}

/* Prints what the kernel has of its processor, if that is not all. */
static void print_share(void)
{
    const struct supply *supply = vcpu_supply();

    if (supply != NULL && supply->budget == 0) {
        print("boot: the processor is shared, and guarantees no time\n");
    } else if (supply != NULL) {
        uint64_t gap = supply->period - supply->budget + supply->delay;

        print("boot: the processor is shared: %llu ns in %llu ns, after at most %llu ns without\n",
              (unsigned long long)clock_nanoseconds(supply->budget),
              (unsigned long long)clock_nanoseconds(supply->period),
              (unsigned long long)clock_nanoseconds(gap));
    }
}

static void print_refusal(const struct vcpu_argument *argument, const struct vcpu_param *param,
                          int error)
{
    const struct vcpu_argument *late = argument;

    if (error == -RESULT_TOO_SMALL) {
        print(
            "boot: no VCPUs: the budget of %s is below %llu ns: most of it would go into changes\n",
            argument->name, (unsigned long long)param->least);
        return;
    }
    if (error != -RESULT_OVERLOADED) {
        print("boot: no VCPUs: %s is refused: %s\n", argument->name,
              result_text((enum result)(-error)));
        return;
    }
    if (param->late_id != 0) {
        late = &boot_vcpus->arguments.vcpus[param->late_id - 1]; /* ids are given in order */
    }
    print("boot: no VCPUs: with %s, %s would lack %llu ns in each of its periods\n", argument->name,
          late->name, (unsigned long long)param->excess);
    print_share();
}

/* Creates the VCPUs in the order of the argument. Returns false if one is refused, and destroys
 * those before it. */
static bool create_all(void)
{
    const struct vcpu_arguments *arguments = &boot_vcpus->arguments;

    for (size_t i = 0; i < arguments->vcpu_count; i++) {
        const struct vcpu_argument *argument = &arguments->vcpus[i];
        struct vcpu_param param = {
            .policy = argument->policy,
            .C = argument->budget,
            .T = argument->period,
            .blocking = argument->blocking,
            .threads = vcpu_arguments_threads(arguments, i),
        };
        int id;

        memcpy(param.name, argument->name, sizeof(param.name));
        id = vcpu_create(&param);
        if (id < 0) {
            print_refusal(argument, &param, id);
            while (i-- > 0) {
                (void)vcpu_destroy(boot_vcpus->id[i], false);
            }
            return false;
        }
        boot_vcpus->id[i] = id;
    }
    return true;
}

void vcpus_start(void)
{
    char *text = heap_allocate(VCPU_ARGUMENTS_TEXT_BYTES);
    struct supply supply;
    struct guest_costs costs;
    bool share_is_read = supply_read(&supply);

    vcpu_costs_set(guest_costs_read(&costs) ? &costs : NULL);
    vcpu_supply_set(share_is_read ? &supply : NULL);
    if (share_is_read && virtual_time_init() == RESULT_OK) {
        core_follow_absence(virtual_time_absence());
    }
    boot_vcpus = heap_allocate(sizeof(*boot_vcpus));
    if (boot_vcpus == NULL || text == NULL || !read_argument(&boot_vcpus->arguments, text) ||
        !create_all()) {
        heap_free(boot_vcpus);
        boot_vcpus = NULL;
    } else {
        vcpu_assign_by_name(vcpu_of_thread);
        (void)vcpu_bind_task(vcpu_of_thread(thread_name(thread_current())));
    }
    heap_free(text);
}
