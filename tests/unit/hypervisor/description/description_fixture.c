/* SPDX-License-Identifier: BSD-2-Clause */
#include "description_fixture.h"

#include "channel/check.h"
#include "shared_device/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB UINT64_C(0x100000)

static void make_board(struct description *description)
{
    description->board = (struct description_board){
        .hypervisor = 0x40000000,
        .hypervisor_bytes = 16 * MIB,
        .distributor = 0x8000000,
        .uart = 0x9000000,
        .ecam = 0x4010000000,
        .ecam_bytes = 16 * MIB,
        .pci_io = 0x3eff0000,
        .smmu = 0x9050000,
        .uart_interrupt = 33,
        .smmu_interrupt = 106,
    };
    description->core_count = 4;
    for (uint32_t i = 0; i < 4; i++) {
        description->cores[i] = (struct description_core){
            .affinity = i < 3 ? i : UINT64_C(0x100000203),
            .redistributor = 0x80a0000 + i * UINT64_C(0x20000),
        };
    }
}

static void make_control(struct description_partition *partition)
{
    *partition = (struct description_partition){
        .name = "control",
        .entry = 0x80000,
        .devicetree = 0x1000008,
        .console = 0x9000000, /* the board's own address, which the guest never accesses */
        .vcpu_count = 1,
        .vcpus = {{.core = 0}},
        .console_interrupt = 40,
        .memory_count = 2,
        .device_count = 1,
        .image_count = 2,
        .memories = {{0, 0x41000000, 32 * MIB, 0, 0}, {0x4000000, 0x43000000, 4096, 0, 0}},
        .devices = {{0x9010000, 0x1000}},
        .images = {{DESCRIPTION_FIRST_IMAGE, 0x80000, 0x11345}, {0x17000, 0x1000008, 8}},
    };
    partition->interrupts[1] = 1u << 8 | 1u << 2;
    partition->edges[1] = 1u << 8;
}

static void make_linux(struct description_partition *partition)
{
    *partition = (struct description_partition){
        .name = "linux",
        .entry = 0x50000000,
        .devicetree = 0x50200000,
        .console = 0x9100000,
        .pci_memory = 0x10000000,
        .pci_memory_bytes = 2 * MIB,
        .pci_io = 0x3eff1000,
        .pci_io_bytes = 0x1000,
        .vcpu_count = 2,
        .vcpus = {{.core = 1}, {.core = 2}},
        .console_interrupt = 41,
        .console_input = 1,
        .dma = DESCRIPTION_DMA_TRUSTED,
        .memory_count = 1,
        .image_count = 1,
        .function_count = 2,
        .memories = {{0x50000000, 0x50000000, 256 * MIB, 0, 0}},
        .images = {{0x18000, 0x50000000, 0x1000}},
        .functions = {{.address = 0x8}, {.address = 0xf10}},
    };
    partition->interrupts[1] = 1u << 9 | 1u << 3;
    partition->interrupts[31] = 1u << 27;
    partition->edges[31] = 1u << 27;
}

void description_make(struct description *description)
{
    memset(description, 0, sizeof(*description));
    description->magic = DESCRIPTION_MAGIC;
    description->version = DESCRIPTION_VERSION;
    description->bytes = sizeof(*description);
    description->payload = DESCRIPTION_ROOM;
    description->partition_count = 2;
    make_board(description);
    make_control(&description->partitions[0]);
    make_linux(&description->partitions[1]);
    description_seal(description);
}

/* Uses a table, unlike the checker. */
uint32_t description_crc(const void *data, size_t bytes)
{
    const uint8_t *byte = data;
    uint32_t table[256];
    uint32_t crc = UINT32_MAX;

    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (unsigned bit = 0; bit < 8; bit++) {
            table[i] = table[i] % 2 != 0 ? table[i] / 2 ^ 0xedb88320u : table[i] / 2;
        }
    }
    for (size_t i = 0; i < bytes; i++) {
        crc = table[(crc ^ byte[i]) & 0xff] ^ crc >> 8;
    }
    return ~crc;
}

void description_seal(struct description *description)
{
    description->checksum = 0;
    description->checksum = description_crc(description, sizeof(*description));
}

static void require(bool right, const char *what)
{
    if (!right) {
        (void)fprintf(stderr, "accepted, although not: %s\n", what);
        abort();
    }
}

struct region {
    uint64_t first;
    uint64_t last;
};

struct regions {
    struct region list[8192];
    size_t count;
};

static void add(struct regions *regions, uint64_t first, uint64_t bytes)
{
    if (bytes != 0) {
        regions->list[regions->count++] = (struct region){first, first + (bytes - 1)};
    }
}

static int compare(const void *left, const void *right)
{
    const struct region *a = left, *b = right;

    return a->first < b->first ? -1 : a->first > b->first;
}

static void require_apart(struct regions *regions, uint64_t limit)
{
    qsort(regions->list, regions->count, sizeof(regions->list[0]), compare);
    for (size_t i = 0; i < regions->count; i++) {
        require(regions->list[i].first <= regions->list[i].last && regions->list[i].last < limit,
                "regions end in the address space");
        require(i == 0 || regions->list[i - 1].last < regions->list[i].first, "regions are apart");
    }
}

static void add_registers(struct regions *regions, const struct description *description)
{
    for (uint32_t i = 0; i < description->core_count; i++) {
        add(regions, description->cores[i].redistributor, 0x20000);
    }
    add(regions, description->board.distributor, 0x10000);
    add(regions, description->board.ecam, description->board.ecam_bytes);
}

/* The n-th VCPU of a guest has the address of the n-th core, or one behind the last core's. */
static void add_further_redistributors(struct regions *regions,
                                       const struct description *description, uint32_t vcpus)
{
    for (uint32_t n = description->core_count; n < vcpus; n++) {
        add(regions,
            description->cores[description->core_count - 1].redistributor +
                (n - description->core_count + 1) * UINT64_C(0x20000),
            0x20000);
    }
}

/* Adds the first runs of pages with colours, and none of the others if there are many. */
static void add_runs(struct regions *regions, const struct description_colours *colours,
                     uint64_t bytes)
{
    uint64_t first = colours->first;

    for (unsigned i = 0; i < 64 && bytes != 0 && colours->run != 0; i++) {
        uint64_t run = bytes < colours->run ? bytes : colours->run;

        require(first % colours->period + run <= colours->period, "a run is in a way");
        add(regions, first, run);
        first += colours->period;
        bytes -= run;
    }
}

static void add_colours(struct regions *regions, const struct description *description,
                        uint32_t partition)
{
    const struct description_partition *described = &description->partitions[partition];
    const struct description_partition_colours *colours = &description->colours[partition];

    for (uint32_t i = 0; i < described->memory_count; i++) {
        add_runs(regions, &colours->memories[i], described->memories[i].bytes);
    }
    for (uint32_t i = 0; i < described->image_count; i++) {
        add_runs(regions, &colours->images[i], described->images[i].bytes);
    }
}

static void add_partition(struct regions *regions, const struct description_partition *partition,
                          bool guest)
{
    for (uint32_t i = 0; i < partition->memory_count; i++) {
        const struct description_memory *memory = &partition->memories[i];

        require(memory->bytes != 0, "a memory has a size");
        add(regions, guest ? memory->guest : memory->physical, memory->bytes);
    }
    for (uint32_t i = 0; i < partition->device_count; i++) {
        add(regions, partition->devices[i].address, partition->devices[i].bytes);
    }
    add(regions, partition->pci_memory, partition->pci_memory_bytes);
    add(regions, partition->pci_io, partition->pci_io_bytes);
    if (guest && partition->console != 0) {
        add(regions, partition->console, 4096);
    }
}

static uint64_t channel_bytes(const struct description_channel *channel)
{
    return 4096 + (channel->one_way == 1 ? 1 : 2) * channel->section_bytes;
}

/* Adds the channels in physical memory, or those of a partition's guest. */
static void add_channels(struct regions *regions, const struct description *description,
                         uint32_t partition)
{
    for (uint32_t i = 0; i < description->channel_count; i++) {
        const struct description_channel *channel = &description->channels[i];

        if (partition == DESCRIPTION_NO_PARTITION) {
            add(regions, channel->physical, channel_bytes(channel));
            continue;
        }
        for (unsigned end = 0; end < 2; end++) {
            if (channel->ends[end].partition == partition) {
                add(regions, channel->ends[end].guest, channel_bytes(channel));
            }
        }
    }
}

/* Adds the shared devices in physical memory, or those of a partition's guest. */
static void add_devices(struct regions *regions, const struct description *description,
                        uint32_t partition)
{
    for (uint32_t i = 0; i < description->shared_device_count; i++) {
        const struct description_shared_device *device = &description->shared_devices[i];

        if (partition == DESCRIPTION_NO_PARTITION) {
            add(regions, device->physical, 0x2000);
        } else if (partition == device->client) {
            add(regions, device->registers, 4096);
        } else if (partition == device->backend) {
            add(regions, device->page, 4096);
            for (uint32_t j = 0; j < device->window_count; j++) {
                add(regions, device->windows[j].backend, device->windows[j].bytes);
            }
        }
    }
}

/* Requires that channels and shared devices, if their checks accept them, and all else have
 * addresses of their own. */
static void require_addresses(const struct description *description, bool has_channels,
                              bool has_devices)
{
    static struct regions regions;

    regions.count = 0;
    add(&regions, description->board.hypervisor, description->board.hypervisor_bytes);
    add(&regions, description->board.uart, description->board.uart != 0 ? 4096 : 0);
    add(&regions, description->board.smmu, description->board.smmu != 0 ? 0x20000 : 0);
    add_registers(&regions, description);
    for (uint32_t i = 0; i < description->partition_count; i++) {
        add_partition(&regions, &description->partitions[i], false);
        add_colours(&regions, description, i);
    }
    if (has_channels) {
        add_channels(&regions, description, DESCRIPTION_NO_PARTITION);
    }
    if (has_devices) {
        add_devices(&regions, description, DESCRIPTION_NO_PARTITION);
    }
    require_apart(&regions, UINT64_C(1) << 48);
    for (uint32_t i = 0; i < description->partition_count; i++) {
        regions.count = 0;
        add_registers(&regions, description);
        add_further_redistributors(&regions, description, description->partitions[i].vcpu_count);
        add_partition(&regions, &description->partitions[i], true);
        if (has_channels) {
            add_channels(&regions, description, i);
            add(&regions, description->partitions[i].channel_host,
                description->partitions[i].channel_host != 0 ? 0x120000 : 0);
        }
        if (has_devices) {
            add_devices(&regions, description, i);
        }
        require_apart(&regions, UINT64_C(1) << 39);
    }
}

/* Returns the SPIs of a word that are those of movable functions. */
static uint32_t movable_spis(const struct description *description, unsigned word)
{
    uint32_t bits = 0;

    for (uint32_t i = 0; i < description->movable_count; i++) {
        uint32_t spi = description->movables[i].interrupt;

        bits |= spi / 32 == word ? 1u << spi % 32 : 0;
    }
    return bits;
}

static void require_owners(const struct description *description)
{
    uint32_t owned[32] = {0};
    bool given[65536] = {false};
    uint32_t used = 0, shared = 0, of_core[16] = {0};

    owned[0] = UINT32_MAX;
    owned[31] = 0xf0000000;
    for (uint32_t i = 0; i < description->partition_count; i++) {
        const struct description_partition *partition = &description->partitions[i];
        uint32_t console = partition->console_interrupt;

        for (unsigned word = 0; word < 32; word++) {
            require(
                (owned[word] & partition->interrupts[word] & ~movable_spis(description, word)) == 0,
                "an SPI has one owner, unless it moves");
            require((partition->edges[word] & ~partition->interrupts[word]) == 0, "edges are own");
            owned[word] |= partition->interrupts[word];
        }
        require(partition->console == 0 || (console < 1020 && (partition->interrupts[console / 32] &
                                                               1u << console % 32) != 0),
                "a console's interrupt is own");
        for (uint32_t j = 0; j < partition->function_count; j++) {
            require(!given[partition->functions[j].address] || partition->functions[j].movable != 0,
                    "a function has one owner, unless it moves");
            given[partition->functions[j].address] = true;
        }
        for (uint32_t j = 0; j < partition->vcpu_count; j++) {
            const struct description_vcpu *vcpu = &partition->vcpus[j];

            require((used >> vcpu->core & 1) == 0 || (shared >> vcpu->core & vcpu->shared) == 1,
                    "a core has one VCPU, or several that share it");
            require(((vcpu->budget | vcpu->weight) != 0) == (vcpu->shared != 0),
                    "a shared core needs a budget or a weight");
            require((vcpu->weight != 0) == (description->cores[vcpu->core].quantum != 0) &&
                        vcpu->weight <= 65535 && (vcpu->weight == 0 || vcpu->budget == 0),
                    "a core is shared by weights, or by budgets");
            require(vcpu->shared == 0 || vcpu->weight != 0 ||
                        (vcpu->budget <= vcpu->period && vcpu->period - 100000 <= 999900000),
                    "budget and period are in range");
            require(vcpu->shared == 0 || partition->interrupt_mode == 1, "interrupts are listed");
            require(++of_core[vcpu->core] <= 32, "a core has at most 32 VCPUs");
            used |= 1u << vcpu->core;
            shared |= vcpu->shared << vcpu->core;
        }
    }
    owned[0] = 0; /* INTID 0 means no interrupt */
    require((owned[description->board.uart_interrupt / 32] &
             1u << description->board.uart_interrupt % 32) == 0,
            "the UART's interrupt is the hypervisor's");
}

/* Requires that each end of a channel has a partition, and an interrupt that is this partition's,
 * edge-triggered, and given once. */
static void require_ends(const struct description *description)
{
    uint32_t given[32] = {0};

    for (uint32_t i = 0; i < description->channel_count; i++) {
        const struct description_channel *channel = &description->channels[i];

        require(channel->ends[0].partition != channel->ends[1].partition,
                "a channel connects two partitions");
        require(channel->section_bytes != 0 &&
                    (channel->section_bytes | channel->physical) % 4096 == 0,
                "sections are whole pages");
        for (unsigned end = 0; end < 2; end++) {
            uint32_t interrupt = channel->ends[end].interrupt, bit = 1u << interrupt % 32;
            const struct description_partition *partition;

            require(channel->ends[end].partition < description->partition_count,
                    "a channel's partition exists");
            partition = &description->partitions[channel->ends[end].partition];
            if (interrupt == 0) {
                continue;
            }
            require(interrupt < 1020, "a doorbell is an SPI");
            require((partition->edges[interrupt / 32] & bit) != 0, "a doorbell is an own edge");
            require((given[interrupt / 32] & bit) == 0 &&
                        (partition->console == 0 || partition->console_interrupt != interrupt),
                    "a doorbell is nothing else");
            given[interrupt / 32] |= bit;
        }
    }
}

static void require_own_edge(const struct description *description, uint32_t partition,
                             uint32_t interrupt, uint32_t given[32])
{
    uint32_t bit = 1u << interrupt % 32;

    require(interrupt >= 32 && interrupt < 1020, "a shared device's interrupt is an SPI");
    require((description->partitions[partition].edges[interrupt / 32] & bit) != 0,
            "a shared device's interrupt is an own edge");
    require((given[interrupt / 32] & bit) == 0, "a shared device's interrupt is nothing else");
    given[interrupt / 32] |= bit;
}

/* Requires that windows are memory of the client, and that all numbers are in their bounds. */
static void require_devices(const struct description *description)
{
    uint32_t given[32] = {0};

    for (uint32_t i = 0; i < description->channel_count; i++) {
        for (unsigned end = 0; end < 2 + description->channels[i].further_receivers; end++) {
            uint32_t interrupt = description->channels[i].ends[end].interrupt;

            given[interrupt / 32] |= 1u << interrupt % 32;
        }
    }
    for (uint32_t i = 0; i < description->shared_device_count; i++) {
        const struct description_shared_device *device = &description->shared_devices[i];
        uint32_t size = device->queue_size_max;

        require(device->client != device->backend, "a device connects two partitions");
        require(device->queue_count >= 1 && device->queue_count <= 8, "it has queues");
        require(size != 0 && size <= 256 && (size & (size - 1)) == 0, "their size is a power of 2");
        require(device->config_bytes <= 64, "its configuration fits");
        require((device->features >> 32 & 1) != 0 &&
                    (device->features | device->required) == device->features,
                "it offers VERSION_1, and what it requires");
        require_own_edge(description, device->client, device->interrupt, given);
        require_own_edge(description, device->backend, device->doorbell, given);
        for (uint32_t j = 0; j < device->window_count; j++) {
            const struct description_window *window = &device->windows[j];
            const struct description_partition *client = &description->partitions[device->client];
            bool inside = false;

            for (uint32_t k = 0; k < client->memory_count; k++) {
                const struct description_memory *memory = &client->memories[k];

                inside =
                    inside || (memory->kept == 0 && window->client >= memory->guest &&
                               window->client + window->bytes <= memory->guest + memory->bytes &&
                               window->client + window->bytes > window->client);
            }
            require(inside, "a window is in a memory of the client");
        }
    }
}

static void require_images(const struct description *description)
{
    for (uint32_t i = 0; i < description->partition_count; i++) {
        const struct description_partition *partition = &description->partitions[i];

        for (uint32_t j = 0; j < partition->image_count; j++) {
            const struct description_image *image = &partition->images[j];
            bool inside = false;

            for (uint32_t k = 0; k < partition->memory_count; k++) {
                const struct description_memory *memory = &partition->memories[k];

                inside = inside || (image->guest >= memory->guest &&
                                    image->guest + image->bytes <= memory->guest + memory->bytes &&
                                    image->guest + image->bytes > image->guest);
            }
            require(inside, "an image is in a memory");
            require(image->offset >= sizeof(*description) &&
                        image->offset + image->bytes <= description->payload,
                    "an image is in the payload");
        }
    }
}

void description_exercise(const struct description *description, uint64_t room)
{
    struct description_problem problem = {NULL, 0, 0};
    uint64_t value;

    if (description_check(description, room, &problem)) {
        require(room >= sizeof(*description) && description->payload <= room, "all is there");
        require(description->core_count <= DESCRIPTION_CORES_MAX &&
                    description->partition_count <= DESCRIPTION_PARTITIONS_MAX,
                "counts are in bounds");
        require(description->channel_count <= DESCRIPTION_CHANNELS_MAX, "channels are in bounds");
        require(description->shared_device_count <= DESCRIPTION_SHARED_DEVICES_MAX,
                "shared devices are in bounds");
        if (channel_check(description, &value) == NULL) {
            bool has_devices = shared_device_check(description, &value) == NULL;

            require_addresses(description, true, has_devices);
            require_ends(description);
            if (has_devices) {
                require_devices(description);
            }
        } else {
            require_addresses(description, false, false);
        }
        require_owners(description);
        require_images(description);
        return;
    }
    if (problem.text == NULL || (problem.partition != DESCRIPTION_NO_PARTITION &&
                                 problem.partition >= description->partition_count)) {
        (void)fprintf(stderr, "refused without a reason\n");
        abort();
    }
}

void description_make_connected(struct description *description)
{
    struct description_partition *partitions = description->partitions;

    description_make(description);
    partitions[0].interrupts[1] |= 1u << 18 | 1u << 19 | 1u << 20;
    partitions[0].edges[1] |= 1u << 18 | 1u << 19 | 1u << 20;
    partitions[1].interrupts[1] |= 1u << 21 | 1u << 22;
    partitions[1].edges[1] |= 1u << 21 | 1u << 22;
    description->channel_count = 2;
    description->channels[0] = (struct description_channel){
        .physical = 0x60000000,
        .section_bytes = 0x11000,
        .ends = {{.partition = 0, .interrupt = 50, .guest = 0x60000000},
                 {.partition = 1, .interrupt = 53, .guest = 0x600000000}},
    };
    description->channels[1] = (struct description_channel){
        .physical = 0x70000000,
        .section_bytes = 0x2000,
        .one_way = 1,
        .ends = {{.partition = 1, .interrupt = 54, .guest = 0x700000000},
                 {.partition = 0, .interrupt = 52, .guest = 0x70000000}},
    };
    description_seal(description);
}

void description_make_served(struct description *description)
{
    struct description_partition *partitions = description->partitions;

    description_make_connected(description);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t interrupts = i == 0 ? 3u << 24 : 3u << 26;

        partitions[i].interrupts[1] |= interrupts;
        partitions[i].edges[1] |= interrupts;
    }
    description->shared_device_count = 2;
    description->shared_devices[0] = (struct description_shared_device){
        .physical = 0x60100000,
        .registers = 0xa000000,
        .page = 0x800000000,
        .features = UINT64_C(0x300010020),
        .required = UINT64_C(0x200000000),
        .client = 0,
        .backend = 1,
        .interrupt = 56,
        .doorbell = 58,
        .device_id = 1,
        .queue_count = 3,
        .queue_size_max = 256,
        .config_bytes = 12,
        .window_count = 2,
        .config = {2, 0, 0, 0, 0, 1},
        .windows = {{0, 0x810000000, MIB}, {MIB, 0x820000000, 31 * MIB}},
    };
    description->shared_devices[1] = (struct description_shared_device){
        .physical = 0x60110000,
        .registers = 0xa000000,
        .page = 0x800000000,
        .features = UINT64_C(0x100000000),
        .client = 1,
        .backend = 0,
        .interrupt = 59,
        .doorbell = 57,
        .device_id = 2,
        .queue_count = 1,
        .queue_size_max = 128,
        .config_bytes = 64,
        .window_count = 1,
        .windows = {{0x50000000, 0x810000000, 256 * MIB}},
    };
    description_seal(description);
}

void description_make_shared(struct description *description)
{
    description_make(description);
    for (unsigned i = 0; i < 2; i++) {
        description->partitions[i].interrupt_mode = DESCRIPTION_INTERRUPT_MODE_LISTED;
        description->partitions[i].vcpus[0] =
            (struct description_vcpu){.core = 0, .shared = 1, .budget = 1000, .period = 100000};
    }
    description_seal(description);
}

void description_make_weighted(struct description *description)
{
    description_make_shared(description);
    description->cores[0].quantum = DESCRIPTION_QUANTUM_MIN;
    for (unsigned i = 0; i < 2; i++) {
        description->partitions[i].vcpus[0] =
            (struct description_vcpu){.core = 0, .shared = 1, .weight = 256};
    }
    description_seal(description);
}
