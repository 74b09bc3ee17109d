/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin for QEMU that makes the accesses of the machine's processors in a model of its memory
 * system (memory_model.h), and writes the counts to a file at the end of the counted instructions,
 * or of the machine. options.h has the arguments.
 *
 * Under -icount QEMU executes all processors in one thread, always in the same order. So the model
 * needs no lock, and a run gives the same counts as the run before. Without -icount neither holds.
 *
 * A fetch is an access for each line of code, at the first instruction that executes in it, and
 * after each branch that is taken. QEMU does not tell the accesses of DMA, and those by DC ZVA; the
 * latter are made here.
 */
#include "instructions.h"
#include "memory_model.h"
#include "options.h"
#include "plugin_argument.h"
#include "plugin_memory.h"
#include "processors.h"
#include "qemu_plugin.h"
#include "registers.h"
#include "results.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTRUCTION_BYTES 4u
#define PATH_BYTES_MAX    4096u

/* Instructions of a block that are in one line. */
struct fetch {
    struct fetch *next;
    uint64_t virtual_address; /* of the first, when QEMU translated the block */
    uint64_t physical;
    uint32_t instructions;
    bool begins_block; /* and so may follow an exception, or a return from one */
};

struct processor {
    struct translation_registers registers;
    bool is_known; /* the registers have not changed since they were read */
    /* The virtual address at which a block executes, minus that at which QEMU translated it. QEMU
     * finds blocks by their physical address, so code that is mapped twice is translated once. */
    uint64_t displacement;
    uint64_t next; /* virtual address behind the instruction that was executed last */
};

static struct {
    struct options options;
    struct memory_model model;
    struct plugin_memory memory;
    struct processor processors[PROCESSORS_MAX]; /* by this_processor() */
    struct fetch *fetches;                       /* of all blocks that QEMU has translated */
    uint64_t instructions;                       /* that have been executed */
    uint64_t begun;  /* value of `instructions` at which the counts begin */
    uint32_t victim; /* index of its owner; OWNERS_MAX: none */
    bool is_written; /* the results */
} plugin;

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static bool read_memory(void *context, uint64_t address, uint64_t *descriptor)
{
    const void *place = plugin_memory_at(&plugin.memory, address, sizeof(*descriptor));

    (void)context;
    if (place == NULL) {
        return false;
    }
    memcpy(descriptor, place, sizeof(*descriptor));
    return true;
}

static bool is_memory(uint64_t physical)
{
    return plugin_memory_at(&plugin.memory, physical, 1) != NULL;
}

/* Writes the results to another file, which is renamed: a reader finds all of them, or none. */
static void write_results(bool is_whole)
{
    const struct run run = {
        .instructions = plugin.instructions < plugin.begun ? 0 : plugin.instructions - plugin.begun,
        .is_whole = is_whole,
    };
    char path[PATH_BYTES_MAX];
    FILE *file;

    plugin.is_written = true;
    (void)snprintf(path, sizeof(path), "%s.part", plugin.options.results);
    file = fopen(path, "we");
    if (file == NULL) {
        perror("memory model");
        return;
    }
    results_write(file, &plugin.model, &run);
    if (ferror(file) != 0 || fclose(file) != 0 || rename(path, plugin.options.results) != 0) {
        perror("memory model");
    }
}

static void count_instructions(uint32_t instructions)
{
    const struct options *options = &plugin.options;
    uint64_t before = plugin.instructions;

    plugin.instructions += instructions;
    if (before < options->skipped && plugin.instructions >= options->skipped) {
        memory_model_reset_counts(&plugin.model);
    }
    if (plugin.instructions >= plugin.begun &&
        plugin.instructions - plugin.begun >= options->counted) {
        /* A victim ends the counts itself. */
        write_results(plugin.victim == OWNERS_MAX);
    }
}

/* Returns true if an instruction of the victim's memory executes. `argument` is its owner. */
static bool is_victims(const void *argument)
{
    return !plugin.is_written && (uintptr_t)argument == plugin.victim;
}

static void on_begin(unsigned translator, void *argument)
{
    (void)translator;
    if (is_victims(argument)) {
        memory_model_reset_counts(&plugin.model);
        hierarchy_begin_stream(&plugin.model.hierarchy, (uint8_t)plugin.victim);
        plugin.begun = plugin.instructions;
    }
}

static void on_end(unsigned translator, void *argument)
{
    (void)translator;
    if (is_victims(argument)) {
        write_results(true);
    }
}

/* Returns the number of the executing processor. QEMU's number may be another one's. */
static uint32_t this_processor(void)
{
    uint32_t number = processors_executing();

    if (number >= plugin.options.geometry.caches.processors) {
        (void)fputs("memory model: QEMU has more processors than the argument says\n", stderr);
        exit(EXIT_FAILURE);
    }
    return number;
}

static void begin_block(struct processor *processor, const struct fetch *fetch)
{
    uint32_t level = registers_exception_level();

    processor->displacement = registers_block_address() - fetch->virtual_address;
    if (!processor->is_known || level != processor->registers.exception_level) {
        registers_read(&processor->registers);
        processor->registers.exception_level = level;
        processor->is_known = true;
    }
}

/* Returns true if the address is in the line of the instruction before, and follows it. QEMU ends
 * a block after any number of instructions if time is due, so the end of a block is no access. */
static bool continues_line(const struct processor *processor, uint64_t address)
{
    return address == processor->next &&
           address % plugin.options.geometry.caches.shared.line_bytes != 0;
}

static void end_fetch(struct processor *processor, const struct fetch *fetch)
{
    processor->next = fetch->virtual_address + processor->displacement +
                      (uint64_t)fetch->instructions * INSTRUCTION_BYTES;
    count_instructions(fetch->instructions);
}

static void on_fetch(unsigned translator, void *argument)
{
    const struct fetch *fetch = argument;
    const uint32_t number = this_processor();
    struct processor *processor = &plugin.processors[number];
    struct memory_access access = {
        .processor = number, .kind = ACCESS_FETCH, .bytes = INSTRUCTION_BYTES};
    uint64_t physical;

    (void)translator;
    if (plugin.is_written) {
        return;
    }
    if (fetch->begins_block) {
        begin_block(processor, fetch);
    }
    access.virtual_address = fetch->virtual_address + processor->displacement;
    if (continues_line(processor, access.virtual_address)) {
        end_fetch(processor, fetch);
        return;
    }
    if (memory_model_translate(&plugin.model, &processor->registers, &access, &physical)) {
        memory_model_compare(&plugin.model, physical, fetch->physical);
    }
    memory_model_access(&plugin.model, &access, fetch->physical);
    end_fetch(processor, fetch);
}

/* Makes a load or store if it is to memory. QEMU is asked for its address only then: it fails to
 * tell that of a device access which has changed the machine's address map. */
static void on_access(unsigned translator, qemu_plugin_meminfo_t access, uint64_t address,
                      void *argument)
{
    const uint32_t number = this_processor();
    const struct memory_access made = {
        .processor = number,
        .kind = qemu_plugin_mem_is_store(access) ? ACCESS_WRITE : ACCESS_READ,
        .virtual_address = address,
        .bytes = UINT64_C(1) << qemu_plugin_mem_size_shift(access),
    };
    const struct qemu_plugin_hwaddr *place;
    uint64_t physical;

    (void)translator;
    (void)argument;
    if (plugin.is_written ||
        !memory_model_translate(&plugin.model, &plugin.processors[number].registers, &made,
                                &physical) ||
        !is_memory(physical)) {
        return;
    }
    place = qemu_plugin_get_hwaddr(access, address);
    if (place != NULL && !qemu_plugin_hwaddr_is_io(place)) {
        memory_model_compare(&plugin.model, physical, qemu_plugin_hwaddr_phys_addr(place));
    }
    memory_model_access(&plugin.model, &made, physical);
}

static void on_translation_register(unsigned translator, void *argument)
{
    (void)translator;
    (void)argument;
    plugin.processors[this_processor()].is_known = false;
}

static void on_tlbi(unsigned translator, void *argument)
{
    (void)translator;
    (void)argument;
    memory_model_clear_translations(&plugin.model, this_processor());
}

static void on_tlbi_all(unsigned translator, void *argument)
{
    (void)translator;
    (void)argument;
    for (uint32_t i = 0; i < plugin.options.geometry.caches.processors; i++) {
        memory_model_clear_translations(&plugin.model, i);
    }
}

static void on_tlbi_vmid(unsigned translator, void *argument)
{
    uint32_t number = this_processor();

    (void)translator;
    (void)argument;
    memory_model_clear_vmid(&plugin.model, number, &plugin.processors[number].registers);
}

static void on_tlbi_vmid_all(unsigned translator, void *argument)
{
    const struct processor *issuer = &plugin.processors[this_processor()];

    (void)translator;
    (void)argument;
    for (uint32_t i = 0; i < plugin.options.geometry.caches.processors; i++) {
        memory_model_clear_vmid(&plugin.model, i, &issuer->registers);
    }
}

/* `argument` is the number of the general register with the address. */
static void on_zero(unsigned translator, void *argument)
{
    const uint32_t number = this_processor();
    uint64_t address = registers_general((uint32_t)(uintptr_t)argument);
    const struct memory_access access = {.processor = number,
                                         .kind = ACCESS_WRITE,
                                         .virtual_address = address & ~(uint64_t)(ZEROED_BYTES - 1),
                                         .bytes = ZEROED_BYTES};
    uint64_t physical;

    (void)translator;
    if (!plugin.is_written &&
        memory_model_translate(&plugin.model, &plugin.processors[number].registers, &access,
                               &physical) &&
        is_memory(physical)) {
        memory_model_access(&plugin.model, &access, physical);
    }
}

static uint8_t owner_of(const struct qemu_plugin_insn *instruction)
{
    return owners_find(&plugin.model.owners,
                       plugin_memory_address(&plugin.memory, qemu_plugin_insn_haddr(instruction)));
}

static void watch_system_instruction(struct qemu_plugin_insn *instruction)
{
    static const qemu_plugin_execute_callback callbacks[] = {
        [INSTRUCTION_TRANSLATION_REGISTER] = on_translation_register,
        [INSTRUCTION_TLBI] = on_tlbi,
        [INSTRUCTION_TLBI_ALL] = on_tlbi_all,
        [INSTRUCTION_TLBI_VMID] = on_tlbi_vmid,
        [INSTRUCTION_TLBI_VMID_ALL] = on_tlbi_vmid_all,
        [INSTRUCTION_ZERO] = on_zero,
        [INSTRUCTION_BEGIN] = on_begin,
        [INSTRUCTION_END] = on_end,
    };
    uint32_t code = 0;
    enum system_instruction kind;
    uintptr_t argument;

    (void)qemu_plugin_insn_data(instruction, &code, sizeof(code));
    kind = instruction_kind(code);
    if (kind == INSTRUCTION_OTHER) {
        return;
    }
    argument = kind == INSTRUCTION_BEGIN || kind == INSTRUCTION_END ? owner_of(instruction)
                                                                    : instruction_register(code);
    qemu_plugin_register_vcpu_insn_exec_cb(instruction, callbacks[kind], QEMU_PLUGIN_CB_R_REGS,
                                           (void *)argument);
}

/* Returns a fetch that begins with this instruction, NULL if the code is not in memory. */
static struct fetch *add_fetch(struct qemu_plugin_insn *instruction, bool begins_block)
{
    uint64_t physical = plugin_memory_address(&plugin.memory, qemu_plugin_insn_haddr(instruction));
    struct fetch *fetch = physical == 0 ? NULL : malloc(sizeof(*fetch));

    if (fetch == NULL) {
        return NULL;
    }
    *fetch = (struct fetch){.next = plugin.fetches,
                            .virtual_address = qemu_plugin_insn_vaddr(instruction),
                            .physical = physical,
                            .begins_block = begins_block};
    plugin.fetches = fetch;
    qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_fetch, QEMU_PLUGIN_CB_R_REGS, fetch);
    return fetch;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    uint32_t line_bytes = plugin.options.geometry.caches.shared.line_bytes;
    struct fetch *fetch = NULL;

    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);

        if (i == 0 || qemu_plugin_insn_vaddr(instruction) % line_bytes == 0) {
            fetch = add_fetch(instruction, i == 0);
        }
        if (fetch != NULL) {
            fetch->instructions++;
        }
        qemu_plugin_register_vcpu_mem_cb(instruction, on_access, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW, NULL);
        watch_system_instruction(instruction);
    }
}

/* QEMU discards all blocks, and with them what their callbacks get. */
static void on_flush(qemu_plugin_id_t id)
{
    (void)id;
    while (plugin.fetches != NULL) {
        struct fetch *next = plugin.fetches->next;

        free(plugin.fetches);
        plugin.fetches = next;
    }
}

static void on_exit_of_machine(qemu_plugin_id_t id, void *argument)
{
    (void)id;
    (void)argument;
    if (!plugin.is_written) {
        write_results(false);
    }
}

static void on_start_of_processor(qemu_plugin_id_t id, unsigned number)
{
    (void)id;
    (void)number;
    if (!processors_find() || !registers_find()) {
        (void)fputs("memory model: this QEMU does not tell the executing processor, or has other "
                    "registers\n",
                    stderr);
        exit(EXIT_FAILURE);
    }
}

/* Returns what is wrong, or NULL. */
static const char *parse_arguments(int count, char **arguments)
{
    for (int i = 0; i < count; i++) {
        const char *error = options_parse(&plugin.options, arguments[i]);

        if (error != NULL) {
            return error;
        }
    }
    return options_check(&plugin.options);
}

static const char *read_owners(void)
{
    FILE *file = fopen(plugin.options.owners, "re");
    const char *error;

    if (file == NULL) {
        return "the file of owners can't be opened";
    }
    error = owners_read(&plugin.model.owners, file);
    (void)fclose(file);
    plugin.victim = OWNERS_MAX;
    if (error == NULL && plugin.options.victim != NULL) {
        plugin.victim = owners_named(&plugin.model.owners, plugin.options.victim);
        error = plugin.victim == OWNERS_MAX ? "no owner has the victim's name" : NULL;
    }
    return error;
}

static const char *make_model(void)
{
    const struct table_memory memory = {.read = read_memory};

    if (!memory_model_create(&plugin.model, &plugin.options.geometry, &memory,
                             plugin.options.seed)) {
        return "there is not enough memory";
    }
    plugin.model.hierarchy.stream = plugin.options.stream;
    plugin.begun = plugin.options.skipped;
    plugin.memory.name = plugin.options.memory;
    plugin.memory.base = plugin.options.base;
    return NULL;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argument_count,
                        char **arguments)
{
    const char *error = parse_arguments(argument_count, arguments);

    (void)info;
    error = error == NULL ? read_owners() : error;
    error = error == NULL ? make_model() : error;
    if (error != NULL) {
        (void)fprintf(stderr, "memory model: %s\n", error);
        return -1;
    }
    qemu_plugin_register_vcpu_init_cb(id, on_start_of_processor);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_flush_cb(id, on_flush);
    qemu_plugin_register_atexit_cb(id, on_exit_of_machine, NULL);
    return 0;
}
