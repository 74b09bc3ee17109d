/* SPDX-License-Identifier: BSD-2-Clause */
/* Clauses are those of UEFI 2.10. */
#include "backend/partition_table.h"

#include "virtio/endian.h"
#include <arch/crc32.h>
#include <string.h>

#define SECTOR_BYTES 512u

/* The header (5.3.2, table 5.5): places of its fields. */
#define HEADER_BYTES      92u /* the least of HeaderSize */
#define HEADER_SIZE       12u
#define HEADER_CRC32      16u
#define MY_LBA            24u
#define FIRST_USABLE_LBA  40u
#define LAST_USABLE_LBA   48u
#define ENTRIES_LBA       72u
#define ENTRY_COUNT       80u
#define ENTRY_SIZE        84u
#define ENTRIES_CRC32     88u
#define FIRST_HEADER_LBA  1u
#define FIRST_ENTRIES_LBA 2u
#define ENTRY_BYTES_MIN   128u

/* An entry (5.3.3, table 5.6). */
#define ENTRY_TYPE_BYTES 16u /* zero: the entry is not used */
#define ENTRY_FIRST_LBA  32u
#define ENTRY_LAST_LBA   40u /* inclusive */
#define ENTRY_NAME       56u

static const uint8_t signature[8] = {'E', 'F', 'I', ' ', 'P', 'A', 'R', 'T'};

static uint16_t read16(const uint8_t *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof(value));
    return virtio_le16(value);
}

static uint32_t read32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return virtio_le32(value);
}

static uint64_t read64(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof(value));
    return virtio_le64(value);
}

static uint32_t add_bytes(uint32_t remainder, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        remainder = crc32_add_byte(remainder, bytes[i]);
    }
    return remainder;
}

/* The checksum of a header is computed with zeros in its own place (5.3.2: HeaderCRC32). */
static uint32_t header_checksum(const uint8_t *header, uint32_t bytes)
{
    static const uint8_t zeros[sizeof(uint32_t)];
    const uint32_t behind = HEADER_CRC32 + sizeof(zeros);
    uint32_t remainder = add_bytes(CRC32_INITIAL, header, HEADER_CRC32);

    remainder = add_bytes(remainder, zeros, sizeof(zeros));
    return ~add_bytes(remainder, header + behind, bytes - behind);
}

static uint64_t header_sector(const struct partition_table *table)
{
    return table->is_backup ? table->disk_sectors - 1 : FIRST_HEADER_LBA;
}

static uint64_t entries_bytes(const struct partition_table *table)
{
    return (uint64_t)table->entry_count * table->entry_bytes;
}

static uint64_t entries_sectors(const struct partition_table *table)
{
    return (entries_bytes(table) + SECTOR_BYTES - 1) / SECTOR_BYTES;
}

/* Returns why the entries can't be read, NULL if they can. */
static const char *check_entries(const struct partition_table *table)
{
    uint32_t unit = table->entry_bytes / ENTRY_BYTES_MIN;

    /* 5.3.2: SizeOfPartitionEntry is 128 x 2^n. */
    if (unit == 0 || (unit & (unit - 1)) != 0 || table->entry_bytes % ENTRY_BYTES_MIN != 0 ||
        table->entry_count == 0) {
        return "its partition table is damaged: the entries have no valid size";
    }
    if (entries_bytes(table) > PARTITION_TABLE_BYTES) {
        return "its partition table has more than 32 KiB of entries";
    }
    if (table->entries_sector < FIRST_ENTRIES_LBA || table->entries_sector >= table->disk_sectors ||
        entries_sectors(table) > table->disk_sectors - table->entries_sector) {
        return "its partition table is damaged: the entries are beyond the disk's end";
    }
    return NULL;
}

/* Reads the header, and checks it as 5.3.2 demands: signature, checksum, place. Returns why it
 * can't be used, or NULL. */
static const char *read_header(struct partition_table *table, const uint8_t *header)
{
    uint32_t bytes = read32(header + HEADER_SIZE);

    if (memcmp(header, signature, sizeof(signature)) != 0) {
        return "it has no GUID partition table";
    }
    if (bytes < HEADER_BYTES || bytes > SECTOR_BYTES ||
        header_checksum(header, bytes) != read32(header + HEADER_CRC32)) {
        return "its partition table is damaged: the header has a wrong checksum";
    }
    if (read64(header + MY_LBA) != header_sector(table)) {
        return "its partition table is damaged: the header is at another place";
    }
    table->first_usable = read64(header + FIRST_USABLE_LBA);
    table->last_usable = read64(header + LAST_USABLE_LBA);
    table->entries_sector = read64(header + ENTRIES_LBA);
    table->entry_count = read32(header + ENTRY_COUNT);
    table->entry_bytes = read32(header + ENTRY_SIZE);
    table->entries_checksum = read32(header + ENTRIES_CRC32);
    if (table->last_usable >= table->disk_sectors) {
        return "its partition table is damaged: it is that of a larger disk";
    }
    return check_entries(table);
}

/* The table that is read can't be used. */
static void fail(struct partition_table *table, const char *reason)
{
    if (table->is_backup) {
        table->state = PARTITION_TABLE_FAILED;
        return;
    }
    table->failure = reason;
    table->is_backup = true;
    table->state = PARTITION_TABLE_HEADER;
}

void partition_table_begin(struct partition_table *table, uint64_t disk_sectors)
{
    *table = (struct partition_table){.disk_sectors = disk_sectors};
    if (disk_sectors <= FIRST_ENTRIES_LBA) {
        table->failure = "it is too small for a partition table";
        table->state = PARTITION_TABLE_FAILED;
    }
}

bool partition_table_next(const struct partition_table *table, struct partition_table_step *step)
{
    switch (table->state) {
    case PARTITION_TABLE_HEADER:
        *step =
            (struct partition_table_step){.sector = header_sector(table), .bytes = SECTOR_BYTES};
        return true;
    case PARTITION_TABLE_ENTRIES:
        *step = (struct partition_table_step){
            .sector = table->entries_sector,
            .bytes = (uint32_t)entries_sectors(table) * SECTOR_BYTES,
        };
        return true;
    case PARTITION_TABLE_COMPLETE:
    case PARTITION_TABLE_FAILED:
    default:
        return false;
    }
}

void partition_table_continue(struct partition_table *table, const uint8_t *content)
{
    const char *reason = content == NULL ? "its partition table can't be read" : NULL;

    if (table->state == PARTITION_TABLE_HEADER) {
        reason = reason == NULL ? read_header(table, content) : reason;
        table->state = PARTITION_TABLE_ENTRIES;
    } else {
        if (reason == NULL && ~add_bytes(CRC32_INITIAL, content, (size_t)entries_bytes(table)) !=
                                  table->entries_checksum) {
            reason = "its partition table is damaged: the entries have a wrong checksum";
        }
        table->state = PARTITION_TABLE_COMPLETE;
    }
    if (reason != NULL) {
        fail(table, reason);
    }
}

static bool is_used(const uint8_t *entry)
{
    static const uint8_t unused[ENTRY_TYPE_BYTES];

    return memcmp(entry, unused, sizeof(unused)) != 0;
}

/* 5.3.3: the name is in UTF-16, and ends with a zero unless it has 36 characters. */
static bool has_name(const uint8_t *entry, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < PARTITION_NAME_MAX; i++) {
        uint16_t character = read16(entry + ENTRY_NAME + 2 * i);

        if (character != (i < length ? (uint8_t)name[i] : 0)) {
            return false;
        }
        if (character == 0) {
            break;
        }
    }
    return length <= PARTITION_NAME_MAX;
}

const char *partition_table_find(const struct partition_table *table, const uint8_t *content,
                                 const char *name, struct partition_range *range)
{
    const uint8_t *found = NULL;
    uint64_t first, last;

    for (uint32_t i = 0; i < table->entry_count; i++) {
        const uint8_t *entry = content + (size_t)i * table->entry_bytes;

        if (!is_used(entry) || !has_name(entry, name)) {
            continue;
        }
        if (found != NULL) {
            return "two partitions of the disk have its name";
        }
        found = entry;
    }
    if (found == NULL) {
        return "no partition of the disk has its name";
    }
    first = read64(found + ENTRY_FIRST_LBA);
    last = read64(found + ENTRY_LAST_LBA);
    if (first > last || first < table->first_usable || last > table->last_usable) {
        return "its partition is at a place where none may be";
    }
    *range = (struct partition_range){.start = first, .sectors = last - first + 1};
    return NULL;
}
