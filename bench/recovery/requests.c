/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin for QEMU that counts the instructions of a guest, and notes the count at each execution
 * of one of them.
 *
 * Arguments:
 *   from=ADDRESS  the guest's first instruction
 *   to=ADDRESS    the address behind its last one
 *   mark=ADDRESS  the instruction at which the plugin writes a line
 *   log=PATH      file for the lines; each is the number of instructions executed before
 *
 * Other guests and the hypervisor have other addresses: the guest is told from them by its virtual
 * addresses. The plugin may be used with -icount, where one thread executes all processors.
 */
#include "plugin_argument.h"
#include "qemu_plugin.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
    uint64_t instructions;
    uint64_t from, to, mark;
    FILE *log;
} plugin;

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static void count(unsigned processor, void *argument)
{
    (void)processor;
    (void)argument;
    plugin.instructions++;
}

static void note(unsigned processor, void *argument)
{
    (void)processor;
    (void)argument;
    (void)fprintf(plugin.log, "%" PRIu64 "\n", plugin.instructions);
    (void)fflush(plugin.log);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        uint64_t address = qemu_plugin_insn_vaddr(instruction);

        if (address < plugin.from || address >= plugin.to) {
            continue;
        }
        if (address == plugin.mark) {
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, note, QEMU_PLUGIN_CB_NO_REGS, NULL);
        }
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, count, QEMU_PLUGIN_CB_NO_REGS, NULL);
    }
}

static void parse(const char *argument)
{
    const char *from = plugin_argument(argument, "from=");
    const char *to = plugin_argument(argument, "to=");
    const char *mark = plugin_argument(argument, "mark=");
    const char *log = plugin_argument(argument, "log=");

    if (from != NULL) {
        plugin.from = strtoull(from, NULL, 0);
    } else if (to != NULL) {
        plugin.to = strtoull(to, NULL, 0);
    } else if (mark != NULL) {
        plugin.mark = strtoull(mark, NULL, 0);
    } else if (log != NULL) {
        plugin.log = fopen(log, "we");
    }
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argument_count,
                        char **arguments)
{
    (void)info;
    plugin_parse(argument_count, arguments, parse);
    if (plugin.from == 0 || plugin.to == 0 || plugin.mark == 0 || plugin.log == NULL) {
        (void)fputs("requests: from=ADDRESS, to=ADDRESS, mark=ADDRESS and log=PATH are required\n",
                    stderr);
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
