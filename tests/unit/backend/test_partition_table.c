/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Partition tables: one that sfdisk wrote (util-linux), its backup, each damage of a byte, rules of
 * sizes and places, and random content.
 */
#include "backend/partition_table.h"
#include "backend_test.h"

#include <stdlib.h>
#include <string.h>

#define SECTOR        512u
#define DISK_SECTORS  8192u
#define ENTRY_BYTES   128u
#define ENTRIES       128u
#define ENTRIES_BYTES ((size_t)ENTRIES * ENTRY_BYTES)
#define BACKUP        (DISK_SECTORS - 1)
#define BACKUP_PLACE  ((size_t)BACKUP * SECTOR)

/* sfdisk --version 2.38.1: the header, the used entries, and the second header of a disk of 4 MiB.
 */
/* clang-format off */
static const uint8_t header[] = {
    0x45, 0x46, 0x49, 0x20, 0x50, 0x41, 0x52, 0x54, 0x00, 0x00, 0x01, 0x00, 0x5c, 0x00, 0x00, 0x00,
    0xcf, 0x38, 0xb2, 0x19, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xff, 0x1f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x22, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xde, 0x1f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x11, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33,
    0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x80, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0xed, 0x0c, 0x8c, 0x3d,
};
static const uint8_t entries[] = {
    0xaf, 0x3d, 0xc6, 0x0f, 0x83, 0x84, 0x72, 0x47, 0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47, 0x7d, 0xe4,
    0x00, 0x00, 0x00, 0xa0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
    0x22, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x64, 0x00, 0x61, 0x00, 0x74, 0x00, 0x61, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xaf, 0x3d, 0xc6, 0x0f, 0x83, 0x84, 0x72, 0x47, 0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47, 0x7d, 0xe4,
    0x00, 0x00, 0x00, 0xa0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
    0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x61, 0x00, 0x20, 0x00, 0x6e, 0x00, 0x61, 0x00,
    0x6d, 0x00, 0x65, 0x00, 0x20, 0x00, 0x77, 0x00, 0x69, 0x00, 0x74, 0x00, 0x68, 0x00, 0x20, 0x00,
    0x74, 0x00, 0x68, 0x00, 0x69, 0x00, 0x72, 0x00, 0x74, 0x00, 0x79, 0x00, 0x2d, 0x00, 0x73, 0x00,
    0x69, 0x00, 0x78, 0x00, 0x20, 0x00, 0x63, 0x00, 0x68, 0x00, 0x61, 0x00, 0x72, 0x00, 0x61, 0x00,
    0x63, 0x00, 0x74, 0x00, 0x65, 0x00, 0x72, 0x00, 0x73, 0x00, 0x20, 0x00, 0x2e, 0x00, 0x2e, 0x00,
    0xaf, 0x3d, 0xc6, 0x0f, 0x83, 0x84, 0x72, 0x47, 0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47, 0x7d, 0xe4,
    0x00, 0x00, 0x00, 0xa0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03,
    0xa0, 0x0f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xa0, 0x0f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x64, 0x00, 0x61, 0x00, 0x74, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};
static const uint8_t second_header[] = {
    0x45, 0x46, 0x49, 0x20, 0x50, 0x41, 0x52, 0x54, 0x00, 0x00, 0x01, 0x00, 0x5c, 0x00, 0x00, 0x00,
    0x9f, 0x0c, 0xde, 0x66, 0x00, 0x00, 0x00, 0x00, 0xff, 0x1f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x22, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xde, 0x1f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x11, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33,
    0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xdf, 0x1f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x80, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0xed, 0x0c, 0x8c, 0x3d,
};
/* clang-format on */

static uint8_t disk[DISK_SECTORS * SECTOR];

static void make_disk(void)
{
    memset(disk, 0, sizeof(disk));
    memcpy(disk + SECTOR, header, sizeof(header));
    memcpy(disk + (size_t)2 * SECTOR, entries, sizeof(entries));
    memcpy(disk + BACKUP_PLACE - ENTRIES_BYTES, entries, sizeof(entries));
    memcpy(disk + BACKUP_PLACE, second_header, sizeof(second_header));
}

/* CRC-32 of IEEE 802.3, bit by bit. */
static uint32_t checksum(const uint8_t *bytes, size_t count)
{
    uint32_t remainder = UINT32_MAX;

    for (size_t i = 0; i < count; i++) {
        remainder ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++) {
            remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? UINT32_C(0xedb88320) : 0);
        }
    }
    return ~remainder;
}

static void write_number(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

/* Writes a field of the first header, and makes its checksum right. */
static void set_field(unsigned place, uint64_t value, unsigned bytes)
{
    uint8_t *first = disk + SECTOR;

    write_number(first + place, value, bytes);
    write_number(first + 16, 0, 4);
    write_number(first + 16, checksum(first, 92), 4);
}

/* Makes the checksums of the first table right. */
static void sign_entries(void)
{
    set_field(88, checksum(disk + (size_t)2 * SECTOR, ENTRIES_BYTES), 4);
}

static void damage_second(void)
{
    disk[BACKUP_PLACE] ^= 1;
}

/* The sectors that the last step has read, in memory of that size: ASan sees each access beyond. */
static uint8_t *content;

static void read_table(struct partition_table *table)
{
    struct partition_table_step step;

    partition_table_begin(table, DISK_SECTORS);
    for (unsigned steps = 0; partition_table_next(table, &step); steps++) {
        assert_true(steps < 4);
        assert_true(step.bytes > 0 && step.bytes <= PARTITION_TABLE_BYTES);
        assert_int_equal(step.bytes % SECTOR, 0);
        assert_true(step.sector < DISK_SECTORS &&
                    step.bytes / SECTOR <= DISK_SECTORS - step.sector);
        free(content);
        content = malloc(step.bytes);
        assert_non_null(content);
        memcpy(content, disk + step.sector * SECTOR, step.bytes);
        partition_table_continue(table, content);
    }
}

static void expect_partition(const struct partition_table *table, const char *name, uint64_t start,
                             uint64_t sectors)
{
    struct partition_range range;

    assert_null(partition_table_find(table, content, name, &range));
    assert_int_equal(range.start, start);
    assert_int_equal(range.sectors, sectors);
}

static void expect_none(const struct partition_table *table, const char *name, const char *reason)
{
    struct partition_range range;

    assert_string_equal(partition_table_find(table, content, name, &range), reason);
}

static void expect_all(const struct partition_table *table)
{
    assert_int_equal(table->state, PARTITION_TABLE_COMPLETE);
    expect_partition(table, "data", 34, 512);
    expect_partition(table, "a name with thirty-six characters ..", 2048, 1024);
    expect_partition(table, "dat", 4000, 1);
}

/* The first table has a fault, and there is no second one. */
static void expect_failure(const char *reason)
{
    struct partition_table table;

    damage_second();
    read_table(&table);
    assert_int_equal(table.state, PARTITION_TABLE_FAILED);
    assert_string_equal(table.failure, reason);
    make_disk();
}

static void test_table_of_sfdisk(void **state)
{
    struct partition_table table;

    (void)state;
    make_disk();
    damage_second();
    read_table(&table);
    assert_false(table.is_backup);
    assert_null(table.failure);
    expect_all(&table);
}

static void test_names(void **state)
{
    static const char missing[] = "no partition of the disk has its name";
    struct partition_table table;

    (void)state;
    make_disk();
    read_table(&table);
    expect_none(&table, "", missing); /* also of entries that are not used */
    expect_none(&table, "da", missing);
    expect_none(&table, "data ", missing);
    expect_none(&table, "Data", missing);
    expect_none(&table, "a name with thirty-six characters .", missing);
    expect_none(&table, "a name with thirty-six characters ...", missing);
    /* A character that is none of ASCII. */
    disk[2 * SECTOR + 57] = 1;
    sign_entries();
    read_table(&table);
    expect_none(&table, "data", missing);
    make_disk();
    memcpy(disk + (size_t)2 * SECTOR + (size_t)2 * ENTRY_BYTES + 56, entries + 56, 72);
    sign_entries();
    read_table(&table);
    expect_none(&table, "data", "two partitions of the disk have its name");
    expect_partition(&table, "a name with thirty-six characters ..", 2048, 1024);
}

static void test_each_damaged_byte_of_the_first_table(void **state)
{
    struct partition_table table;

    (void)state;
    make_disk();
    for (size_t i = 0; i < sizeof(header) + ENTRIES_BYTES; i++) {
        size_t place = i < sizeof(header) ? SECTOR + i : 2 * SECTOR + i - sizeof(header);

        if (i > sizeof(header) + sizeof(entries) && i % 97 != 0) {
            continue; /* samples of entries that are not used */
        }
        disk[place] ^= (uint8_t)(1u << i % 8);
        read_table(&table);
        assert_true(table.is_backup);
        assert_non_null(table.failure);
        expect_all(&table);
        disk[place] ^= (uint8_t)(1u << i % 8);
    }
}

static void test_sectors_that_cannot_be_read(void **state)
{
    struct partition_table_step step;
    struct partition_table table;

    (void)state;
    partition_table_begin(&table, DISK_SECTORS);
    partition_table_continue(&table, NULL);
    assert_true(partition_table_next(&table, &step));
    assert_int_equal(step.sector, BACKUP);
    partition_table_continue(&table, second_header);
    assert_true(partition_table_next(&table, &step));
    assert_int_equal(step.sector, BACKUP - ENTRIES_BYTES / SECTOR);
    partition_table_continue(&table, NULL);
    assert_false(partition_table_next(&table, &step));
    assert_int_equal(table.state, PARTITION_TABLE_FAILED);
    assert_string_equal(table.failure, "its partition table can't be read");
}

static void test_headers(void **state)
{
    static const char sizes[] = "its partition table is damaged: the entries have no valid size";
    static const char large[] = "its partition table has more than 32 KiB of entries";
    static const char place[] =
        "its partition table is damaged: the entries are beyond the disk's end";
    static const char wrong[] = "its partition table is damaged: the header has a wrong checksum";

    (void)state;
    make_disk();
    set_field(0, 0, 8);
    expect_failure("it has no GUID partition table");
    set_field(24, 2, 8);
    expect_failure("its partition table is damaged: the header is at another place");
    set_field(48, DISK_SECTORS, 8);
    expect_failure("its partition table is damaged: it is that of a larger disk");
    /* set_field() computes the checksum of 92 bytes. */
    for (unsigned bytes = 0; bytes < 1024; bytes += bytes == 91 ? 2 : 1) {
        set_field(12, bytes, 4);
        expect_failure(wrong);
    }
    set_field(80, 0, 4);
    expect_failure(sizes);
    set_field(84, 0, 4);
    expect_failure(sizes);
    set_field(84, 64, 4);
    expect_failure(sizes);
    set_field(84, 384, 4);
    expect_failure(sizes);
    set_field(84, 132, 4);
    expect_failure(sizes);
    set_field(84, UINT32_MAX, 4);
    expect_failure(sizes);
    set_field(84, UINT32_C(1) << 31, 4);
    expect_failure(large);
    set_field(80, 257, 4);
    expect_failure(large);
    set_field(80, UINT32_MAX, 4);
    expect_failure(large);
    set_field(72, 1, 8);
    expect_failure(place);
    set_field(72, DISK_SECTORS, 8);
    expect_failure(place);
    set_field(72, DISK_SECTORS - 31, 8);
    expect_failure(place);
    set_field(72, UINT64_MAX, 8);
    expect_failure(place);
}

/* A header can be longer (5.3.2), and entries larger. */
static void test_other_sizes(void **state)
{
    struct partition_table table;
    uint8_t *first = disk + SECTOR;

    (void)state;
    make_disk();
    memset(disk + (size_t)2 * SECTOR, 0, ENTRIES_BYTES);
    memcpy(disk + (size_t)2 * SECTOR, entries, ENTRY_BYTES);
    memcpy(disk + (size_t)2 * SECTOR + (size_t)2 * ENTRY_BYTES, entries + ENTRY_BYTES, ENTRY_BYTES);
    set_field(80, ENTRIES / 2, 4);
    set_field(84, (uint64_t)2 * ENTRY_BYTES, 4);
    sign_entries();
    write_number(first + 12, SECTOR, 4);
    write_number(first + 16, 0, 4);
    write_number(first + 16, checksum(first, SECTOR), 4);
    read_table(&table);
    assert_false(table.is_backup);
    expect_partition(&table, "data", 34, 512);
    expect_partition(&table, "a name with thirty-six characters ..", 2048, 1024);
}

static void test_places_of_partitions(void **state)
{
    static const char reason[] = "its partition is at a place where none may be";
    static const struct {
        uint64_t first, last;
        bool is_valid;
    } cases[] = {
        {34, 34, true},      {8158, 8158, true},     {34, 8158, true},
        {33, 40, false},     {1, 1, false},          {0, 0, false},
        {40, 39, false},     {34, 8159, false},      {34, UINT64_MAX, false},
        {8159, 8159, false}, {UINT64_MAX, 0, false}, {UINT64_MAX, UINT64_MAX, false},
    };
    struct partition_table table;

    (void)state;
    make_disk();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_number(disk + (size_t)2 * SECTOR + 32, cases[i].first, 8);
        write_number(disk + (size_t)2 * SECTOR + 40, cases[i].last, 8);
        sign_entries();
        read_table(&table);
        if (cases[i].is_valid) {
            expect_partition(&table, "data", cases[i].first, cases[i].last - cases[i].first + 1);
        } else {
            expect_none(&table, "data", reason);
        }
    }
}

static void test_small_disks(void **state)
{
    struct partition_table_step step;
    struct partition_table table;

    (void)state;
    for (uint64_t sectors = 0; sectors < 3; sectors++) {
        partition_table_begin(&table, sectors);
        assert_false(partition_table_next(&table, &step));
        assert_int_equal(table.state, PARTITION_TABLE_FAILED);
        assert_string_equal(table.failure, "it is too small for a partition table");
    }
    partition_table_begin(&table, 3);
    assert_true(partition_table_next(&table, &step));
}

/* Fields and entries have any values, with right checksums. */
static void test_random_tables(void **state)
{
    static const uint8_t places[] = {12, 24, 40, 48, 72, 80, 84};
    uint64_t seed = 1;

    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        struct partition_table table;
        struct partition_range range;
        unsigned place = places[random_below(&seed, sizeof(places))];

        make_disk();
        for (unsigned i = 0; i < 3; i++) {
            disk[2 * SECTOR + random_below(&seed, sizeof(entries))] =
                (uint8_t)random_below(&seed, 256);
        }
        sign_entries();
        set_field(place, random_below(&seed, UINT64_MAX) >> random_below(&seed, 64),
                  place == 12 || place >= 80 ? 4 : 8);
        damage_second();
        read_table(&table);
        if (table.state == PARTITION_TABLE_COMPLETE &&
            partition_table_find(&table, content, "data", &range) == NULL) {
            assert_true(range.sectors > 0 && range.start < DISK_SECTORS &&
                        range.sectors <= DISK_SECTORS - range.start);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_of_sfdisk),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_each_damaged_byte_of_the_first_table),
        cmocka_unit_test(test_sectors_that_cannot_be_read),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_other_sizes),
        cmocka_unit_test(test_places_of_partitions),
        cmocka_unit_test(test_small_disks),
        cmocka_unit_test(test_random_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
