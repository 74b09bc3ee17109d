/* SPDX-License-Identifier: BSD-2-Clause */
/* A bare guest that prints its real-time clock, the seeds in its devicetree, and random numbers of
 * the TRNG calls (Arm DEN0098), and restarts. */
#include <stdint.h>

#define UART_DATA    UINT64_C(0x09000000)
#define UART_FLAGS   UINT64_C(0x09000018)
#define FLAG_FULL    (1u << 5)
#define CLOCK        UINT64_C(0x09010000)
#define CLOCK_LOAD   UINT64_C(0x09010008)
#define CLOCK_ID     UINT64_C(0x09010fe0)
#define PROPERTY     3u /* Devicetree Specification, 5.4.1 */
#define TRNG_VERSION 0x84000050u
#define TRNG_RND32   0x84000053u
#define TRNG_RND64   0xc4000053u
#define SYSTEM_RESET 0x84000009u

void guest_main(const uint32_t *devicetree);
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

static void print(const char *text)
{
    for (; *text != '\0'; text++) {
        while ((read32(UART_FLAGS) & FLAG_FULL) != 0) {
        }
        write32(UART_DATA, (uint8_t)*text);
    }
}

static void print_number(uint64_t value)
{
    char digits[18];

    digits[0] = ' ';
    for (unsigned i = 0; i < 16; i++) {
        digits[i + 1] = "0123456789abcdef"[value >> (60 - 4 * i) & 0xf];
    }
    digits[17] = '\0';
    print(digits);
}

static void call(uint64_t registers[4])
{
    register uint64_t x0 __asm__("x0") = registers[0];
    register uint64_t x1 __asm__("x1") = registers[1];
    register uint64_t x2 __asm__("x2") = registers[2];
    register uint64_t x3 __asm__("x3") = registers[3];

    __asm__ volatile("hvc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3) : : "memory");
    registers[0] = x0;
    registers[1] = x1;
    registers[2] = x2;
    registers[3] = x3;
}

static void print_call(const char *name, uint64_t function, uint64_t first, unsigned results)
{
    uint64_t registers[4] = {function, first, 0, 0};

    call(registers);
    print(name);
    for (unsigned i = 0; i < results; i++) {
        print_number(registers[i]);
    }
    print("\n");
}

static uint32_t swapped(const uint32_t *word)
{
    return __builtin_bswap32(*word);
}

static int is_equal(const char *text, const char *other)
{
    while (*text == *other && *text != '\0') {
        text++;
        other++;
    }
    return *text == *other;
}

/* Prints the value of each property with this name, which has whole doublewords. */
static void print_property(const uint32_t *tree, const char *name)
{
    const uint32_t *end = tree + swapped(&tree[1]) / 4;
    const char *strings = (const char *)tree + swapped(&tree[3]);
    uint32_t bytes = swapped(&tree[1]) - swapped(&tree[3]);

    print(name);
    for (const uint32_t *word = tree + swapped(&tree[2]) / 4; word + 3 < end; word++) {
        if (swapped(word) == PROPERTY && swapped(&word[1]) <= 32 && swapped(&word[2]) < bytes &&
            is_equal(strings + swapped(&word[2]), name)) {
            for (uint32_t i = 0; i < swapped(&word[1]) / 4; i += 2) {
                print_number(word[3 + i] | (uint64_t)word[4 + i] << 32);
            }
        }
    }
    print("\n");
}

void guest_failed(void)
{
    print("FAIL: exception\n");
    for (;;) {
    }
}

void guest_interrupt(void)
{
    guest_failed();
}

static void print_clock(void)
{
    write32(CLOCK_LOAD, 0); /* sets a PL031, but not a virtual one */
    print("clock");
    print_number(read32(CLOCK));
    print_number(read32(CLOCK_ID));
    print("\n");
}

void guest_main(const uint32_t *devicetree)
{
    uint64_t reset[4] = {SYSTEM_RESET, 0, 0, 0};

    print_clock();
    print_property(devicetree, "kaslr-seed");
    print_property(devicetree, "rng-seed");
    print_call("version", TRNG_VERSION, 0, 1);
    print_call("numbers", TRNG_RND64, 192, 4);
    print_call("numbers", TRNG_RND32, 40, 4);
    print_call("invalid", TRNG_RND64, 193, 1);
    call(reset);
}
