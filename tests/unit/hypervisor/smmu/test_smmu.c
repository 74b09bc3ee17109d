/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the SMMU driver on a model of its registers, which ends the test if the standard's order is
 * violated. */
#include "gic/setup.h"
#include "smmu/registers.h"
#include "smmu/smmu.h"
#include <arch/device_access.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BASE        UINT64_C(0x09050000)
#define POOL_BYTES  0x100000u
#define INTERRUPT   106u
#define ROOT(index) (UINT64_C(0x7f0000000) + UINT64_C(0x1000) * (index))

static struct {
    uint32_t idr0, idr1, idr5, cr0, cr0ack, cr1, cr2, gbpa, irq, irqack, table_config;
    uint32_t command_prod, command_cons, event_prod, event_cons;
    uint64_t table, commands, events, message;
    uint64_t run[64][2]; /* commands that were run */
    unsigned count;
    bool deaf, stuck; /* deaf: never acknowledges CR0; stuck: never takes a command */
    bool open;        /* does not abort untranslated DMA */
    bool published;
    uint32_t raised; /* how often the event queue's interrupt was made pending */
    bool masked;     /* the event queue's interrupt is disabled */
} fake;

static struct description board;
static struct partition monitors[3];
static uint64_t roots[DESCRIPTION_PARTITIONS_MAX];
static uint8_t *memory;
static struct page_pool pool;
static struct smmu_memory queues;

static uint32_t *register_at(uintptr_t address)
{
    switch (address - BASE) {
    case SMMU_IDR0:
        return &fake.idr0;
    case SMMU_IDR1:
        return &fake.idr1;
    case SMMU_IDR5:
        return &fake.idr5;
    case SMMU_CR0:
        return &fake.cr0;
    case SMMU_CR0ACK:
        return &fake.cr0ack;
    case SMMU_CR1:
        return &fake.cr1;
    case SMMU_CR2:
        return &fake.cr2;
    case SMMU_GBPA:
        return &fake.gbpa;
    case SMMU_IRQ_CTRL:
        return &fake.irq;
    case SMMU_IRQ_CTRLACK:
        return &fake.irqack;
    case SMMU_STRTAB_BASE_CFG:
        return &fake.table_config;
    case SMMU_CMDQ_PROD:
        return &fake.command_prod;
    case SMMU_CMDQ_CONS:
        return &fake.command_cons;
    case SMMU_EVENTQ_PROD:
        return &fake.event_prod;
    case SMMU_EVENTQ_CONS:
        return &fake.event_cons;
    default:
        fail_msg("an unknown register: %#lx", (unsigned long)(address - BASE));
        abort();
    }
}

static uint64_t *wide_register_at(uintptr_t address)
{
    switch (address - BASE) {
    case SMMU_STRTAB_BASE:
        return &fake.table;
    case SMMU_CMDQ_BASE:
        return &fake.commands;
    case SMMU_EVENTQ_BASE:
        return &fake.events;
    case SMMU_EVENTQ_IRQ_CFG0:
        return &fake.message;
    default:
        fail_msg("an unknown register: %#lx", (unsigned long)(address - BASE));
        abort();
    }
}

static void run_commands(void)
{
    const uint64_t *queue = (const uint64_t *)(uintptr_t)(fake.commands & 0xffffffffffff0);
    uint32_t mask = (2u << (fake.commands & 0x1f)) - 1;

    while ((fake.cr0ack & CR0_COMMANDS) != 0 && !fake.stuck &&
           fake.command_cons != fake.command_prod) {
        assert_true(fake.published);
        assert_true(fake.count < 64);
        memcpy(fake.run[fake.count++], &queue[(size_t)(fake.command_cons & mask >> 1) * 2], 16);
        fake.command_cons = (fake.command_cons + 1) & mask;
    }
}

/* IHI 0070, 6.3.9: registers of a part may only change while the part is off. */
static void require_off(uint32_t part)
{
    assert_int_equal(fake.cr0 & part, 0);
    assert_int_equal(fake.cr0ack & part, 0);
}

uint32_t device_read32(uintptr_t address)
{
    return *register_at(address);
}

uint64_t device_read64(uintptr_t address)
{
    return *wide_register_at(address);
}

static void switch_parts(uint32_t value)
{
    if (!fake.deaf) {
        fake.cr0ack = value;
    }
    if ((value & CR0_SMMU) != 0) {
        assert_true(fake.published);
        assert_int_equal(fake.count, 3);
        assert_int_not_equal(value & CR0_CHECK_ATS, 0);
    } else { /* DMA is aborted */
        assert_int_equal(fake.gbpa, GBPA_ABORT);
    }
    run_commands();
}

void device_write32(uintptr_t address, uint32_t value)
{
    uint32_t *target = register_at(address);

    assert_true(target != &fake.idr0 && target != &fake.idr1 && target != &fake.idr5);
    *target = value;
    if (target == &fake.cr0) {
        switch_parts(value);
    } else if (target == &fake.gbpa) {
        assert_int_not_equal(value & GBPA_UPDATE, 0);
        fake.gbpa = fake.open ? 0 : value & ~GBPA_UPDATE;
    } else if (target == &fake.irq) {
        fake.irqack = value;
    } else if (target == &fake.command_prod) {
        run_commands();
    } else if (target == &fake.command_cons) {
        require_off(CR0_COMMANDS);
    } else if (target == &fake.event_prod) {
        require_off(CR0_EVENTS);
    } else if (target != &fake.event_cons) {
        require_off(CR0_SMMU | CR0_COMMANDS | CR0_EVENTS);
    }
}

void device_write64(uintptr_t address, uint64_t value)
{
    uint64_t *target = wide_register_at(address);

    require_off(CR0_SMMU | CR0_COMMANDS | CR0_EVENTS);
    assert_int_equal(fake.irqack, 0);
    *target = value;
}

void device_publish(void)
{
    fake.published = true;
}

void device_observe_memory(void)
{
}

void gic_make_pending(const struct description *system, uint32_t interrupt)
{
    assert_ptr_equal(system, &board);
    assert_int_equal(interrupt, INTERRUPT);
    assert_false(fake.masked);
    fake.raised++;
}

void gic_mask(const struct description *system, uint32_t interrupt)
{
    assert_ptr_equal(system, &board);
    assert_int_equal(interrupt, INTERRUPT);
    fake.masked = true;
}

void gic_unmask(const struct description *system, uint32_t interrupt)
{
    assert_ptr_equal(system, &board);
    assert_int_equal(interrupt, INTERRUPT);
    fake.masked = false;
}

/* Returns the stream's table entry as the hardware finds it, NULL if the stream is aborted without
 * one. */
static const uint64_t *entry_of(uint32_t stream)
{
    uint64_t table = fake.table & 0xfffffffffffc0;
    uint32_t bits = fake.table_config & 0x3f;
    const uint64_t *entry;

    assert_int_equal(fake.table_config >> 6, 0); /* linear */
    assert_int_equal(table & ((UINT64_C(64) << bits) - 1), 0);
    assert_true(table >= (uintptr_t)memory && table + (UINT64_C(64) << bits) <= pool.next);
    if (stream >> bits != 0) {
        return NULL;
    }
    entry = (const uint64_t *)(uintptr_t)(table + UINT64_C(64) * stream);
    assert_int_equal(entry[0] & 1, 1);
    for (unsigned i = 4; i < 8; i++) {
        assert_true(entry[i] == 0);
    }
    return (entry[0] >> 1 & 7) != 0 ? entry : NULL;
}

static const uint64_t *words_of(uint32_t stream)
{
    const uint64_t *table = (const uint64_t *)(uintptr_t)(fake.table & 0xfffffffffffc0);

    return &table[(size_t)stream * 8];
}

static void require_stage2(uint32_t stream, uint32_t partition)
{
    const uint64_t *entry = entry_of(stream);

    assert_non_null(entry);
    assert_true(entry[0] == (1 | 6 << 1));
    assert_true((entry[1] >> 44 & 3) == 1); /* shareability as in the transaction */
    assert_true(entry[3] == ROOT(partition));
    assert_int_equal(entry[2] & 0xffff, partition + 1);   /* VMID */
    assert_int_equal(entry[2] >> 32 & 0x3f, 64 - 39);     /* T0SZ */
    assert_int_equal(entry[2] >> 38 & 3, 1);              /* SL0: level 1 */
    assert_int_equal(entry[2] >> 40 & 0x3f, 3 << 4 | 5);  /* SH, ORGN, IRGN */
    assert_int_equal(entry[2] >> 46 & 3, 0);              /* 4 KiB */
    assert_int_equal(entry[2] >> 48 & 7, fake.idr5 & 7);  /* PS */
    assert_int_equal(entry[2] >> 51, 1 | 1 << (58 - 51)); /* AArch64, faults recorded, no stall */
}

static int prepare(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    memset(&board, 0, sizeof(board));
    fake.idr0 = 0x0d04101b | 1u << 0 | 1 << 24; /* QEMU's value, with stage 2 */
    fake.idr1 = 19u << 21 | 19u << 16 | 16u;
    fake.idr5 = 0x74;
    fake.cr0 = fake.cr0ack = CR0_SMMU | CR0_EVENTS | CR0_COMMANDS; /* used by firmware */
    fake.irq = fake.irqack = IRQ_CTRL_EVENTS;
    fake.message = 0x1234;
    board.board.smmu = BASE;
    board.board.smmu_interrupt = INTERRUPT;
    board.partition_count = 3;
    for (unsigned i = 0; i < 3; i++) {
        roots[i] = ROOT(i);
        board.partitions[i].dma = i; /* none, SMMU, trusted */
        board.partitions[i].function_count = 2;
        board.partitions[i].functions[0].address = (uint16_t)(0x08 + i);
        board.partitions[i].functions[1].address = (uint16_t)(0x120 + i);
    }
    memory = aligned_alloc(POOL_BYTES, POOL_BYTES);
    assert_non_null(memory);
    memset(memory, 0x5a, POOL_BYTES);
    queues =
        (struct smmu_memory){.events = (uintptr_t)memory, .commands = (uintptr_t)memory + 0x1000};
    memset(memory, 0, 0x2000);
    pool = (struct page_pool){.next = (uintptr_t)memory + 0x3000,
                              .end = (uintptr_t)memory + POOL_BYTES};
    return 0;
}

static int finish(void **state)
{
    (void)state;
    free(memory);
    return 0;
}

static const char *boot(void)
{
    return smmu_boot(&board, &pool, roots, &queues);
}

/* Boots, and sets up a monitor for each partition. */
static void boot_partitions(void)
{
    assert_null(boot());
    for (uint32_t i = 0; i < 3; i++) {
        bool has_streams = board.partitions[i].dma != DESCRIPTION_DMA_NONE;

        monitors[i] =
            (struct partition){.constant = {.system = &board,
                                            .described = &board.partitions[i],
                                            .index = i,
                                            .smmu = {.commands = has_streams ? queues.commands : 0,
                                                     .streams = has_streams ? queues.streams : 0}}};
    }
    fake.count = 0;
    fake.published = false;
}

typedef enum step_outcome dma_change(const struct partition *, struct smmu_change *);

/* Asks until the SMMU is done. */
static bool is_done(dma_change *change_dma, const struct partition *partition)
{
    struct smmu_change change = {0};
    enum step_outcome outcome = STEP_PENDING;

    for (unsigned i = 0; i < 10 && outcome == STEP_PENDING; i++) {
        outcome = change_dma(partition, &change);
    }
    smmu_end_change(partition, &change);
    return outcome == STEP_DONE;
}

static bool block(const struct partition *partition)
{
    return is_done(smmu_block_dma, partition);
}

static bool permit(const struct partition *partition)
{
    return is_done(smmu_permit_dma, partition);
}

static void test_streams(void **state)
{
    (void)state;
    boot_partitions();
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(permit(&monitors[i]));
    }
    assert_int_equal(fake.cr0 & 0xf, CR0_SMMU | CR0_EVENTS | CR0_COMMANDS);
    assert_int_equal(fake.irq, IRQ_CTRL_EVENTS);
    assert_true(fake.message == 0);
    for (uint32_t stream = 0; stream < 0x10000; stream++) {
        if (stream == 0x09 || stream == 0x121) {
            require_stage2(stream, 1);
        } else if (stream == 0x0a || stream == 0x122) { /* trusted: bypass */
            assert_non_null(entry_of(stream));
            assert_true(entry_of(stream)[0] == (1 | 4 << 1));
            assert_true((entry_of(stream)[1] >> 44 & 3) == 1);
        } else {
            assert_null(entry_of(stream));
        }
    }
    assert_true(queues.streams == (fake.table & 0xfffffffffffc0));
    assert_true(queues.stream_bytes == UINT64_C(64) << (fake.table_config & 0x3f));
    assert_true(pool.next <= (uintptr_t)memory + 0x3000 + 0x10000);
}

/* Before the first partition starts, every stream is aborted and no old entry is cached. */
static void test_boot_aborts_all(void **state)
{
    (void)state;
    assert_null(boot());
    for (uint32_t stream = 0; stream < 0x10000; stream++) {
        assert_null(entry_of(stream));
    }
    assert_int_equal(fake.count, 3);
    assert_true(fake.run[0][0] == 0x04 && fake.run[0][1] == 31);
    assert_true(fake.run[1][0] == 0x30 && fake.run[2][0] == 0x46);
}

/* IHI 0070, 4.3.1, 4.4.3, 4.7.3: invalidates each entry and the translations of the VMID, then
 * waits for the end. */
static void require_commands(const uint32_t streams[2], uint32_t vmid)
{
    assert_int_equal(fake.count, 4);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(fake.run[i][0] == (0x03 | (uint64_t)streams[i] << 32));
        assert_true(fake.run[i][1] == 1);
    }
    assert_true(fake.run[2][0] == (0x28 | (uint64_t)vmid << 32) && fake.run[2][1] == 0);
    assert_true(fake.run[3][0] == 0x46 && fake.run[3][1] == 0);
    fake.count = 0;
    fake.published = false;
}

/* Repeated until the queue's indices wrap. */
static void test_partition_stops_and_starts(void **state)
{
    static const uint32_t confined[] = {0x09, 0x121}, trusted[] = {0x0a, 0x122};

    (void)state;
    boot_partitions();
    for (unsigned i = 0; i < 100; i++) {
        assert_true(permit(&monitors[1]));
        require_stage2(0x09, 1);
        require_commands(confined, 2);
        assert_true(permit(&monitors[2]));
        require_commands(trusted, 3);
        assert_true(block(&monitors[1]));
        require_commands(confined, 2);
        assert_null(entry_of(0x09));
        assert_null(entry_of(0x121));
        assert_true(entry_of(0x0a)[0] == (1 | 4 << 1)); /* the other partition's entry stays */
        assert_true(block(&monitors[2]));
        require_commands(trusted, 3);
        assert_null(entry_of(0x0a));
        assert_true(words_of(0x09)[3] == ROOT(1));
    }
    assert_true(block(&monitors[0]) && permit(&monitors[0])); /* no DMA */
    assert_int_equal(fake.count, 0);
}

/* The partition is not started, and a later command fails too. */
static void test_unresponsive_smmu(void **state)
{
    (void)state;
    boot_partitions();
    fake.stuck = true;
    assert_false(block(&monitors[1]));
    fake.stuck = false;
    assert_false(permit(&monitors[1]));
    assert_int_equal(fake.count, 0);
    fake.command_cons = fake.command_prod | 1u << 24; /* CMDQ_CONS.ERR */
    assert_false(block(&monitors[2]));
}

/* A change waits while the SMMU executes the commands of another partition, and no call waits. */
static void test_changes_of_two_partitions(void **state)
{
    static const uint32_t confined[] = {0x09, 0x121}, trusted[] = {0x0a, 0x122};
    struct smmu_change first = {0}, second = {0};

    (void)state;
    boot_partitions();
    fake.stuck = true;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(smmu_permit_dma(&monitors[1], &first), STEP_PENDING);
        assert_int_equal(smmu_permit_dma(&monitors[2], &second), STEP_PENDING);
    }
    assert_null(entry_of(0x0a)); /* not changed yet */
    fake.stuck = false;
    run_commands();
    require_commands(confined, 2);
    assert_int_equal(smmu_permit_dma(&monitors[2], &second), STEP_PENDING);
    assert_int_equal(smmu_permit_dma(&monitors[1], &first), STEP_DONE);
    assert_int_equal(smmu_permit_dma(&monitors[2], &second), STEP_DONE);
    require_commands(trusted, 3);

    /* A partition that gives up lets others use the queue, as soon as the SMMU answers again. */
    fake.stuck = true;
    assert_int_equal(smmu_block_dma(&monitors[1], &first), STEP_PENDING);
    smmu_end_change(&monitors[2], &second); /* not its own change */
    assert_int_equal(smmu_block_dma(&monitors[2], &second), STEP_PENDING);
    smmu_end_change(&monitors[1], &first);
    assert_int_equal(smmu_block_dma(&monitors[2], &second), STEP_FAILED);
    smmu_end_change(&monitors[2], &second);
    fake.stuck = false;
    run_commands();
    assert_true(block(&monitors[2]));
}

static void test_without_an_smmu(void **state)
{
    (void)state;
    boot_partitions();
    board.board.smmu = 0;
    for (unsigned i = 0; i < 3; i++) {
        assert_true(block(&monitors[i]) && permit(&monitors[i]));
    }
    assert_int_equal(fake.count, 0);
}

static void test_no_partition_has_dma(void **state)
{
    (void)state;
    board.partitions[1].dma = board.partitions[2].dma = DESCRIPTION_DMA_NONE;
    boot_partitions();
    assert_true(permit(&monitors[1]) && permit(&monitors[2]));
    for (uint32_t stream = 0; stream < 0x200; stream++) {
        assert_null(entry_of(stream));
    }
}

static void test_only_described_streams(void **state)
{
    (void)state;
    board.partitions[1].function_count = 1;
    fake.idr5 = 0x76; /* 52 bits: more than the tables support */
    boot_partitions();
    assert_true(permit(&monitors[1]));
    assert_null(entry_of(0x121));
    assert_int_equal(entry_of(0x09)[2] >> 48 & 7, 5);
    /* This description has no SMMU. */
    assert_null(smmu_boot(&(struct description){0}, &pool, roots, &queues));
}

static void test_unsuitable_hardware(void **state)
{
    uint32_t idr0 = fake.idr0, idr1 = fake.idr1, idr5 = fake.idr5;

    (void)state;
    fake.idr0 = 0;
    assert_string_equal(boot(), "no SMMUv3 answers");
    fake.idr0 = UINT32_MAX;
    assert_string_equal(boot(), "no SMMUv3 answers");
    fake.idr0 = idr0 & ~(1u << 0);
    assert_string_equal(boot(), "the SMMU lacks stage 2, 4 KiB pages or coherent accesses");
    fake.idr0 = idr0 & ~(1u << 3);
    assert_string_equal(boot(), "the SMMU lacks stage 2, 4 KiB pages or coherent accesses");
    fake.idr0 = idr0;
    fake.idr5 = idr5 & ~IDR5_4KIB;
    assert_string_equal(boot(), "the SMMU lacks stage 2, 4 KiB pages or coherent accesses");
    fake.idr5 = idr5;
    fake.idr0 = idr0 & ~(1u << 4);
    assert_string_equal(boot(), "the SMMU lacks stage 2, 4 KiB pages or coherent accesses");
    fake.idr0 = (idr0 & ~(3u << 24)) | 2u << 24;
    assert_string_equal(boot(), "the SMMU stalls all faults, or its queues are fixed or too short");
    fake.idr0 = idr0;
    fake.idr1 = idr1 | 1u << 29;
    assert_string_equal(boot(), "the SMMU stalls all faults, or its queues are fixed or too short");
    fake.idr1 = 3u << 21 | 19u << 16 | 16u;
    assert_string_equal(boot(), "the SMMU stalls all faults, or its queues are fixed or too short");
    fake.idr1 = 19u << 21 | 6u << 16 | 16u;
    assert_string_equal(boot(), "the SMMU stalls all faults, or its queues are fixed or too short");
    assert_int_equal(fake.cr0ack, CR0_SMMU | CR0_EVENTS | CR0_COMMANDS); /* unchanged so far */
    fake.idr1 = 19u << 21 | 19u << 16 | 8u;
    assert_string_equal(boot(), "a PCI function has a stream beyond the SMMU's limit");
}

static void test_no_answer(void **state)
{
    (void)state;
    fake.deaf = true;
    assert_string_equal(boot(), "the SMMU does not stop");
    fake.deaf = false;
    fake.open = true;
    assert_string_equal(boot(), "the SMMU does not stop");
    fake.open = false;
    fake.stuck = true;
    assert_string_equal(boot(), "the SMMU does not start");
    assert_int_equal(fake.cr0 & CR0_SMMU, 0);
    assert_int_equal(fake.gbpa, GBPA_ABORT);
}

static void test_no_memory(void **state)
{
    (void)state;
    pool.end = pool.next + 0x1000;
    assert_string_equal(boot(), "no memory for the SMMU's stream table");
}

static void add_event(const uint64_t record[4])
{
    uint32_t count = 1u << (fake.events & 0x1f);
    uint64_t *queue = (uint64_t *)(uintptr_t)(fake.events & 0xffffffffffff0);

    memcpy(&queue[(size_t)(fake.event_prod % count) * 4], record, 32);
    fake.event_prod = (fake.event_prod & 0x80000000) | (fake.event_prod + 1) % (2 * count);
}

/* Sets up two partitions behind the SMMU, 1 and 2, with a monitor each. */
static void prepare_events(void)
{
    board.partitions[2].dma = DESCRIPTION_DMA_SMMU;
    assert_null(boot());
    for (uint32_t i = 0; i < 3; i++) {
        monitors[i] = (struct partition){.constant = {.system = &board,
                                                      .described = &board.partitions[i],
                                                      .index = i,
                                                      .smmu.events = i == 0 ? 0 : queues.events}};
        board.partitions[i].vcpus[0].core = 5 - i;
    }
}

/* Any monitor that has access to the queue removes events, whoever caused them. */
static void test_events(void **state)
{
    struct smmu_event event;

    (void)state;
    prepare_events();
    assert_true(queues.events == (fake.events & 0xffffffffff000));
    assert_true(UINT64_C(32) << (fake.events & 0x1f) == 4096);
    assert_false(smmu_event(&monitors[1], &event));
    assert_int_equal(fake.raised, 0);
    for (uint64_t i = 0; i < 1000; i++) { /* wraps the queue */
        uint64_t stream = i % 3 == 0 ? 0x122 : 0x09;

        add_event((uint64_t[]){0x10 | stream << 32, (i & 1) << 35, 0x123456789000 + i, 0});
        assert_false(smmu_event(&monitors[0], &event)); /* has no access to the queue */
        assert_true(smmu_event(&monitors[1 + i % 2], &event));
        assert_int_equal(event.stream, stream);
        assert_int_equal(event.partition, i % 3 == 0 ? 2 : 1);
        assert_int_equal(event.type, 0x10);
        assert_int_equal(event.read, i & 1);
        assert_true(event.address == UINT64_C(0x123456789000) + i);
        assert_int_equal(fake.event_cons, fake.event_prod);
        assert_int_equal(fake.raised, 0); /* there are no more events */
        assert_false(smmu_event(&monitors[1], &event));
    }
}

static void test_events_of_several_partitions(void **state)
{
    struct smmu_event event;

    (void)state;
    prepare_events();
    add_event((uint64_t[]){0x13 | UINT64_C(0x122) << 32, 0, 0x1000, 0});
    add_event((uint64_t[]){0x10 | UINT64_C(0x09) << 32, 0, 0x2000, 0});
    assert_true(smmu_event(&monitors[1], &event));
    assert_int_equal(event.partition, 2);
    assert_int_equal(event.type, 0x13);
    assert_true(smmu_event(&monitors[1], &event));
    assert_int_equal(event.partition, 1);
    assert_int_equal(event.type, 0x10);
    assert_int_equal(fake.raised, 0);
    assert_false(smmu_event(&monitors[1], &event));
}

/* While the interrupt is disabled, events wait in the queue. Then it is pending if they do. */
static void test_paused_events(void **state)
{
    struct smmu_event event;

    (void)state;
    prepare_events();
    assert_int_equal(smmu_paused_since(), 0);
    smmu_resume_events(&monitors[1]);
    assert_int_equal(fake.raised, 0);
    smmu_pause_events(&monitors[1], 0);
    assert_true(fake.masked);
    assert_int_equal(smmu_paused_since(), 1);
    smmu_pause_events(&monitors[1], 4000);
    assert_int_equal(smmu_paused_since(), 4001);
    smmu_resume_events(&monitors[2]);
    assert_int_equal(smmu_paused_since(), 0);
    assert_false(fake.masked);
    assert_int_equal(fake.raised, 0);
    add_event((uint64_t[]){0x10 | UINT64_C(0x09) << 32, 0, 0x2000, 0});
    smmu_pause_events(&monitors[1], 5000);
    smmu_resume_events(&monitors[2]);
    assert_int_equal(fake.raised, 1);
    smmu_resume_events(&monitors[2]); /* is not paused */
    assert_int_equal(fake.raised, 1);
    assert_true(smmu_event(&monitors[1], &event));
    smmu_pause_events(&monitors[1], 6000);
    smmu_resume_events(&monitors[0]); /* has no access to the queue */
    assert_int_equal(fake.raised, 2);
}

/* Events of a function of partition 0, which has no DMA through the SMMU, and of a stream that is
 * not described. */
static void test_events_without_a_partition(void **state)
{
    struct smmu_event event;

    (void)state;
    prepare_events();
    add_event((uint64_t[]){0x02 | UINT64_C(0x08) << 32, 0, 0, 0});
    add_event((uint64_t[]){0x02 | UINT64_C(0xffffffff) << 32, 0, 0, 0});
    add_event((uint64_t[]){0x10 | UINT64_C(0x0a) << 32, 0, 0x3000, 0});
    for (unsigned times = 1; times < 3; times++) {
        assert_true(smmu_event(&monitors[2], &event));
        assert_int_equal(event.partition, DESCRIPTION_NO_PARTITION);
        assert_int_equal(fake.event_cons, times);
    }
    assert_true(smmu_event(&monitors[1], &event));
    assert_int_equal(event.stream, 0x0a);
    assert_int_equal(event.partition, 2);
}

static void test_events_overflow(void **state)
{
    struct smmu_event event;
    uint32_t size, count = 0;

    (void)state;
    prepare_events();
    size = 1u << (fake.events & 0x1f);
    for (uint32_t i = 0; i < size; i++) {
        add_event((uint64_t[]){0x10 | UINT64_C(0x09) << 32, 0, 0x1000, 0});
    }
    fake.event_prod |= 0x80000000;
    while (count <= size && smmu_event(&monitors[1], &event)) {
        assert_int_equal(event.stream, 0x09);
        count++;
    }
    assert_int_equal(count, size);
    assert_int_equal(fake.event_cons, fake.event_prod); /* the overflow is acknowledged */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_streams, prepare, finish),
        cmocka_unit_test_setup_teardown(test_boot_aborts_all, prepare, finish),
        cmocka_unit_test_setup_teardown(test_partition_stops_and_starts, prepare, finish),
        cmocka_unit_test_setup_teardown(test_unresponsive_smmu, prepare, finish),
        cmocka_unit_test_setup_teardown(test_changes_of_two_partitions, prepare, finish),
        cmocka_unit_test_setup_teardown(test_without_an_smmu, prepare, finish),
        cmocka_unit_test_setup_teardown(test_no_partition_has_dma, prepare, finish),
        cmocka_unit_test_setup_teardown(test_only_described_streams, prepare, finish),
        cmocka_unit_test_setup_teardown(test_unsuitable_hardware, prepare, finish),
        cmocka_unit_test_setup_teardown(test_no_answer, prepare, finish),
        cmocka_unit_test_setup_teardown(test_no_memory, prepare, finish),
        cmocka_unit_test_setup_teardown(test_events, prepare, finish),
        cmocka_unit_test_setup_teardown(test_events_of_several_partitions, prepare, finish),
        cmocka_unit_test_setup_teardown(test_paused_events, prepare, finish),
        cmocka_unit_test_setup_teardown(test_events_without_a_partition, prepare, finish),
        cmocka_unit_test_setup_teardown(test_events_overflow, prepare, finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
