/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fuzzer's program for the driver of block devices (virtio/block.h) on the malicious device. An
 * input is a header of 4 bytes, and steps of 4 bytes: calls of an application, actions of the
 * device, and snares, which change a register or a word of shared memory just before the driver
 * reads it. The device is one of a board, or a shared device whose back-end ends and continues.
 *
 * Each request comes back once. As long as the device is correct, requests have the right headers,
 * and data is what was written. No call works longer than its bound. At the end the driver moves
 * data with a correct device.
 */
#include "hostile.h"
#include "owner.h"
#include "virtio/block.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER      4u
#define STEP        4u
#define REQUESTS    16u
#define SEGMENTS    3u
#define CAPACITY    64u /* sectors */
#define SECTOR      VIRTIO_BLOCK_SECTOR_BYTES
#define SEGMENT_MAX 2048u
#define PCI_ID      0x10421af4u
#define QUEUE       0u
#define PIECES_MAX  80u
#define DATA_MAX    (SEGMENTS * SEGMENT_MAX)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* All requests may be finished in one call, each with as many pieces as it can have. */
static const struct work step_limit = {.registers = 64, .shared = 4096, .all = 100000};

static const uint64_t optional[] = {
    VIRTIO_F_EVENT_IDX,       VIRTIO_F_INDIRECT_DESC, VIRTIO_F_IN_ORDER,     VIRTIO_F_RING_PACKED,
    VIRTIO_F_ACCESS_PLATFORM, VIRTIO_BLK_F_SEG_MAX,   VIRTIO_BLK_F_SIZE_MAX, VIRTIO_BLK_F_BLK_SIZE,
    VIRTIO_BLK_F_FLUSH,       VIRTIO_BLK_F_RO,
};

struct request {
    struct virtio_block_request request;
    bool is_with_driver;
};

static uint64_t programs, steps, done_by_device, finished;
static struct virtio_block *block;
static struct request requests[REQUESTS];
static struct virtio_mmio mmio;
static struct virtio_pci pci;
static enum bus bus;
static uint16_t vectors;
static uint64_t offered;
static uint16_t queue_size_max, requests_max;
static uint8_t data_seed;
static uint8_t flat[DATA_MAX + SEGMENT_MAX];

/* ---- The device ---- */

static void put_config(uint32_t offset, uint32_t value)
{
    memcpy(&device.config[offset], &value, sizeof(value));
}

static void power_on(void)
{
    device_power_on(bus, false, vectors, VIRTIO_F_VERSION_1 | offered);
    device.identity[2] = VIRTIO_DEVICE_BLOCK;
    if (bus == BUS_PCI) {
        pci_model_set(&device.pci, 0, 4, PCI_ID);
    }
    memset(device.config, 0, sizeof(device.config));
    put_config(VIRTIO_BLOCK_CONFIG_CAPACITY, CAPACITY);
    put_config(VIRTIO_BLOCK_CONFIG_SIZE_MAX, SEGMENT_MAX / 2);
    put_config(VIRTIO_BLOCK_CONFIG_SEG_MAX, SEGMENTS * 2);
    put_config(VIRTIO_BLOCK_CONFIG_BLK_SIZE, SECTOR);
    for (unsigned i = 0; i < QUEUES; i++) {
        device.queue[i].size_max = i == QUEUE ? queue_size_max : 0;
    }
}

/* Copies between a chain's segments of one direction and flat memory. Returns the bytes. */
static uint32_t copy(const struct ring_chain *chain, bool writable, uint8_t *memory, uint32_t limit)
{
    uint32_t done = 0;

    for (unsigned i = 0; i < chain->count; i++) {
        const struct ring_segment *segment = &chain->segment[i];

        if (segment->writable != writable || segment->bytes > limit - done) {
            continue;
        }
        if (writable) {
            (void)memory_store(segment->address, memory + done, segment->bytes);
        } else {
            (void)memory_load(segment->address, memory + done, segment->bytes);
        }
        done += segment->bytes;
    }
    return done;
}

static void fill(uint8_t *memory, uint64_t sector, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        memory[i] = (uint8_t)(sector * 31u + i * 7u + i / SECTOR + data_seed);
    }
}

static void check_written(const uint8_t *memory, uint64_t sector, uint32_t bytes)
{
    static uint8_t expected[DATA_MAX];

    HOSTILE_CHECK(bytes % SECTOR == 0 && bytes <= sizeof(expected) &&
                      sector + bytes / SECTOR <= CAPACITY,
                  "%u bytes at sector %" PRIu64 " (5.2.6.1)", bytes, sector);
    fill(expected, sector, bytes);
    HOSTILE_CHECK(memcmp(memory, expected, bytes) == 0, "other data than the owner's");
}

/* Executes a request as the standard says. Returns the bytes written. */
static uint32_t execute(const struct ring_chain *chain, uint8_t status)
{
    uint32_t bytes = copy(chain, false, flat, sizeof(flat));
    uint32_t type = 0;
    uint64_t sector = 0;

    if (bytes >= VIRTIO_BLOCK_HEADER_BYTES) {
        memcpy(&type, flat, sizeof(type));
        memcpy(&sector, flat + VIRTIO_BLOCK_HEADER_SECTOR, sizeof(sector));
    }
    HOSTILE_CHECK(!device_strict() ||
                      (bytes >= VIRTIO_BLOCK_HEADER_BYTES && chain->writable != 0 &&
                       (type == VIRTIO_BLOCK_TYPE_IN || type == VIRTIO_BLOCK_TYPE_OUT ||
                        type == VIRTIO_BLOCK_TYPE_FLUSH)),
                  "a request of type %u without a header or status (5.2.6)", type);
    if (device_strict() && type == VIRTIO_BLOCK_TYPE_OUT) {
        HOSTILE_CHECK(!device_features(VIRTIO_BLK_F_RO), "a write to a read-only device");
        check_written(flat + VIRTIO_BLOCK_HEADER_BYTES, sector, bytes - VIRTIO_BLOCK_HEADER_BYTES);
    }
    HOSTILE_CHECK(!device_strict() || type != VIRTIO_BLOCK_TYPE_FLUSH ||
                      device_features(VIRTIO_BLK_F_FLUSH),
                  "a flush without FLUSH (5.2.6.1)");
    if (chain->writable == 0 || chain->writable > sizeof(flat)) {
        return 0;
    }
    fill(flat, sector, chain->writable - 1);
    flat[chain->writable - 1] = status;
    done_by_device++;
    return copy(chain, true, flat, sizeof(flat));
}

static void take(unsigned count)
{
    struct queue *queue = device_queue(QUEUE);

    while (queue != NULL && count-- != 0 && queue->held_count < HELD_MAX &&
           ring_take(&queue->ring, &queue->held[queue->held_count])) {
        queue->held_count++;
    }
}

/* Executes and returns requests: in order from the first on, else any. */
static void give_back(unsigned count, uint8_t order, uint8_t status)
{
    struct queue *queue = device_queue(QUEUE);
    bool is_in_order = device_features(VIRTIO_F_IN_ORDER);

    while (queue != NULL && count-- != 0 && queue->held_count != 0) {
        unsigned which = is_in_order ? 0 : order % queue->held_count;
        struct ring_chain chain = queue->held[which];

        queue->last_id = chain.id;
        ring_return(&queue->ring, &chain, 1, execute(&chain, status));
        queue->held_count--;
        memmove(&queue->held[which], &queue->held[which + 1],
                (queue->held_count - which) * sizeof(chain));
    }
    traffic_signal(QUEUE);
}

static void tamper(uint8_t a, uint8_t b, uint8_t c)
{
    device.lies |= LIE_REGISTER | LIE_CONFIG;
    switch (a % 7) {
    case 0:
        device.config[b % 24u] = c;
        device.generation += c & 1u;
        break;
    case 1:
        device.queue[QUEUE].size_max = c;
        break;
    case 2:
        device.offered ^= UINT64_C(1) << (b % 64u);
        break;
    case 3:
        device.vectors_granted = c % (VECTORS + 1);
        break;
    case 4:
        device.pci.config[b] = c;
        break;
    case 5:
        device.queue[QUEUE].notify_offset = c;
        break;
    default:
        device.status = c;
    }
}

/* ---- The owner ---- */

static bool is_signalled;

static void signal(void *context)
{
    HOSTILE_CHECK(context == requests, "another context");
    is_signalled = true;
}

static const struct virtio_block_operations operations = {.signal = signal};

static struct virtio_transport *probe(const char **reason)
{
    device.windows = 0;
    if (bus == BUS_MMIO) {
        return virtio_mmio_probe(&mmio, MMIO_BASE, MMIO_BYTES, reason) ? &mmio.transport : NULL;
    }
    return virtio_pci_probe(&pci, (struct virtio_pci_function *)&device, vectors, reason)
               ? &pci.transport
               : NULL;
}

/* Creates the driver. Without one, its memory is the device's if that confirms no reset. */
static bool start(void)
{
    const struct virtio_block_parameters parameters = {.requests = requests_max};
    const char *reason = NULL;
    struct virtio_transport *transport;

    CALL_WITHIN("create", wait_limit, {
        transport = probe(&reason);
        if (transport != NULL) {
            transport->pool = memory_pool();
            block = virtio_block_create(transport, &parameters, &operations, requests, &reason);
        }
    });
    HOSTILE_CHECK(block != NULL || transport == NULL || reason != NULL,
                  "a failure without a reason");
    if (block == NULL && platform_allocations() != 0) {
        HOSTILE_CHECK(!device_strict(), "memory is lost with a correct device");
        platform_free_lost();
        device_forget_memory();
    }
    return block != NULL;
}

/* The data of a read is in slots that the device may write. All slots are poisoned (pools.c): the
 * driver accesses no data. */
static uint8_t *slot_of(unsigned number, unsigned segment, bool is_read)
{
    unsigned slot = number * SEGMENTS + segment;

    return is_read ? memory_buffer_slot(slot) : memory_packet_slot(slot);
}

static void expose(const struct request *request, bool is_exposed)
{
    unsigned number = (unsigned)(request - requests);

    for (unsigned i = 0; i < request->request.segment_count; i++) {
        uint32_t bytes = is_exposed ? request->request.segment[i].bytes : 0;

        if (request->request.kind == VIRTIO_BLOCK_READ) {
            memory_expose_buffer(number * SEGMENTS + i, bytes);
        } else {
            memory_expose_packet(number * SEGMENTS + i, bytes);
        }
    }
}

static void check_read(const struct virtio_block_request *request)
{
    static uint8_t expected[DATA_MAX];
    uint8_t seen[SEGMENT_MAX];
    uint32_t at = 0;

    fill(expected, request->sector, sizeof(expected));
    for (unsigned i = 0; i < request->segment_count; i++) {
        memory_read(seen, request->segment[i].memory, request->segment[i].bytes);
        HOSTILE_CHECK(memcmp(seen, expected + at, request->segment[i].bytes) == 0,
                      "a finished read without its data");
        at += request->segment[i].bytes;
    }
}

static bool fetch(void)
{
    struct virtio_block_request *back;
    struct request *request;

    CALL_WITHIN("finished", step_limit, back = virtio_block_finished(block));
    if (back == NULL) {
        return false;
    }
    request = back->owner;
    HOSTILE_CHECK(request >= requests && request < requests + REQUESTS &&
                      back == &request->request && request->is_with_driver,
                  "a request comes back that the driver does not have");
    request->is_with_driver = false;
    expose(request, false);
    if (device.lies == 0 && !snare_any() && back->kind == VIRTIO_BLOCK_READ &&
        back->result == VIRTIO_BLOCK_DONE) {
        check_read(back);
    }
    finished++;
    return true;
}

static void submit(uint8_t a, uint8_t b, uint8_t c)
{
    unsigned number = a % REQUESTS;
    struct request *request = &requests[number];
    struct virtio_block_request *made = &request->request;
    enum virtio_block_answer answer;
    uint64_t sector = c % CAPACITY + (c >= 0xf8u ? UINT64_MAX - 300 : 0);
    uint32_t filled = 0;

    if (request->is_with_driver) {
        return;
    }
    *made = (struct virtio_block_request){.owner = request, .kind = b % 3u, .sector = sector};
    made->segment_count = made->kind == VIRTIO_BLOCK_FLUSH ? 0 : 1 + b / 4u % SEGMENTS;
    fill(flat, made->sector, DATA_MAX);
    for (unsigned i = 0; i < made->segment_count; i++) {
        struct virtio_block_segment *segment = &made->segment[i];

        segment->memory = slot_of(number, i, made->kind == VIRTIO_BLOCK_READ);
        segment->bytes = b < 0xf0u ? SECTOR * (1 + a / 64u) : b * 16u % SEGMENT_MAX;
        memory_write(segment->memory, flat + filled, segment->bytes);
        filled += segment->bytes;
    }
    expose(request, true);
    CALL_WITHIN("submit", step_limit, answer = virtio_block_submit(block, made));
    request->is_with_driver = answer == VIRTIO_BLOCK_ACCEPTED;
    expose(request, request->is_with_driver);
}

/* The interrupt handler, for what is raised. */
static void handle_interrupts(void)
{
    for (unsigned i = 0; i < VECTORS; i++) {
        bool is_masked;

        if (device.raised[i]) {
            device.raised[i] = bus == BUS_MMIO; /* until it is acknowledged */
            CALL_WITHIN("interrupt", step_limit, is_masked = virtio_block_interrupt(block));
            (void)is_masked;
        }
    }
}

/* A flood is masked before it has taken more than a few calls. */
static void flood(void)
{
    bool is_masked = false;

    for (unsigned i = 0; i < 64 && !is_masked; i++) {
        device.cause = VIRTIO_CAUSE_QUEUE; /* a shared line without a cause is another device's */
        CALL_WITHIN("interrupt", step_limit, is_masked = virtio_block_interrupt(block));
    }
    HOSTILE_CHECK(is_masked || snare_any(), "a flood of interrupts is not masked");
}

static void bottom_half(void)
{
    bool is_idle = false;

    for (unsigned i = 0; i < 4 && !is_idle; i++) {
        while (fetch()) {
        }
        CALL_WITHIN("rearm", wait_limit, is_idle = virtio_block_rearm(block));
    }
    is_signalled = false;
}

/* Stops and frees the driver. Returns false if the device does not confirm the reset. */
static bool stop(void)
{
    bool is_stopped;

    CALL_WITHIN("stop", wait_limit, is_stopped = virtio_block_stop(block));
    if (!is_stopped) {
        return false;
    }
    HOSTILE_CHECK(virtio_block_is_stopped(block), "neither stopped nor running");
    while (fetch()) {
    }
    for (unsigned i = 0; i < REQUESTS; i++) {
        HOSTILE_CHECK(!requests[i].is_with_driver, "a request is lost");
    }
    CALL_WITHIN("free", wait_limit, virtio_block_free(block));
    block = NULL;
    HOSTILE_CHECK(platform_allocations() == 0, "memory is lost");
    device_forget_memory();
    return true;
}

/* The owner's response to a failure. The device has other features then, as a back-end of another
 * version. */
static void recover(uint8_t a, uint8_t b)
{
    if (block != NULL && !stop()) {
        return;
    }
    if (a % 2 == 0) {
        snare_clear();
        power_on();
    }
    if ((a & 2u) != 0) {
        device.offered ^= optional[b % (sizeof(optional) / sizeof(optional[0]))];
    }
    device.lies &= ~(unsigned)LIE_RING;
    HOSTILE_CHECK(start() || device.lies != 0 || snare_any(), "a correct device is refused");
}

static void check_balance(void)
{
    unsigned with_driver = 0;

    for (unsigned i = 0; i < REQUESTS; i++) {
        with_driver += requests[i].is_with_driver;
    }
    HOSTILE_CHECK(block == NULL ? with_driver == 0 : virtio_block_in_flight(block) == with_driver,
                  "the counters do not balance");
}

/* ---- Programs ---- */

static void set_snare(uint8_t a, uint8_t b, uint8_t c)
{
    static const uint32_t values[] = {0, 1, 63, 64, 511, 512, 65535, UINT16_MAX + 1, UINT32_MAX};
    uint32_t value = c < 128 ? c : values[c % (sizeof(values) / sizeof(values[0]))];

    snare_set(&(struct snare){.access = a % ACCESS_UNLOCK,
                              .effect = snare_effect_of(a / 16u),
                              .countdown = 1 + b % 32u,
                              .every = b > 0xe0 ? 1 + b % 4u : 0,
                              .value = value});
}

static void run_device_step(uint8_t what, uint8_t a, uint8_t b, uint8_t c)
{
    switch (what) {
    case 0:
        take(1 + a % 16u);
        give_back(1 + b % 16u, c, a < 224 ? 0 : a % 4u);
        break;
    case 1:
        take(1 + a % 16u);
        break;
    case 2:
        traffic_lie(QUEUE, b % TRAFFIC_LIES, c < 200 ? c : c * 0x01010101u);
        break;
    case 3:
        traffic_poke(QUEUE, (uint32_t)(a % 3u + 3u * b), c * 0x101u);
        break;
    case 4:
    case 5:
        set_snare(a, b, c);
        break;
    case 6:
        tamper(a, b, c);
        break;
    case 7:
        device_fail();
        break;
    case 8:
        traffic_ask(QUEUE, (a & 1u) != 0);
        break;
    default:
        device_raise(a % VECTORS, b);
    }
}

static void run_step(const uint8_t *step)
{
    uint8_t a = step[1];
    uint8_t b = step[2];
    uint8_t c = step[3];
    uint8_t what = step[0] % 18u;

    if (what == 0 || block == NULL) {
        recover(a, b);
    } else if (what < 3) {
        submit(a, b, c);
    } else if (what == 3) {
        for (uint8_t i = 0; i < a % REQUESTS; i++) {
            submit(i, b, (uint8_t)(c + i));
        }
        CALL_WITHIN("kick", step_limit, virtio_block_kick(block));
    } else if (what == 4) {
        CALL_WITHIN("kick", step_limit, virtio_block_kick(block));
    } else if (what == 5) {
        handle_interrupts();
    } else if (what == 6) {
        bottom_half();
    } else if (what == 7) {
        CALL_WITHIN("watch", step_limit, virtio_block_watch(block));
        HOSTILE_CHECK((device.status & VIRTIO_STATUS_NEEDS_RESET) == 0 || snare_any() ||
                          virtio_block_broken(block) != NULL || virtio_block_is_stopped(block),
                      "a request for a reset is ignored (2.1.2)");
        if ((a & 7u) == 0) {
            flood();
        }
    } else {
        run_device_step(what - 8, a, b, c);
    }
    check_balance();
}

/* With a correct device the driver works again. */
static void finish(void)
{
    uint64_t before;

    snare_clear();
    HOSTILE_CHECK(block == NULL || stop(), "the driver can't be stopped");
    offered &= ~(uint64_t)VIRTIO_BLK_F_RO;
    queue_size_max = 64;
    power_on();
    HOSTILE_CHECK(start(), "no recovery");
    for (unsigned i = 0; i < 3 * REQUESTS; i++) {
        before = finished;
        submit((uint8_t)(i % REQUESTS), (uint8_t)(i % 2u), (uint8_t)i);
        CALL_WITHIN("kick", step_limit, virtio_block_kick(block));
        take(1);
        give_back(1, 0, 0);
        handle_interrupts();
        bottom_half();
        HOSTILE_CHECK(finished == before + 1, "no recovery: the request does not come back");
        HOSTILE_CHECK(requests[i % REQUESTS].request.result == VIRTIO_BLOCK_DONE,
                      "no recovery: the request failed");
    }
    check_balance();
    HOSTILE_CHECK(stop(), "the driver can't be stopped");
}

static void report(void)
{
    (void)fprintf(stderr,
                  "programs: %" PRIu64 ", steps: %" PRIu64 ", requests executed: %" PRIu64
                  ", finished: %" PRIu64 "\n",
                  programs, steps, done_by_device, finished);
}

static void begin(const uint8_t *header)
{
    bus = header[0] % 4u != 0 ? BUS_MMIO : BUS_PCI;
    vectors = bus == BUS_PCI ? header[0] / 4u % 4u : 0;
    offered = 0;
    for (unsigned i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
        unsigned bits = header[1] | (unsigned)header[2] << 8;

        offered |= (bits >> i & 1u) != 0 ? 0 : optional[i];
    }
    queue_size_max = (uint16_t)(4u << header[3] % 7u);
    requests_max = header[3] / 7u % REQUESTS;
    data_seed = header[3];
    memset(requests, 0, sizeof(requests));
    snare_clear();
    memory_clear();
    platform_clear();
    owner_power_on();
    power_on();
    (void)start();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t header[HEADER] = {0};

    if (programs++ == 0) {
        (void)atexit(report);
    }
    memcpy(header, data, bytes < sizeof(header) ? bytes : sizeof(header));
    begin(header);
    for (size_t at = sizeof(header); at + STEP <= bytes; at += STEP, steps++) {
        run_step(data + at);
    }
    finish();
    return 0;
}
