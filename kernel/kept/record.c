/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records that are written whole or not at all.
 *
 * A write takes the copy that is not the newest one, and stores in this order:
 *
 *   1. `sequence`: the write with this number has begun. A reader that sees anything of the steps
 *      below does not take the copy for complete.
 *   2. the content, and the other words of the header, in any order
 *   3. `sequence`: the write with this number is complete
 *
 * Until step 3 the other copy has the record of the write before, and from then on this copy has
 * the new one. Thus a record can be restored wherever the writer ends. A processor that stops has
 * made the stores before the stop, in the order of the program, and the hypervisor cleans the
 * caches before the next life starts. Another partition that reads meanwhile needs the release and
 * acquire orders below. tests/memory_order/test_kept.c ends the writer at each store, lets a reader
 * look at any time, and shows that each of the orders is needed.
 *
 * The numbers of the two copies differ by one. Any other pair shows that a copy was damaged, also
 * if that was the newest one and nothing but its number was changed.
 */
#include "kernel/kept.h"

#include <channel/words.h>
#include <string.h>

#define WORD_BYTES sizeof(uint64_t)

/* A copy of a record. */
struct kept_copy {
    uint64_t sequence; /* see below */
    uint64_t kind;     /* version << 32 | type */
    uint64_t bytes;    /* length of the content */
    uint64_t content_digest;
    uint64_t header_digest; /* of the words above */
    uint64_t content[];     /* the last word is filled up with zeroes */
};

/*
 * `sequence` is one of these words. The upper two bits are 0 in a complete write, and 1 in the two
 * words below it, so that no single wrong bit makes a complete write look like those.
 *   0                the memory was zeroed; both copies are, until the record is opened
 *   n                write n is complete, 1 <= n <= NUMBER_MAX
 *   ~n               write n has begun
 *   SEQUENCE_BLANK   the record was opened, and this copy was not written since
 */
#define SEQUENCE_BLANK UINT64_C(0xda5a5a5a5a5a5a5a)

/* Write 1 follows write NUMBER_MAX: a malicious life may have stored any number. */
#define NUMBER_MAX (UINT64_MAX >> 2)

/* A copy as a reader found it. */
enum copy_state { COPY_INTACT, COPY_OTHER_TYPE, COPY_OTHER_VERSION, COPY_DAMAGED };

/* The words of a header between its sequence and its digest. */
struct header {
    uint64_t kind;
    uint64_t bytes;
    uint64_t content_digest;
};

/* The result of reading a record. */
struct finding {
    enum kept_start start;
    unsigned copy;   /* index of the copy that was restored */
    uint64_t number; /* number of the write that was restored */
};

/* The record that a reader expects, and the memory that receives its content. */
struct reading {
    uint64_t kind;
    size_t bytes_max;
    uint8_t *content;
    size_t bytes;
};

/* Adds a word to a digest. Both steps are bijective, so that any damage within one word changes the
 * digest. Random damage of several words remains unnoticed with a probability of about 2^-64. */
static uint64_t digest_add(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15); /* odd */
    return digest ^ digest >> 32;
}

#define DIGEST_START UINT64_C(0x2545f4914f6cdd1d)

static uint64_t header_digest(uint64_t sequence, uint64_t kind, uint64_t bytes, uint64_t content)
{
    uint64_t digest = digest_add(DIGEST_START, sequence);

    digest = digest_add(digest, kind);
    digest = digest_add(digest, bytes);
    return digest_add(digest, content);
}

static uint64_t kind_of(const struct kept_format *format)
{
    return (uint64_t)format->version << 32 | format->type;
}

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* `bytes_max`: up to KEPT_BYTES_MAX. */
static size_t copy_bytes(size_t bytes_max)
{
    return round_up(sizeof(struct kept_copy) + round_up(bytes_max, WORD_BYTES), KEPT_ALIGNMENT);
}

size_t kept_record_bytes(size_t bytes_max)
{
    return bytes_max > KEPT_BYTES_MAX ? SIZE_MAX : 2 * copy_bytes(bytes_max);
}

/* Return a word of a content of which `left` bytes, > 0, are left, with zeroes behind its end; and
 * put one there. A whole word has a case of its own, which the compiler turns into one access. */
static uint64_t take_word(const uint8_t *content, size_t left)
{
    uint64_t word = 0;

    if (left >= WORD_BYTES) {
        memcpy(&word, content, WORD_BYTES);
    } else {
        memcpy(&word, content, left);
    }
    return word;
}

static void put_word(uint8_t *content, size_t left, uint64_t word)
{
    if (left >= WORD_BYTES) {
        memcpy(content, &word, WORD_BYTES);
    } else {
        memcpy(content, &word, left);
    }
}

/* Loads the content of a copy, each word once. Returns its digest. */
static uint64_t load_content(const struct kept_copy *copy, uint8_t *content, size_t bytes)
{
    uint64_t digest = DIGEST_START;

    for (size_t offset = 0; offset < bytes; offset += WORD_BYTES) {
        uint64_t word = word_load(&copy->content[offset / WORD_BYTES]);

        digest = digest_add(digest, word);
        put_word(content + offset, bytes - offset, word);
    }
    return digest;
}

/* Stores the content of a copy. Returns its digest. */
static uint64_t store_content(struct kept_copy *copy, const uint8_t *content, size_t bytes)
{
    uint64_t digest = DIGEST_START;

    for (size_t offset = 0; offset < bytes; offset += WORD_BYTES) {
        uint64_t word = take_word(content + offset, bytes - offset);

        digest = digest_add(digest, word);
        word_store(&copy->content[offset / WORD_BYTES], word);
    }
    return digest;
}

static uint64_t sequence_of_begun(uint64_t number)
{
    return ~number;
}

/* Returns the number of a complete write, 0 if the copy has none. */
static uint64_t complete_number(uint64_t sequence)
{
    return sequence <= NUMBER_MAX ? sequence : 0;
}

static uint64_t next_number(uint64_t number)
{
    return number == NUMBER_MAX ? 1 : number + 1;
}

/* Returns true if write a is newer than write b. If neither follows the other, a copy is damaged,
 * and the larger number counts. */
static bool is_newer(uint64_t a, uint64_t b)
{
    return a == next_number(b) || (b != next_number(a) && a > b);
}

/* Loads the words of a header whose `sequence` was loaded before. Returns false if their digest is
 * wrong. */
static bool load_header(const struct kept_copy *copy, uint64_t sequence, struct header *header)
{
    header->kind = word_load(&copy->kind);
    header->bytes = word_load(&copy->bytes);
    header->content_digest = word_load(&copy->content_digest);
    return word_load(&copy->header_digest) ==
           header_digest(sequence, header->kind, header->bytes, header->content_digest);
}

/* Reads a copy whose `sequence` was loaded before. */
static enum copy_state read_copy(const struct kept_copy *copy, uint64_t sequence,
                                 struct reading *reading)
{
    struct header header;

    if (!load_header(copy, sequence, &header)) {
        return COPY_DAMAGED;
    }
    if ((uint32_t)header.kind != (uint32_t)reading->kind) {
        return COPY_OTHER_TYPE;
    }
    if (header.kind != reading->kind) {
        return COPY_OTHER_VERSION;
    }
    if (header.bytes > reading->bytes_max ||
        load_content(copy, reading->content, (size_t)header.bytes) != header.content_digest) {
        return COPY_DAMAGED;
    }
    reading->bytes = (size_t)header.bytes;
    return COPY_INTACT;
}

/* Returns true if the other copy shows that no write after `number` was complete: the next write
 * has begun there, or the write before is there, if there is one. */
static bool is_newest(uint64_t number, const struct kept_copy *other, uint64_t sequence)
{
    struct header header;

    if (complete_number(sequence) != 0) {
        return number == next_number(sequence) && load_header(other, sequence, &header);
    }
    return sequence == sequence_of_begun(next_number(number)) ||
           (number == 1 && sequence == SEQUENCE_BLANK);
}

/* Returns true if nothing was written: the memory was zeroed, and kept_erase() may have begun with
 * copy 0; or the record was opened, and the first write may have begun, which goes to copy 0. */
static bool is_empty(const uint64_t sequence[2])
{
    return sequence[0] == SEQUENCE_BLANK
               ? sequence[1] == 0 || sequence[1] == SEQUENCE_BLANK
               : (sequence[0] == 0 && sequence[1] == 0) ||
                     (sequence[0] == sequence_of_begun(1) && sequence[1] == SEQUENCE_BLANK);
}

static enum kept_start start_of(enum copy_state state, bool is_the_newest)
{
    switch (state) {
    case COPY_INTACT:
        return is_the_newest ? KEPT_RESTORED : KEPT_PERHAPS_OLDER;
    case COPY_OTHER_TYPE:
        return KEPT_OTHER_TYPE;
    case COPY_OTHER_VERSION:
        return KEPT_OTHER_VERSION;
    default:
        return KEPT_DAMAGED;
    }
}

/* Reads the complete copies, the newer one first, until one is not damaged. */
static struct finding read_copies(struct kept_copy *const copies[2], const uint64_t sequence[2],
                                  struct reading *reading)
{
    unsigned index = is_newer(complete_number(sequence[1]), complete_number(sequence[0])) ? 1 : 0;
    enum copy_state state = COPY_DAMAGED;
    uint64_t number = 0;

    for (unsigned i = 0; i < 2 && state == COPY_DAMAGED; i++) {
        index ^= i;
        number = complete_number(sequence[index]);
        if (number != 0) {
            state = read_copy(copies[index], sequence[index], reading);
        }
    }
    return (struct finding){
        .start = start_of(state, is_newest(number, copies[index ^ 1], sequence[index ^ 1])),
        .copy = index,
        .number = number,
    };
}

static struct finding find(struct kept_copy *const copies[2], struct reading *reading)
{
    /* Acquire: all words of a complete copy are seen, and whatever was complete before. */
    const uint64_t sequence[2] = {word_load_acquire(&copies[0]->sequence),
                                  word_load_acquire(&copies[1]->sequence)};
    struct finding finding = read_copies(copies, sequence, reading);

    if (finding.start == KEPT_DAMAGED && is_empty(sequence)) {
        finding.start = KEPT_EMPTY;
    }
    /* If a word was loaded that a later write has stored, its step 1 is seen now. */
    word_fence_acquire();
    if (word_load(&copies[0]->sequence) != sequence[0] ||
        word_load(&copies[1]->sequence) != sequence[1]) {
        finding.start = KEPT_CHANGING;
    }
    if (!kept_is_restored(finding.start)) {
        reading->bytes = 0;
    }
    memset(reading->content + reading->bytes, 0, reading->bytes_max - reading->bytes);
    return finding;
}

static void set_copies(struct kept_copy *copies[2], void *place, size_t bytes_max)
{
    copies[0] = place;
    copies[1] = (void *)((uint8_t *)place + copy_bytes(bytes_max));
}

static struct reading reading_of(const struct kept_format *format, void *content)
{
    return (struct reading){kind_of(format), format->bytes_max, content, 0};
}

enum kept_start kept_read(const void *place, const struct kept_format *format, void *content,
                          size_t *bytes)
{
    struct reading reading = reading_of(format, content);
    struct kept_copy *copies[2];
    struct finding finding;

    set_copies(copies, (void *)(uintptr_t)place, format->bytes_max); /* find() only reads them */
    finding = find(copies, &reading);
    *bytes = reading.bytes;
    return finding.start;
}

enum kept_start kept_open_at(struct kept_record *record, void *place,
                             const struct kept_format *format, void *content, size_t *bytes)
{
    struct reading reading = reading_of(format, content);
    struct finding finding;

    *record = (struct kept_record){.bytes_max = format->bytes_max, .kind = kind_of(format)};
    set_copies(record->copies, place, format->bytes_max);
    finding = find(record->copies, &reading);
    *bytes = reading.bytes;
    if (kept_is_restored(finding.start)) {
        record->number = finding.number;
        record->newest = finding.copy;
        return finding.start;
    }
    kept_erase(record);
    /* The record changed while it was opened, although its writer does not execute yet: DMA of a
     * device of the partition has damaged it. */
    return finding.start == KEPT_CHANGING ? KEPT_DAMAGED : finding.start;
}

bool kept_write(struct kept_record *record, const void *content, size_t bytes)
{
    unsigned index = record->newest ^ 1;
    struct kept_copy *copy = record->copies[index];
    uint64_t number = next_number(record->number);
    uint64_t digest;

    if (copy == NULL || bytes > record->bytes_max) {
        return false;
    }
    /* Release: a reader that sees that this write has begun sees that the one before is complete.
     */
    word_store_release(&copy->sequence, sequence_of_begun(number));
    /* A reader that sees a store below sees that this write has begun. */
    word_fence_release();
    digest = store_content(copy, content, bytes);
    word_store(&copy->kind, record->kind);
    word_store(&copy->bytes, bytes);
    word_store(&copy->content_digest, digest);
    word_store(&copy->header_digest, header_digest(number, record->kind, bytes, digest));
    /* Release: a reader that sees that the write is complete sees all of it. */
    word_store_release(&copy->sequence, number);
    record->newest = index;
    record->number = number;
    return true;
}

void kept_erase(struct kept_record *record)
{
    for (unsigned i = 0; i < 2 && record->copies[i] != NULL; i++) {
        word_store(&record->copies[i]->sequence, SEQUENCE_BLANK);
    }
    record->number = 0;
    record->newest = 1; /* the first write goes to copy 0 */
}

const char *kept_start_text(enum kept_start start)
{
    switch (start) {
    case KEPT_RESTORED:
        return "restored";
    case KEPT_PERHAPS_OLDER:
        return "restored from one copy; the other one is damaged and may have been newer";
    case KEPT_EMPTY:
        return "empty";
    case KEPT_OTHER_TYPE:
        return "of another type";
    case KEPT_OTHER_VERSION:
        return "of another version";
    case KEPT_DAMAGED:
        return "damaged";
    case KEPT_CHANGING:
        return "being written";
    case KEPT_NOWHERE:
        return "no kept memory has room for it";
    default:
        return "unknown state";
    }
}
