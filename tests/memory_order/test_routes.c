/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Explores the routes of the hypervisor's own SPIs (hypervisor/gic/own_routes.c) while cores halt
 * (hypervisor/entry/watch.c) and others route SPIs to them. The last core waits.
 * At the end of each execution:
 *   - No SPI is routed to a core that has halted, if another core has access to the device.
 *   - An SPI that was active on a core that has halted is pending and not active.
 *   - Each core that has halted has ended the pauses of the interrupts, and has repeated the calls.
 */
#include "entry/watch.h"
#include "orders.h"
#include "smmu/smmu.h"
#include <arch/device_access.h>
#include <console/input_flow.h>
#include <console/terminal.h>
#include <devices/gic_registers.h>
#include <gic/setup.h>
#include <partition/recall.h>
#include <partition/refused_dma.h>
#include <scheduler/scheduler.h>
#include <string.h>
#include <watchdog/watchdog.h>

/* With its state. NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "gic/own_routes.c"

#define ORDERS         0u
#define EXECUTIONS_MAX 4000000u

#define DISTRIBUTOR 0x8000000u
#define UART        33u /* INTIDs of one word */
#define SMMU        34u
#define CORES       3u
#define A_SECOND    100u

static struct description description;
static struct partition partitions[CORES];
static struct vcpu vcpus[CORES];
static struct processor processors[CORES];

/* The GIC. Every access is to the newest value, because the accesses of all cores to a register
 * have one order. */
static uint64_t routes[SMMU + 1];
static uint32_t pending; /* GICD_ISPENDR1 */
static uint32_t active;  /* GICD_ISACTIVER1 */

static uint32_t halted;            /* bit i: core i halts in the program */
static unsigned resumed, repeated; /* numbers of ended pauses and of repeated calls */
static unsigned running;           /* number of threads */

static uint32_t bit_of(uint32_t interrupt)
{
    return UINT32_C(1) << interrupt % 32;
}

static uint64_t affinity_of(uint32_t core)
{
    return core + 1;
}

uint64_t fake_register(const char *name)
{
    return strcmp(name, "cntpct_el0") == 0 ? 10 * A_SECOND : A_SECOND;
}

static uint64_t *route_at(uintptr_t address)
{
    return &routes[(address - DISTRIBUTOR - GICD_IROUTER) / 8];
}

uint64_t device_read64(uintptr_t address)
{
    return model_update(route_at(address), sizeof(uint64_t), UINT64_MAX, 0, 0);
}

void device_write64(uintptr_t address, uint64_t value)
{
    (void)model_update(route_at(address), sizeof(uint64_t), 0, value, 0);
}

void device_write32(uintptr_t address, uint32_t value)
{
    MODEL_CHECK(address == DISTRIBUTOR + GIC_ICACTIVER + 4);
    (void)model_update(&active, sizeof(active), ~value, 0, 0);
}

void gic_make_pending(const struct description *system, uint32_t interrupt)
{
    (void)system;
    (void)model_update(&pending, sizeof(pending), UINT32_MAX, bit_of(interrupt), 0);
}

bool gic_is_pending(const struct description *system, uint32_t interrupt)
{
    (void)system;
    return (model_update(&pending, sizeof(pending), UINT32_MAX, 0, 0) & bit_of(interrupt)) != 0;
}

void ticket_lock_take(struct ticket_lock *lock, uint64_t patience)
{
    (void)patience;
    model_lock(lock);
}

void ticket_lock_give(struct ticket_lock *lock)
{
    model_unlock(lock);
}

uint64_t terminal_input_paused_since(void)
{
    return 0;
}

void terminal_resume_input(void)
{
    resumed++;
}

void recall_repeat_calls(const struct vcpu *vcpu)
{
    (void)vcpu;
    repeated++;
}

uint64_t smmu_paused_since(void)
{
    return 0;
}

void smmu_resume_events(const struct partition *partition)
{
    (void)partition;
}

void input_flow_watch(const struct description *system, uint64_t now, uint64_t second)
{
    (void)system;
    (void)now;
    (void)second;
}

void refused_dma_watch(const struct vcpu *vcpu)
{
    (void)vcpu;
}

uint64_t watchdog_due(const struct processor *own)
{
    (void)own;
    return UINT64_MAX;
}

void watchdog_call_due(struct processor *own)
{
    (void)own;
}

void scheduler_set_work_due(struct processor *processor, uint64_t time)
{
    (void)processor;
    (void)time;
}

/* Prepares a system with a partition on each of the first `count` cores, with DMA and listed
 * interrupts. Both SPIs are pending, and routed to core 0. `halting`: bit i: core i halts.
 * `threads`: number of threads. */
static void prepare(uint32_t count, uint32_t halting, unsigned threads)
{
    memset(&description, 0, sizeof(description));
    memset(processors, 0, sizeof(processors));
    memset(partitions, 0, sizeof(partitions));
    halted_cores = 0;
    halted = halting;
    resumed = repeated = 0;
    running = threads;
    description.partition_count = count;
    description.core_count = CORES;
    description.board.distributor = DISTRIBUTOR;
    description.board.uart_interrupt = UART;
    description.board.smmu_interrupt = SMMU;
    for (uint32_t i = 0; i < CORES; i++) {
        struct description_partition *described = &description.partitions[i];

        description.cores[i].affinity = affinity_of(i);
        described->vcpu_count = described->function_count = 1;
        described->vcpus[0].core = i;
        described->dma = DESCRIPTION_DMA_SMMU;
        described->interrupt_mode = DESCRIPTION_INTERRUPT_MODE_LISTED;
        partitions[i].constant = (struct partition_constants){
            .system = &description, .described = described, .index = i, .smmu.events = 1};
        vcpus[i].partition = &partitions[i];
        processors[i] = (struct processor){.index = i, .vcpu = &vcpus[i], .vcpus = &vcpus[i]};
    }
    routes[UART] = routes[SMMU] = affinity_of(0);
    pending = bit_of(UART) | bit_of(SMMU);
    active = 0;
}

/* Registers the words with their values: the last step of a preparation. */
static void share(void)
{
    model_share(&routes[UART], sizeof(routes[UART]));
    model_share(&routes[SMMU], sizeof(routes[SMMU]));
    model_share(&pending, sizeof(pending));
    model_share(&active, sizeof(active));
    model_share(&halted_cores, sizeof(halted_cores));
}

static void check_route(uint32_t interrupt)
{
    uint64_t affinity =
        model_update(&routes[interrupt], sizeof(routes[interrupt]), UINT64_MAX, 0, 0);

    for (uint32_t core = 0; core < CORES; core++) {
        MODEL_CHECK((halted >> core & 1) == 0 || affinity != affinity_of(core));
    }
}

/* Called at the end of each thread. */
static void end_thread(void)
{
    if (--running != 0) {
        return;
    }
    if (description.partition_count == CORES) {
        check_route(UART);
        check_route(SMMU);
    }
    MODEL_CHECK(model_update(&active, sizeof(active), UINT32_MAX, 0, 0) == 0);
    MODEL_CHECK(model_update(&pending, sizeof(pending), UINT32_MAX, 0, 0) ==
                (bit_of(UART) | bit_of(SMMU)));
    MODEL_CHECK(resumed == (unsigned)__builtin_popcount(halted));
    MODEL_CHECK(repeated == resumed);
}

static void halt_0(void)
{
    watch_leave(&processors[0]);
    end_thread();
}

static void halt_1(void)
{
    watch_leave(&processors[1]);
    end_thread();
}

static void prepare_halts_of_2(void)
{
    prepare(CORES, 3, 2);
    share();
}

/* All cores with partitions halt, so no core takes the SPIs over. */
static void prepare_halts_of_all(void)
{
    prepare(2, 3, 2);
    share();
}

static void prepare_halt_of_1(void)
{
    prepare(CORES, 2, 2);
    share();
}

/* Three threads have the terminal's interrupt alone, because they have many executions. */
static void prepare_halts_and_route(void)
{
    prepare(CORES, 3, 3);
    description.board.smmu_interrupt = 0;
    routes[SMMU] = affinity_of(2);
    share();
}

/* A key moves the input to the partition of core 1. */
static void give_input_to_1(void)
{
    gic_route(&description, UART, 1);
    end_thread();
}

/* And DMA of that partition is refused. */
static void route_to_1(void)
{
    gic_route(&description, SMMU, 1);
    give_input_to_1();
}

/* Core 0 finds both SPIs pending for the second time. It may not read the SMMU's events. */
static void prepare_watch(void)
{
    prepare(CORES, 2, 2);
    partitions[0].constant.smmu.events = 0;
    description.partitions[0].dma = DESCRIPTION_DMA_NONE;
    processors[0].overdue = UINT32_MAX;
    routes[UART] = routes[SMMU] = affinity_of(2);
    share();
}

static void look(void)
{
    watch_look_on_own_core(&processors[0]);
    end_thread();
}

/* Core 0 handles the terminal's interrupt. */
static void prepare_handler(void)
{
    prepare(CORES, 3, 2);
    processors[0].handled_spi = UART;
    pending &= ~bit_of(UART);
    active |= bit_of(UART);
    share();
}

/* It halts after it has routed the interrupt to core 1. */
static void route_and_halt_0(void)
{
    gic_route(&description, UART, 1);
    halt_0();
}

static const struct order_program programs[] = {
    {{"two cores halt", prepare_halts_of_2, {halt_0, halt_1}}, EXECUTIONS_MAX},
    {{"all cores halt", prepare_halts_of_all, {halt_0, halt_1}}, EXECUTIONS_MAX},
    {{"routes to a core that halts", prepare_halt_of_1, {route_to_1, halt_1}}, EXECUTIONS_MAX},
    {{"route and halts", prepare_halts_and_route, {halt_0, halt_1, give_input_to_1}},
     EXECUTIONS_MAX},
    {{"the watch", prepare_watch, {look, halt_1}}, EXECUTIONS_MAX},
    {{"a handler halts", prepare_handler, {halt_0, halt_1}}, EXECUTIONS_MAX},
    {{"a handler routes and halts", prepare_handler, {route_and_halt_0, halt_1}}, EXECUTIONS_MAX},
};

int main(void)
{
    return orders_test(programs, sizeof(programs) / sizeof(programs[0]), ORDERS);
}
