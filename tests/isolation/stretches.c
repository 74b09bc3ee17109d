/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin for QEMU that finds the longest stretch of instructions that the hypervisor executes
 * without a possibility to take its own interrupts. A stretch ends when a monitor returns to its
 * guest (ERET), sleeps (WFI), asks the GIC for an interrupt (a read of ICC_IAR0_EL1), or asks
 * whether one is pending (a read of ISR_EL1).
 *
 * Arguments:
 *   text=PATH      the text of all monitors, as it is in memory
 *   at=ADDRESS     its address
 *   first=ADDRESS  where a processor enters the first monitor, at the end of its boot
 *   lock=ADDRESS   the function that waits for a lock
 *   locked=BYTES   its length
 *   log=PATH       the file for the results: a line for each stretch that is longer than all before
 *                  it that ended in the same way on its processor
 *
 * Instructions of the function that waits for a lock do not count: the wait lasts as long as the
 * host keeps the holder of the lock from running.
 *
 * A line has how the stretch ended ("return" to the guest, or "wait"), the processor, the
 * instructions, and the address of the last one.
 *
 * QEMU must run each processor in its own thread (bench/boot/entries.c says why).
 */
#include "plugin_argument.h"
#include "plugin_text.h"
#include "qemu_plugin.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define PROCESSORS_MAX 16u

/* Arm ARM, "ERET", "WFI" and "MRS". The register's number is in the lowest bits of MRS. */
#define CODE_ERET       UINT32_C(0xd69f03e0)
#define CODE_WFI        UINT32_C(0xd503207f)
#define CODE_READ_IAR0  UINT32_C(0xd538c800)
#define CODE_READ_ISR   UINT32_C(0xd538c100)
#define REGISTER_NUMBER UINT32_C(0x1f)

enum end { END_RETURN, END_WAIT, ENDS };

/* Used only by the processor's thread. */
struct processor {
    uint64_t longest[ENDS];
    bool started;
};

static struct {
    struct processor processors[PROCESSORS_MAX];
    struct qemu_plugin_number instructions; /* of the current stretch of each processor */
    struct plugin_text text;
    uint64_t first, lock, lock_bytes;
    FILE *log;
} plugin;

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* Begins to count: the boot is no stretch. */
static void on_first(unsigned number, void *argument)
{
    (void)argument;
    plugin.processors[number % PROCESSORS_MAX].started = true;
    qemu_plugin_u64_set(plugin.instructions, number, 1);
}

/* `argument` is the address of the instruction. */
static void end(unsigned number, enum end end, const void *argument)
{
    static const char *const names[ENDS] = {"return", "wait"};
    struct processor *processor = &plugin.processors[number % PROCESSORS_MAX];
    uint64_t instructions = qemu_plugin_u64_get(plugin.instructions, number);

    if (processor->started && instructions > processor->longest[end]) {
        processor->longest[end] = instructions;
        (void)fprintf(plugin.log, "%s %u %" PRIu64 " %#" PRIxPTR "\n", names[end], number,
                      instructions, (uintptr_t)argument);
        (void)fflush(plugin.log);
    }
    qemu_plugin_u64_set(plugin.instructions, number, 0);
}

static void on_return(unsigned number, void *argument)
{
    end(number, END_RETURN, argument);
}

static void on_wait(unsigned number, void *argument)
{
    end(number, END_WAIT, argument);
}

/* Returns what to call after the instruction has been counted, or NULL. */
static qemu_plugin_execute_callback callback_for(uint64_t address, uint32_t code)
{
    if (address == plugin.first) {
        return on_first;
    }
    if (code == CODE_ERET) {
        return on_return;
    }
    switch (code & ~REGISTER_NUMBER) {
    case CODE_READ_IAR0:
    case CODE_READ_ISR:
        return on_wait;
    default:
        return code == CODE_WFI ? on_wait : NULL;
    }
}

/* Counts each execution of the instruction, in the translated code itself: calls are slow. */
static void watch(struct qemu_plugin_insn *instruction, uint64_t address,
                  qemu_plugin_execute_callback callback)
{
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(instruction, QEMU_PLUGIN_INLINE_ADD_U64,
                                                        plugin.instructions, 1);
    if (callback != NULL) {
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, QEMU_PLUGIN_CB_NO_REGS,
                                               (void *)(uintptr_t)address);
    }
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    size_t instructions = qemu_plugin_tb_n_insns(block);

    (void)id;
    for (size_t i = 0; i < instructions; i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        uint64_t address = qemu_plugin_insn_vaddr(instruction);
        uint32_t code = 0;

        (void)qemu_plugin_insn_data(instruction, &code, sizeof(code));
        if (plugin_text_has(&plugin.text, address, code) &&
            address - plugin.lock >= plugin.lock_bytes) {
            watch(instruction, address, callback_for(address, code));
        }
    }
}

static void parse(const char *argument)
{
    const char *text = plugin_argument(argument, "text=");
    const char *at = plugin_argument(argument, "at=");
    const char *first = plugin_argument(argument, "first=");
    const char *lock = plugin_argument(argument, "lock=");
    const char *locked = plugin_argument(argument, "locked=");
    const char *log = plugin_argument(argument, "log=");

    if (text != NULL) {
        plugin_text_read(&plugin.text, text);
    } else if (at != NULL) {
        plugin.text.at = strtoull(at, NULL, 0);
    } else if (first != NULL) {
        plugin.first = strtoull(first, NULL, 0);
    } else if (lock != NULL) {
        plugin.lock = strtoull(lock, NULL, 0);
    } else if (locked != NULL) {
        plugin.lock_bytes = strtoull(locked, NULL, 0);
    } else if (log != NULL) {
        plugin.log = fopen(log, "we");
    }
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argument_count,
                        char **arguments)
{
    (void)info;
    plugin_parse(argument_count, arguments, parse);
    if (plugin.text.bytes == 0 || plugin.text.at == 0 || plugin.first == 0 || plugin.log == NULL) {
        (void)fputs("stretches: text=PATH, at=ADDRESS, first=ADDRESS and log=PATH are required\n",
                    stderr);
        return -1;
    }
    plugin.instructions.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
