/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels with other partitions: PCI functions with the registers and the memory of ivshmem-v2
 * (Jailhouse, "IVSHMEM Device Specification"), bound to uio_pci_generic. This driver disables INTx
 * in the command register at each interrupt, and the process enables it again. The memory is BAR 2,
 * or in a DAX device, which Linux maps as cached. function_files.c opens the files.
 */
#include "endpoint.h"

#include "lent.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Configuration space (PCI 3.0, 6.1). */
#define CONFIG_COMMAND       0x04u
#define CONFIG_CAPABILITIES  0x34u
#define COMMAND_INTX_DISABLE 0x400u

#define VENDOR_ONE_SHOT 0x03u /* offset in the vendor-specific capability, the first one */
#define REGISTERS_BYTES 4096u

enum {
    REGISTER_ID,
    REGISTER_MAX_PEERS,
    REGISTER_INTERRUPT_CONTROL,
    REGISTER_DOORBELL,
    REGISTER_STATE
};

#define INTERRUPT_ENABLE   1u
#define STATE_READY        1u
#define DOORBELL_TARGET(n) ((uint32_t)(n) << 16)

struct function_endpoint {
    struct linux_endpoint endpoint;
    struct linux_function *files; /* those that are mapped; NULL: not yet */
    struct linux_function own;    /* those that this endpoint has opened */
    bool has_own;
    uint8_t capability;           /* offset of the vendor-specific capability */
    volatile uint32_t *registers; /* BAR 0; NULL: not mapped */
};

_Static_assert(offsetof(struct function_endpoint, endpoint) == 0,
               "an endpoint of a function is one");

static void ring_bell(void *context)
{
    const struct function_endpoint *function = context;

    function->registers[REGISTER_DOORBELL] = DOORBELL_TARGET(1 - function->endpoint.end);
}

/* Enables the interrupt. */
static void arm_bell(struct linux_endpoint *endpoint)
{
    const struct function_endpoint *function = (const struct function_endpoint *)endpoint;
    uint16_t command;

    if (pread(function->files->config, &command, sizeof(command), CONFIG_COMMAND) ==
            sizeof(command) &&
        (command & COMMAND_INTX_DISABLE) != 0) {
        command &= (uint16_t)~COMMAND_INTX_DISABLE;
        if (pwrite(function->files->config, &command, sizeof(command), CONFIG_COMMAND) < 0) {
            return;
        }
    }
    function->registers[REGISTER_INTERRUPT_CONTROL] = INTERRUPT_ENABLE;
}

static void discard_interrupts(struct linux_endpoint *endpoint)
{
    uint32_t count; /* the driver's count of interrupts */

    /* Nothing is there to read if another wait has read it. */
    if (read(endpoint->bell, &count, sizeof(count)) < 0) {
        return;
    }
}

static bool begin_use(struct linux_endpoint *endpoint, char *problem)
{
    const struct function_endpoint *function = (const struct function_endpoint *)endpoint;
    uint8_t one_shot = 1;

    /* An interrupt disables the next ones: one for each time that somebody sleeps. */
    if (pwrite(function->files->config, &one_shot, 1,
               (off_t)function->capability + VENDOR_ONE_SHOT) != 1) {
        return endpoint_fail(problem, "%s does not take the one-shot mode: %s", endpoint->name,
                             strerror(errno));
    }
    function->registers[REGISTER_STATE] = STATE_READY;
    return true;
}

static void end_use(struct linux_endpoint *endpoint)
{
    const struct function_endpoint *function = (const struct function_endpoint *)endpoint;

    function->registers[REGISTER_INTERRUPT_CONTROL] = 0;
    function->registers[REGISTER_STATE] = 0;
}

static void close_parts(struct linux_endpoint *endpoint)
{
    const struct function_endpoint *function = (const struct function_endpoint *)endpoint;

    if (function->registers != NULL) {
        munmap((void *)(uintptr_t)function->registers, REGISTERS_BYTES);
    }
    if (function->files != NULL) {
        __atomic_clear(&function->files->is_mapped, __ATOMIC_RELEASE);
    }
    if (function->has_own) {
        linux_close_function(&function->own);
    }
}

/* The table of states tells the death of the peer's partition, so nobody looks for it. */
static const struct endpoint_operations function_operations = {
    .begin = begin_use,
    .end = end_use,
    .arm = arm_bell,
    .quiet = discard_interrupts,
    .close = close_parts,
};

static bool map_registers(struct function_endpoint *function, char *problem)
{
    void *registers = mmap(NULL, REGISTERS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                           function->files->registers, 0);

    if (registers == MAP_FAILED) {
        return endpoint_fail(problem, "the registers of %s can't be mapped: %s",
                             function->endpoint.name, strerror(errno));
    }
    function->registers = registers;
    function->endpoint.end = function->registers[REGISTER_ID] & 1;
    return true;
}

/* Takes the files for this endpoint. */
static bool take_files(struct function_endpoint *function, struct linux_function *files,
                       char *problem)
{
    if (__atomic_test_and_set(&files->is_mapped, __ATOMIC_ACQUIRE)) {
        return endpoint_fail(problem, "this process has mapped %s already: close it first",
                             function->endpoint.name);
    }
    function->files = files;
    return true;
}

/* Opens what event loops need, for a copy of the file, because each endpoint closes its own. */
static bool open_interrupt(struct function_endpoint *function, char *problem)
{
    struct linux_endpoint *endpoint = &function->endpoint;

    endpoint->bell = fcntl(function->files->interrupt, F_DUPFD_CLOEXEC, 0);
    endpoint->lock_file = endpoint->bell;
    if (endpoint->bell < 0) {
        return endpoint_fail(problem, "the interrupt of %s is not open: %s", endpoint->name,
                             strerror(errno));
    }
    return endpoint_open_loop(endpoint, problem);
}

static bool find_capability(struct function_endpoint *function, char *problem)
{
    if (pread(function->files->config, &function->capability, 1, CONFIG_CAPABILITIES) != 1) {
        return endpoint_fail(problem, "configuration space of %s can't be read: %s",
                             function->endpoint.name, strerror(errno));
    }
    return true;
}

static bool map_parts(struct function_endpoint *function, struct linux_function *files,
                      char *problem)
{
    struct linux_endpoint *endpoint = &function->endpoint;

    if (!endpoint_check(files->ring_bytes, problem) || !take_files(function, files, problem)) {
        return false;
    }
    endpoint_set_kind(endpoint, files->kind);
    endpoint->common_bytes = files->common_bytes;
    return find_capability(function, problem) && open_interrupt(function, problem) &&
           map_registers(function, problem) &&
           endpoint_map(endpoint, files->memory, files->memory_offset, files->ring_bytes, problem);
}

/* Returns the endpoint of these files, or closes `function`. */
static struct linux_endpoint *finish(struct function_endpoint *function,
                                     struct linux_function *files, char *problem)
{
    struct linux_endpoint *endpoint = &function->endpoint;
    const uint32_t *states;

    endpoint->port = (struct channel_port){.context = function, .notify = ring_bell};
    if (!map_parts(function, files, problem)) {
        endpoint_free(endpoint);
        return NULL;
    }
    states = endpoint->region;
    endpoint->memory.peer_state = &states[1 - endpoint->end];
    return endpoint;
}

static struct function_endpoint *make(const char *name, char *problem)
{
    return (struct function_endpoint *)endpoint_make(sizeof(struct function_endpoint),
                                                     &function_operations, name, problem);
}

struct linux_endpoint *linux_map_open_function(const char *name, struct linux_function *files,
                                               char *problem)
{
    struct function_endpoint *function = make(name, problem);

    if (function == NULL) {
        return NULL;
    }
    function->endpoint.inherits_lock_file = true;
    return finish(function, files, problem);
}

struct linux_endpoint *linux_map_function(const char *name, char *problem)
{
    struct linux_function *lent = lent_find(name);
    struct function_endpoint *function;

    if (lent != NULL) {
        return linux_map_open_function(name, lent, problem);
    }
    function = make(name, problem);
    if (function == NULL) {
        return NULL;
    }
    function->has_own = linux_open_function(name, &function->own, problem);
    if (!function->has_own) {
        endpoint_free(&function->endpoint);
        return NULL;
    }
    return finish(function, &function->own, problem);
}
