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

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64, QEMU_PLUGIN_INLINE_STORE_U64 };

struct qemu_info;              /* facts about the machine; not used */
struct qemu_plugin_tb;         /* a translation block, while it is being translated */
struct qemu_plugin_insn;       /* an instruction in it */
struct qemu_plugin_hwaddr;     /* an address of the machine, valid within the callback */
struct qemu_plugin_scoreboard; /* an array with an element for each processor */

/* A number in each element of a scoreboard, `offset` bytes from its beginning. */
struct qemu_plugin_number {
    struct qemu_plugin_scoreboard *score;
    size_t offset;
};

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t; /* facts about a memory access */
typedef void (*qemu_plugin_translate_callback)(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void (*qemu_plugin_execute_callback)(unsigned processor, void *argument);
typedef void (*qemu_plugin_memory_callback)(unsigned processor, qemu_plugin_meminfo_t access,
                                            uint64_t virtual_address, void *argument);

/* Defined by the plugin. */
extern QEMU_PLUGIN_EXPORT int qemu_plugin_version;
QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
                                           int argument_count, char **arguments);

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
uint64_t qemu_plugin_u64_get(struct qemu_plugin_number number, unsigned processor);
void qemu_plugin_u64_set(struct qemu_plugin_number number, unsigned processor, uint64_t value);

#endif
