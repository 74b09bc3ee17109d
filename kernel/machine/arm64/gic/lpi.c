/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LPIs at this core's Redistributor (IHI 0069, 5.1): a table of configuration bytes, and a table of
 * pending bits, which only the Redistributor accesses.
 */
#include "gic/gic_private.h"
#include "kernel/memory.h"
#include "kernel/print.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>
#include <string.h>

/* The smallest number of INTID bits with which LPIs exist (IHI 0069, GICR_PROPBASER.IDbits). The
 * configuration table then has 2^14 - 8192 bytes, the pending table 2^14 bits, at 64 KiB. */
#define ID_BITS             14u
#define CONFIGURATION_BYTES ((UINT32_C(1) << ID_BITS) - GIC_LPI_FIRST)
#define PENDING_BYTES       ((UINT32_C(1) << ID_BITS) / 8)
#define PENDING_ALIGNMENT   ((size_t)64 * 1024)

/* IHI 0069, "LPI Configuration tables": priority in 7:2, bit 1 is RES1, bit 0 enables. */
#define CONFIGURATION_RES1   0x02u
#define CONFIGURATION_ENABLE 0x01u

static struct {
    uint8_t *configuration;
    bool coherent;
} lpi;

bool gic_write_table_register(uintptr_t address, uint64_t value, unsigned cache_shift)
{
    uint64_t cached = value | GIC_INNER_SHAREABLE | GIC_CACHE_WRITE_BACK << cache_shift;

    device_write64(address, cached);
    /* A GIC that cannot share what the core has cached reads back as Non-shareable (IHI 0069,
     * GITS_CBASER.Shareability). Then both sides must use Non-cacheable accesses. */
    if ((device_read64(address) & GIC_SHAREABILITY) != 0) {
        return true;
    }
    device_write64(address, value | GIC_CACHE_NONE << cache_shift);
    return false;
}

void gic_publish(const void *memory, size_t bytes, bool coherent)
{
    if (coherent) {
        device_publish();
    } else {
        device_publish_uncached(memory, bytes);
    }
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
}

void *gic_table_allocate(size_t bytes, size_t alignment)
{
    void *table = page_allocate(whole_pages(bytes), alignment);

    if (table != NULL) {
        memset(table, 0, whole_pages(bytes) * PAGE_BYTES);
    }
    return table;
}

void gic_table_free(void *table, size_t bytes)
{
    if (table != NULL) {
        page_free(table, whole_pages(bytes));
    }
}

uint32_t lpi_limit(void)
{
    uint32_t limit = UINT32_C(1) << ID_BITS;
    /* IHI 0069, GICD_TYPER.num_LPIs: 2^(n + 1) LPIs, unless n is 0. */
    uint32_t exponent = gic_distributor_type() >> 11 & 0x1F;

    if (exponent != 0 && exponent + 1 < ID_BITS - 1) {
        limit = GIC_LPI_FIRST + (UINT32_C(2) << exponent);
    }
    return limit;
}

void lpi_set(uint32_t number, bool enabled)
{
    uint8_t *byte = lpi.configuration + (number - GIC_LPI_FIRST);

    *byte = (uint8_t)((*byte & ~CONFIGURATION_ENABLE) | (enabled ? CONFIGURATION_ENABLE : 0));
    gic_publish(byte, 1, lpi.coherent);
}

void lpi_set_priority(uint32_t number, uint8_t priority)
{
    uint8_t *byte = lpi.configuration + (number - GIC_LPI_FIRST);

    *byte = (uint8_t)(priority | CONFIGURATION_RES1 | (*byte & CONFIGURATION_ENABLE));
    gic_publish(byte, 1, lpi.coherent);
}

/* Disables the LPIs. GICR_PROPBASER and GICR_PENDBASER may be written only while EnableLPIs is 0,
 * and a Redistributor may not support clearing it (IHI 0069). */
static enum result turn_off(const struct redistributor *redistributor)
{
    uintptr_t control = redistributor->base + GICR_CTLR;

    if ((device_read32(control) & GICR_CTLR_ENABLE_LPIS) == 0) {
        return RESULT_OK;
    }
    device_write32(control, device_read32(control) & ~GICR_CTLR_ENABLE_LPIS);
    if (!redistributor_settle(redistributor, GIC_POLLS_MAX)) {
        return RESULT_TIMED_OUT;
    }
    if ((device_read32(control) & GICR_CTLR_ENABLE_LPIS) != 0) {
        print("gic: the loader has LPI tables in use that cannot be replaced\n");
        return RESULT_UNSUPPORTED;
    }
    return RESULT_OK;
}

static void turn_on(const struct redistributor *redistributor, void *pending)
{
    uintptr_t base = redistributor->base;
    bool pending_coherent;

    memset(lpi.configuration, GIC_PRIORITY | CONFIGURATION_RES1, CONFIGURATION_BYTES);
    lpi.coherent = gic_write_table_register(base + GICR_PROPBASER,
                                            (uintptr_t)lpi.configuration | (ID_BITS - 1),
                                            GICR_BASER_CACHE_SHIFT);
    pending_coherent = gic_write_table_register(
        base + GICR_PENDBASER, (uintptr_t)pending | GICR_PENDBASER_ZEROED, GICR_BASER_CACHE_SHIFT);
    gic_publish(lpi.configuration, CONFIGURATION_BYTES, lpi.coherent);
    gic_publish(pending, PENDING_BYTES, pending_coherent);
    device_write32(base + GICR_CTLR, device_read32(base + GICR_CTLR) | GICR_CTLR_ENABLE_LPIS);
}

size_t lpi_bytes(void)
{
    return (whole_pages(CONFIGURATION_BYTES) + whole_pages(PENDING_BYTES)) * PAGE_BYTES;
}

enum result lpi_init(const struct redistributor *redistributor)
{
    uint32_t type = gic_distributor_type();
    enum result result;
    void *pending;

    if (lpi.configuration != NULL) {
        return RESULT_OK;
    }
    /* IHI 0069, GICD_TYPER.IDbits: bits of an INTID, minus 1. */
    if ((type & GICD_TYPER_LPIS) == 0 || (type >> 19 & 0x1F) + 1 < ID_BITS ||
        (redistributor->type & GICR_TYPER_PHYSICAL_LPIS) == 0) {
        return RESULT_UNSUPPORTED;
    }
    result = turn_off(redistributor);
    if (result != RESULT_OK) {
        return result;
    }
    lpi.configuration = gic_table_allocate(CONFIGURATION_BYTES, PAGE_BYTES);
    pending = gic_table_allocate(PENDING_BYTES, PENDING_ALIGNMENT);
    if (lpi.configuration == NULL || pending == NULL) {
        gic_table_free(lpi.configuration, CONFIGURATION_BYTES);
        gic_table_free(pending, PENDING_BYTES);
        lpi.configuration = NULL;
        return RESULT_NO_MEMORY;
    }
    turn_on(redistributor, pending);
    return RESULT_OK;
}
