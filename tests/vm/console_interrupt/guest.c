/* SPDX-License-Identifier: BSD-2-Clause */
/* A bare guest that has the board's numbers compiled in: the interrupt of the PL011 is INTID 33. It
 * prints each key that it hears. */
#include <stdint.h>

#define UART_DATA    UINT64_C(0x09000000)
#define UART_FLAGS   UINT64_C(0x09000018)
#define UART_MASK    UINT64_C(0x09000038)
#define FLAG_EMPTY   (1u << 4)
#define FLAG_FULL    (1u << 5)
#define MASK_RECEIVE (1u << 4)

#define UART_INTERRUPT 33u
#define DISTRIBUTOR    UINT64_C(0x08000000)
#define CTLR           0x0u /* IHI 0069: offsets in GICD */
#define ISENABLER      0x100u
#define ISACTIVER      0x300u
#define IPRIORITYR     0x400u
#define IROUTER        0x6000u

#define REGISTER_READ(name)                                            \
    __extension__({                                                    \
        uint64_t read_;                                                \
        __asm__ volatile("mrs %0, " #name : "=r"(read_) : : "memory"); \
        read_;                                                         \
    })
#define REGISTER_WRITE(name, value) \
    __asm__ volatile("msr " #name ", %0\n\tisb" : : "r"((uint64_t)(value)) : "memory")

void guest_main(void);
void guest_interrupt(void);
void guest_failed(void);

static uint32_t read32(uintptr_t address)
{
    return *(volatile uint32_t *)address;
}

static void write32(uintptr_t address, uint32_t value)
{
    *(volatile uint32_t *)address = value;
}

static void put(char character)
{
    while ((read32(UART_FLAGS) & FLAG_FULL) != 0) {
    }
    write32(UART_DATA, (uint8_t)character);
}

static void print(const char *text)
{
    for (; *text != '\0'; text++) {
        put(*text);
    }
}

static void print_number(uint32_t number)
{
    for (uint32_t unit = 1000; unit != 0; unit /= 10) {
        put((char)('0' + number / unit % 10));
    }
}

void guest_failed(void)
{
    print("FAIL: exception\n");
    for (;;) {
    }
}

void guest_interrupt(void)
{
    uint32_t number = (uint32_t)REGISTER_READ(S3_0_C12_C12_0); /* ICC_IAR1_EL1 */

    print("interrupt ");
    print_number(number);
    print((read32(DISTRIBUTOR + ISACTIVER + 4) & 1u << UART_INTERRUPT % 32) != 0
              ? " active, key "
              : " inactive, key ");
    while ((read32(UART_FLAGS) & FLAG_EMPTY) == 0) {
        put((char)read32(UART_DATA));
    }
    print("\n");
    REGISTER_WRITE(S3_0_C12_C12_1, number); /* ICC_EOIR1_EL1 */
}

void guest_main(void)
{
    REGISTER_WRITE(S3_0_C12_C12_5, 0x1); /* ICC_SRE_EL1 */
    REGISTER_WRITE(S3_0_C4_C6_0, 0xff);  /* ICC_PMR_EL1 */
    REGISTER_WRITE(S3_0_C12_C12_7, 0x1); /* ICC_IGRPEN1_EL1 */
    write32(DISTRIBUTOR + CTLR, 0x12);
    *(volatile uint8_t *)(DISTRIBUTOR + IPRIORITYR + UART_INTERRUPT) = 0x80;
    *(volatile uint64_t *)(DISTRIBUTOR + IROUTER + 8 * UART_INTERRUPT) = 0;
    write32(DISTRIBUTOR + ISENABLER + 4, 1u << UART_INTERRUPT % 32);
    write32(UART_MASK, MASK_RECEIVE);
    print("listens\n");
    __asm__ volatile("msr daifclr, #2");
    for (;;) {
        __asm__ volatile("wfi");
    }
}
