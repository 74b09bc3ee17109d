/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PCI on QEMU's device models: lists the functions that enumeration found, checks that no two BARs
 * overlap and that the devices' registers agree with the list, and has every e1000e raise
 * interrupts over INTx and MSI-X (writing its ICS register sets a cause: Intel 82574 datasheet,
 * 10.2.4). With the boot argument `messages=no` there must be no MSI-X vectors.
 */
#include "kernel/pci.h"
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "run_checks.h"
#include <arch/device_access.h>
#include <string.h>

#define E1000E 0x10D38086u

#define STATUS   0x0008u /* registers of the 82574 */
#define CTRL_EXT 0x0018u
#define ICR      0x00C0u
#define ICS      0x00C8u
#define IMS      0x00D0u
#define IMC      0x00D8u
#define EIAC     0x00DCu
#define IVAR     0x00E4u

#define CTRL_EXT_IAME \
    (1u << 27) /* a message clears the cause, and does not disable the interrupt */

#define CAUSE_LINK    (1u << 2)
#define CAUSE_QUEUE_0 (1u << 20)
#define CAUSE_QUEUE_1 (1u << 21)
#define IVAR_VECTORS  0x000000A9u /* receive queue 0 -> vector 1, 1 -> vector 2, both valid */

#define ROUNDS 100u

struct card {
    uintptr_t registers;
    unsigned interrupts;
};

static void list(const struct pci_function *function)
{
    print("pci %02x:%02x.%u %04x:%04x class %06x type %u vectors %u\n", function->bus,
          function->device, function->function, function->vendor_id, function->device_id,
          function->class_code >> 8, function->header_type, pci_msix_vectors(function));
    for (unsigned index = 0; index < PCI_BAR_COUNT; index++) {
        const struct pci_bar *bar = &function->bar[index];

        if (bar->bytes != 0) {
            print("bar %02x:%02x.%u %u %#llx %llu\n", function->bus, function->device,
                  function->function, index, (unsigned long long)bar->address,
                  (unsigned long long)bar->bytes);
        }
    }
}

static bool meet(const struct pci_bar *one, const struct pci_bar *other)
{
    return one != other && one->bytes != 0 && other->bytes != 0 &&
           one->address < other->address + other->bytes &&
           other->address < one->address + one->bytes;
}

static bool bar_is_good(const struct pci_bar *bar)
{
    CHECK(bar->address != 0 && bar->address % bar->bytes == 0);
    for (const struct pci_function *other = pci_first(); other != NULL; other = other->next) {
        for (unsigned index = 0; index < PCI_BAR_COUNT; index++) {
            CHECK(!meet(bar, &other->bar[index]));
        }
    }
    return true;
}

static bool function_is_good(const struct pci_function *function)
{
    CHECK(pci_config_read(function, 0, 4) ==
          ((uint32_t)function->device_id << 16 | function->vendor_id));
    CHECK(pci_config_read(function, 1, 2) == UINT32_MAX);
    CHECK(pci_config_read(function, 4096, 1) == UINT32_MAX);
    for (unsigned index = 0; index < PCI_BAR_COUNT; index++) {
        CHECK(function->bar[index].bytes == 0 || bar_is_good(&function->bar[index]));
    }
    return true;
}

static bool functions_are_found(void)
{
    CHECK(pci_first() != NULL);
    for (const struct pci_function *function = pci_first(); function != NULL;
         function = function->next) {
        list(function);
        CHECK(function_is_good(function));
    }
    return true;
}

static void intx_handler(void *argument)
{
    struct card *card = argument;

    /* Reading clears the cause, which deasserts the line. */
    if ((device_read32(card->registers + ICR) & CAUSE_LINK) != 0) {
        card->interrupts++;
    }
}

static void msix_handler(void *argument)
{
    ((struct card *)argument)->interrupts++;
}

/* Raises the cause `times` times and waits for each interrupt, which the device may delay. */
static bool raise_and_wait(struct card *card, uint32_t cause, unsigned times)
{
    for (unsigned round = 1; round <= times; round++) {
        uint64_t deadline = time_after(5 * NANOSECONDS_PER_SECOND);

        device_write32(card->registers + ICS, cause);
        while (*(volatile unsigned *)&card->interrupts < round) {
            CHECK(time_now() < deadline);
        }
    }
    return true;
}

static bool test_intx(struct pci_function *function, struct card *card)
{
    enum interrupt_trigger trigger;
    uint32_t number;

    CHECK(pci_intx(function, &number, &trigger) == RESULT_OK);
    CHECK(trigger == INTERRUPT_LEVEL);
    device_write32(card->registers + IMC, UINT32_MAX);
    (void)device_read32(card->registers + ICR);
    CHECK(interrupt_attach(number, trigger, intx_handler, card) == RESULT_OK);
    device_write32(card->registers + IMS, CAUSE_LINK);
    CHECK(raise_and_wait(card, CAUSE_LINK, ROUNDS));
    device_write32(card->registers + IMC, UINT32_MAX);
    CHECK(interrupt_detach(number, intx_handler, card) == RESULT_OK);
    CHECK(card->interrupts == ROUNDS);
    print("intx %02x:%02x.%u at %u: %u interrupts\n", function->bus, function->device,
          function->function, number, card->interrupts);
    return true;
}

static void prepare_messages(const struct card *card)
{
    uint32_t control = device_read32(card->registers + CTRL_EXT);

    device_write32(card->registers + CTRL_EXT, control | CTRL_EXT_IAME);
    device_write32(card->registers + IVAR, IVAR_VECTORS);
    device_write32(card->registers + EIAC, CAUSE_QUEUE_0 | CAUSE_QUEUE_1);
    device_write32(card->registers + IMS, CAUSE_QUEUE_0 | CAUSE_QUEUE_1);
}

/* Checks lower bounds, because the device limits its rate and may repeat a message. */
static bool vectors_arrive(struct pci_function *function, struct card *first, struct card *second)
{
    CHECK(pci_msix_attach(function, 1, msix_handler, first) == RESULT_OK);
    CHECK(pci_msix_attach(function, 2, msix_handler, second) == RESULT_OK);
    CHECK(pci_msix_attach(function, 1, msix_handler, first) == RESULT_BUSY);
    prepare_messages(first);
    CHECK(raise_and_wait(first, CAUSE_QUEUE_0, ROUNDS));
    CHECK(second->interrupts == 0);
    CHECK(raise_and_wait(second, CAUSE_QUEUE_1, 1));
    CHECK(pci_msix_detach(function, 2, msix_handler, second) == RESULT_OK);
    return true;
}

static bool detached_vector_is_silent(struct pci_function *function, struct card *card)
{
    unsigned before;

    CHECK(pci_msix_detach(function, 1, msix_handler, card) == RESULT_OK);
    CHECK(pci_msix_detach(function, 1, msix_handler, card) == RESULT_NOT_FOUND);
    before = card->interrupts;
    device_write32(card->registers + ICS, CAUSE_QUEUE_0);
    thread_sleep_until(time_after(5 * NANOSECONDS_PER_MILLISECOND));
    CHECK(card->interrupts == before);
    /* Messages arrive again after the vector is attached again. */
    CHECK(pci_msix_attach(function, 1, msix_handler, card) == RESULT_OK);
    card->interrupts = 0;
    CHECK(raise_and_wait(card, CAUSE_QUEUE_0, 1));
    CHECK(pci_msix_detach(function, 1, msix_handler, card) == RESULT_OK);
    return true;
}

static bool test_msix(struct pci_function *function, const struct card *card)
{
    unsigned vectors = pci_msix_vectors(function);
    struct card first = {.registers = card->registers};
    struct card second = first;

    CHECK(vectors > 2);
    CHECK(pci_msix_attach(function, vectors, msix_handler, &first) == RESULT_INVALID);
    CHECK(vectors_arrive(function, &first, &second));
    CHECK(detached_vector_is_silent(function, &first));
    print("msix %02x:%02x.%u: two vectors of %u\n", function->bus, function->device,
          function->function, vectors);
    return true;
}

static bool messages_expected(void)
{
    char value[8] = "";

    return !boot_argument("messages", value, sizeof(value)) || strcmp(value, "no") != 0;
}

static bool card_interrupts(struct pci_function *function)
{
    struct card card = {0};

    pci_enable(function);
    card.registers = pci_map_bar(function, 0);
    CHECK(card.registers != 0 && pci_map_bar(function, 0) == card.registers);
    CHECK(device_read32(card.registers + STATUS) != UINT32_MAX);
    CHECK(test_intx(function, &card));
    if (messages_expected()) {
        return test_msix(function, &card);
    }
    CHECK(pci_msix_vectors(function) == 0);
    CHECK(pci_msix_attach(function, 0, msix_handler, &card) != RESULT_OK);
    return true;
}

static bool cards_interrupt(void)
{
    struct interrupt_statistics statistics;

    for (struct pci_function *function = pci_first(); function != NULL; function = function->next) {
        if (pci_config_read(function, 0, 4) == E1000E) {
            CHECK(card_interrupts(function));
        }
    }
    interrupt_statistics(&statistics);
    print("interrupts: %llu handled, %zu bytes for messages\n",
          (unsigned long long)statistics.handled, statistics.message_bytes);
    CHECK(statistics.unknown == 0);
    return true;
}

/* Waits, so that the test can compare the list with QEMU's. */
static bool linger(void)
{
    char text[2];

    if (boot_argument("linger", text, sizeof(text))) {
        thread_sleep_until(time_after(60 * NANOSECONDS_PER_SECOND));
    }
    return true;
}

int application_main(void)
{
    static const struct named_check checks[] = {
        {"functions are found", functions_are_found},
        {"cards interrupt", cards_interrupt},
        {"linger", linger},
    };

    return run_checks(checks, sizeof checks / sizeof checks[0]);
}
