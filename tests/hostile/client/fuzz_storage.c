/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fuzzer's program for the back-end of block devices: a malicious client (attacker.h) beside
 * two honest ones, and a disk that executes transfers in any order. An input is a header of 4
 * bytes, and steps of 4 bytes. After each step the honest clients write, flush and read back. Each
 * request is executed within a bounded amount of the back-end's work, and no transfer leaves the
 * range of its client (storage_fixture.c).
 */
#include "attacker.h"
#include "storage_fixture.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM_HEADER 4u
#define STEP_BYTES     4u
#define HOSTILE        0u /* client */
#define FEATURES       (DEVICE_BLOCK_FEATURES & ~VIRTIO_BLK_F_RO)
#define BUFFER_BYTES   1024u
#define BUFFERS        ((ATTACKER_BYTES - ATTACKER_BUFFERS) / BUFFER_BYTES)
#define PIECES_MAX     64u
/* Rounds, and transfers of the disk, until an honest client's request is executed. */
#define ROUNDS_MAX 60u
/* Transfers that the disk executes in a round, in any order. */
#define DISK_SPEED 4u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A transfer is copied in pieces of the client's chain. */
static const struct attacker_work round_limit = {.all = 2000000, .shared = 200000};

static uint64_t programs, steps, sent_by_hostile, rounds_most, work_most;
static unsigned budget;
static uint64_t order_seed; /* of the disk */
static uint64_t hostile_features;
static uint32_t number;
static bool is_read_only; /* the malicious client */

/* ---- Rounds ---- */

static uint64_t execute_round(void)
{
    struct attacker_work work;

    trace_enter(&round_limit);
    (void)turn_round(budget);
    work = trace_leave();
    for (unsigned i = 0; i < DISK_SPEED && fixture.count != 0; i++) {
        unsigned place = (unsigned)random_below(&order_seed, fixture.count);
        const struct storage_transfer *transfer = fixture.submitted[place];

        ATTACKER_CHECK(!is_read_only || transfer->client != HOSTILE ||
                           transfer->kind != STORAGE_WRITE,
                       "a read-only client writes");
        trace_enter(&round_limit);
        disk_execute(place);
        work.all += trace_leave().all;
    }
    for (unsigned i = 1; i < CLIENTS; i++) {
        ATTACKER_CHECK(fixture.drivers[i].failures == 0, "an honest client failed");
    }
    return work.all;
}

/* Sends an order of an honest client, and returns it when it is executed. */
static struct order *execute(unsigned client, struct order *order)
{
    struct order *done = NULL;
    uint64_t work = 0;
    uint64_t rounds = 0;

    ATTACKER_CHECK(driver_send(client, order), "an honest client can't send");
    for (; done == NULL; rounds++) {
        ATTACKER_CHECK(rounds < ROUNDS_MAX, "a request of an honest client is not executed");
        work += execute_round();
        done = driver_take(client);
    }
    ATTACKER_CHECK(done == order && done->status == VIRTIO_BLOCK_STATUS_OK,
                   "a request of an honest client failed");
    rounds_most = rounds > rounds_most ? rounds : rounds_most;
    work_most = work > work_most ? work : work_most;
    return done;
}

static void exchange(void)
{
    unsigned client = 1 + ++number % 2u;
    uint64_t sector = number % CLIENT_SECTORS;
    struct order *order = driver_order(VIRTIO_BLOCK_TYPE_OUT, sector, 1);
    uint8_t expected[SECTOR];

    memset(expected, (int)(number * 7u + client), sizeof(expected));
    memcpy(order->data, expected, sizeof(expected));
    free(execute(client, order));
    if (number % 3 == 0) {
        free(execute(client, driver_order(VIRTIO_BLOCK_TYPE_FLUSH, 0, 0)));
        ATTACKER_CHECK(!fixture.disk.is_write_back ||
                           memcmp(fixture.stable[(uint64_t)client * CLIENT_SECTORS + sector],
                                  expected, sizeof(expected)) == 0,
                       "flushed data is not on the disk");
    }
    order = execute(client, driver_order(VIRTIO_BLOCK_TYPE_IN, sector, 1));
    ATTACKER_CHECK(memcmp(order->data, expected, sizeof(expected)) == 0, "other data is read");
    free(order);
}

/* ---- Steps ---- */

static uint64_t buffer_at(unsigned place)
{
    return ATTACKER_START + ATTACKER_BUFFERS + (uint64_t)(place % BUFFERS) * BUFFER_BYTES;
}

static void step_send(uint8_t a, uint8_t b, uint8_t c)
{
    static const uint32_t types[] = {VIRTIO_BLOCK_TYPE_IN, VIRTIO_BLOCK_TYPE_OUT,
                                     VIRTIO_BLOCK_TYPE_FLUSH, VIRTIO_BLOCK_TYPE_GET_ID, 11};
    struct attacker_piece pieces[PIECES_MAX + 2];
    unsigned type = a % 16u < 12 ? a % 2u : a % 5u;
    bool is_read = type != 1;
    unsigned count = 1 + b % PIECES_MAX;
    uint64_t header = buffer_at(a);
    uint64_t sector = c < 0xf0 ? c : attacker_value(b, c);

    memory_put32(header, types[type]);
    memory_put32(header + VIRTIO_BLOCK_HEADER_SECTOR, (uint32_t)sector);
    memory_put32(header + VIRTIO_BLOCK_HEADER_SECTOR + 4, c == 0xff ? UINT32_MAX : 0);
    pieces[0] = (struct attacker_piece){header, VIRTIO_BLOCK_HEADER_BYTES, false};
    for (unsigned i = 1; i <= count; i++) {
        pieces[i] = (struct attacker_piece){buffer_at(i + c),
                                            (c & 0x40u) != 0 ? BUFFER_BYTES : SECTOR, is_read};
    }
    if (type == 2) {
        count = 0;
    }
    pieces[count + 1] = (struct attacker_piece){buffer_at(a + 1u), 1, (b & 0xc0u) != 0xc0u};
    rings_add(0, pieces, count + 2, (a & 0x40u) != 0);
    sent_by_hostile++;
}

static void step_flood(uint8_t a, uint8_t b, uint8_t c)
{
    for (unsigned i = 0; i < c % 64u; i++) {
        step_send(a, b, (uint8_t)(i * 3u));
    }
}

static void step_start(uint8_t a, uint8_t b, uint8_t c)
{
    registers_start(hostile_features & ~(UINT64_C(1) << (b % 64u)), a < 8 ? c : 1u << a % 9u);
}

static void step_register(uint8_t a, uint8_t b, uint8_t c)
{
    registers_write_any(a, (a & 0x80u) != 0 ? (uint32_t)ATTACKER_START + attacker_value(b, c)
                                            : attacker_value(b, c));
}

static void step_reset(uint8_t a, uint8_t b, uint8_t c)
{
    (void)b, (void)c;
    registers_reset();
    if ((a & 1u) != 0) {
        trace_clear(); /* of the client's other processors */
        (void)execute_round();
        ATTACKER_CHECK(registers_are_acknowledged(), "a stop is not acknowledged");
    }
}

static void step_publish(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a;
    rings_publish(0, attacker_value(b, c));
}

static void step_poke(uint8_t a, uint8_t b, uint8_t c)
{
    rings_poke(0, b, attacker_value(c, (uint8_t)(a * 3u)));
}

static void step_describe(uint8_t a, uint8_t b, uint8_t c)
{
    rings_describe(0, a, b, c);
}

static void step_snare(uint8_t a, uint8_t b, uint8_t c)
{
    trace_set(&(struct attacker_snare){
        .effect = a % ATTACKER_EFFECTS,
        .countdown = 1 + b % 64u,
        .every = b >= 0xe0u ? 1 + b % 8u : 0,
        .value = a % ATTACKER_EFFECTS == ATTACKER_ACT ? a / 4u + 256u * c : attacker_value(c, a),
    });
}

static void step_snares_off(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a, (void)b, (void)c;
    trace_clear();
}

/* The back-end ends. The disk has executed a part of its transfers, and the next life continues. */
static void step_life(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a, (void)b, (void)c;
    for (unsigned i = 0; i < fixture.count; i++) {
        disk_execute_part(fixture.submitted[i], &order_seed);
    }
    fixture_begin();
}

/* The disk is reset: what it had is submitted again. */
static void step_disk(uint8_t a, uint8_t b, uint8_t c)
{
    const struct storage_disk closed = {.state = STORAGE_CLOSED};

    (void)b, (void)c;
    trace_enter(&round_limit);
    storage_begin(&fixture.storage);
    while (fixture.count != 0) {
        struct storage_transfer *transfer = fixture.submitted[--fixture.count];

        storage_finished(&fixture.storage, transfer, STORAGE_AGAIN);
    }
    storage_set_disk(&fixture.storage, &closed);
    storage_end(&fixture.storage);
    (void)trace_leave();
    fixture.disk.is_write_back = (a & 1u) != 0;
    storage_set_disk(&fixture.storage, &fixture.disk);
}

static void step_sleep(uint8_t a, uint8_t b, uint8_t c)
{
    (void)a, (void)c;
    trace_enter(&round_limit);
    if ((b & 1u) != 0) {
        (void)storage_sleep(&fixture.storage);
    } else {
        storage_wake(&fixture.storage);
    }
    (void)trace_leave();
}

static void (*const table[])(uint8_t a, uint8_t b, uint8_t c) = {
    step_send,     step_flood, step_start, step_register, step_reset, step_publish,    step_poke,
    step_describe, step_snare, step_life,  step_sleep,    step_disk,  step_snares_off,
};

/* Another processor of the client, while the back-end executes. */
static void act(uint32_t value)
{
    uint8_t a = (uint8_t)(value >> 8);

    switch (value % 6) {
    case 0:
        registers_write_any(a, value >> 12);
        break;
    case 1:
        registers_reset();
        break;
    case 2:
        rings_publish(0, a);
        break;
    case 3:
        step_send(a, (uint8_t)value, a);
        break;
    case 4:
        step_start((uint8_t)value, 63, a);
        break;
    default:
        step_describe((uint8_t)value, a, (uint8_t)(a * 5u));
    }
}

/* ---- Programs ---- */

static void describe(const uint8_t *header)
{
    struct shared_device_kind kind = {.features = FEATURES,
                                      .required = VIRTIO_F_VERSION_1,
                                      .device_id = 2,
                                      .queue_count = 1,
                                      .queue_size_max = DEVICE_QUEUE_SIZE_MAX,
                                      .config_bytes = 24};

    is_read_only = (header[0] & 1u) != 0;
    kind.features |= is_read_only ? VIRTIO_BLK_F_RO : 0;
    fixture.setups[HOSTILE].features = kind.features;
    fixture.setups[HOSTILE].memory = *memory_begin();
    fixture.room = 1 + header[0] / 2u % (CLIENTS * STORAGE_TRANSFERS);
    budget = 1 + header[1] % 16u;
    order_seed = header[2];
    hostile_features = kind.features & ~((uint64_t)header[3] << 5);
    registers_begin(&kind, &fixture.drivers[HOSTILE].page, &fixture.drivers[HOSTILE].acknowledged);
}

static void report(void)
{
    (void)fprintf(stderr,
                  "programs: %" PRIu64 ", steps: %" PRIu64 ", requests of the malicious client: "
                  "%" PRIu64 ", most rounds: %" PRIu64 ", most work: %" PRIu64 "\n",
                  programs, steps, sent_by_hostile, rounds_most, work_most);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t header[PROGRAM_HEADER] = {0};

    if (programs++ == 0) {
        (void)atexit(report);
    }
    memcpy(header, data, bytes < sizeof(header) ? bytes : sizeof(header));
    fixture_prepare();
    fixture.on_callback = trace_callback;
    trace_begin(act);
    describe(header);
    fixture_begin();
    number = 0;
    for (unsigned i = 1; i < CLIENTS; i++) {
        driver_start(i, FEATURES);
    }
    registers_start(hostile_features, 64);
    exchange();
    for (size_t at = sizeof(header); at + STEP_BYTES <= bytes; at += STEP_BYTES, steps++) {
        const uint8_t *step = data + at;

        table[step[0] % (sizeof(table) / sizeof(table[0]))](step[1], step[2], step[3]);
        exchange();
    }
    trace_clear();
    fixture_end();
    return 0;
}
