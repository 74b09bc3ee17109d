/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin for QEMU that counts the instructions of a hypervisor on each processor, from the
 * hypervisor's first instruction until a guest starts on that processor.
 *
 * Arguments:
 *   start=ADDRESS  address of the hypervisor's first instruction
 *   log=PATH       file to which the plugin writes a line for each start of a guest
 *   entry=WORD     first instruction of a guest's image; can be given several times
 *
 * A guest starts when an exception return leads to one of the `entry` instructions. A line has four
 * numbers: the processor, the instructions that it executed, the instructions that all processors
 * executed until then, and the number of the latter that zeroed a block of memory (DC ZVA).
 * Instructions of guests are not counted.
 *
 * QEMU must run each processor in its own thread. With one thread for all processors, as under
 * -icount, QEMU reports the processor that a block was translated for, and not the processor that
 * executes it.
 */
#include "plugin_argument.h"
#include "qemu_plugin.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define PROCESSORS_MAX 16u
#define ENTRIES_MAX    8u

/* Arm ARM, "ERET" and "DC ZVA". DC ZVA is SYS #3, C7, C4, #1, with the register's number in the
 * lowest bits. */
#define CODE_ERET       UINT32_C(0xd69f03e0)
#define CODE_DC_ZVA     UINT32_C(0xd50b7420)
#define REGISTER_NUMBER UINT32_C(0x1f)

/* Written only by the processor's thread. Other threads read the counts. */
struct processor {
    atomic_uint_fast64_t instructions;
    atomic_uint_fast64_t zeroed;
    bool returned; /* the previous instruction was an exception return */
    bool guest;    /* a guest has started */
};

static struct {
    struct processor processors[PROCESSORS_MAX];
    uint32_t entries[ENTRIES_MAX];
    unsigned entry_count;
    uint64_t start;
    atomic_bool started;
    FILE *log;
} plugin;

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static uint64_t read_count(atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Increments a count, unless a guest runs or the hypervisor has not started. Only the processor's
 * own thread writes the count, so only the store has to be atomic. */
static void add(struct processor *processor, atomic_uint_fast64_t *counter)
{
    bool counts = atomic_load_explicit(&plugin.started, memory_order_relaxed) && !processor->guest;

    atomic_store_explicit(counter, read_count(counter) + counts, memory_order_relaxed);
}

static struct processor *count(unsigned number)
{
    struct processor *processor = &plugin.processors[number % PROCESSORS_MAX];

    add(processor, &processor->instructions);
    processor->returned = false;
    return processor;
}

static void on_any(unsigned number, void *argument)
{
    (void)argument;
    (void)count(number);
}

static void on_return(unsigned number, void *argument)
{
    (void)argument;
    count(number)->returned = true;
}

static void on_zeroing(unsigned number, void *argument)
{
    struct processor *processor = count(number);

    (void)argument;
    add(processor, &processor->zeroed);
}

static void on_entry(unsigned number, void *argument)
{
    struct processor *processor = &plugin.processors[number % PROCESSORS_MAX];
    uint64_t all = 0;
    uint64_t zeroed = 0;

    if (!processor->returned || processor->guest) {
        on_any(number, argument);
        return;
    }
    processor->guest = true;
    for (unsigned i = 0; i < PROCESSORS_MAX; i++) {
        all += read_count(&plugin.processors[i].instructions);
        zeroed += read_count(&plugin.processors[i].zeroed);
    }
    (void)fprintf(plugin.log, "%u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", number,
                  read_count(&processor->instructions), all, zeroed);
    (void)fflush(plugin.log);
}

static void on_start(unsigned number, void *argument)
{
    plugin.started = true;
    on_any(number, argument);
}

static qemu_plugin_execute_callback callback_for(uint32_t code, uint64_t address)
{
    for (unsigned i = 0; i < plugin.entry_count; i++) {
        if (code == plugin.entries[i]) {
            return on_entry;
        }
    }
    if (code == CODE_ERET) {
        return on_return;
    }
    if ((code & ~REGISTER_NUMBER) == CODE_DC_ZVA) {
        return on_zeroing;
    }
    return !plugin.started && address == plugin.start ? on_start : on_any;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    size_t instructions = qemu_plugin_tb_n_insns(block);

    (void)id;
    for (size_t i = 0; i < instructions; i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        uint32_t code = 0;

        (void)qemu_plugin_insn_data(instruction, &code, sizeof(code));
        qemu_plugin_register_vcpu_insn_exec_cb(
            instruction, callback_for(code, qemu_plugin_insn_vaddr(instruction)),
            QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
}

static void parse(const char *argument)
{
    const char *start = plugin_argument(argument, "start=");
    const char *log = plugin_argument(argument, "log=");
    const char *entry = plugin_argument(argument, "entry=");

    if (start != NULL) {
        plugin.start = strtoull(start, NULL, 0);
    } else if (log != NULL) {
        plugin.log = fopen(log, "we");
    } else if (entry != NULL && plugin.entry_count < ENTRIES_MAX) {
        plugin.entries[plugin.entry_count] = (uint32_t)strtoul(entry, NULL, 0);
        plugin.entry_count++;
    }
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argument_count,
                        char **arguments)
{
    (void)info;
    plugin_parse(argument_count, arguments, parse);
    if (plugin.start == 0 || plugin.entry_count == 0 || plugin.log == NULL) {
        (void)fputs("entries: the arguments start=ADDRESS, log=PATH and entry=WORD are required\n",
                    stderr);
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
