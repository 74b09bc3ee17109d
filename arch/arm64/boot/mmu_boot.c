/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the first translation tables. This file is executed with the MMU off, when all memory is
 * Device memory. So it and the table logic are compiled with -mstrict-align, and no code here may
 * call memcpy() or memset().
 */
#include <arch/image.h>
#include <arch/mmu_translation.h>

/* Size of the header of a flattened devicetree (Devicetree Specification, "Header"). It contains
 * the devicetree's size. */
#define DEVICETREE_HEADER_BYTES UINT64_C(40)
#define DEVICETREE_ALIGNMENT    UINT64_C(8)

/* Attribute 0: Normal, write-back, read and write allocate. 1: Device-nGnRE (Arm ARM, MAIR_EL1). */
#define MAIR_VALUE UINT64_C(0x04ff)

/* Arm ARM, TCR_EL1: TTBR0_EL1 translates 48-bit addresses with 4 KiB pages (T0SZ, TG0), and walks
 * use the caches (IRGN0, ORGN0: write-back, allocate; SH0: Inner Shareable). TTBR1_EL1 is not used
 * (EPD1; TG1: 4 KiB). */
#define TCR_T0SZ      UINT64_C(16)
#define TCR_IRGN0     (UINT64_C(1) << 8)
#define TCR_ORGN0     (UINT64_C(1) << 10)
#define TCR_SH0       (UINT64_C(3) << 12)
#define TCR_T1SZ      (UINT64_C(16) << 16)
#define TCR_EPD1      (UINT64_C(1) << 23)
#define TCR_TG1       (UINT64_C(2) << 30)
#define TCR_IPS_SHIFT 32
#define TCR_IPS_48    UINT64_C(5)

static uint64_t page_floor(uint64_t address)
{
    return address & ~(TRANSLATION_PAGE_BYTES - 1);
}

static void map(struct translation *translation, const char *start, const char *end,
                enum translation_use use)
{
    uint64_t address = (uint64_t)(uintptr_t)start;
    uint64_t bytes = (uint64_t)(uintptr_t)end - address;

    if (bytes != 0 && translation_map(translation, address, bytes, use) != RESULT_OK) {
        for (;;) {
            __asm__ volatile("wfi");
        }
    }
}

static void map_image(struct translation *translation)
{
    map(translation, image_start, image_text_end, TRANSLATION_CODE);
    map(translation, image_text_end, image_constants_end, TRANSLATION_CONSTANTS);
    map(translation, image_constants_end, interrupt_stack_guard, TRANSLATION_DATA);
    map(translation, interrupt_stack_bottom, image_end, TRANSLATION_DATA);
}

/* Maps the devicetree's header, and does not read it: with the MMU off, the loader's writes may
 * still be in the cache. A wrong address is ignored here; arch_main() detects it. */
static void map_devicetree_header(struct translation *translation, uint64_t devicetree)
{
    uint64_t first = page_floor(devicetree);
    uint64_t last = page_floor(devicetree + DEVICETREE_HEADER_BYTES - 1);

    if (devicetree != 0 && devicetree % DEVICETREE_ALIGNMENT == 0 &&
        devicetree < TRANSLATION_ADDRESS_LIMIT) {
        (void)translation_map(translation, first, last - first + TRANSLATION_PAGE_BYTES,
                              TRANSLATION_CONSTANTS);
    }
}

void mmu_boot(uint64_t devicetree)
{
    struct translation *translation = mmu_translation_init();
    uint64_t features;
    uint64_t address_size;

    map_image(translation);
    map_devicetree_header(translation, devicetree);

    __asm__ volatile("mrs %0, id_aa64mmfr0_el1" : "=r"(features));
    address_size = features & 0xf; /* PARange has the same coding as TCR_EL1.IPS */
    if (address_size > TCR_IPS_48) {
        address_size = TCR_IPS_48;
    }
    __asm__ volatile("msr mair_el1, %0\n\t"
                     "msr tcr_el1, %1\n\t"
                     "msr ttbr0_el1, %2\n\t"
                     "isb"
                     :
                     : "r"(MAIR_VALUE),
                       "r"(TCR_T0SZ | TCR_IRGN0 | TCR_ORGN0 | TCR_SH0 | TCR_T1SZ | TCR_EPD1 |
                           TCR_TG1 | address_size << TCR_IPS_SHIFT),
                       "r"((uint64_t)(uintptr_t)translation->root)
                     : "memory");
}
