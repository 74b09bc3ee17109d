/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the configuration space that a guest sees, and the accesses that are refused. */
#include "fake_functions.h"

#include "pci/function.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#define NIC 0x08u
#define TWO 0x10u

/* A reset takes longer than reading all BARs. */
#define RESET_ACCESSES 40u

static enum access_result last_result;

static uint32_t guest_read(unsigned address, unsigned at, unsigned bytes)
{
    struct access access = {.offset = (uint64_t)address << 12 | at, .bytes = (uint8_t)bytes};

    last_result = pci_access(&fake_partition, &access);
    assert_int_equal(access.value >> (8 * bytes - 1) >> 1, 0);
    return (uint32_t)access.value;
}

static void guest_write(unsigned address, unsigned at, unsigned bytes, uint32_t value)
{
    struct access access = {.offset = (uint64_t)address << 12 | at,
                            .bytes = (uint8_t)bytes,
                            .write = true,
                            .value = value};

    last_result = pci_access(&fake_partition, &access);
    assert_int_equal(fake_partition.functions.lock.turn, fake_partition.functions.lock.next);
}

/* Boots. Returns a function without a reset. */
static uint32_t boot(void)
{
    uint32_t unresettable = pci_boot(&fake_partition);

    fake_running = true;
    return unresettable;
}

/* Adds a NIC with an interrupt line, memory BARs 1 (32 bits) and 4 (64 bits), I/O BAR 0, and all
 * kinds of capabilities. */
static struct fake_function *add_nic(void)
{
    struct fake_function *nic = fake_add(0);

    pci_model_bar(&nic->pci, 0, 0x20, 0x1);
    pci_model_bar(&nic->pci, 1, 0x1000, 0x0);
    pci_model_bar(&nic->pci, 4, 0x4000, 0xc);
    fake_capability(nic, 0x98, PCI_CAPABILITY_MSIX, 12);
    fake_capability(nic, 0x84, PCI_CAPABILITY_VENDOR, 20);
    nic->pci.config[0x87] = 5; /* virtio's window to its registers */
    fake_capability(nic, 0x50, PCI_CAPABILITY_MSI, 20);
    fake_capability(nic, 0x40, PCI_CAPABILITY_POWER, 8);
    fake_capability(nic, 0xa4, PCI_CAPABILITY_EXPRESS, 60);
    pci_model_set(&nic->pci, 0xa8, 4, PCI_EXPRESS_CAN_RESET);
    return nic;
}

static int prepare(void **state)
{
    (void)state;
    fake_reset();
    return 0;
}

static void test_boot_disables_functions_used_by_firmware(void **state)
{
    struct fake_function *nic = add_nic();

    (void)state;
    pci_model_set(&nic->pci, PCI_COMMAND, 2, 0x0407);
    pci_model_set(&nic->pci, PCI_BAR + 4, 4, 0x20000000);
    pci_model_set(&nic->pci, PCI_ROM, 4, 0x30000001);
    pci_model_set(&nic->pci, 0x9a, 2, 0x8000); /* MSI-X is on */
    pci_model_set(&nic->pci, 0x52, 2, 0x0001);
    pci_model_set(&nic->pci, 0x44, 2, 0x0003); /* D3 */
    (void)boot();
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), 0);
    assert_int_equal(pci_model_get(&nic->pci, PCI_ROM, 4), 0);
    assert_int_equal(pci_model_get(&nic->pci, 0x9a, 2), 0);
    assert_int_equal(pci_model_get(&nic->pci, 0x52, 2), 0);
    assert_int_equal(pci_model_get(&nic->pci, 0x44, 2), 0);
    assert_int_equal(guest_read(NIC, PCI_BAR + 4, 4), 0);
    assert_true(sizeof(struct partition) <= 4096);
}

static void test_functions_of_others_are_absent(void **state)
{
    struct access wide = {.offset = NIC << 12, .bytes = 8};
    uint64_t before;

    (void)state;
    (void)add_nic();
    pci_model_set(&fake_add(1)->pci, PCI_HEADER_TYPE, 1, 0x81); /* a bridge */
    fake_capability(fake_add(2), 0x60, PCI_CAPABILITY_ENHANCED, 8);
    (void)boot();
    before = fake_accesses;
    for (unsigned address = 0; address < 0x300; address++) {
        unsigned at = address * 4 % 0x1000;

        if (address != NIC) {
            assert_int_equal(guest_read(address, at, 4), UINT32_MAX);
            assert_int_equal(last_result, ACCESS_REFUSED);
            assert_int_equal(guest_read(address, at + 3, 1), 0xff);
            guest_write(address, at, 4, 0x7);
            assert_int_equal(last_result, ACCESS_REFUSED);
        }
    }
    assert_int_equal(pci_access(&fake_partition, &wide), ACCESS_REFUSED);
    assert_true(wide.value == UINT64_MAX);
    assert_int_equal(fake_accesses, before);
    assert_int_equal(guest_read(NIC, 0, 4), 0x10411af4);
    assert_int_equal(last_result, ACCESS_DONE);
    assert_int_equal(guest_read(NIC, 2, 2), 0x1041);
    assert_int_equal(guest_read(NIC, 3, 1), 0x10);
}

static void test_beyond_the_board(void **state)
{
    (void)state;
    fake_system.partitions[1].functions[3].address = 0x200; /* bus 2 */
    (void)boot();
    assert_int_equal(guest_read(0x200, 0, 4), UINT32_MAX);
}

static void test_sizing(void **state)
{
    static const uint32_t masks[] = {0xffffffe1, 0xfffff000, 0, 0, 0xffffc00c, 0xffffffff};
    struct fake_function *nic = add_nic();

    (void)state;
    (void)boot();
    for (unsigned i = 0; i < 6; i++) {
        guest_write(NIC, PCI_BAR + 4 * i, 4, UINT32_MAX);
        assert_int_equal(last_result, ACCESS_DONE);
        assert_int_equal(guest_read(NIC, PCI_BAR + 4 * i, 4), masks[i]);
        assert_int_equal(pci_model_get(&nic->pci, PCI_BAR + 4 * i, 4) & 0xfffffff0, 0);
    }
    guest_write(NIC, PCI_BAR + 5, 1, 0x12); /* a byte of BAR 1 */
    assert_int_equal(guest_read(NIC, PCI_BAR + 4, 4), 0xffff1000);
    guest_write(NIC, PCI_ROM, 4, UINT32_MAX);
    assert_int_equal(last_result, ACCESS_REFUSED);
    assert_int_equal(guest_read(NIC, PCI_ROM, 4), 0);
    assert_int_equal(pci_model_get(&nic->pci, PCI_ROM, 4), 0);
}

/* The NIC has memory BAR 1 of 4 KiB, and BAR 4, which has 64 bits, of 16 KiB. */
static void test_bars_without_room(void **state)
{
    static const struct {
        uint64_t window, one, four;
    } cases[] = {{0x4000, 0, 0}, {0x3000, 0, 0x4000}, {0x1000, 0, 0x4000}, {0, 0x1000, 0x4000}};

    (void)state;
    (void)add_nic();
    (void)boot();
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake_system.partitions[1].pci_memory_bytes = cases[i].window;
        for (unsigned bar = 0; bar < 8; bar++) {
            uint64_t bytes = bar == 1 ? cases[i].one : bar == 4 ? cases[i].four : 0;

            assert_true(pci_bar_without_room(&fake_partition, 0, bar) == bytes);
            assert_true(pci_bar_without_room(&fake_partition, 3, bar) == 0); /* it is not there */
        }
    }
}

static void set_bars(uint32_t one, uint64_t four)
{
    guest_write(NIC, PCI_BAR + 4, 4, one);
    guest_write(NIC, PCI_BAR + 16, 4, (uint32_t)four);
    guest_write(NIC, PCI_BAR + 20, 4, (uint32_t)(four >> 32));
}

/* BAR 4 has 64 bits. It may lie in both windows, BAR 1 in that below 4 GiB only. */
static void test_wide_bars_decode_in_the_wide_window(void **state)
{
    static const struct {
        uint64_t four;
        uint32_t one;
        bool inside;
    } cases[] = {
        {FAKE_WIDE, FAKE_MEMORY, true},
        {FAKE_WIDE + FAKE_WIDE_BYTES - 0x4000, FAKE_MEMORY, true},
        {FAKE_MEMORY + 0x4000, FAKE_MEMORY, true},
        {FAKE_WIDE + FAKE_WIDE_BYTES, FAKE_MEMORY, false},
        {FAKE_WIDE - 0x4000, FAKE_MEMORY, false},
        {FAKE_WIDE_GUEST, FAKE_MEMORY, false},
        {FAKE_WIDE, (uint32_t)FAKE_WIDE, false},
        {FAKE_WIDE, 0, false},
    };
    struct fake_function *nic = add_nic();
    struct description_partition *described = &fake_system.partitions[1];

    (void)state;
    described->pci_wide = FAKE_WIDE_GUEST;
    described->pci_wide_physical = FAKE_WIDE;
    described->pci_wide_bytes = FAKE_WIDE_BYTES;
    (void)boot();
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        guest_write(NIC, PCI_COMMAND, 2, 0);
        set_bars(cases[i].one, cases[i].four);
        guest_write(NIC, PCI_COMMAND, 2, PCI_COMMAND_MEMORY);
        assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2),
                         cases[i].inside ? PCI_COMMAND_MEMORY : 0);
    }
    described->pci_memory_bytes = 0x1000;
    assert_true(pci_bar_without_room(&fake_partition, 0, 4) == 0);
    described->pci_wide_bytes = 0x2000;
    assert_true(pci_bar_without_room(&fake_partition, 0, 4) == 0x4000);
}

static void test_memory_decodes_only_inside_the_window(void **state)
{
    static const struct {
        uint64_t four;
        uint32_t one;
        bool inside;
    } cases[] = {
        {FAKE_MEMORY + 0x4000, FAKE_MEMORY, true},
        {FAKE_MEMORY + FAKE_MEMORY_BYTES - 0x4000, FAKE_MEMORY + FAKE_MEMORY_BYTES - 0x1000, true},
        {FAKE_MEMORY, FAKE_MEMORY + FAKE_MEMORY_BYTES, false},
        {FAKE_MEMORY, FAKE_MEMORY - 0x1000, false},
        {FAKE_MEMORY + FAKE_MEMORY_BYTES, FAKE_MEMORY, false},
        {FAKE_MEMORY | UINT64_C(1) << 32, FAKE_MEMORY, false},
        {UINT64_MAX, FAKE_MEMORY, false},
        {FAKE_MEMORY, 0xffffffff, false},
        {FAKE_MEMORY, 0, false},
        {0, FAKE_MEMORY, false},
    };
    struct fake_function *nic = add_nic();

    (void)state;
    (void)boot();
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        /* Writes the BARs and then the command, then in the other order. */
        guest_write(NIC, PCI_COMMAND, 2, 0);
        set_bars(cases[i].one, cases[i].four);
        guest_write(NIC, PCI_COMMAND, 2, PCI_COMMAND_MEMORY);
        assert_int_equal(guest_read(NIC, PCI_COMMAND, 2), PCI_COMMAND_MEMORY);
        assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2),
                         cases[i].inside ? PCI_COMMAND_MEMORY : 0);
        set_bars(UINT32_MAX, UINT64_MAX);
        assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), 0);
        set_bars(cases[i].one, cases[i].four);
        assert_int_equal(guest_read(NIC, PCI_COMMAND, 2), PCI_COMMAND_MEMORY);
        assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2),
                         cases[i].inside ? PCI_COMMAND_MEMORY : 0);
        if (cases[i].inside) {
            assert_int_equal(pci_model_get(&nic->pci, PCI_BAR + 4, 4), cases[i].one);
            assert_int_equal(pci_model_get(&nic->pci, PCI_BAR + 16, 4), cases[i].four | 0xc);
            assert_int_equal(pci_model_get(&nic->pci, PCI_BAR + 20, 4), 0);
        }
    }
}

static void test_io_decodes_only_inside_the_window(void **state)
{
    struct fake_function *nic = add_nic();

    (void)state;
    (void)boot();
    guest_write(NIC, PCI_COMMAND, 2, PCI_COMMAND_IO);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), 0);
    guest_write(NIC, PCI_BAR, 4, FAKE_PORTS + FAKE_PORTS_BYTES - 0x20);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), PCI_COMMAND_IO);
    guest_write(NIC, PCI_BAR, 4, FAKE_PORTS + FAKE_PORTS_BYTES);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), 0);
    assert_int_equal(guest_read(NIC, PCI_COMMAND, 2), PCI_COMMAND_IO);
}

/* A function whose I/O BAR has an upper half fixed at 0 and that has no memory BAR; a function
 * without BARs. */
static void test_io_of_other_kinds(void **state)
{
    struct fake_function *two = fake_add(2), *one = fake_add(1);

    (void)state;
    pci_model_bar(&two->pci, 5, 0x100, 0x1);
    two->pci.writable[PCI_BAR + 22] = two->pci.writable[PCI_BAR + 23] = 0;
    (void)boot();
    guest_write(TWO, PCI_BAR + 20, 4, FAKE_PORTS);
    guest_write(TWO, PCI_COMMAND, 2, PCI_COMMAND_DECODE);
    assert_int_equal(pci_model_get(&two->pci, PCI_COMMAND, 2), PCI_COMMAND_IO);
    guest_write(0x09, PCI_COMMAND, 2, PCI_COMMAND_DECODE);
    assert_int_equal(pci_model_get(&one->pci, PCI_COMMAND, 2), 0);
    assert_int_equal(guest_read(0x09, PCI_COMMAND, 2), PCI_COMMAND_DECODE);
}

/* 0: a size with holes. 1: larger than any window. 2: claims 64 bits without an upper half, has 32.
 * 3: valid. */
static void test_impossible_bar_sizes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct fake_function *two;

        fake_reset();
        two = fake_add(2);
        pci_model_bar(&two->pci, i == 2 ? 5 : 0, i == 1 ? UINT64_C(1) << 40 : 16,
                      i == 1 || i == 2 ? 0x4 : 0x0);
        two->pci.writable[PCI_BAR + 1] = i == 0 ? 0xf5 : two->pci.writable[PCI_BAR + 1];
        (void)boot();
        guest_write(TWO, PCI_BAR, 4, FAKE_MEMORY);
        guest_write(TWO, PCI_BAR + 20, 4, FAKE_MEMORY);
        guest_write(TWO, PCI_COMMAND, 2, PCI_COMMAND_MEMORY);
        assert_int_equal(pci_model_get(&two->pci, PCI_COMMAND, 2), i < 2 ? 0 : PCI_COMMAND_MEMORY);
    }
}

/* A device whose address bit reads as 1 whatever is written answers at another address. */
static void test_an_address_bit_that_cannot_be_cleared(void **state)
{
    struct fake_function *nic = add_nic();

    (void)state;
    (void)boot();
    set_bars(FAKE_MEMORY, FAKE_MEMORY + 0x4000);
    nic->pci.writable[PCI_BAR + 5] = 0xe0;
    nic->pci.config[PCI_BAR + 5] |= 0x10;
    guest_write(NIC, PCI_COMMAND, 2, PCI_COMMAND_MEMORY);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), 0);
}

static void test_no_windows(void **state)
{
    struct fake_function *nic = add_nic(), *two = fake_add(2);

    (void)state;
    pci_model_set(&two->pci, PCI_BAR, 4, 0x4); /* 64 bits, and none can be written */
    fake_system.partitions[1].pci_memory = fake_system.partitions[1].pci_memory_bytes = 0;
    fake_system.partitions[1].pci_io = fake_system.partitions[1].pci_io_bytes = 0;
    (void)boot();
    set_bars(FAKE_MEMORY, FAKE_MEMORY);
    guest_write(NIC, PCI_COMMAND, 2, PCI_COMMAND_DECODE);
    guest_write(TWO, PCI_COMMAND, 2, PCI_COMMAND_DECODE);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), 0);
    assert_int_equal(pci_model_get(&two->pci, PCI_COMMAND, 2), 0);
}

static void test_command(void **state)
{
    struct fake_function *nic = add_nic();

    (void)state;
    (void)boot();
    set_bars(FAKE_MEMORY, FAKE_MEMORY + 0x4000);
    guest_write(NIC, PCI_COMMAND, 2, 0xffff & ~PCI_COMMAND_IO);
    assert_int_equal(guest_read(NIC, PCI_COMMAND, 2), 0x0446);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), 0x0446);
    guest_write(NIC, PCI_COMMAND + 1, 1, 0);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), 0x0046);
    guest_write(NIC, PCI_COMMAND, 1, PCI_COMMAND_MEMORY);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), PCI_COMMAND_MEMORY);
    assert_int_equal(nic->gaps, 0); /* other cores may be using its registers */
}

static void test_no_mastering_without_dma(void **state)
{
    struct fake_function *nic = add_nic();

    (void)state;
    fake_system.partitions[1].dma = DESCRIPTION_DMA_NONE;
    (void)boot();
    guest_write(NIC, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
    assert_int_equal(guest_read(NIC, PCI_COMMAND, 2), 0);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), 0);
}

static void test_status_is_cleared_by_ones(void **state)
{
    struct fake_function *nic = add_nic();

    (void)state;
    (void)boot();
    pci_model_set(&nic->pci, PCI_STATUS, 2, 0xf910);
    guest_write(NIC, PCI_COMMAND, 4, 0x20000000);
    assert_int_equal(guest_read(NIC, PCI_STATUS, 2), 0xd910);
    guest_write(NIC, PCI_STATUS + 1, 1, 0xff);
    assert_int_equal(guest_read(NIC, PCI_STATUS, 2), 0x0010);
    guest_write(NIC, PCI_CACHE_LINE, 4, 0x40001234);
    assert_int_equal(guest_read(NIC, PCI_CACHE_LINE, 4), 0x00001234);
    guest_write(NIC, PCI_INTERRUPT, 4, 0xffffff21);
    assert_int_equal(guest_read(NIC, PCI_INTERRUPT, 4), 0x00000121);
}

static void test_messages_are_hidden(void **state)
{
    struct fake_function *nic = add_nic();
    unsigned seen = 0, at;

    (void)state;
    (void)boot();
    for (at = guest_read(NIC, PCI_CAPABILITIES, 1); at != 0; at = guest_read(NIC, at + 1, 1)) {
        uint32_t id = guest_read(NIC, at, 1);

        assert_true(id != PCI_CAPABILITY_MSI && id != PCI_CAPABILITY_MSIX);
        assert_int_equal(guest_read(NIC, at, 4) & 0xff, id);
        assert_int_equal(guest_read(NIC, at, 2) >> 8, guest_read(NIC, at + 1, 1));
        seen++;
    }
    assert_int_equal(seen, 3);
    guest_write(NIC, 0x9a, 2, 0x8000);
    assert_int_equal(last_result, ACCESS_REFUSED);
    guest_write(NIC, 0x50, 4, UINT32_MAX);
    assert_int_equal(pci_model_get(&nic->pci, 0x9a, 2), 0);
}

static void test_endless_capability_lists(void **state)
{
    struct fake_function *nic = add_nic(), *two = fake_add(2), *one = fake_add(1);
    unsigned at, seen = 0;

    (void)state;
    nic->pci.config[nic->pci.link] = 0x98; /* back to the first, which is hidden */
    fake_capability(two, 0x3c, 0x30, 4);
    for (unsigned i = 0x40; i < 0x100; i += 4) { /* the longest possible list */
        fake_capability(one, (uint8_t)i, 0x30, 4);
    }
    one->pci.config[one->pci.link] = 0xfd;
    one->pci.config[0x40] = 0; /* a capability that is none */
    (void)boot();
    for (at = guest_read(NIC, PCI_CAPABILITIES, 1); at != 0 && seen < 100; seen++) {
        at = guest_read(NIC, at + 1, 1);
    }
    assert_int_equal(seen, 3);
    assert_int_equal(guest_read(TWO, PCI_CAPABILITIES, 1), 0);
    for (at = guest_read(0x09, PCI_CAPABILITIES, 1), seen = 0; at != 0 && seen < 100; seen++) {
        at = guest_read(0x09, at + 1, 1);
    }
    assert_int_equal(seen, 48);
    guest_write(0x09, 0x40 + PCI_CACHE_LINE, 4, UINT32_MAX);
    assert_int_equal(last_result, ACCESS_REFUSED);
    guest_write(0x09, PCI_CACHE_LINE, 1, 0x10);
    assert_int_equal(last_result, ACCESS_DONE);
}

/* Capabilities so close to the end that their registers would be extended capabilities. */
static void test_capabilities_without_room(void **state)
{
    static const struct {
        uint8_t id, at;
        bool fits;
    } cases[] = {
        {PCI_CAPABILITY_POWER, 0xf8, true},
        {PCI_CAPABILITY_POWER, 0xfc, false},
        {PCI_CAPABILITY_EXPRESS, 0xf4, true},
        {PCI_CAPABILITY_EXPRESS, 0xf8, false},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fake_function *two;

        fake_reset();
        two = fake_add(2);
        fake_capability(two, cases[i].at, cases[i].id, 4);
        pci_model_set(&two->pci, cases[i].at + 4u, 4,
                      cases[i].id == PCI_CAPABILITY_EXPRESS ? PCI_EXPRESS_CAN_RESET : 0);
        assert_int_equal(boot(), cases[i].fits ? PCI_NO_FUNCTION : TWO);
    }
}

static void test_express(void **state)
{
    struct fake_function *nic = add_nic();

    (void)state;
    (void)boot();
    pci_model_set(&nic->pci, 0xac, 4, 0x00052810);
    guest_write(NIC, 0xac, 2, 0x7fff);
    assert_int_equal(last_result, ACCESS_DONE);
    /* No bit is cleared, and no other one is set. */
    assert_int_equal(guest_read(NIC, 0xac, 4), 0x00057810);
    guest_write(NIC, 0xae, 2, 0x0001);
    assert_int_equal(guest_read(NIC, 0xac, 4), 0x00047810);
    guest_write(NIC, 0xb4, 4, UINT32_MAX); /* link control */
    assert_int_equal(last_result, ACCESS_REFUSED);
    guest_write(NIC, 0x100, 4, UINT32_MAX);
    assert_int_equal(last_result, ACCESS_REFUSED);
    nic->deaf = 2; /* the next reads return all ones, which must not be written back */
    guest_write(NIC, 0xac, 2, 0);
    assert_int_equal(last_result, ACCESS_REFUSED);
}

static void use(const struct fake_function *nic)
{
    set_bars(FAKE_MEMORY, FAKE_MEMORY + 0x4000);
    guest_write(NIC, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2),
                     PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

static void require_fresh(const struct fake_function *nic)
{
    assert_int_equal(guest_read(NIC, PCI_COMMAND, 2), 0);
    assert_int_equal(guest_read(NIC, PCI_BAR + 4, 4), 0);
    assert_int_equal(guest_read(NIC, PCI_BAR + 16, 4), 0xc);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), 0);
}

static void test_function_level_reset(void **state)
{
    struct fake_function *nic = add_nic();

    (void)state;
    (void)boot();
    use(nic);
    guest_write(NIC, 0xac, 2, 0x8000);
    assert_int_equal(nic->pci.resets, 1);
    require_fresh(nic);
    use(nic);
    pci_model_set(&nic->pci, 0xa8, 4, 0); /* a function without */
    guest_write(NIC, 0xac, 2, 0x8000);
    assert_int_equal(last_result, ACCESS_DONE);
    assert_int_equal(guest_read(NIC, PCI_COMMAND, 2), PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

static void test_power(void **state)
{
    struct fake_function *nic = add_nic();

    (void)state;
    (void)boot();
    use(nic);
    guest_write(NIC, 0x44, 2, 0xffff);
    assert_int_equal(guest_read(NIC, 0x44, 2), 0x0003); /* PME is not enabled */
    guest_write(NIC, 0x44, 1, 0);
    assert_int_equal(nic->pci.resets, 1);
    require_fresh(nic);
    use(nic);
    pci_model_set(&nic->pci, 0x44, 1, 0x8); /* keeps what it knows */
    guest_write(NIC, 0x44, 2, 3);
    guest_write(NIC, 0x44, 2, 0);
    assert_int_equal(nic->pci.resets, 1);
    assert_int_equal(guest_read(NIC, PCI_BAR + 4, 4), FAKE_MEMORY);
}

/* The guest can read virtio's window to its registers, like all vendor capabilities, but can't move
 * it. */
static void test_vendor_registers(void **state)
{
    struct fake_function *nic = add_nic();

    (void)state;
    pci_model_set(&nic->pci, 0x88, 4, 0x12345678);
    (void)boot();
    for (unsigned at = 0x84; at < 0x98; at++) {
        guest_write(NIC, at, 1, 0xff);
        assert_int_equal(last_result, ACCESS_REFUSED);
        guest_write(NIC, at & ~3u, 4, UINT32_MAX);
        assert_int_equal(last_result, ACCESS_REFUSED);
    }
    assert_int_equal(guest_read(NIC, 0x88, 4), 0x12345678);
}

/* Writes that pass unchanged keep their size. */
static void test_sizes_of_writes(void **state)
{
    struct fake_function *nic = add_nic();

    (void)state;
    (void)boot();
    guest_write(NIC, PCI_CACHE_LINE, 1, 0x10);
    assert_int_equal(nic->last_bytes, 1);
    guest_write(NIC, PCI_CACHE_LINE, 2, 0x4020);
    assert_int_equal(nic->last_bytes, 2);
    assert_int_equal(guest_read(NIC, PCI_CACHE_LINE, 4), 0x4020);
}

/* A function that is being reset loses writes. Then it must not decode address 0 or its former
 * address. */
static void test_writes_lost_during_a_reset(void **state)
{
    struct fake_function *nic = add_nic();

    (void)state;
    (void)boot();
    set_bars(FAKE_MEMORY, FAKE_MEMORY + 0x4000);
    for (unsigned i = 0; i < 2 * RESET_ACCESSES; i++) {
        guest_write(NIC, PCI_COMMAND, 2, 0);
        for (unsigned at = PCI_BAR; at < PCI_BAR + 24; at++) {
            nic->pci.config[at] &= (uint8_t)~nic->pci.writable[at];
        }
        pci_model_set(&nic->pci, PCI_BAR + 20, 4, i);             /* the upper half has anything */
        nic->heard = i < RESET_ACCESSES ? 0 : i - RESET_ACCESSES; /* one ends, or one begins */
        nic->deaf = i < RESET_ACCESSES ? i : RESET_ACCESSES;
        guest_write(NIC, PCI_COMMAND, 2, PCI_COMMAND_MEMORY);
        nic->heard = nic->deaf = 0;
    }
    guest_write(NIC, PCI_COMMAND, 2, 0);
    nic->pci.writable[PCI_BAR + 5] = 0x80; /* larger than it was */
    guest_write(NIC, PCI_COMMAND, 2, PCI_COMMAND_MEMORY);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), 0);
}

static void test_reset(void **state)
{
    struct fake_function *nic = add_nic(), *two = fake_add(2);
    uint64_t before;

    (void)state;
    pci_model_bar(&two->pci, 0, 0x1000, 0);
    (void)boot();
    before = fake_accesses;
    assert_true(fake_reset_functions()); /* unused functions need no reset */
    assert_int_equal(fake_accesses, before);
    assert_int_equal(fake_delay, 0);
    use(nic);
    guest_write(TWO, PCI_BAR, 4, FAKE_MEMORY);
    guest_write(TWO, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    guest_write(NIC, 0x44, 2, 3);
    fake_system.partitions[1].restart = DESCRIPTION_RESTART_WITHOUT_RESET;
    assert_true(fake_reset_functions());
    assert_int_equal(nic->pci.resets, 2); /* from D3 too */
    assert_int_equal(fake_delay, 100000 + 10000);
    require_fresh(nic);
    assert_int_equal(guest_read(TWO, PCI_BAR, 4), 0);
    assert_int_equal(pci_model_get(&two->pci, PCI_COMMAND, 2), 0); /* it has no reset */
    fake_system.partitions[1].restart = DESCRIPTION_RESTART_AFTER_RESET;
    assert_false(fake_reset_functions()); /* the other one still was not */
    assert_int_equal(nic->pci.resets, 2);
}

/* Adds a function without a reset, for which a reset is due once decoding is enabled. */
static struct fake_function *add_two(void)
{
    struct fake_function *two = fake_add(2);

    pci_model_bar(&two->pci, 0, 0x1000, 0);
    pci_model_bar(&two->pci, 1, 0x20000, 0x4);
    return two;
}

static void use_two(const struct fake_function *two)
{
    guest_write(TWO, PCI_BAR, 4, FAKE_MEMORY + 0x40000);
    guest_write(TWO, PCI_BAR + 4, 4, FAKE_MEMORY);
    guest_write(TWO, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    assert_int_equal(pci_model_get(&two->pci, PCI_COMMAND, 2),
                     PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

static void require_reset(struct fake_function *two, uint64_t delay)
{
    assert_int_equal(boot(), PCI_NO_FUNCTION);
    for (unsigned i = 1; i < 3; i++) {
        use_two(two);
        assert_true(fake_reset_functions());
        assert_int_equal(two->pci.resets, i);
        assert_int_equal(fake_delay, i * delay);
        assert_int_equal(pci_model_get(&two->pci, PCI_COMMAND, 2), 0);
        assert_int_equal(guest_read(TWO, PCI_BAR, 4), 0);
        assert_int_equal(guest_read(TWO, PCI_COMMAND, 2), 0);
        assert_true(fake_reset_functions()); /* it is fresh */
        assert_int_equal(two->pci.resets, i);
    }
}

static void test_no_reset(void **state)
{
    struct fake_function *two = add_two();

    (void)state;
    (void)add_nic();
    assert_int_equal(boot(), TWO);
    use_two(two);
    assert_false(fake_reset_functions());
    assert_int_equal(pci_model_get(&two->pci, PCI_COMMAND, 2), 0); /* it masters the bus no more */
    assert_false(fake_reset_functions());
}

static void test_reset_by_power(void **state)
{
    struct fake_function *two = add_two();

    (void)state;
    fake_capability(two, 0x40, PCI_CAPABILITY_POWER, 8);
    pci_model_set(&two->pci, 0x44, 1, 8); /* it keeps its state */
    assert_int_equal(boot(), TWO);
    pci_model_set(&two->pci, 0x44, 1, 0);
    fake_running = false;
    require_reset(two, 20000);
}

static void test_reset_of_virtio(void **state)
{
    struct fake_function *two = add_two();

    (void)state;
    fake_capability(two, 0x90, PCI_CAPABILITY_VENDOR, 16); /* another structure */
    fake_virtio(two, 0x40, 1, 0x1ff00);
    require_reset(two, 0);
    use_two(two);
    two->status = 0xf;
    two->resetting = 5; /* the reset takes a while */
    assert_true(fake_reset_functions());
    assert_int_equal(fake_delay, 5000);
    use_two(two);
    two->resetting = 1000000; /* the reset never ends */
    assert_false(fake_reset_functions());
    assert_int_equal(pci_model_get(&two->pci, PCI_COMMAND, 2), 0);
    two->resetting = 0;
    assert_true(fake_reset_functions()); /* tried again before the next start */
}

/* Most accesses to functions in one step of a reset (docs/waits.md). */
#define STEP_ACCESSES_MAX 72u

/* Takes the next step of a reset. Returns its outcome. */
static enum step_outcome reset_step(struct reset_progress *progress)
{
    uint64_t before = fake_accesses;
    uint32_t microseconds;
    enum step_outcome outcome = pci_reset_continue(&fake_partition, progress, &microseconds);

    fake_delay += microseconds;
    assert_in_range(fake_accesses - before, 0, STEP_ACCESSES_MAX);
    return outcome;
}

static void set_up_reset(struct fake_function *two, enum function_reset way)
{
    if (way == FUNCTION_RESET_EXPRESS) {
        fake_capability(two, 0x40, PCI_CAPABILITY_EXPRESS, 60);
        pci_model_set(&two->pci, 0x44, 4, PCI_EXPRESS_CAN_RESET);
    } else if (way == FUNCTION_RESET_VIRTIO) {
        fake_virtio(two, 0x40, 1, 0x1ff00);
    } else if (way == FUNCTION_RESET_POWER) {
        fake_capability(two, 0x40, PCI_CAPABILITY_POWER, 8);
    }
}

/* Resets a function that is lost before a step: from then on it reads as ones. Returns true if all
 * was reset before. */
static bool is_reset_before(struct fake_function *two, unsigned lost)
{
    struct reset_progress progress = {0};
    uint16_t address = two->address;
    enum step_outcome outcome;
    unsigned step = 0;

    do {
        two->address = step++ >= lost ? 0xffff : address;
        outcome = reset_step(&progress);
    } while (outcome == STEP_PENDING);
    two->address = address;
    assert_true(fake_delay <= 1100000);
    return outcome == STEP_DONE || !progress.has_failed;
}

/* A function that is lost before the end of its reset is not reset, whatever the way, and whatever
 * the step. It is reset once it answers again. */
static void test_lost_function_is_not_reset(void **state)
{
    /* By enum function_reset: the last step that accesses the function. Two steps before it are for
     * other functions. */
    static const unsigned last[] = {3, 6, 4, 5};

    (void)state;
    for (enum function_reset way = FUNCTION_RESET_NONE; way <= FUNCTION_RESET_POWER; way++) {
        for (unsigned lost = 0; lost <= last[way] + 1; lost++) {
            struct fake_function *two;

            fake_reset();
            two = add_two();
            set_up_reset(two, way);
            (void)boot();
            use_two(two);
            assert_int_equal(is_reset_before(two, lost), lost > last[way]);
            assert_int_equal(fake_reset_functions(), way != FUNCTION_RESET_NONE);
        }
    }
}

/* After a function-level reset a function may ask for more time: its vendor ID reads as 0x0001. It
 * has a second in all. */
static void test_function_that_asks_for_time(void **state)
{
    struct fake_function *two = add_two();

    (void)state;
    set_up_reset(two, FUNCTION_RESET_EXPRESS);
    (void)boot();
    for (unsigned looks = 1; looks < 13; looks++) {
        struct reset_progress progress = {0};
        enum step_outcome outcome;
        uint64_t before = fake_delay;

        use_two(two);
        do {
            outcome = reset_step(&progress);
            pci_model_set(&two->pci, PCI_VENDOR_ID, 2,
                          progress.express != 0 && progress.polls + 1 < looks ? 0x0001 : 0x1af4);
        } while (outcome == STEP_PENDING);
        assert_int_equal(outcome, looks <= 10 ? STEP_DONE : STEP_FAILED);
        assert_int_equal(fake_delay - before, (looks <= 10 ? looks : 10) * UINT64_C(100000));
    }
}

/* A function with Immediate Readiness needs no time after a function-level reset, unless another
 * function does. */
static void test_function_that_is_ready_at_once(void **state)
{
    struct fake_function *nic = add_nic(), *two = add_two();

    (void)state;
    set_up_reset(two, FUNCTION_RESET_EXPRESS);
    pci_model_set(&two->pci, PCI_STATUS, 2, PCI_STATUS_READY | PCI_STATUS_CAPABILITIES);
    (void)boot();
    use_two(two);
    assert_true(fake_reset_functions());
    assert_int_equal(two->pci.resets, 1);
    assert_int_equal(fake_delay, 0);
    use(nic);
    use_two(two);
    assert_true(fake_reset_functions());
    assert_int_equal(two->pci.resets, 2);
    assert_int_equal(fake_delay, 100000);
}

/* Takes all steps of a reset. `late`: number of looks that do not find the reset completed. Returns
 * the outcome. */
static enum step_outcome reset_slowly(struct fake_function *two, unsigned late)
{
    struct reset_progress progress = {0};
    enum step_outcome outcome;

    two->status = 0xf;
    two->resetting = late;
    do {
        outcome = reset_step(&progress);
        pci_model_set(&two->pci, PCI_VENDOR_ID, 2,
                      progress.express != 0 && progress.polls < late ? 0xffff : 0x1af4);
    } while (outcome == STEP_PENDING);
    return outcome;
}

/* A function that takes long to complete its reset holds up no step: each step does a few accesses,
 * and their number does not depend on the function. The reset fails after its limit of looks. */
static void test_slow_function(void **state)
{
    static const struct {
        enum function_reset way;
        unsigned late_max;
        unsigned end; /* of its capability */
    } ways[] = {{FUNCTION_RESET_EXPRESS, 9, 0x7c}, {FUNCTION_RESET_VIRTIO, 1000, 0x50}};

    (void)state;
    for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        const unsigned most = ways[i].late_max;
        const unsigned late[] = {0, 1, most - 1, most, most + 1, 1000000};

        for (unsigned k = 0; k < sizeof(late) / sizeof(late[0]); k++) {
            struct fake_function *two;

            fake_reset();
            two = add_two();
            /* Behind that of the reset, as many as there is room for: each is looked at for
             * virtio's structure. */
            for (unsigned at = ways[i].end; at < 0x100; at += 4) {
                fake_capability(two, (uint8_t)at, PCI_CAPABILITY_VENDOR, 4);
            }
            set_up_reset(two, ways[i].way);
            (void)boot();
            use_two(two);
            assert_int_equal(reset_slowly(two, late[k]), late[k] <= most ? STEP_DONE : STEP_FAILED);
            assert_true(fake_delay <= 1100000);
        }
    }
}

/* A function that does not go to D3hot is not reset on its way back. */
static void test_function_that_stays_awake(void **state)
{
    struct fake_function *two = add_two();

    (void)state;
    set_up_reset(two, FUNCTION_RESET_POWER);
    (void)boot();
    use_two(two);
    memset(&two->pci.writable[0x44], 0, 2);
    assert_false(fake_reset_functions());
    memset(&two->pci.writable[0x44], 0xff, 2);
    assert_true(fake_reset_functions());
}

/* 0: beyond the BAR. 1: in no BAR. 2: in an upper half. 3: no room in the window. 4: not a virtio
 * device. */
static void test_virtio_registers_out_of_reach(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        struct fake_function *two;
        uint32_t unresettable;

        fake_reset();
        two = add_two();
        fake_virtio(two, 0x40, i == 1 ? 6 : i == 2 ? 2 : 1, i == 0 ? 0x20000 - 20 : 0);
        if (i == 3) {
            pci_model_bar(&two->pci, 4, 0x100000, 0x0);
        } else if (i == 4) {
            pci_model_set(&two->pci, PCI_VENDOR_ID, 2, 0x8086);
        }
        unresettable = boot();
        if (i == 4) {
            assert_int_equal(unresettable, TWO);
        }
        guest_write(TWO, PCI_COMMAND, 2, PCI_COMMAND_MASTER);
        assert_false(fake_reset_functions());
        assert_int_equal(pci_model_get(&two->pci, PCI_COMMAND, 2), 0);
    }
}

/* While another VCPU's write waits for a slow function, a partition of shared cores does not wait
 * at EL2. Reads need no lock. */
static void test_a_write_beside_a_slow_function_is_repeated(void **state)
{
    struct ticket_lock *lock = &fake_partition.functions.lock;
    struct access access = {
        .offset = NIC << 12 | PCI_COMMAND, .bytes = 2, .write = true, .value = PCI_COMMAND_MEMORY};
    uint64_t before;

    (void)state;
    (void)add_nic();
    (void)boot();
    fake_partition.constant.shares_cores = true;
    assert_true(ticket_lock_try(lock));
    before = fake_accesses;
    for (unsigned n = 0; n < 3; n++) {
        assert_int_equal(pci_access(&fake_partition, &access), ACCESS_AGAIN);
    }
    assert_int_equal(fake_accesses, before);
    assert_false(fake_partition.functions.views[0].written);
    (void)guest_read(NIC, PCI_COMMAND, 2);
    assert_int_equal(last_result, ACCESS_DONE);
    ticket_lock_give(lock);
    guest_write(NIC, PCI_COMMAND, 2, PCI_COMMAND_MEMORY);
    assert_int_equal(last_result, ACCESS_DONE);
    assert_true(ticket_lock_try(lock));
    ticket_lock_give(lock);
}

/* Functions with and without an owner lose bus mastering; a host bridge keeps it. */
static void test_mastering_at_boot(void **state)
{
    struct fake_function *nic = add_nic(), *one = fake_add(1), *two = fake_add(2);

    (void)state;
    pci_model_set(&nic->pci, PCI_COMMAND, 2, 0x0444);
    pci_model_set(&one->pci, PCI_COMMAND, 2, 0x0440);
    pci_model_set(&two->pci, PCI_COMMAND, 2, 0x0444);
    pci_disable_mastering(&fake_system);
    assert_int_equal(pci_model_get(&nic->pci, PCI_COMMAND, 2), 0x0440);
    assert_int_equal(pci_model_get(&one->pci, PCI_COMMAND, 2), 0x0440);
    assert_int_equal(pci_model_get(&two->pci, PCI_COMMAND, 2), 0x0440);
    pci_model_set(&two->pci, PCI_COMMAND, 2, 0x0444);
    pci_model_set(&two->pci, PCI_CLASS, 4, 0x06000000);
    pci_disable_mastering(&fake_system);
    assert_int_equal(pci_model_get(&two->pci, PCI_COMMAND, 2), 0x0444);
    pci_model_set(&two->pci, PCI_CLASS, 4, 0x06040000); /* a bridge: for what is behind it, too */
    pci_model_set(&two->pci, PCI_HEADER_TYPE, 1, PCI_HEADER_BRIDGE);
    pci_disable_mastering(&fake_system);
    assert_int_equal(pci_model_get(&two->pci, PCI_COMMAND, 2), 0x0440);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_boot_disables_functions_used_by_firmware, prepare),
        cmocka_unit_test_setup(test_functions_of_others_are_absent, prepare),
        cmocka_unit_test_setup(test_beyond_the_board, prepare),
        cmocka_unit_test_setup(test_sizing, prepare),
        cmocka_unit_test_setup(test_wide_bars_decode_in_the_wide_window, prepare),
        cmocka_unit_test_setup(test_bars_without_room, prepare),
        cmocka_unit_test_setup(test_memory_decodes_only_inside_the_window, prepare),
        cmocka_unit_test_setup(test_io_decodes_only_inside_the_window, prepare),
        cmocka_unit_test_setup(test_io_of_other_kinds, prepare),
        cmocka_unit_test_setup(test_impossible_bar_sizes, prepare),
        cmocka_unit_test_setup(test_an_address_bit_that_cannot_be_cleared, prepare),
        cmocka_unit_test_setup(test_no_windows, prepare),
        cmocka_unit_test_setup(test_command, prepare),
        cmocka_unit_test_setup(test_no_mastering_without_dma, prepare),
        cmocka_unit_test_setup(test_status_is_cleared_by_ones, prepare),
        cmocka_unit_test_setup(test_messages_are_hidden, prepare),
        cmocka_unit_test_setup(test_endless_capability_lists, prepare),
        cmocka_unit_test_setup(test_capabilities_without_room, prepare),
        cmocka_unit_test_setup(test_express, prepare),
        cmocka_unit_test_setup(test_function_level_reset, prepare),
        cmocka_unit_test_setup(test_power, prepare),
        cmocka_unit_test_setup(test_vendor_registers, prepare),
        cmocka_unit_test_setup(test_sizes_of_writes, prepare),
        cmocka_unit_test_setup(test_writes_lost_during_a_reset, prepare),
        cmocka_unit_test_setup(test_reset, prepare),
        cmocka_unit_test_setup(test_no_reset, prepare),
        cmocka_unit_test_setup(test_reset_by_power, prepare),
        cmocka_unit_test_setup(test_reset_of_virtio, prepare),
        cmocka_unit_test_setup(test_lost_function_is_not_reset, prepare),
        cmocka_unit_test_setup(test_function_that_asks_for_time, prepare),
        cmocka_unit_test_setup(test_function_that_is_ready_at_once, prepare),
        cmocka_unit_test_setup(test_slow_function, prepare),
        cmocka_unit_test_setup(test_function_that_stays_awake, prepare),
        cmocka_unit_test_setup(test_virtio_registers_out_of_reach, prepare),
        cmocka_unit_test_setup(test_a_write_beside_a_slow_function_is_repeated, prepare),
        cmocka_unit_test_setup(test_mastering_at_boot, prepare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
