/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FreeRTOS in a partition: a task sends a number each 100 ms, another one prints it, and a third
 * one prints each line that is typed. The tick is the virtual timer's interrupt, and the console's
 * interrupt is the one that ./bulkhead check prints.
 */
#include <stddef.h>
#include <stdint.h>

#include "FreeRTOS.h"
#include "queue.h"
#include "task.h"

/* GICv3 (IHI 0069): the Distributor, and the frame for private interrupts of the first core. */
#define DISTRIBUTOR     0x08000000u
#define PRIVATE_FRAME   0x080b0000u
#define GICD_CTLR       (DISTRIBUTOR + 0x0000u)
#define CTLR_GROUP_1    (1u << 1)
#define CTLR_AFFINITY   (1u << 4)
#define IGROUPR         0x0080u
#define ISENABLER       0x0100u
#define IPRIORITYR      0x0400u
#define IROUTER         0x6000u
#define TIMER_INTERRUPT 27u
#define UART_INTERRUPT  32u
#define SPURIOUS        1020u
/* The tick has the least urgent priority but one, as the port requires. */
#define INTERRUPT_PRIORITY (portLOWEST_USABLE_INTERRUPT_PRIORITY << portPRIORITY_SHIFT)

/* PL011 (DDI 0183). */
#define UART_DATA       0x09000000u
#define UART_FLAGS      0x09000018u
#define UART_MASK       0x09000038u
#define UART_CLEAR      0x09000044u
#define FLAG_EMPTY      (1u << 4)
#define FLAG_FULL       (1u << 5)
#define RECEIVE         (1u << 4)
#define RECEIVE_TIMEOUT (1u << 6)

#define LINE_MAX 64

static QueueHandle_t numbers, typed;

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
    char text[21];
    char *digit = &text[sizeof(text) - 1];

    *digit = '\0';
    do {
        *--digit = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    print(digit);
}

void assertion_failed(const char *file, int line)
{
    portDISABLE_INTERRUPTS();
    print("FAIL: ");
    print(file);
    print(":");
    print_number((uint64_t)line);
    print("\n");
    for (;;) {
    }
}

void unexpected(void);
void unexpected(void)
{
    assertion_failed("an unexpected exception", 0);
}

static void next_tick(void)
{
    uint64_t frequency;
    uint64_t now;

    __asm__ volatile("mrs %0, cntfrq_el0\n\tmrs %1, cntv_cval_el0" : "=r"(frequency), "=r"(now));
    __asm__ volatile("msr cntv_cval_el0, %0\n\tisb" : : "r"(now + frequency / configTICK_RATE_HZ));
}

static void enable_interrupt(uintptr_t frame, uint32_t interrupt)
{
    uintptr_t word = frame + interrupt / 32 * 4;
    volatile uint8_t *priority = (volatile uint8_t *)(frame + IPRIORITYR + interrupt);

    write32(word + IGROUPR, read32(word + IGROUPR) | 1u << interrupt % 32);
    *priority = INTERRUPT_PRIORITY;
    write32(word + ISENABLER, 1u << interrupt % 32);
}

/* FreeRTOS calls this when its scheduler starts. */
void setup_tick(void)
{
    uint64_t now;

    write32(GICD_CTLR, CTLR_GROUP_1 | CTLR_AFFINITY);
    enable_interrupt(PRIVATE_FRAME, TIMER_INTERRUPT);
    *(volatile uint64_t *)(uintptr_t)(DISTRIBUTOR + IROUTER + 8 * UART_INTERRUPT) = 0;
    enable_interrupt(DISTRIBUTOR, UART_INTERRUPT);
    write32(UART_MASK, RECEIVE | RECEIVE_TIMEOUT);
    __asm__ volatile("msr s3_0_c12_c12_5, %0\n\tisb\n\t" /* ICC_SRE_EL1 */
                     "msr s3_0_c12_c12_7, %0\n\tisb"     /* ICC_IGRPEN1_EL1 */
                     :
                     : "r"(UINT64_C(1)));
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    __asm__ volatile("msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1"
                     :
                     : "r"(now), "r"(UINT64_C(1)));
    next_tick();
}

void clear_tick(void)
{
    next_tick();
}

static void receive(void)
{
    BaseType_t woken = pdFALSE;

    /* The interrupt is an edge, so all characters are taken. */
    write32(UART_CLEAR, RECEIVE | RECEIVE_TIMEOUT);
    while ((read32(UART_FLAGS) & FLAG_EMPTY) == 0) {
        char character = (char)read32(UART_DATA);

        (void)xQueueSendToBackFromISR(typed, &character, &woken);
    }
    portYIELD_FROM_ISR(woken);
}

/* FreeRTOS_IRQ_Handler calls this with ICC_IAR1_EL1. */
void vApplicationIRQHandler(uint32_t acknowledged);
void vApplicationIRQHandler(uint32_t acknowledged)
{
    if (acknowledged == TIMER_INTERRUPT) {
        FreeRTOS_Tick_Handler();
    } else if (acknowledged == UART_INTERRUPT) {
        receive();
    } else if (acknowledged < SPURIOUS) {
        assertion_failed("an unexpected interrupt", (int)acknowledged);
    }
}

static void send_numbers(void *unused)
{
    TickType_t due = xTaskGetTickCount();

    (void)unused;
    for (uint64_t number = 1;; number++) {
        (void)xTaskDelayUntil(&due, pdMS_TO_TICKS(100));
        (void)xQueueSendToBack(numbers, &number, portMAX_DELAY);
    }
}

static void print_numbers(void *unused)
{
    uint64_t number;

    (void)unused;
    for (;;) {
        (void)xQueueReceive(numbers, &number, portMAX_DELAY);
        if (number % 10 == 0) {
            print_number(number);
            print(" messages\n");
        }
    }
}

static void print_lines(void *unused)
{
    char line[LINE_MAX + 1];
    unsigned length = 0;

    (void)unused;
    for (;;) {
        (void)xQueueReceive(typed, &line[length], portMAX_DELAY);
        if (line[length] != '\r' && line[length] != '\n') {
            length += length < LINE_MAX - 1 ? 1 : 0;
            continue;
        }
        line[length] = '\0';
        length = 0;
        print("typed: ");
        print(line);
        print("\n");
    }
}

int main(void)
{
    print("FreeRTOS " tskKERNEL_VERSION_NUMBER "\n");
    numbers = xQueueCreate(4, sizeof(uint64_t));
    typed = xQueueCreate(LINE_MAX, sizeof(char));
    (void)xTaskCreate(send_numbers, "send", configMINIMAL_STACK_SIZE, NULL, 3, NULL);
    (void)xTaskCreate(print_numbers, "print", configMINIMAL_STACK_SIZE, NULL, 2, NULL);
    (void)xTaskCreate(print_lines, "lines", configMINIMAL_STACK_SIZE, NULL, 1, NULL);
    vTaskStartScheduler();
    assertion_failed("the scheduler returned", 0);
    return 0;
}

/* The compiler and FreeRTOS call these. */
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        ((volatile uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    }
    return to;
}

void *memset(void *to, int value, size_t size);
void *memset(void *to, int value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        ((volatile uint8_t *)to)[i] = (uint8_t)value;
    }
    return to;
}
