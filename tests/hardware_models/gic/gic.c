/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic_private.h"
#include <devices/gic_registers.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REVISION    0x43bu /* GICD_IIDR, GICR_IIDR: Arm's */
#define PERIPHERAL  0x3bu  /* GICD_PIDR2, GICR_PIDR2: version 3 */
#define TYPER2      0x000cu
#define GROUPS      (GICD_CTLR_GROUP0 | GICD_CTLR_GROUP1)
#define ROUTE_COUNT 1020u

void gic_model_require(bool holds, const char *rule, uint64_t address)
{
    if (!holds) {
        (void)fprintf(stderr, "rule broken: %s (%#llx)\n", rule, (unsigned long long)address);
        abort();
    }
}

void gic_model_reset(struct gic *gic, unsigned cores)
{
    gic_model_require(cores <= GIC_MODEL_CORES_MAX, "the model has so many cores", cores);
    memset(gic, 0, sizeof(*gic));
    gic->cores = cores;
    gic->redistributor_bytes = 2 * GIC_FRAME_BYTES;
    gic->its.page_size = 3;
    gic->its.control = GITS_CTLR_QUIESCENT;
    for (unsigned core = 0; core < cores; core++) {
        gic->redistributors[core].waker = GICR_WAKER_PROCESSOR_SLEEP | GICR_WAKER_CHILDREN_ASLEEP;
    }
}

uint64_t gic_model_redistributor(const struct gic *gic, unsigned core)
{
    return GIC_MODEL_REDISTRIBUTORS + (uint64_t)gic->redistributor_bytes * core;
}

uint64_t gic_table(const struct gic *gic, uint64_t value)
{
    return gic->not_coherent ? value & ~GIC_SHAREABILITY : value;
}

/* Says which frame the access is to. */
static struct gic_access decode(const struct gic *gic, uint64_t address, uint8_t bytes)
{
    struct gic_access access = {.address = address, .bytes = bytes};

    gic_model_require(address % bytes == 0, "accesses are aligned", address);
    if (address >= GIC_MODEL_REDISTRIBUTORS) {
        uint64_t offset = address - GIC_MODEL_REDISTRIBUTORS;

        access.core = (unsigned)(offset / gic->redistributor_bytes);
        access.offset = (uint32_t)(offset % gic->redistributor_bytes);
        access.frame = access.offset < GIC_FRAME_BYTES ? GIC_REDISTRIBUTOR : GIC_PRIVATE;
        access.offset -= access.frame == GIC_PRIVATE ? GIC_FRAME_BYTES : 0;
        gic_model_require(access.core < gic->cores && access.offset < GIC_FRAME_BYTES,
                          "accesses are to the GIC", address);
        return access;
    }
    access.frame = address >= GIC_MODEL_ITS ? GIC_ITS : GIC_DISTRIBUTOR;
    access.offset =
        (uint32_t)(address - (address >= GIC_MODEL_ITS ? GIC_MODEL_ITS : GIC_MODEL_DISTRIBUTOR));
    gic_model_require(address >= GIC_MODEL_DISTRIBUTOR && access.offset < GIC_FRAME_BYTES,
                      "accesses are to the GIC", address);
    return access;
}

static void watch(const struct gic *gic, const struct gic_access *access)
{
    if (gic->watch != NULL) {
        gic->watch(gic, access);
    }
}

/* The word of a register with a bit for each interrupt; kind: of register, from IGROUPR on. NULL:
 * another register. */
static uint32_t *bits_at(struct gic_bank *bank, uint32_t offset, unsigned *kind)
{
    uint32_t *const files[] = {bank->groups,  bank->enabled, bank->enabled, bank->pending,
                               bank->pending, bank->active,  bank->active};

    if (offset < GIC_IGROUPR || offset >= GIC_IPRIORITYR) {
        return NULL;
    }
    *kind = (offset - GIC_IGROUPR) / 0x80;
    return &files[*kind][offset % 0x80 / 4];
}

static bool is_trigger(uint32_t offset)
{
    return offset >= GIC_ICFGR && offset < GIC_ICFGR + 0x100;
}

static bool is_priority(uint32_t offset)
{
    return offset >= GIC_IPRIORITYR && offset < GIC_IPRIORITYR + GIC_MODEL_INTERRUPTS;
}

static uint32_t read_bank(struct gic_bank *bank, const struct gic_access *access)
{
    unsigned kind;
    uint32_t value;
    const uint32_t *bits = bits_at(bank, access->offset, &kind);

    if (bits != NULL) {
        return *bits;
    }
    if (is_trigger(access->offset)) {
        return bank->triggers[(access->offset - GIC_ICFGR) / 4];
    }
    gic_model_require(is_priority(access->offset), "known registers are read", access->address);
    memcpy(&value, &bank->priorities[access->offset - GIC_IPRIORITYR], sizeof(value));
    return value;
}

static void write_triggers(struct gic_bank *bank, const struct gic_access *access)
{
    uint32_t *trigger = &bank->triggers[(access->offset - GIC_ICFGR) / 4];
    unsigned first = (access->offset - GIC_ICFGR) * 4;

    for (unsigned index = 0; index < 16; index++) {
        unsigned number = first + index;

        gic_model_require(((*trigger ^ access->value) >> 2 * index & 3) == 0 ||
                              (bank->enabled[number / 32] >> number % 32 & 1) == 0,
                          "the trigger of an enabled interrupt is not changed", access->address);
    }
    *trigger = (uint32_t)access->value;
}

static void write_bank(struct gic_bank *bank, const struct gic_access *access)
{
    unsigned kind;
    uint32_t *bits = bits_at(bank, access->offset, &kind);
    uint32_t value = (uint32_t)access->value;

    if (is_trigger(access->offset)) {
        write_triggers(bank, access);
        return;
    }
    gic_model_require(bits != NULL, "known registers are written", access->address);
    if (kind == 0) {
        *bits = value;
    } else if (kind % 2 == 1) {
        *bits |= value;
    } else {
        *bits &= ~value;
    }
}

static uint32_t read_distributor(struct gic *gic, const struct gic_access *access)
{
    switch (access->offset) {
    case GICD_CTLR:
        return gic->control | (gic->two_securities ? 0 : GICD_CTLR_ONE_SECURITY) |
               (gic_is_settling(gic, access) || gic->never_settles ? GICD_CTLR_WRITE_PENDING : 0);
    case GICD_TYPER:
        return gic->type;
    case GICD_IIDR:
        return REVISION;
    case TYPER2:
        return 0;
    default:
        return access->offset >= GIC_PIDR ? PERIPHERAL : read_bank(&gic->distributor, access);
    }
}

static void write_control(struct gic *gic, const struct gic_access *access)
{
    uint32_t old = gic->control;
    uint32_t value = (uint32_t)access->value;

    if (gic->no_routing) {
        value &= ~GICD_CTLR_AFFINITY_ROUTING;
    }
    gic_model_require(
        ((old ^ value) & GICD_CTLR_AFFINITY_ROUTING) == 0 || ((old | value) & GROUPS) == 0,
        "affinity routing is changed only while both groups are off", access->address);
    gic_model_require((old & ~value & GICD_CTLR_AFFINITY_ROUTING) == 0, "affinity routing stays on",
                      access->address);
    gic->control = value & (GROUPS | GICD_CTLR_AFFINITY_ROUTING);
}

static uint32_t read_redistributor(struct gic *gic, const struct gic_access *access)
{
    const struct gic_redistributor *redistributor = &gic->redistributors[access->core];

    switch (access->offset) {
    case GICR_CTLR:
        return redistributor->control |
               (gic_is_settling(gic, access) || gic->busy_redistributors ? GICR_CTLR_WRITE_PENDING
                                                                         : 0);
    case GICR_IIDR:
        return REVISION;
    case GICR_TYPER:
        return gic->redistributor_type | access->core << 8 |
               (access->core == gic->cores - 1 ? GICR_TYPER_LAST : 0);
    case GICR_TYPER + 4:
        return (uint32_t)(redistributor->affinity >> 32 << 24) | (uint32_t)redistributor->affinity;
    case GICR_WAKER:
        return redistributor->waker;
    default:
        gic_model_require(access->offset >= GIC_PIDR, "known registers are read", access->address);
        return PERIPHERAL;
    }
}

static void write_redistributor(struct gic *gic, const struct gic_access *access)
{
    struct gic_redistributor *redistributor = &gic->redistributors[access->core];
    uint32_t value = (uint32_t)access->value;

    if (access->offset == GICR_CTLR) {
        redistributor->control = value | (gic->lpis_stay_enabled ? GICR_CTLR_ENABLE_LPIS : 0);
        return;
    }
    gic_model_require(access->offset == GICR_WAKER, "known registers are written", access->address);
    redistributor->waker = value & GICR_WAKER_PROCESSOR_SLEEP;
    if (gic->never_wakes || redistributor->waker != 0) {
        redistributor->waker |= GICR_WAKER_CHILDREN_ASLEEP;
    }
}

static uint32_t read_private(struct gic *gic, const struct gic_access *access)
{
    uint32_t value = read_bank(&gic->redistributors[access->core].bank, access);

    return access->offset < GIC_IPRIORITYR ? value & ~gic->firmwares_private : value;
}

static void write_private(struct gic *gic, const struct gic_access *access)
{
    struct gic_access allowed = *access;

    if (access->offset < GIC_IPRIORITYR) {
        allowed.value &= ~(uint64_t)gic->firmwares_private;
    }
    write_bank(&gic->redistributors[access->core].bank, &allowed);
}

static uint32_t read32(struct gic *gic, const struct gic_access *access)
{
    switch (access->frame) {
    case GIC_DISTRIBUTOR:
        return read_distributor(gic, access);
    case GIC_REDISTRIBUTOR:
        return read_redistributor(gic, access);
    case GIC_PRIVATE:
        return read_private(gic, access);
    default:
        return (uint32_t)gic_its_read(gic, access);
    }
}

static void write32(struct gic *gic, const struct gic_access *access)
{
    switch (access->frame) {
    case GIC_DISTRIBUTOR:
        if (access->offset == GICD_CTLR) {
            write_control(gic, access);
        } else {
            write_bank(&gic->distributor, access);
        }
        break;
    case GIC_REDISTRIBUTOR:
        write_redistributor(gic, access);
        break;
    case GIC_PRIVATE:
        write_private(gic, access);
        break;
    default:
        gic_its_write(gic, access);
    }
}

/* A register of 64 bits outside the ITS. */
static uint64_t *wide_register(struct gic *gic, const struct gic_access *access)
{
    struct gic_redistributor *redistributor = &gic->redistributors[access->core];
    uint32_t route = (access->offset - GICD_IROUTER) / 8;

    if (access->frame == GIC_REDISTRIBUTOR && access->offset == GICR_PROPBASER) {
        return &redistributor->configuration_table;
    }
    if (access->frame == GIC_REDISTRIBUTOR && access->offset == GICR_PENDBASER) {
        return &redistributor->pending_table;
    }
    gic_model_require(access->frame == GIC_DISTRIBUTOR && access->offset >= GICD_IROUTER &&
                          route >= GIC_SPI_FIRST && route < ROUTE_COUNT,
                      "known registers are accessed", access->address);
    return &gic->routes[route];
}

static void write64(struct gic *gic, const struct gic_access *access)
{
    uint64_t *wide;

    if (access->frame == GIC_ITS) {
        gic_its_write(gic, access);
        return;
    }
    wide = wide_register(gic, access);
    if (access->frame == GIC_DISTRIBUTOR) {
        *wide = access->value;
        return;
    }
    gic_model_require((gic->redistributors[access->core].control & GICR_CTLR_ENABLE_LPIS) == 0,
                      "table registers change while LPIs are off", access->address);
    *wide = gic_table(gic, access->value);
}

static void write8(struct gic *gic, const struct gic_access *access)
{
    if (gic->firmwares != 0 && access->frame == GIC_DISTRIBUTOR &&
        access->offset == GIC_IPRIORITYR + gic->firmwares) {
        return;
    }
    bool private = access->frame == GIC_PRIVATE;
    struct gic_bank *bank = private ? &gic->redistributors[access->core].bank : &gic->distributor;

    gic_model_require((private || access->frame == GIC_DISTRIBUTOR) && is_priority(access->offset),
                      "known registers are written", access->address);
    bank->priorities[access->offset - GIC_IPRIORITYR] = (uint8_t)access->value;
}

uint64_t gic_model_read(struct gic *gic, uint64_t address, uint8_t bytes)
{
    struct gic_access access =
        decode(gic, address - (bytes == 1 ? address % 4 : 0), bytes == 1 ? 4 : bytes);

    gic->reads++;
    watch(gic, &access);
    gic_late_read(gic, &access);
    if (bytes == 8) {
        return access.frame == GIC_ITS ? gic_its_read(gic, &access) : *wide_register(gic, &access);
    }
    if (bytes == 1) {
        return read32(gic, &access) >> address % 4 * 8 & 0xff;
    }
    return read32(gic, &access);
}

void gic_model_write(struct gic *gic, uint64_t address, uint8_t bytes, uint64_t value)
{
    struct gic_access access = decode(gic, address, bytes);

    access.write = true;
    access.value = value;
    gic->writes++;
    if (gic->ignores_writes) {
        return;
    }
    watch(gic, &access);
    if (gic->is_late && access.frame != GIC_ITS) {
        gic_late_write(gic, &access);
    } else {
        gic_carry_out(gic, &access);
    }
}

void gic_carry_out(struct gic *gic, const struct gic_access *access)
{
    gic_late_disable(gic, access);
    switch (access->bytes) {
    case 1:
        write8(gic, access);
        break;
    case 4:
        write32(gic, access);
        break;
    default:
        write64(gic, access);
    }
}
