/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin for QEMU that holds the machine after a number of instructions, so that ./bulkhead
 * campaign can inject a fault from outside, and that sees whether a processor uses the faulty
 * place.
 *
 * Arguments:
 *   control=PATH    a file with a struct control (control.h)
 *   memory=NAME     name of the file that is the machine's memory, as in /proc/self/maps
 *   base=ADDRESS    physical address of that memory
 *   terminal=ADDRESS  physical address of the terminal's data register
 *   victim=ADDRESS  physical address of the victim's memory
 *   bytes=SIZE      its size
 *   monitor=ADDRESS physical address of the hypervisor's memory
 *   monitor_bytes=SIZE  its size
 *
 * Under -icount QEMU executes all processors in one thread. So a processor that is held holds all
 * of them, at the same instruction in each run.
 */
#define _GNU_SOURCE /* usleep() */
#include "control.h"
#include "plugin_argument.h"
#include "plugin_digest.h"
#include "plugin_memory.h"
#include "qemu_plugin.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HELD_POLL_US 50u
#define PAGE_MASK    UINT64_C(0xfff)
/* A block is an argument of its callback: the number of its instructions, and above it the place of
 * its end in the victim's memory. */
#define BLOCK_COUNT_BITS  16u
#define BLOCK_COUNT_MASK  UINT64_C(0xffff)
#define INSTRUCTION_BYTES 4u
#define TURNS             6u /* of processors, whose times are followed */

struct range {
    uint64_t start;
    uint64_t bytes;
};

static struct {
    struct control *control;
    struct plugin_memory memory;
    uint64_t terminal;
    struct range victim;
    struct range monitor;
    unsigned processor; /* which has executed the last block */
    unsigned turns;     /* of processors, since the campaign follows the victim */
} plugin;

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static bool is_in(const struct range *range, uint64_t address)
{
    return address - range->start < range->bytes;
}

static uint64_t load(const atomic_uint_fast64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void hold(void)
{
    struct control *control = plugin.control;

    atomic_store_explicit(&control->is_held, 1, memory_order_release);
    while (atomic_load_explicit(&control->is_held, memory_order_acquire) != 0) {
        (void)usleep(HELD_POLL_US);
    }
}

/* Counts before the block executes. An exception may leave it earlier: in each run at the same
 * instruction. */
static void count(uint64_t instructions, bool is_victims)
{
    struct control *control = plugin.control;
    uint64_t now = load(&control->now);
    uint64_t victim = load(&control->victim);

    if (control->hold_at_now != 0 && now >= control->hold_at_now) {
        control->hold_at_now = 0;
        hold();
    }
    if (is_victims && control->hold_at_victim != 0 && victim >= control->hold_at_victim) {
        control->hold_at_victim = 0;
        hold();
    }
    atomic_store_explicit(&control->now, now + instructions, memory_order_relaxed);
    if (is_victims) {
        atomic_store_explicit(&control->victim, victim + instructions, memory_order_relaxed);
    }
}

static void follow_stored(uint64_t word)
{
    plugin.control->stores = plugin_digest(plugin.control->stores, word);
}

static void follow_turns(unsigned processor)
{
    struct control *control = plugin.control;

    if (processor != plugin.processor && control->follows != 0 && plugin.turns < TURNS) {
        control->turns = plugin_digest(control->turns, load(&control->now));
        plugin.turns++;
    }
    plugin.processor = processor;
}

static void on_block(unsigned processor, void *argument)
{
    follow_turns(processor);
    count((uintptr_t)argument, false);
}

static void on_victims_block(unsigned processor, void *argument)
{
    follow_turns(processor);
    count((uintptr_t)argument & BLOCK_COUNT_MASK, true);
    if (plugin.control->follows != 0) {
        plugin.control->blocks =
            plugin_digest(plugin.control->blocks, (uintptr_t)argument >> BLOCK_COUNT_BITS);
    }
}

static void note(uint64_t *first)
{
    if (*first == 0) {
        *first = load(&plugin.control->now);
    }
}

/* Adds a store to the digest: its address, and the bytes that memory has after it. What a store to
 * a device writes is not known. */
static void follow_store(qemu_plugin_meminfo_t access, uint64_t address)
{
    size_t bytes = (size_t)1 << qemu_plugin_mem_size_shift(access);
    const struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(access, address);
    uint64_t physical, words[2] = {0};
    const void *stored;

    if (place == NULL) {
        return;
    }
    physical = qemu_plugin_hwaddr_phys_addr(place);
    follow_stored(physical);
    stored = plugin_memory_at(&plugin.memory, physical, bytes);
    if (!qemu_plugin_hwaddr_is_io(place) && stored != NULL && bytes <= sizeof(words)) {
        memcpy(words, stored, bytes);
        follow_stored(words[0]);
        follow_stored(words[1]);
    }
}

static void on_victims_access(unsigned processor, qemu_plugin_meminfo_t access, uint64_t address,
                              void *argument)
{
    struct control *control = plugin.control;
    uint64_t bytes = UINT64_C(1) << qemu_plugin_mem_size_shift(access);
    struct qemu_plugin_hwaddr *place;
    uint64_t physical;

    (void)processor;
    (void)argument;
    if (control->follows != 0 && qemu_plugin_mem_is_store(access)) {
        follow_store(access, address);
    }
    /* The page offset is compared first, because the translation is slow. */
    if ((address & PAGE_MASK) + bytes <= (control->watched_start & PAGE_MASK) ||
        (address & PAGE_MASK) > ((control->watched_end - 1) & PAGE_MASK)) {
        return;
    }
    place = qemu_plugin_get_hwaddr(access, address);
    if (place == NULL) {
        return;
    }
    physical = qemu_plugin_hwaddr_phys_addr(place);
    if (physical < control->watched_end && physical + bytes > control->watched_start) {
        note(qemu_plugin_mem_is_store(access) ? &control->first_write : &control->first_read);
        if (control->hold_at_access != 0) {
            control->hold_at_access = 0;
            hold();
        }
    }
}

static void on_monitors_store(unsigned processor, qemu_plugin_meminfo_t access, uint64_t address,
                              void *argument)
{
    struct control *control = plugin.control;
    struct qemu_plugin_hwaddr *place;

    (void)processor;
    (void)argument;
    if ((address & PAGE_MASK) != (plugin.terminal & PAGE_MASK)) {
        return;
    }
    place = qemu_plugin_get_hwaddr(access, address);
    if (place != NULL && qemu_plugin_hwaddr_is_io(place) &&
        qemu_plugin_hwaddr_phys_addr(place) == plugin.terminal) {
        control->written[control->characters % CONTROL_CHARACTERS_MAX] = load(&control->now);
        control->characters++;
    }
}

static void on_faulty_instruction(unsigned processor, void *argument)
{
    (void)processor;
    (void)argument;
    note(&plugin.control->first_execution);
}

static void watch_accesses(struct qemu_plugin_tb *block, bool is_victims)
{
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        uint32_t code = 0;

        if (!is_victims) {
            qemu_plugin_register_vcpu_mem_cb(instruction, on_monitors_store, QEMU_PLUGIN_CB_NO_REGS,
                                             QEMU_PLUGIN_MEM_W, NULL);
            continue;
        }
        qemu_plugin_register_vcpu_mem_cb(instruction, on_victims_access, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW, NULL);
        (void)qemu_plugin_insn_data(instruction, &code, sizeof(code));
        /* The page was translated again after the campaign had changed it. */
        if (qemu_plugin_insn_vaddr(instruction) == plugin.control->watched_pc &&
            code == plugin.control->watched_code) {
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_faulty_instruction,
                                                   QEMU_PLUGIN_CB_NO_REGS, NULL);
        }
    }
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    /* 0 if the block is not in memory. */
    uint64_t place = plugin_memory_address(
        &plugin.memory, qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(block, 0)));
    bool is_victims = is_in(&plugin.victim, place);
    uintptr_t argument = qemu_plugin_tb_n_insns(block);

    (void)id;
    if (is_victims) {
        uint64_t end = place - plugin.victim.start + argument * INSTRUCTION_BYTES;

        argument |= end << BLOCK_COUNT_BITS;
    }
    qemu_plugin_register_vcpu_tb_exec_cb(block, is_victims ? on_victims_block : on_block,
                                         QEMU_PLUGIN_CB_NO_REGS, (void *)argument);
    if (is_victims || is_in(&plugin.monitor, place)) {
        watch_accesses(block, is_victims);
    }
}

static struct control *map_control(const char *path)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    void *mapped = MAP_FAILED;

    if (file >= 0) {
        mapped = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        (void)close(file);
    }
    return mapped == MAP_FAILED ? NULL : mapped;
}

static void parse(const char *argument)
{
    static const struct {
        const char *name;
        uint64_t *value;
    } numbers[] = {
        {"base=", &plugin.memory.base},      {"terminal=", &plugin.terminal},
        {"victim=", &plugin.victim.start},   {"bytes=", &plugin.victim.bytes},
        {"monitor=", &plugin.monitor.start}, {"monitor_bytes=", &plugin.monitor.bytes},
    };
    const char *control = plugin_argument(argument, "control=");
    const char *memory = plugin_argument(argument, "memory=");

    if (control != NULL) {
        plugin.control = map_control(control);
    } else if (memory != NULL) {
        plugin.memory.name = strdup(memory);
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const char *value = plugin_argument(argument, numbers[i].name);

        if (value != NULL) {
            *numbers[i].value = strtoull(value, NULL, 0);
        }
    }
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argument_count,
                        char **arguments)
{
    (void)info;
    plugin_parse(argument_count, arguments, parse);
    if (plugin.control == NULL || plugin.memory.name == NULL || plugin.memory.base == 0) {
        (void)fputs("faults: control=PATH, memory=NAME and base=ADDRESS are required\n", stderr);
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
