/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fuzzer's program for the polled driver (virtio/net_polled.h) on the malicious device. An
 * input is a header of 2 bytes, and steps of 4 bytes: calls of an application, actions of the
 * device, and snares, which change a register or a word of shared memory just before the driver
 * reads it. After each step the counters balance, and no call has worked longer than its bound. At
 * the end the driver moves frames with a correct device.
 */
#include "hostile.h"
#include "owner.h"
#include "virtio/net_polled.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER   2u
#define STEP     4u
#define CAPACITY 1600u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const struct work step_limit = {.registers = 64, .shared = 4096, .all = 100000};

static uint64_t programs, steps;
static struct virtio_polled *polled;
static struct virtio_mmio mmio;
static struct virtio_pci pci;
static enum bus bus;
static uint16_t vectors;

static void power_on(void)
{
    device_power_on(bus, false, vectors,
                    VIRTIO_F_VERSION_1 | VIRTIO_F_ACCESS_PLATFORM | VIRTIO_NET_F_MAC |
                        VIRTIO_NET_F_STATUS | VIRTIO_NET_F_MRG_RXBUF | VIRTIO_F_INDIRECT_DESC);
    /* The strict checks compare frames with those of the ordinary driver's owner (pools.c). */
    device.lies = LIE_RING;
}

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

static bool start(void)
{
    const char *reason = NULL;
    bool started = false;
    struct virtio_transport *transport;

    CALL_WITHIN("start", wait_limit, {
        transport = probe(&reason);
        if (transport != NULL) {
            transport->pool = memory_pool();
        }
        started = transport != NULL && virtio_polled_start(polled, transport, &reason);
    });
    HOSTILE_CHECK(started || transport == NULL || reason != NULL, "a failure without a reason");
    return started;
}

static bool stop(void)
{
    bool stopped;

    CALL_WITHIN("stop", wait_limit, stopped = virtio_polled_stop(polled));
    return stopped;
}

static void check_balance(void)
{
    struct virtio_net_statistics s;

    virtio_polled_statistics(polled, &s);
    HOSTILE_CHECK(s.rx_buffers_taken == s.rx_buffers_returned + s.rx_exposed &&
                      s.tx_accepted == s.tx_returned + s.tx_in_flight &&
                      s.rx_exposed <= VIRTIO_POLLED_ENTRIES &&
                      s.tx_in_flight <= VIRTIO_POLLED_ENTRIES,
                  "the counters do not balance");
}

static uint32_t receive(uint32_t capacity)
{
    uint8_t *frame = malloc(capacity + 1); /* of this size for AddressSanitizer */
    uint32_t bytes;

    CALL_WITHIN("receive", step_limit, bytes = virtio_polled_receive(polled, frame, capacity));
    HOSTILE_CHECK(bytes <= capacity, "%u bytes in a buffer of %u", bytes, capacity);
    free(frame);
    return bytes;
}

static bool transmit(uint32_t bytes)
{
    uint8_t *frame = calloc(1, bytes + 1);
    struct virtio_net_segment segment = {.memory = frame, .bytes = bytes};
    bool accepted;

    CALL_WITHIN("transmit", step_limit, accepted = virtio_polled_transmit(polled, &segment, 1));
    free(frame);
    return accepted;
}

/* The device has another value from now on. */
static void tamper(uint8_t a, uint8_t b, uint8_t c)
{
    switch (a % 4) {
    case 0:
        device.config[b % CONFIG_BYTES] = c;
        break;
    case 1:
        device.queue[b % 2u].size_max = c;
        break;
    case 2:
        device.offered ^= UINT64_C(1) << (b % 64u);
        break;
    default:
        device.status = c;
    }
}

static void set_snare(uint8_t a, uint8_t b, uint8_t c)
{
    static const uint32_t values[] = {0, 1, 31, 32, 33, 1536, 1537, UINT16_MAX, UINT32_MAX};
    uint32_t value = c < 128 ? c : values[c % (sizeof(values) / sizeof(values[0]))];

    snare_set(&(struct snare){.access = a % ACCESS_UNLOCK,
                              .effect = snare_effect_of(a / 16u),
                              .countdown = 1 + b % 32u,
                              .every = b > 0xe0 ? 1 + b % 4u : 0,
                              .value = value});
}

static void run_step(const uint8_t *step)
{
    uint8_t a = step[1];
    uint8_t b = step[2];
    uint8_t c = step[3];

    switch (step[0] % 12) {
    case 0:
        (void)receive(a < 200 ? CAPACITY : b);
        break;
    case 1:
        (void)transmit((a * 256u + b) % 1700u);
        break;
    case 2:
        CALL_WITHIN("flush", step_limit, virtio_polled_flush(polled));
        break;
    case 3:
        CALL_WITHIN("watch", step_limit, virtio_polled_watch(polled));
        break;
    case 4:
        traffic_receive(0, 1 + a % 40u, 14u + b * 6u, a > 200 ? c : 0);
        pool_forget_expected();
        break;
    case 5:
        traffic_take(1, 1 + a % 40u);
        traffic_return(1, 1 + b % 40u, c);
        break;
    case 6:
        traffic_lie(a % 2u, b % TRAFFIC_LIES, c < 200 ? c : c * 0x01010101u);
        break;
    case 7:
        traffic_poke(a % 2u, (uint32_t)(a / 2u % 3u + 3u * b), c * 0x101u);
        break;
    case 8:
    case 9:
        set_snare(a, b, c);
        break;
    case 10:
        tamper(a, b, c);
        break;
    default: /* the owner's response to a failure */
        if (stop()) {
            if (a % 2 == 0) {
                snare_clear();
                power_on();
            }
            (void)start();
        }
    }
    check_balance();
}

/* With a correct device the driver works again. */
static void finish(void)
{
    struct queue *queue;

    snare_clear();
    HOSTILE_CHECK(stop(), "the driver can't be stopped");
    power_on();
    HOSTILE_CHECK(start(), "no recovery");
    for (unsigned i = 0; i < 3 * VIRTIO_POLLED_ENTRIES; i++) {
        HOSTILE_CHECK(transmit(60 + i), "no recovery: nothing can be sent");
        virtio_polled_flush(polled);
        traffic_take(1, 1);
        queue = device_queue(1);
        HOSTILE_CHECK(queue != NULL && queue->held_count == 1 && queue->held[0].readable == 72 + i,
                      "no recovery: the frame does not arrive");
        traffic_return(1, 1, 0);
        traffic_receive(0, 1, 60 + i, 0);
        pool_forget_expected();
        HOSTILE_CHECK(receive(CAPACITY) == 60 + i, "no recovery: nothing is received");
    }
    check_balance();
    HOSTILE_CHECK(stop(), "the driver can't be stopped");
    virtio_polled_destroy(polled);
    HOSTILE_CHECK(platform_allocations() == 0, "memory is lost");
}

static void report(void)
{
    (void)fprintf(stderr, "programs: %" PRIu64 ", steps: %" PRIu64 "\n", programs, steps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (programs++ == 0) {
        (void)atexit(report);
    }
    bus = bytes < HEADER || data[0] % 2 == 0 ? BUS_MMIO : BUS_PCI;
    vectors = bus == BUS_PCI ? data[1] % 4u : 0;
    snare_clear();
    memory_clear();
    platform_clear();
    owner_power_on();
    power_on();
    polled = virtio_polled_create(memory_pool());
    HOSTILE_CHECK(polled != NULL, "there is memory");
    (void)start();
    for (size_t at = HEADER; at + STEP <= bytes; at += STEP, steps++) {
        run_step(data + at);
    }
    finish();
    return 0;
}
