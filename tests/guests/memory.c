/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the memory and checksum functions of libc/arm64, and those of the hypervisor, with plain
 * loops. */
#include "kernel/application.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "memory_checks.h"
#include <libc/internet_checksum.h>
#include <string.h>

/* hypervisor_copy.S */
void *hypervisor_memcpy(void *destination, const void *source, size_t bytes);
void *hypervisor_memset(void *memory, int value, size_t bytes);

static const char *wrong;

/* Runs in a thread that may use floating-point registers, and in a thread that may not. */
static void check(void *argument)
{
    static const struct memory_functions functions = {
        .copy = memcpy,
        .move = memmove,
        .set = memset,
        .compare = memcmp,
        .checksum = internet_checksum,
        .checksum_copy = internet_checksum_copy,
    };

    struct memory_functions hypervisors = functions;

    (void)argument;
    hypervisors.copy = hypervisor_memcpy;
    hypervisors.set = hypervisor_memset;
    wrong = wrong != NULL ? wrong : memory_checks(&functions);
    wrong = wrong != NULL ? wrong : memory_checks(&hypervisors);
}

int application_main(void)
{
    const struct thread_attributes attributes = {
        .name = "no floating point", .priority = 8, .stack_bytes = 8192};
    struct thread *thread;

    check(NULL);
    if (thread_create(&thread, &attributes, check, NULL) != RESULT_OK) {
        wrong = "thread_create";
    } else {
        (void)thread_join(thread, DEADLINE_NONE);
    }
    if (wrong != NULL) {
        print("FAIL: %s\n", wrong);
        return 1;
    }
    print("PASS\n");
    return 0;
}
