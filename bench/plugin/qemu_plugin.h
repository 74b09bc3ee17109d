/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations of QEMU's interface for TCG plugins, version 3 (QEMU 9.1) and newer, as far as the
 * benches' plugins use it. No package contains QEMU's header. Source: QEMU's manual, "TCG Plugins"
 * (Plugin API).
 */
#ifndef BENCH_QEMU_PLUGIN_H
#define BENCH_QEMU_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define QEMU_PLUGIN_VERSION 3
#define QEMU_PLUGIN_EXPORT  __attribute__((visibility("default")))

enum qemu_plugin_cb_flags {
    QEMU_PLUGIN_CB_NO_REGS,
    QEMU_PLUGIN_CB_R_REGS, /* the callback can read the processor's registers */
};
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64, QEMU_PLUGIN_INLINE_STORE_U64 };

struct qemu_info;              /* facts about the machine; not used */
struct qemu_plugin_tb;         /* a translation block, while it is being translated */
struct qemu_plugin_insn;       /* an instruction in it */
struct qemu_plugin_hwaddr;     /* an address of the machine, valid within the callback */
struct qemu_plugin_scoreboard; /* an array with an element for each processor */
struct qemu_plugin_register;   /* a register of all processors of a kind */

/* GLib's arrays, which QEMU links. Source: GLib's manual, "Arrays" and "Byte arrays". */
struct glib_array {
    char *data;
    unsigned length; /* in elements */
};

struct glib_byte_array {
    uint8_t *data;
    unsigned length;
};

/* An element of the array that qemu_plugin_get_registers() returns. */
struct qemu_plugin_reg_descriptor {
    struct qemu_plugin_register *handle;
    const char *name;
    const char *feature;
};

/* A number in each element of a scoreboard, `offset` bytes from its beginning. */
struct qemu_plugin_number {
    struct qemu_plugin_scoreboard *score;
    size_t offset;
};

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t; /* facts about a memory access */
typedef void (*qemu_plugin_translate_callback)(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void (*qemu_plugin_simple_callback)(qemu_plugin_id_t id);
typedef void (*qemu_plugin_exit_callback)(qemu_plugin_id_t id, void *argument);
typedef void (*qemu_plugin_processor_callback)(qemu_plugin_id_t id, unsigned processor);
typedef void (*qemu_plugin_execute_callback)(unsigned processor, void *argument);
typedef void (*qemu_plugin_memory_callback)(unsigned processor, qemu_plugin_meminfo_t access,
                                            uint64_t virtual_address, void *argument);

/* Defined by the plugin. */
extern QEMU_PLUGIN_EXPORT int qemu_plugin_version;
QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
                                           int argument_count, char **arguments);

/* Defined by GLib, in the process of QEMU. */
struct glib_byte_array *g_byte_array_new(void);
struct glib_byte_array *g_byte_array_set_size(struct glib_byte_array *array, unsigned length);
char *g_array_free(struct glib_array *array, int frees_elements);

/* Defined by QEMU. */
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           qemu_plugin_translate_callback callback);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction, void *data, size_t bytes);
/* Returns where this process has the instruction in its memory; NULL if it is not in RAM. */
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *instruction);
/* QEMU calls the callback before each execution of the block, in the processor's thread. */
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block,
                                          qemu_plugin_execute_callback callback,
                                          enum qemu_plugin_cb_flags flags, void *argument);
/* QEMU calls the callback after each access of the instruction. */
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction,
                                      qemu_plugin_memory_callback callback,
                                      enum qemu_plugin_cb_flags flags,
                                      enum qemu_plugin_mem_rw kinds, void *argument);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t access); /* log2 of the bytes */
_Bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t access);
/* Returns NULL if the access has no physical address. Only in the callback of the access. */
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t access,
                                                  uint64_t virtual_address);
_Bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address);
/* QEMU calls the callback before each execution of the instruction, in the processor's thread. */
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction,
                                            qemu_plugin_execute_callback callback,
                                            enum qemu_plugin_cb_flags flags, void *argument);
/* QEMU adds to the executing processor's number, or stores to it, before each execution of the
 * instruction, in the translated code: faster than a callback. */
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *instruction,
                                                         enum qemu_plugin_op operation,
                                                         struct qemu_plugin_number number,
                                                         uint64_t operand);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_bytes);
/* Returns all registers that a debugger sees of a processor, for the callback of its start. */
struct glib_array *qemu_plugin_get_registers(void);
/* Appends the register of the executing processor, as its memory has it. Returns its bytes, -1 if
 * it can't be read. */
int qemu_plugin_read_register(struct qemu_plugin_register *handle, struct glib_byte_array *value);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id,
                                       qemu_plugin_processor_callback callback);
/* QEMU calls the callback before it discards all translated blocks, while none executes. */
void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, qemu_plugin_simple_callback callback);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_exit_callback callback,
                                    void *argument);
uint64_t qemu_plugin_u64_get(struct qemu_plugin_number number, unsigned processor);
void qemu_plugin_u64_set(struct qemu_plugin_number number, unsigned processor, uint64_t value);

#endif
