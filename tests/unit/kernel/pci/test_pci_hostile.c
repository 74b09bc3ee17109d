/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests kernel/pci on malicious configuration spaces: it neither crashes nor hangs, and rejects
 * impossible values.
 */
#include "pci_fixture.h"

/* Maximum number of reads of an enumeration: some for each of 256 functions on 256 buses. */
#define READS_MAX 500000u

/* Uses everything that a driver could request from the functions found. */
static void use_all(void)
{
    unsigned count = 0;

    for (struct pci_function *function = pci_first(); function != NULL; function = function->next) {
        enum interrupt_trigger trigger;
        uint32_t number;

        assert_true(++count <= 128);
        pci_enable(function);
        (void)pci_intx(function, &number, &trigger);
        (void)pci_msix_vectors(function);
        (void)pci_find_capability(function, 0x09);
        for (unsigned index = 0; index < PCI_BAR_COUNT; index++) {
            (void)pci_map_bar(function, index);
        }
        (void)pci_msix_attach(function, 0, pci_fixture_handler, NULL);
        (void)pci_msix_attach(function, 2047, pci_fixture_handler, NULL);
        (void)pci_msix_detach(function, 0, pci_fixture_handler, NULL);
    }
}

static void test_impossible_bars(void **state)
{
    struct fake_function *nic = fake_add(NULL, 1, 0, NIC);

    (void)state;
    pci_model_bar(&nic->pci, 0, 0x1000, 1u << 1);         /* reserved type */
    pci_model_set(&nic->pci, PCI_BAR + 4, 4, UINT32_MAX); /* stuck at one */
    pci_model_bar(&nic->pci, 2, 0x1000, 0);
    nic->pci.writable[PCI_BAR + 8 + 2] = 0x5A;    /* a size with holes */
    pci_model_bar(&nic->pci, 3, 0x1000, 3u << 1); /* reserved type */
    pci_model_bar(&nic->pci, 5, 0x1000,
                  PCI_BAR_TYPE_64); /* no upper half; touches no other register */
    pci_model_set(&nic->pci, PCI_BAR + 24, 4, 0x12345678);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    for (unsigned index = 0; index < PCI_BAR_COUNT; index++) {
        assert_int_equal(nic->found->bar[index].bytes, 0);
        assert_int_equal(nic->found->bar[index].address, 0);
    }
    assert_int_equal(pci_model_get(&nic->pci, PCI_BAR + 24, 4), 0x12345678);
    use_all();
}

static void test_huge_bars(void **state)
{
    struct fake_function *nic = fake_add(NULL, 1, 0, NIC);

    (void)state;
    pci_model_bar(&nic->pci, 0, UINT64_C(1) << 63, PCI_BAR_TYPE_64);
    pci_model_bar(&nic->pci, 2, UINT64_C(1) << 39, PCI_BAR_TYPE_64); /* all of the window */
    pci_model_bar(&nic->pci, 4, UINT64_C(1) << 31, 0);
    pci_model_bar(&nic->pci, 5, UINT64_C(1) << 20, 0);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_int_equal(nic->found->bar[0].address, 0);
    assert_int_equal(nic->found->bar[2].address, UINT64_C(1) << 39);
    assert_int_equal(nic->found->bar[4].address, 0);
    assert_int_not_equal(nic->found->bar[5].address, 0);
    use_all();
}

static void test_capability_loops(void **state)
{
    struct fake_function *self = fake_add(NULL, 1, 0, NIC), *two = fake_add(NULL, 2, 0, NIC);
    struct fake_function *low = fake_add(NULL, 3, 0, NIC);

    (void)state;
    pci_model_set(&self->pci, PCI_STATUS, 2, PCI_STATUS_CAPABILITIES);
    pci_model_set(&self->pci, PCI_CAPABILITIES, 1, 0x40);
    pci_model_set(&self->pci, 0x40, 2, 0x4009);
    pci_model_set(&two->pci, PCI_STATUS, 2, PCI_STATUS_CAPABILITIES);
    pci_model_set(&two->pci, PCI_CAPABILITIES, 1, 0x53); /* reserved bits set */
    pci_model_set(&two->pci, 0x50, 2, 0xFC09);
    pci_model_set(&two->pci, 0xFC, 2, 0x5009);
    pci_model_set(&low->pci, PCI_STATUS, 2, PCI_STATUS_CAPABILITIES);
    pci_model_set(&low->pci, PCI_CAPABILITIES, 1, 0x3C); /* in the header */
    pci_model_set(&low->pci, 0x3C, 1, PCI_CAPABILITY_MSIX);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_int_equal(self->found->msix_capability, 0);
    assert_int_equal(two->found->msix_capability, 0);
    assert_int_equal(low->found->msix_capability, 0);
    assert_int_equal(pci_find_capability(two->found, 0x09), 0x50);
    assert_true(fake_counts.reads < 500);
    use_all();
}

static unsigned vectors_with_table(unsigned vectors, unsigned bar, uint32_t offset)
{
    struct fake_function *nic;

    fake_reset();
    nic = fake_add(NULL, 1, 0, NIC);
    pci_model_bar(&nic->pci, 0, 0x1000, 0);
    pci_model_bar(&nic->pci, 1, 0x100, PCI_BAR_IO);
    pci_model_bar(&nic->pci, 4, UINT64_C(1) << 31, 0); /* gets no address */
    pci_model_msix(&nic->pci, vectors, bar, offset);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    vectors = pci_msix_vectors(nic->found);
    assert_int_equal(pci_msix_attach(nic->found, 0, pci_fixture_handler, NULL),
                     vectors == 0 ? RESULT_INVALID : RESULT_OK);
    return vectors;
}

static void test_msix_tables(void **state)
{
    (void)state;
    assert_int_equal(vectors_with_table(256, 0, 0), 256); /* exactly fits */
    assert_int_equal(vectors_with_table(257, 0, 0), 0);
    assert_int_equal(vectors_with_table(1, 0, 0xFF0), 1);
    assert_int_equal(vectors_with_table(2, 0, 0xFF0), 0);
    assert_int_equal(vectors_with_table(1, 0, 0x1000), 0);
    assert_int_equal(vectors_with_table(1, 0, 0xFFFFFFF8), 0);
    assert_int_equal(vectors_with_table(1, 1, 0), 0); /* I/O */
    assert_int_equal(vectors_with_table(1, 2, 0), 0); /* absent */
    assert_int_equal(vectors_with_table(1, 4, 0), 0); /* without an address */
    assert_int_equal(vectors_with_table(1, 6, 0), 0);
    assert_int_equal(vectors_with_table(1, 7, 0), 0);
    assert_int_equal(vectors_with_table(2048, 0, 0), 0);
}

/* The table grows after it was checked. */
static void test_msix_table_that_changes(void **state)
{
    struct fake_function *nic = fake_add(NULL, 1, 0, NIC);

    (void)state;
    pci_model_bar(&nic->pci, 0, 0x1000, 0);
    pci_model_msix(&nic->pci, 4, 0, 0);
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_int_equal(pci_msix_vectors(nic->found), 4);
    pci_model_set(&nic->pci, nic->found->msix_capability + 2u, 2, 2047);
    assert_int_equal(pci_msix_attach(nic->found, 0, pci_fixture_handler, NULL), RESULT_INVALID);
}

static uint32_t all_bridges(uint8_t bus, uint8_t device_function, uint16_t offset)
{
    static const uint32_t header[] = {0x000C1B36, 0, 0x06040000, 0x00010000};

    (void)bus;
    (void)device_function;
    return offset < 16 ? header[offset / 4] >> 8 * (offset % 4) : 0;
}

static void test_bridges_without_end(void **state)
{
    (void)state;
    fake_answer = all_bridges;
    assert_int_equal(fake_enumerate(), RESULT_OK);
    assert_true(fake_counts.reads < READS_MAX);
    assert_true(fake_counts.messages > 0);
    use_all();
}

/* Each bus has one device, which is a bridge: a chain as long as the number of buses. */
static uint32_t bridge_chain(uint8_t bus, uint8_t device_function, uint16_t offset)
{
    return device_function == 0 ? all_bridges(bus, device_function, offset) : UINT32_MAX;
}

static void test_bridge_chain(void **state)
{
    unsigned count = 0;

    (void)state;
    fake_answer = bridge_chain;
    assert_int_equal(fake_enumerate(), RESULT_OK);
    for (struct pci_function *function = pci_first(); function != NULL; function = function->next) {
        count++;
    }
    assert_int_equal(count, 8);
    use_all();
}

static uint32_t constant_answer;

static uint32_t answer_constant(uint8_t bus, uint8_t device_function, uint16_t offset)
{
    (void)bus;
    (void)device_function;
    (void)offset;
    return constant_answer;
}

static void test_constant_answers(void **state)
{
    static const uint32_t answers[] = {0,          1,          0xFFFF0001, 0x00010001, 0x40404040,
                                       0x11111111, 0x10101010, 0x81818181, 0xFFFFFFFE, 0x7FFFFFFF};

    (void)state;
    for (unsigned index = 0; index < sizeof(answers) / sizeof(answers[0]); index++) {
        fake_reset();
        constant_answer = answers[index];
        fake_answer = answer_constant;
        assert_int_equal(fake_enumerate(), RESULT_OK);
        assert_true(fake_counts.reads < READS_MAX);
        use_all();
    }
}

static uint64_t random_state = 0x9E3779B97F4A7C15;

static uint32_t random_number(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)(random_state * 0x2545F4914F6CDD1D >> 32);
}

/* Most answers are random, but headers are plausible often enough. */
static uint32_t answer_noise(uint8_t bus, uint8_t device_function, uint16_t offset)
{
    uint32_t noise = random_number();

    (void)bus;
    (void)device_function;
    switch (offset) {
    case PCI_VENDOR_ID:
        return noise % 4 == 0 ? UINT32_MAX : noise;
    case PCI_HEADER_TYPE:
        return noise & 0x81;
    case PCI_BRIDGE_PREFETCH:
        return noise & 1;
    default:
        return noise % 3 == 0 ? -(1u << noise % 32) : noise;
    }
}

static void test_noise(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        fake_reset();
        fake_answer = answer_noise;
        assert_int_equal(fake_enumerate(), RESULT_OK);
        assert_true(fake_counts.reads < READS_MAX);
        use_all();
    }
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        PCI_TEST(test_impossible_bars),
        PCI_TEST(test_huge_bars),
        PCI_TEST(test_capability_loops),
        PCI_TEST(test_msix_tables),
        PCI_TEST(test_msix_table_that_changes),
        PCI_TEST(test_bridges_without_end),
        PCI_TEST(test_bridge_chain),
        PCI_TEST(test_constant_answers),
        PCI_TEST(test_noise),
    };

    return pci_fixture_load(count, arguments)
               ? cmocka_run_group_tests_name("pci_hostile", tests, NULL, pci_fixture_free)
               : 2;
}
