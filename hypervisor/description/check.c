/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is executed with the MMU off, when all memory is Device memory: each access is
 * naturally aligned, and the compiler must not insert calls of memset() or memcpy(). So large
 * objects are neither initialised nor copied as a whole.
 */
#include "description/check.h"

#include "description/colour_check.h"
#include "description/limits.h"
#include "hypervisor/tree_seeds.h"
#include <arch/crc32.h>
#include <stddef.h>

#define AFFINITY_MASK  UINT64_C(0xff00ffffff)
#define BUS_BYTES      UINT64_C(0x100000)
#define BUSES_MAX      256u
#define FUNCTION_SHIFT 12u /* 4 KiB of ECAM for each function */

/* The hypervisor's memory, GICD, UART, ECAM and SMMU; a Redistributor for each core; the memories,
 * devices and three windows of each partition. */
#define RANGES_MAX                \
    (5u + DESCRIPTION_CORES_MAX + \
     DESCRIPTION_PARTITIONS_MAX * (DESCRIPTION_MEMORIES_MAX + DESCRIPTION_DEVICES_MAX + 3u))

struct range {
    uint64_t first;
    uint64_t end;
};

struct check {
    const struct description *description;
    struct description_problem *problem;
    uint32_t partition;    /* index of the partition being checked, for the report */
    uint32_t inputs;       /* number of partitions with console_input set */
    uint32_t cores;        /* bit n: core n has a VCPU */
    uint32_t shared_cores; /* bit n: VCPUs share core n */
    uint32_t core_vcpus[DESCRIPTION_CORES_MAX]; /* number of VCPUs, by core */
    /* End of the address space that `ranges` are in: GUEST_LIMIT or PHYSICAL_LIMIT. */
    uint64_t limit;
    uint32_t range_count;
    struct range ranges[RANGES_MAX]; /* disjoint */
};

/* Not inlined, because inlining in so many checks would enlarge the code. */
__attribute__((noinline)) static void report(const struct check *check, const char *text,
                                             uint64_t value)
{
    check->problem->text = text;
    check->problem->partition = check->partition;
    check->problem->value = value;
}

static inline bool expect(const struct check *check, bool right, const char *text, uint64_t value)
{
    if (!right) {
        report(check, text, value);
    }
    return right;
}

static bool is_zero(const void *memory, size_t bytes)
{
    const uint8_t *byte = memory;
    uint8_t any = 0;

    for (size_t i = 0; i < bytes; i++) {
        any |= byte[i];
    }
    return any == 0;
}

#define UNUSED_IS_ZERO(array, count) \
    is_zero(&(array)[count], (sizeof(array) / sizeof((array)[0]) - (count)) * sizeof((array)[0]))

/* Returns the CRC-32 of the description, calculated with 0 in its field `checksum`. */
static uint32_t checksum(const struct description *description)
{
    const uint8_t *byte = (const uint8_t *)description;
    uint32_t remainder = CRC32_INITIAL;

    for (size_t i = 0; i < sizeof(*description); i++) {
        bool is_checksum =
            i - offsetof(struct description, checksum) < sizeof(description->checksum);

        remainder = crc32_add_byte(remainder, is_checksum ? 0u : byte[i]);
    }
    return ~remainder;
}

static bool add_range(struct check *check, uint64_t first, uint64_t bytes)
{
    struct range *range = &check->ranges[check->range_count];

    if (!expect(check,
                (first | bytes) % DESCRIPTION_PAGE_BYTES == 0 && bytes != 0 &&
                    first < check->limit && bytes <= check->limit - first,
                "not whole pages below the address limit:", first)) {
        return false;
    }
    for (const struct range *other = check->ranges; other < range; other++) {
        if (!expect(check, first + bytes <= other->first || other->end <= first,
                    check->limit == GUEST_LIMIT ? "two ranges overlap: guest address"
                                                : "two ranges overlap: physical address",
                    first > other->first ? first : other->first)) {
            return false;
        }
    }
    range->first = first;
    range->end = first + bytes;
    check->range_count++;
    return true;
}

static bool add_optional(struct check *check, uint64_t first, uint64_t bytes)
{
    return (first | bytes) == 0 || add_range(check, first, bytes);
}

/* Adds the ranges at which all guests see devices of the board. */
static bool add_shared(struct check *check)
{
    const struct description *description = check->description;

    for (uint32_t i = 0; i < description->core_count; i++) {
        if (!add_range(check, description->cores[i].redistributor, DEVICE_REDISTRIBUTOR_BYTES)) {
            return false;
        }
    }
    return add_range(check, description->board.distributor, DEVICE_FRAME_BYTES) &&
           add_optional(check, description->board.ecam, description->board.ecam_bytes);
}

/* Adds the range at which the guest sees the Redistributors of those VCPUs whose number is not that
 * of a core. */
static bool add_further_redistributors(struct check *check,
                                       const struct description_partition *partition)
{
    const struct description *description = check->description;
    uint32_t count = description->core_count;

    return partition->vcpu_count <= count ||
           add_range(check,
                     description->cores[count - 1].redistributor + DEVICE_REDISTRIBUTOR_BYTES,
                     (partition->vcpu_count - count) * DEVICE_REDISTRIBUTOR_BYTES);
}

/* Adds the partition's ranges: guest addresses if the limit is GUEST_LIMIT, physical addresses
 * otherwise. */
static bool add_partition(struct check *check, const struct description_partition *partition)
{
    bool guest = check->limit == GUEST_LIMIT;

    for (uint32_t i = 0; i < partition->memory_count; i++) {
        const struct description_memory *memory = &partition->memories[i];
        bool right = partition->dma != DESCRIPTION_DMA_TRUSTED || memory->guest == memory->physical;

        if (!expect(check, right, "trusted DMA needs guest = physical: memory at",
                    memory->physical) ||
            !expect(check, memory->kept <= 1 && memory->reserved == 0,
                    "unknown value of kept: memory at", memory->physical) ||
            !add_range(check, guest ? memory->guest : memory->physical, memory->bytes)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < partition->device_count; i++) {
        if (!add_range(check, partition->devices[i].address, partition->devices[i].bytes)) {
            return false;
        }
    }
    return add_optional(check, partition->pci_memory, partition->pci_memory_bytes) &&
           add_optional(check, partition->pci_io, partition->pci_io_bytes) &&
           add_optional(check, guest ? partition->pci_wide : partition->pci_wide_physical,
                        partition->pci_wide_bytes);
}

/* Returns true if the range lies in a memory that is loaded at each start. */
static bool in_memory(const struct description_partition *partition, uint64_t guest, uint64_t bytes)
{
    for (uint32_t i = 0; i < partition->memory_count; i++) {
        /* An address below the memory wraps to a huge offset. */
        uint64_t offset = guest - partition->memories[i].guest;

        if (offset < partition->memories[i].bytes &&
            bytes <= partition->memories[i].bytes - offset && partition->memories[i].kept == 0) {
            return true;
        }
    }
    return false;
}

static bool check_images(struct check *check, const struct description_partition *partition)
{
    uint64_t payload = check->description->payload;

    for (uint32_t i = 0; i < partition->image_count; i++) {
        const struct description_image *image = &partition->images[i];
        bool inside = image->offset % DESCRIPTION_PAGE_BYTES == 0 &&
                      image->offset >= sizeof(struct description) && image->offset < payload &&
                      image->bytes != 0 && image->bytes <= payload - image->offset;

        if (!expect(check, inside, "image outside the payload: offset", image->offset) ||
            !expect(check, in_memory(partition, image->guest, image->bytes),
                    "image outside the partition's memory: guest address", image->guest)) {
            return false;
        }
    }
    return expect(check, partition->entry % 4 == 0 && in_memory(partition, partition->entry, 4),
                  "entry unaligned or outside memory: guest address", partition->entry) &&
           expect(check,
                  partition->devicetree % 8 == 0 && in_memory(partition, partition->devicetree, 8),
                  "devicetree unaligned or outside memory: guest address", partition->devicetree);
}

/* Returns the movable function that is entry `number` - 1 of the list, or NULL if there is none. */
static const struct description_movable *find_movable(const struct description *description,
                                                      uint32_t number)
{
    return number - 1 < description->movable_count ? &description->movables[number - 1] : NULL;
}

static uint32_t index_of(const struct description *description,
                         const struct description_partition *partition)
{
    return (uint32_t)(partition - description->partitions);
}

/* Returns true if the function is fixed, or if it is the one that its entry describes, and the
 * partition may own it. */
static bool has_right_entry(const struct description *description,
                            const struct description_partition *partition,
                            const struct description_function *function)
{
    const struct description_movable *movable = find_movable(description, function->movable);

    if (movable == NULL) {
        return function->movable == 0;
    }
    return movable->address == function->address &&
           (movable->candidates >> index_of(description, partition) & 1) != 0;
}

static bool check_function(struct check *check, const struct description_partition *partition,
                           const struct description_function *function)
{
    const struct description *description = check->description;
    uint64_t offset = (uint64_t)function->address << FUNCTION_SHIFT;
    bool alone = true;

    for (const struct description_partition *other = description->partitions; other <= partition;
         other++) {
        for (const struct description_function *given = other->functions;
             given < &other->functions[other->function_count] && given != function; given++) {
            /* Partitions that may own a movable function all name it. */
            alone = alone && (given->address != function->address ||
                              (other != partition && function->movable != 0 &&
                               given->movable == function->movable));
        }
    }
    return expect(check, alone, "PCI function assigned twice:", function->address) &&
           expect(check, has_right_entry(description, partition, function),
                  "no such movable function of the partition:", function->address) &&
           expect(check,
                  offset < description->board.ecam_bytes &&
                      is_zero(function->reserved, sizeof(function->reserved)),
                  "PCI function outside the board's ECAM:", function->address);
}

static bool check_pci(struct check *check, const struct description_partition *partition)
{
    const struct description_board *board = &check->description->board;
    uint64_t io = partition->pci_io - board->pci_io;

    for (uint32_t i = 0; i < partition->function_count; i++) {
        if (!check_function(check, partition, &partition->functions[i])) {
            return false;
        }
    }
    /* add_partition() has checked that the windows end below GUEST_LIMIT. */
    return expect(check, partition->pci_memory + partition->pci_memory_bytes <= PCI_LIMIT,
                  "PCI memory window ends above 4 GiB:", partition->pci_memory) &&
           expect(check,
                  partition->pci_io_bytes == 0 || (board->pci_io != 0 && io < PCI_LIMIT &&
                                                   partition->pci_io_bytes <= PCI_LIMIT - io),
                  "PCI I/O window outside the board's I/O space:", partition->pci_io) &&
           expect(check,
                  partition->dma <= DESCRIPTION_DMA_TRUSTED &&
                      (partition->dma != DESCRIPTION_DMA_SMMU || board->smmu != 0),
                  "DMA kind not supported by the board:", partition->dma);
}

static uint32_t bit_in_word(uint32_t intid, uint32_t word)
{
    return intid / 32 == word ? 1u << intid % 32 : 0;
}

static bool owns_spi(const struct description_partition *partition, uint32_t intid)
{
    return intid < SPI_LIMIT &&
           (partition->interrupts[intid / 32] & bit_in_word(intid, intid / 32)) != 0;
}

static bool can_show_console(const struct description_partition *partition)
{
    uint32_t shown = partition->console_shown;

    return shown == 0 ||
           (partition->console != 0 &&
            partition->interrupt_mode == DESCRIPTION_INTERRUPT_MODE_LISTED && shown >= SPI_FIRST &&
            shown < SPI_LIMIT &&
            (partition->interrupts[shown / 32] & bit_in_word(shown, shown / 32)) == 0);
}

/* Returns the SPIs of a word that both partitions have at times: those of functions that move
 * between them. */
static uint32_t moving_spis(const struct description *description,
                            const struct description_partition *one,
                            const struct description_partition *other, uint32_t word)
{
    uint32_t both = UINT32_C(1) << index_of(description, one) | UINT32_C(1)
                                                                    << index_of(description, other);
    uint32_t bits = 0;

    for (uint32_t i = 0; i < description->movable_count; i++) {
        const struct description_movable *movable = &description->movables[i];

        if ((movable->candidates & both) == both) {
            bits |= bit_in_word(movable->interrupt, word);
        }
    }
    return bits;
}

static bool check_interrupts(struct check *check, const struct description_partition *partition)
{
    const struct description *description = check->description;
    uint32_t console = partition->console_interrupt;

    for (uint32_t word = 0; word < DESCRIPTION_SPI_WORDS; word++) {
        uint32_t others = bit_in_word(description->board.uart_interrupt, word) |
                          bit_in_word(description->board.smmu_interrupt, word);

        for (uint32_t i = 0; i < description->core_count; i++) {
            others |= bit_in_word(description->cores[i].message_interrupt, word);
        }
        if (word == 0 || word == SPI_LIMIT / 32) {
            /* INTIDs below 32 and from 1020 on are no SPIs. */
            others |= word == 0 ? UINT32_MAX : UINT32_MAX << SPI_LIMIT % 32;
        }
        for (const struct description_partition *other = description->partitions; other < partition;
             other++) {
            others |= other->interrupts[word] & ~moving_spis(description, partition, other, word);
        }
        if (!expect(check, (partition->interrupts[word] & others) == 0,
                    "no SPI, or assigned twice: among the 32 INTIDs from", UINT64_C(32) * word) ||
            !expect(check, (partition->edges[word] & ~partition->interrupts[word]) == 0,
                    "edge-triggered, but not owned: among the 32 INTIDs from",
                    UINT64_C(32) * word)) {
            return false;
        }
    }
    return expect(check, partition->console == 0 ? console == 0 : owns_spi(partition, console),
                  "console interrupt not owned by the partition: INTID", console) &&
           expect(check, can_show_console(partition),
                  "the console's interrupt can't have another number for the guest: INTID",
                  partition->console_shown);
}

static bool check_choices(struct check *check, const struct description_partition *partition)
{
    return expect(check,
                  partition->restart <= DESCRIPTION_RESTART_NEVER &&
                      partition->unmapped <= DESCRIPTION_UNMAPPED_ABORT &&
                      partition->maintenance <= DESCRIPTION_MAINTENANCE_LOCAL &&
                      partition->interrupt_mode <= DESCRIPTION_INTERRUPT_MODE_LISTED &&
                      partition->distribute <= 1 &&
                      (partition->channel_host == 0 || check->description->channel_count != 0 ||
                       check->description->shared_device_count != 0),
                  "unknown value of restart, unmapped, maintenance, interrupt_mode or distribute: "
                  "restart",
                  partition->restart);
}

/* Returns true if the guest can go on after the error, so that it may be ignored. An access that
 * was refused has no result, and an SError may have lost a write. */
static bool may_go_on(uint32_t error)
{
    return error != HEALTH_ERROR_MEMORY_VIOLATION && error != HEALTH_ERROR_SERROR;
}

/* Checks the table of actions. Sets *restarts if one of them is a restart. */
static bool check_actions(struct check *check, const struct description_health *health,
                          bool has_standby, bool *restarts)
{
    *restarts = false;
    for (uint32_t error = 0; error < HEALTH_TABLE_ERRORS; error++) {
        uint32_t action = health->actions[error];
        bool goes_on = action == HEALTH_ACTION_IGNORE || action == HEALTH_ACTION_LOG;

        if (!expect(check, action < HEALTH_ACTIONS && (!goes_on || may_go_on(error)),
                    "no such action for the error:", error)) {
            return false;
        }
        *restarts =
            *restarts || action == HEALTH_ACTION_RESTART || action == HEALTH_ACTION_FAILOVER;
        if (!expect(check, action != HEALTH_ACTION_FAILOVER || has_standby,
                    "nobody takes over after the error:", error)) {
            return false;
        }
    }
    return expect(check, UNUSED_IS_ZERO(health->actions, HEALTH_TABLE_ERRORS),
                  "actions beyond the errors:", HEALTH_TABLE_ERRORS);
}

static bool check_health(struct check *check, const struct description_partition *partition)
{
    const struct description_health *health = &partition->health;
    bool restarts, is_right;

    if (!expect(check,
                health->is_monitored == 1 ||
                    (health->is_monitored == 0 && is_zero(health, sizeof(*health))),
                "actions without health monitoring:", health->is_monitored) ||
        !check_actions(check, health, partition->standby != 0, &restarts)) {
        return false;
    }
    is_right = restarts ? health->restarts - 1 < DESCRIPTION_RESTARTS_MAX &&
                              health->window >= DESCRIPTION_WINDOW_MIN &&
                              health->window <= DESCRIPTION_WINDOW_MAX
                        : health->restarts == 0 && health->window == 0;
    return expect(check, is_right, "restarts or their window out of range: restarts",
                  health->restarts) &&
           expect(check, !restarts || partition->restart != DESCRIPTION_RESTART_NEVER,
                  "an error restarts a partition that never restarts: restarts", health->restarts);
}

/* Checks the watchdog and the heartbeat, of a partition that is monitored. Their addresses are
 * checked with all others of the guest. */
static bool check_watchdog(struct check *check, const struct description_partition *partition)
{
    const struct description_health *health = &partition->health;
    uint32_t signal = health->watchdog_interrupt;
    uint64_t period = health->heartbeat_period, start = health->heartbeat_start;
    bool has_times = period >= DESCRIPTION_HEARTBEAT_MIN && period <= DESCRIPTION_HEARTBEAT_MAX &&
                     start <= DESCRIPTION_HEARTBEAT_START_MAX;
    bool has_signal = owns_spi(partition, signal) && signal != partition->console_interrupt;

    return expect(check, health->watchdog == 0 ? signal == 0 : has_signal,
                  "watchdog's interrupt not owned by the partition: INTID", signal) &&
           expect(check, health->heartbeat == 0 ? period == 0 && start == 0 : has_times,
                  "period or start of the heartbeat out of range: microseconds", period) &&
           expect(check, health->reserved == 0, "a reserved field is not 0:", health->reserved);
}

/* Checks the limit of the bandwidth. A VCPU that is limited shares no core. */
static bool check_bandwidth(struct check *check, const struct description_partition *partition)
{
    const struct description_bandwidth *bandwidth = &partition->bandwidth;
    bool has_limit = bandwidth->events >= DESCRIPTION_BANDWIDTH_EVENTS_MIN &&
                     bandwidth->events <= DESCRIPTION_BANDWIDTH_EVENTS_MAX &&
                     bandwidth->window >= DESCRIPTION_BANDWIDTH_WINDOW_MIN &&
                     bandwidth->window <= DESCRIPTION_BANDWIDTH_WINDOW_MAX;

    if (!expect(check, has_limit || (bandwidth->events == 0 && bandwidth->window == 0),
                "bandwidth or its window out of range: events", bandwidth->events) ||
        !expect(check, bandwidth->reserved == 0, "not 0 behind bandwidth:", bandwidth->reserved) ||
        !expect(check, !has_limit || check->description->board.bandwidth_event != 0,
                "bandwidth, and the board has no event for it: events", bandwidth->events)) {
        return false;
    }
    for (uint32_t i = 0; i < partition->vcpu_count; i++) {
        if (!expect(check, !has_limit || partition->vcpus[i].shared == 0,
                    "the bandwidth of a VCPU on a shared core can't be limited: VCPU", i)) {
            return false;
        }
    }
    return true;
}

static bool check_input(struct check *check, const struct description_partition *partition)
{
    check->inputs += partition->console_input != 0;
    return expect(check,
                  partition->console_input == 0 || (partition->console_input == 1 &&
                                                    partition->console != 0 && check->inputs == 1),
                  "terminal input without console, or assigned twice:", partition->console_input);
}

static bool same_name(const char *name, const char *other)
{
    bool same = true;

    for (size_t i = 0; i < DESCRIPTION_NAME_BYTES; i++) {
        same = same && name[i] == other[i];
    }
    return same;
}

static bool check_name(struct check *check, uint32_t index)
{
    const struct description_partition *partitions = check->description->partitions;
    const char *name = partitions[index].name;
    size_t length = 0;
    bool right;

    while (length < DESCRIPTION_NAME_BYTES && name[length] > ' ' && name[length] <= '~') {
        length++;
    }
    right = length > 0 && length < DESCRIPTION_NAME_BYTES &&
            is_zero(name + length, DESCRIPTION_NAME_BYTES - length);
    for (uint32_t i = 0; i < index; i++) {
        right = right && !same_name(name, partitions[i].name);
    }
    return expect(check, right, "invalid or duplicate name: partition", index);
}

/* Checks the counts of a partition's lists, on which all later checks rely. */
static bool check_lists(struct check *check, const struct description_partition *partition)
{
    bool complete = partition->memory_count != 0 && partition->vcpu_count != 0;
    bool fits = partition->vcpu_count <= DESCRIPTION_VCPUS_MAX &&
                partition->memory_count <= DESCRIPTION_MEMORIES_MAX &&
                partition->device_count <= DESCRIPTION_DEVICES_MAX &&
                partition->image_count <= DESCRIPTION_IMAGES_MAX &&
                partition->function_count <= DESCRIPTION_FUNCTIONS_MAX;
    bool rest_is_zero;

    if (!expect(check, complete && fits, "list too long, or no memory, or no VCPU: memories",
                partition->memory_count)) {
        return false;
    }
    rest_is_zero = UNUSED_IS_ZERO(partition->vcpus, partition->vcpu_count) &&
                   UNUSED_IS_ZERO(partition->memories, partition->memory_count) &&
                   UNUSED_IS_ZERO(partition->devices, partition->device_count) &&
                   UNUSED_IS_ZERO(partition->images, partition->image_count) &&
                   UNUSED_IS_ZERO(partition->functions, partition->function_count);
    return expect(check, rest_is_zero, "list entries beyond the count: memories",
                  partition->memory_count);
}

/* Checks that a VCPU has a core of its own, or that all VCPUs of its core are marked as sharing
 * it. */
static bool check_core_of_vcpu(struct check *check, const struct description_vcpu *vcpu)
{
    bool exists = vcpu->core < check->description->core_count && vcpu->shared <= 1;
    uint32_t taken = check->cores;

    if (vcpu->shared == 1) {
        taken = check->cores & ~check->shared_cores;
    }
    if (!expect(check, exists && (taken >> vcpu->core & 1) == 0,
                "a VCPU has no core that it may use: core", vcpu->core)) {
        return false;
    }
    check->cores |= UINT32_C(1) << vcpu->core;
    check->shared_cores |= vcpu->shared << vcpu->core;
    check->core_vcpus[vcpu->core]++;
    return expect(check, check->core_vcpus[vcpu->core] <= DESCRIPTION_CORE_VCPUS_MAX,
                  "too many VCPUs on core", vcpu->core);
}

/* Checks that a VCPU has the parameters that the scheduler of its core needs, and no others. */
static bool check_times(struct check *check, const struct description_partition *partition,
                        const struct description_vcpu *vcpu)
{
    bool by_weight = check->description->cores[vcpu->core].quantum != 0;
    bool by_budget = vcpu->shared != 0 && !by_weight;
    bool is_none = vcpu->budget == 0 && vcpu->period == 0;
    bool is_right = vcpu->budget != 0 && vcpu->budget <= vcpu->period &&
                    vcpu->period >= DESCRIPTION_PERIOD_MIN &&
                    vcpu->period <= DESCRIPTION_PERIOD_MAX;

    return expect(check, by_budget ? is_right : is_none,
                  "budget or period out of range: a VCPU on core", vcpu->core) &&
           expect(check, by_weight ? vcpu->weight - 1 < DESCRIPTION_WEIGHT_MAX : vcpu->weight == 0,
                  "weight out of range: a VCPU on core", vcpu->core) &&
           expect(check, vcpu->server <= (by_budget ? DESCRIPTION_SERVER_DEFERRABLE : 0),
                  "unknown server, or a server without a budget: a VCPU on core", vcpu->core) &&
           expect(check,
                  vcpu->slot_interval == 0 ? vcpu->slot_phase == 0
                                           : by_weight && vcpu->slot_phase < vcpu->slot_interval,
                  "slots out of range: a VCPU on core", vcpu->core) &&
           expect(check, !by_weight || vcpu->shared != 0,
                  "a quantum of a core that is not shared:", vcpu->core) &&
           expect(check,
                  vcpu->shared == 0 ||
                      partition->interrupt_mode == DESCRIPTION_INTERRUPT_MODE_LISTED,
                  "direct interrupts on a shared core:", vcpu->core);
}

static bool check_vcpus(struct check *check, const struct description_partition *partition)
{
    for (uint32_t i = 0; i < partition->vcpu_count; i++) {
        const struct description_vcpu *vcpu = &partition->vcpus[i];

        if (!check_core_of_vcpu(check, vcpu) || !check_times(check, partition, vcpu)) {
            return false;
        }
    }
    return true;
}

static bool check_tree_seeds(struct check *check, const struct description_partition *partition)
{
    uint64_t seeds = partition->tree_seeds;

    return expect(check,
                  seeds == 0 || (seeds % sizeof(uint32_t) == 0 &&
                                 in_memory(partition, seeds, sizeof(struct tree_seeds))),
                  "seeds of the devicetree outside of the memory: guest address", seeds);
}

static uint64_t kept_bytes(const struct description_partition *partition)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < partition->memory_count; i++) {
        bytes += partition->memories[i].kept != 0 ? partition->memories[i].bytes : 0;
    }
    return bytes;
}

/* Checks that the partition and its standby name each other, and adds the range at which it reads
 * the kept memory of the other one. */
static bool check_standby(struct check *check, const struct description_partition *partition)
{
    const struct description *description = check->description;
    const struct description_partition *standby = NULL;

    if (partition->standby - 1 < description->partition_count) {
        standby = &description->partitions[partition->standby - 1];
    }
    return expect(check,
                  standby == NULL ? partition->standby == 0 && partition->standby_kept == 0
                                  : standby != partition &&
                                        standby->standby == index_of(description, partition) + 1,
                  "no other partition that names this one, as standby:", partition->standby) &&
           expect(check, partition->reserved == 0, "not 0 behind standby:", partition->reserved) &&
           (partition->standby_kept == 0 ||
            add_range(check, partition->standby_kept, kept_bytes(standby)));
}

static bool check_partition(struct check *check, uint32_t index)
{
    const struct description *description = check->description;
    const struct description_partition *partition = &description->partitions[index];

    check->partition = index;
    check->limit = GUEST_LIMIT;
    check->range_count = 0;
    return check_vcpus(check, partition) && add_shared(check) &&
           add_further_redistributors(check, partition) && add_partition(check, partition) &&
           add_optional(check, partition->console,
                        partition->console != 0 ? DESCRIPTION_PAGE_BYTES : 0) &&
           add_optional(check, partition->times,
                        partition->times != 0 ? DESCRIPTION_PAGE_BYTES : 0) &&
           add_optional(check, partition->rtc, partition->rtc != 0 ? DESCRIPTION_PAGE_BYTES : 0) &&
           add_optional(check, partition->health.watchdog,
                        partition->health.watchdog != 0 ? 2 * DESCRIPTION_PAGE_BYTES : 0) &&
           add_optional(check, partition->health.heartbeat,
                        partition->health.heartbeat != 0 ? DESCRIPTION_PAGE_BYTES : 0) &&
           expect(check, partition->rtc == 0 || description->board.rtc != 0,
                  "a real-time clock, and the board has none: guest address", partition->rtc) &&
           check_standby(check, partition) && check_tree_seeds(check, partition) &&
           check_images(check, partition) && check_pci(check, partition) &&
           check_interrupts(check, partition) && check_input(check, partition) &&
           check_choices(check, partition) && check_health(check, partition) &&
           check_watchdog(check, partition) && check_bandwidth(check, partition);
}

static bool check_partitions(struct check *check)
{
    uint32_t count = check->description->partition_count;

    for (uint32_t i = 0; i < count; i++) {
        const struct description_partition *partition = &check->description->partitions[i];

        check->partition = DESCRIPTION_NO_PARTITION;
        if (!check_name(check, i)) {
            return false;
        }
        check->partition = i;
        if (!check_lists(check, partition) || !add_partition(check, partition)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!check_partition(check, i)) {
            return false;
        }
    }
    return true;
}

static bool check_colours(struct check *check)
{
    check->partition = DESCRIPTION_NO_PARTITION;
    if (!expect(check, colour_check_own(check->description),
                "no colours of a cache, or colours beside memory of several partitions:",
                check->description->own_colours.first)) {
        return false;
    }
    for (uint32_t i = 0; i < check->description->partition_count; i++) {
        uint64_t value = 0;
        const char *problem = colour_check(check->description, i, &value);

        check->partition = i;
        if (!expect(check, problem == NULL, problem, value)) {
            return false;
        }
    }
    return true;
}

/* Returns true if the partition can have a movable function: it names it, its SPI is one of the
 * partition's, no other of its functions has that entry, and nothing but its one VCPU and the SMMU
 * has to follow a move. */
static bool can_have(const struct description_partition *partition,
                     const struct description_movable *movable, uint32_t number)
{
    uint32_t count = 0, spi = movable->interrupt;

    for (uint32_t i = 0; i < partition->function_count; i++) {
        count += partition->functions[i].movable == number;
    }
    return count == 1 && partition->vcpu_count == 1 && partition->dma == DESCRIPTION_DMA_SMMU &&
           spi >= SPI_FIRST && spi < SPI_LIMIT &&
           (partition->interrupts[spi / 32] >> spi % 32 & 1) != 0;
}

static bool check_movable(struct check *check, uint32_t index)
{
    const struct description *description = check->description;
    const struct description_movable *movable = &description->movables[index];
    bool right = movable->candidates >> description->partition_count == 0 &&
                 movable->owner < description->partition_count &&
                 (movable->candidates >> movable->owner & 1) != 0 &&
                 (movable->candidates & (movable->candidates - 1)) != 0;

    for (uint32_t i = 0; i < description->partition_count && right; i++) {
        right = (movable->candidates >> i & 1) == 0 ||
                can_have(&description->partitions[i], movable, index + 1);
    }
    for (uint32_t i = 0; i < index; i++) {
        right = right && movable->interrupt != description->movables[i].interrupt;
    }
    return expect(check, right, "partitions can't pass on the movable function", movable->address);
}

static bool check_movables(struct check *check)
{
    check->partition = DESCRIPTION_NO_PARTITION;
    for (uint32_t i = 0; i < check->description->movable_count; i++) {
        if (!check_movable(check, i)) {
            return false;
        }
    }
    return true;
}

/* Returns true for an SPI, and for 0: none. */
static bool is_own_interrupt(uint32_t intid)
{
    return intid == 0 || (intid >= SPI_FIRST && intid < SPI_LIMIT);
}

/* Returns true if the SPI by which a core is called is no other one of the hypervisor's. */
static bool has_message_interrupt(const struct description *description, uint32_t index)
{
    const struct description_core *core = &description->cores[index];
    uint32_t intid = core->message_interrupt;
    bool is_free =
        intid != description->board.uart_interrupt && intid != description->board.smmu_interrupt;

    for (uint32_t i = 0; i < index; i++) {
        is_free = is_free && intid != description->cores[i].message_interrupt;
    }
    return core->reserved == 0 && is_own_interrupt(intid) && (intid == 0 || is_free);
}

static bool check_core(struct check *check, uint32_t index)
{
    const struct description *description = check->description;
    const struct description_core *core = &description->cores[index];
    bool right = (core->affinity & ~AFFINITY_MASK) == 0;

    for (uint32_t i = 0; i < index; i++) {
        right = right && core->affinity != description->cores[i].affinity;
    }
    return expect(check, right, "invalid or duplicate affinity: core", index) &&
           expect(check, core->redistributor != 0 && core->redistributor % DEVICE_FRAME_BYTES == 0,
                  "Redistributor not aligned to 64 KiB: core", index) &&
           expect(check,
                  core->quantum == 0 || (core->quantum >= DESCRIPTION_QUANTUM_MIN &&
                                         core->quantum <= DESCRIPTION_QUANTUM_MAX),
                  "quantum out of range: core", index) &&
           expect(check, has_message_interrupt(description, index),
                  "messages need an SPI of their own: core", index);
}

/* Returns true if the event for limits of bandwidth and its counters are both valid or absent. */
static bool has_bandwidth_event(const struct description_board *board)
{
    return board->bandwidth_event == 0
               ? board->bandwidth_counters == 0
               : board->bandwidth_event <= UINT16_MAX && board->bandwidth_counters - 1 < 2;
}

static bool check_board(struct check *check)
{
    const struct description_board *board = &check->description->board;

    for (uint32_t i = 0; i < check->description->core_count; i++) {
        if (!check_core(check, i)) {
            return false;
        }
    }
    check->limit = PHYSICAL_LIMIT;
    check->range_count = 0;
    return expect(check, board->hypervisor_bytes >= check->description->payload,
                  "payload larger than the hypervisor's memory at", board->hypervisor) &&
           expect(check, board->distributor != 0 && board->distributor % DEVICE_FRAME_BYTES == 0,
                  "GICD not aligned to 64 KiB:", board->distributor) &&
           expect(check,
                  (board->ecam != 0 || board->ecam_bytes == 0) &&
                      (board->ecam | board->ecam_bytes) % BUS_BYTES == 0 &&
                      board->ecam_bytes <= BUSES_MAX * BUS_BYTES,
                  "ECAM not whole buses:", board->ecam) &&
           expect(
               check,
               is_own_interrupt(board->uart_interrupt) && is_own_interrupt(board->smmu_interrupt) &&
                   (board->uart_interrupt != board->smmu_interrupt || board->uart_interrupt == 0),
               "UART and SMMU need an SPI each: the UART has", board->uart_interrupt) &&
           expect(check, board->isolates_branches <= 1 && board->reserved == 0,
                  "unknown value of isolates_branches:", board->isolates_branches) &&
           expect(check, has_bandwidth_event(board),
                  "unknown event or counters of bandwidth:", board->bandwidth_event) &&
           expect(check, board->rtc % DESCRIPTION_PAGE_BYTES == 0 && board->rtc < PHYSICAL_LIMIT,
                  "PL031 not at a page:", board->rtc) &&
           expect(check,
                  board->memory < PHYSICAL_LIMIT &&
                      board->memory_bytes <= PHYSICAL_LIMIT - board->memory,
                  "RAM beyond the address limit:", board->memory) &&
           add_range(check, board->hypervisor, board->hypervisor_bytes) && add_shared(check) &&
           add_optional(check, board->uart, board->uart != 0 ? DESCRIPTION_PAGE_BYTES : 0) &&
           add_optional(check, board->smmu, board->smmu != 0 ? SMMU_BYTES : 0);
}

/* Checks the header. No other part of the description is used before. */
static bool check_header(struct check *check, uint64_t room)
{
    const struct description *description = check->description;

    return expect(check, room >= sizeof(*description), "no description: bytes", room) &&
           expect(check, description->magic == DESCRIPTION_MAGIC, "no description: its magic is",
                  description->magic) &&
           expect(check,
                  description->version == DESCRIPTION_VERSION &&
                      description->bytes == sizeof(*description),
                  "unsupported description version:", description->version) &&
           expect(check, description->checksum == checksum(description),
                  "a damaged description: checksum", description->checksum) &&
           expect(check,
                  description->payload >= sizeof(*description) && description->payload <= room,
                  "incomplete payload: bytes", description->payload) &&
           expect(check, description->core_count - 1 < DESCRIPTION_CORES_MAX,
                  "too few or too many cores:", description->core_count) &&
           expect(check, description->partition_count - 1 < DESCRIPTION_PARTITIONS_MAX,
                  "too few or too many partitions:", description->partition_count) &&
           expect(check,
                  UNUSED_IS_ZERO(description->cores, description->core_count) &&
                      UNUSED_IS_ZERO(description->partitions, description->partition_count) &&
                      UNUSED_IS_ZERO(description->colours, description->partition_count),
                  "cores or partitions beyond the count:", description->partition_count) &&
           expect(check,
                  description->channel_count <= DESCRIPTION_CHANNELS_MAX &&
                      UNUSED_IS_ZERO(description->channels, description->channel_count),
                  "too many channels, or channels beyond the count:", description->channel_count) &&
           expect(check,
                  description->movable_count <= DESCRIPTION_MOVABLES_MAX &&
                      UNUSED_IS_ZERO(description->movables, description->movable_count),
                  "too many movable functions, or some beyond the count:",
                  description->movable_count) &&
           expect(
               check,
               description->shared_device_count <= DESCRIPTION_SHARED_DEVICES_MAX &&
                   UNUSED_IS_ZERO(description->shared_devices, description->shared_device_count) &&
                   description->reserved == 0,
               "too many shared devices, or some beyond the count:",
               description->shared_device_count);
}

bool description_check(const struct description *description, uint64_t room,
                       struct description_problem *problem)
{
    static struct check check; /* static, because its 3 KiB are too much for a stack */

    check.description = description;
    check.problem = problem;
    check.partition = DESCRIPTION_NO_PARTITION;
    check.inputs = 0;
    check.cores = 0;
    check.shared_cores = 0;
    for (uint32_t i = 0; i < DESCRIPTION_CORES_MAX; i++) {
        check.core_vcpus[i] = 0;
    }
    return check_header(&check, room) && check_board(&check) && check_partitions(&check) &&
           check_colours(&check) && check_movables(&check);
}
