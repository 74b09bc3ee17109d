/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin for QEMU that counts instructions, and notes the count at the events of a restart of a
 * partition on a machine with one processor.
 *
 * Arguments:
 *   text=PATH      the hypervisor, as it is in memory
 *   at=ADDRESS     its address
 *   word=ADDRESS   a word of the hypervisor's memory whose stores are noted; can be given several
 *                  times
 *   mark=ADDRESS   an instruction of the guest; can be given several times
 *   log=PATH       file to which the plugin writes a line for each event
 *
 * A line has the event, its number, and the number of instructions that were executed before it:
 *   left 0   the guest executed its last instruction before the hypervisor stored to the first word
 *   word N   the hypervisor stored to word N
 *   mark 0   the guest executes its first instruction after that
 *   mark N   the guest executes an instruction of the arguments, for the first time since then
 *
 * With a single processor its number does not matter (bench/boot/entries.c), so the plugin may be
 * used with -icount.
 */
#include "plugin_argument.h"
#include "plugin_text.h"
#include "qemu_plugin.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS_MAX 4u
#define MARKS_MAX 8u

static struct {
    uint64_t instructions; /* executed so far */
    uint64_t left;         /* the same, after the guest's last instruction */
    bool is_stored;        /* the hypervisor has stored to a word since then */
    uint32_t marks_left;   /* bit n: the event of mark n has not come yet */
    struct plugin_text text;
    uint64_t words[WORDS_MAX], marks[MARKS_MAX];
    unsigned word_count, mark_count;
    FILE *log;
} plugin;

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static void note(const char *event, unsigned number, uint64_t instructions)
{
    (void)fprintf(plugin.log, "%s %u %" PRIu64 "\n", event, number, instructions);
    (void)fflush(plugin.log);
}

static void on_hypervisor(unsigned processor, void *argument)
{
    (void)processor;
    (void)argument;
    plugin.instructions++;
}

static void on_store(unsigned processor, qemu_plugin_meminfo_t access, uint64_t address,
                     void *argument)
{
    (void)processor;
    (void)access;
    (void)argument;
    for (unsigned i = 0; i < plugin.word_count; i++) {
        if (address == plugin.words[i]) {
            if (!plugin.is_stored) {
                plugin.is_stored = true;
                note("left", 0, plugin.left);
            }
            note("word", i, plugin.instructions);
        }
    }
}

/* `argument`: the address of the instruction. */
static void on_guest(unsigned processor, void *argument)
{
    (void)processor;
    if (plugin.is_stored) {
        plugin.is_stored = false;
        plugin.marks_left = (UINT32_C(1) << plugin.mark_count) - 1;
        note("mark", 0, plugin.instructions);
    }
    for (unsigned i = 0; i < plugin.mark_count; i++) {
        if ((plugin.marks_left >> i & 1u) != 0 && (uintptr_t)argument == plugin.marks[i]) {
            plugin.marks_left &= ~(UINT32_C(1) << i);
            note("mark", i + 1, plugin.instructions);
        }
    }
    plugin.instructions++;
    plugin.left = plugin.instructions;
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
        if (plugin_text_has(&plugin.text, address, code)) {
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_hypervisor,
                                                   QEMU_PLUGIN_CB_NO_REGS, NULL);
            qemu_plugin_register_vcpu_mem_cb(instruction, on_store, QEMU_PLUGIN_CB_NO_REGS,
                                             QEMU_PLUGIN_MEM_W, NULL);
        } else {
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_guest, QEMU_PLUGIN_CB_NO_REGS,
                                                   (void *)(uintptr_t)address);
        }
    }
}

static void parse(const char *argument)
{
    const char *text = plugin_argument(argument, "text=");
    const char *at = plugin_argument(argument, "at=");
    const char *word = plugin_argument(argument, "word=");
    const char *mark = plugin_argument(argument, "mark=");
    const char *log = plugin_argument(argument, "log=");

    if (text != NULL) {
        plugin_text_read(&plugin.text, text);
    } else if (at != NULL) {
        plugin.text.at = strtoull(at, NULL, 0);
    } else if (word != NULL && plugin.word_count < WORDS_MAX) {
        plugin.words[plugin.word_count++] = strtoull(word, NULL, 0);
    } else if (mark != NULL && plugin.mark_count < MARKS_MAX) {
        plugin.marks[plugin.mark_count++] = strtoull(mark, NULL, 0);
    } else if (log != NULL) {
        plugin.log = fopen(log, "we");
    }
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argument_count,
                        char **arguments)
{
    (void)info;
    plugin_parse(argument_count, arguments, parse);
    if (plugin.text.bytes == 0 || plugin.text.at == 0 || plugin.word_count == 0 ||
        plugin.log == NULL) {
        (void)fputs("phases: text=PATH, at=ADDRESS, word=ADDRESS and log=PATH are required\n",
                    stderr);
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
