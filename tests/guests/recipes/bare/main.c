/* SPDX-License-Identifier: BSD-2-Clause */
/* A program without a kernel: it prints, looks at its devicetree, and switches itself off. */
#include <stdint.h>

#define UART_DATA    UINT64_C(0x09000000) /* PL011 (DDI 0183) */
#define UART_FLAGS   UINT64_C(0x09000018)
#define FLAG_FULL    (1u << 5)
#define START_OF_RAM UINT64_C(0x40000000)
#define FDT_MAGIC    0xd00dfeedu          /* Devicetree Specification, 5.2; big-endian */
#define SYSTEM_OFF   UINT64_C(0x84000008) /* PSCI (DEN 0022) */

void bare_main(uint64_t devicetree);

static uint32_t read32(uint64_t address)
{
    return *(volatile uint32_t *)(uintptr_t)address;
}

static void print(const char *text)
{
    for (; *text != '\0'; text++) {
        while ((read32(UART_FLAGS) & FLAG_FULL) != 0) {
        }
        *(volatile uint32_t *)(uintptr_t)UART_DATA = (uint8_t)*text;
    }
}

static void switch_off(void)
{
    register uint64_t x0 __asm__("x0") = SYSTEM_OFF;

    __asm__ volatile("hvc #0" : "+r"(x0) : : "memory");
}

void bare_main(uint64_t devicetree)
{
    print("hello\n");
    if (devicetree == START_OF_RAM && __builtin_bswap32(read32(devicetree)) == FDT_MAGIC) {
        print("the devicetree is at the start of RAM\n");
    }
    switch_off();
}
