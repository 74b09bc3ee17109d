/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin for QEMU that counts how often the processors execute TLBI VMALLE1.
 *
 * Argument: log=PATH, a file to which the plugin writes the count whenever it grows.
 */
#include "plugin_argument.h"
#include "qemu_plugin.h"
#include <inttypes.h>
#include <stdio.h>

/* Arm ARM, "TLBI VMALLE1": SYS #0, C8, C7, #0. */
#define CODE_TLBI_VMALLE1 UINT32_C(0xd508871f)

/* The system under test has one processor that executes guests. */
static struct {
    uint64_t count;
    FILE *log;
} plugin;

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static void on_invalidation(unsigned number, void *argument)
{
    (void)number;
    (void)argument;
    plugin.count++;
    (void)fseek(plugin.log, 0, SEEK_SET);
    (void)fprintf(plugin.log, "%" PRIu64 "\n", plugin.count);
    (void)fflush(plugin.log);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    size_t instructions = qemu_plugin_tb_n_insns(block);

    (void)id;
    for (size_t i = 0; i < instructions; i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        uint32_t code = 0;

        (void)qemu_plugin_insn_data(instruction, &code, sizeof(code));
        if (code == CODE_TLBI_VMALLE1) {
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_invalidation,
                                                   QEMU_PLUGIN_CB_NO_REGS, NULL);
        }
    }
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argument_count,
                        char **arguments)
{
    const char *path = argument_count == 1 ? plugin_argument(arguments[0], "log=") : NULL;

    (void)info;
    if (path != NULL) {
        plugin.log = fopen(path, "we");
    }
    if (plugin.log == NULL) {
        (void)fputs("invalidations: log=PATH is required\n", stderr);
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
