/* SPDX-License-Identifier: BSD-2-Clause */
/* See station.h. */
#include "station.h"
#include "rules.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define HEADER            VIRTIO_NET_HEADER_BYTES
#define PACKET_BYTES      ((size_t)2048)
#define ROUNDS_MAX        100000u
#define IDLE_MILLISECONDS 1
#define ETHERTYPE_TESTS   0x88b5u /* for local experiments (IEEE 802) */
#define NUMBER_OFFSET     14u

static const uint8_t station_address[6] = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};
static const uint8_t far_address[6] = {0x52, 0x54, 0x00, 0xab, 0xcd, 0xef};

/* A frame: Ethernet header, number, and what follows from number and position. */
static void make_frame(uint8_t *frame, uint32_t bytes, uint32_t number, bool transmit)
{
    memcpy(frame, transmit ? far_address : station_address, 6);
    memcpy(frame + 6, transmit ? station_address : far_address, 6);
    frame[12] = ETHERTYPE_TESTS >> 8;
    frame[13] = ETHERTYPE_TESTS & 0xffu;
    for (uint32_t i = NUMBER_OFFSET; i < bytes; i++) {
        frame[i] = (uint8_t)(i < NUMBER_OFFSET + 4 ? number >> (8 * (i - NUMBER_OFFSET))
                                                   : number * 37u + i * 11u + 1u);
    }
}

static void check_frame(const uint8_t *frame, uint32_t bytes, uint32_t number, bool transmit)
{
    uint8_t expected[STATION_FRAME_BYTES];

    assert_true(bytes >= NUMBER_OFFSET && bytes <= sizeof(expected));
    make_frame(expected, bytes, number, transmit);
    for (uint32_t i = 0; i < bytes; i++) {
        if (frame[i] != expected[i]) {
            fail_msg("frame %u of %u bytes differs at byte %u", number, bytes, i);
        }
    }
}

/* Checks a frame that should be number *next and counts it; one older than `stale` may come, too.
 */
static void count_frame(const uint8_t *frame, uint32_t bytes, uint32_t *next, uint32_t stale,
                        bool transmit)
{
    uint32_t number = 0;

    for (unsigned i = 0; i < 4 && bytes >= NUMBER_OFFSET + 4; i++) {
        number |= (uint32_t)frame[NUMBER_OFFSET + i] << (8 * i);
    }
    if (number < stale) {
        check_frame(frame, bytes, number, transmit);
        return;
    }
    check_frame(frame, bytes, *next, transmit);
    (*next)++;
}

static struct virtio_net_buffer *receive_buffer(void *context)
{
    struct station *station = context;

    for (unsigned i = 0; i < station->buffers_usable; i++) {
        struct station_buffer *ours = &station->buffers[i];

        if (!ours->with_driver) {
            ours->with_driver = true;
            return &ours->buffer;
        }
    }
    return NULL;
}

static void take_back(struct virtio_net_buffer *buffer)
{
    struct station_buffer *ours = (struct station_buffer *)buffer;

    assert_true(ours->with_driver);
    ours->with_driver = false;
    memset(buffer->memory, 0xee, buffer->capacity);
}

static void return_buffer(void *context, struct virtio_net_buffer *buffer)
{
    (void)context;
    take_back(buffer);
}

static void signal_bottom_half(void *context)
{
    ((struct station *)context)->signalled = true;
}

static const struct virtio_net_operations operations = {
    .receive_buffer = receive_buffer,
    .return_buffer = return_buffer,
    .signal = signal_bottom_half,
};

static void find_mmio(struct station *station)
{
    const char *reason = NULL;

    /* QEMU fills the places from the last one on. */
    for (unsigned place = QTEST_MMIO_COUNT; place-- != 0;) {
        virtio_register base =
            station->setting->machine->mmio + (virtio_register)place * QTEST_MMIO_BYTES;

        if (virtio_mmio_probe(&station->mmio, base, QTEST_MMIO_BYTES, &reason)) {
            station->transport = &station->mmio.transport;
            station->line = station->setting->machine->mmio_line + place;
            return;
        }
        if (reason != NULL) {
            fail_msg("mmio: %s", reason);
        }
    }
    fail_msg("no device on mmio");
}

static void find_pci(struct station *station)
{
    uint16_t vectors = station->setting->vectors;
    const char *reason = NULL;

    assert_true(qtest_pci_enumerate() != 0);
    for (unsigned i = 0; (station->function = qtest_pci_function(i)) != NULL; i++) {
        if (station->function->vendor_id != VIRTIO_PCI_VENDOR) {
            continue;
        }
        if (vectors != 0) {
            assert_int_equal(qtest_msix_enable(station->function, vectors), vectors);
        }
        if ((station->setting->probe_legacy ? virtio_pci_probe_legacy : virtio_pci_probe)(
                &station->pci, station->function, vectors, &reason)) {
            station->transport = &station->pci.transport;
            station->line = station->function->line;
            return;
        }
        if (reason != NULL) {
            fail_msg("pci: %s", reason);
        }
    }
    fail_msg("no device on pci");
}

static void make_pools(struct station *station)
{
    virtio_address unused;

    station->buffers_usable = STATION_BUFFERS;
    station->buffer_memory =
        virtio_platform_dma_allocate(STATION_BUFFERS * STATION_BUFFER_BYTES, 64, &unused);
    station->packet_memory =
        virtio_platform_dma_allocate(STATION_PACKETS * PACKET_BYTES, 64, &unused);
    assert_non_null(station->buffer_memory);
    assert_non_null(station->packet_memory);
    for (unsigned i = 0; i < STATION_BUFFERS; i++) {
        station->buffers[i].buffer.memory = station->buffer_memory + i * STATION_BUFFER_BYTES;
        station->buffers[i].buffer.capacity = (uint32_t)STATION_BUFFER_BYTES;
    }
}

void station_open(struct station *station, const struct setting *setting)
{
    memset(station, 0, sizeof(*station));
    station->setting = setting;
    station->parameters = (struct virtio_net_parameters){
        .rx_buffers = setting->rx_buffers,
        .tx_ring = setting->tx_ring,
        .receive_bytes = setting->receive_bytes,
        .features_off = setting->refuse,
    };
    qtest_attach(setting->machine, setting->protocol, setting->memory, setting->memory_bytes);
    monitor_execute(setting, "{\"execute\":\"qmp_capabilities\"}\n");
    make_pools(station);
    if (setting->pci) {
        find_pci(station);
    } else {
        find_mmio(station);
    }
    assert_int_equal(station->transport->device_type, VIRTIO_DEVICE_NETWORK);
    assert_int_equal(station->transport->legacy, setting->legacy);
}

const char *station_try_start(struct station *station)
{
    const char *reason = NULL;

    station->net =
        virtio_net_create(station->transport, &station->parameters, &operations, station, &reason);
    assert_true(station->net != NULL || reason != NULL);
    station->signalled = true; /* the bottom half runs once, unasked */
    return station->net == NULL ? reason : NULL;
}

void station_start(struct station *station)
{
    const char *reason = station_try_start(station);

    if (reason != NULL) {
        fail_msg("create: %s", reason);
    }
    if (virtio_net_features(station->net) != station->setting->expect) {
        fail_msg("features %#" PRIx64 " instead of %#" PRIx64, virtio_net_features(station->net),
                 station->setting->expect);
    }
}

static void fetch_packets(struct station *station)
{
    struct virtio_net_packet *packet;

    while ((packet = virtio_net_transmitted(station->net)) != NULL) {
        struct station_packet *ours = packet->owner;

        assert_true(ours->with_driver);
        ours->with_driver = false;
        station->returned++;
        /* What a device still reads now is not what was sent. */
        memset(packet->segment[0].memory - HEADER, 0xcc, PACKET_BYTES);
    }
}

static void fetch_frames(struct station *station)
{
    struct virtio_net_buffer *buffer;

    while ((buffer = virtio_net_receive(station->net)) != NULL) {
        assert_true(buffer->frame_bytes <= buffer->capacity - HEADER);
        count_frame(buffer->memory + HEADER, buffer->frame_bytes, &station->received,
                    station->stale_frames, false);
        station->frame_bytes = buffer->frame_bytes;
        station->checksum_valid = buffer->checksum_valid;
        take_back(buffer);
    }
}

static void bottom_half(struct station *station)
{
    unsigned rounds = 0;

    station->signalled = false;
    do {
        assert_true(rounds++ < ROUNDS_MAX);
        fetch_frames(station);
        fetch_packets(station);
        if (virtio_net_link_changed(station->net)) {
            station->link_changes++;
        }
    } while (virtio_net_bottom_half(station->net));
}

/* True: an interrupt was there and its handler has run. */
static bool interrupt(struct station *station)
{
    uint16_t vectors = station->transport->vectors;

    if (vectors == 0) {
        if (!qtest_line(station->line)) {
            return false;
        }
        virtio_net_interrupt(station->net);
        return true;
    }
    for (uint16_t vector = 0; vector < vectors; vector++) {
        if (qtest_msix_take(vector)) {
            if (vector == 0 && vectors > 1) {
                virtio_net_configuration_interrupt(station->net);
            } else {
                virtio_net_interrupt(station->net);
            }
            return true;
        }
    }
    return false;
}

void station_serve(struct station *station, bool drain)
{
    bool busy = false;

    qtest_wait(0);
    for (unsigned rounds = 0; interrupt(station); rounds++) {
        assert_true(rounds < 1000);
        busy = true;
    }
    if (station->signalled) {
        bottom_half(station);
        busy = true;
    }
    while (drain && station_arrive(station)) {
        busy = true;
    }
    if (!busy) {
        qtest_wait(IDLE_MILLISECONDS);
    }
}

bool station_send(struct station *station, uint32_t bytes, unsigned segments)
{
    unsigned number = station->sent % STATION_PACKETS;
    struct station_packet *ours = &station->packets[number];
    uint8_t *memory = station->packet_memory + (size_t)number * PACKET_BYTES;

    if (ours->with_driver) {
        return false;
    }
    assert_true(bytes + HEADER <= PACKET_BYTES);
    make_frame(memory + HEADER, bytes, station->sent, true);
    ours->packet = (struct virtio_net_packet){.owner = ours, .segment_count = (uint16_t)segments};
    for (unsigned i = 0; i < segments; i++) {
        uint32_t from = bytes / segments * i;

        ours->packet.segment[i].memory = memory + HEADER + from;
        ours->packet.segment[i].bytes =
            (i + 1 == segments ? bytes : bytes / segments * (i + 1)) - from;
    }
    if (station->leave_checksum) {
        ours->packet.checksum_partial = true;
        ours->packet.checksum_start = STATION_CHECKSUM_START;
        ours->packet.checksum_offset = STATION_CHECKSUM_OFFSET;
    }
    ours->with_driver = true;
    if (!virtio_net_transmit(station->net, &ours->packet)) {
        ours->with_driver = false;
        return false;
    }
    station->sent++;
    return true;
}

bool station_arrive(struct station *station)
{
    uint8_t frame[STATION_FRAME_BYTES];
    size_t header = station->setting->vnet ? sizeof(station->far_got) : 0;
    ssize_t bytes = recv(station->setting->wire, frame, sizeof(frame), MSG_DONTWAIT);

    if (bytes < 0) {
        assert_true(errno == EAGAIN);
        return false;
    }
    assert_true((size_t)bytes > header);
    memcpy(&station->far_got, frame, header);
    count_frame(frame + header, (uint32_t)((size_t)bytes - header), &station->arrived,
                station->stale_arrivals, true);
    return true;
}

bool station_inject(struct station *station, uint32_t bytes)
{
    uint8_t frame[STATION_FRAME_BYTES];

    size_t header = station->setting->vnet ? sizeof(station->far_sends) : 0;

    memcpy(frame, &station->far_sends, header);
    make_frame(frame + header, bytes, station->injected, false);
    if (send(station->setting->wire, frame, header + bytes, MSG_DONTWAIT) < 0) {
        assert_true(errno == EAGAIN || errno == ENOBUFS);
        return false;
    }
    station->injected++;
    return true;
}

struct virtio_net_statistics station_statistics(struct station *station)
{
    struct virtio_net_statistics statistics;

    virtio_net_statistics(station->net, &statistics);
    return statistics;
}

void station_check_balance(struct station *station)
{
    struct virtio_net_statistics s = station_statistics(station);
    unsigned buffers = 0;
    unsigned packets = 0;

    for (unsigned i = 0; i < STATION_BUFFERS; i++) {
        buffers += station->buffers[i].with_driver;
    }
    for (unsigned i = 0; i < STATION_PACKETS; i++) {
        packets += station->packets[i].with_driver;
    }
    assert_int_equal(s.rx_buffers_taken, s.rx_buffers_returned + s.rx_exposed + s.rx_queued);
    assert_int_equal(s.rx_buffers_taken - s.rx_buffers_returned, buffers);
    assert_int_equal(s.tx_accepted, s.tx_returned + s.tx_in_flight + s.tx_queued + s.tx_finished);
    assert_int_equal(s.tx_accepted - s.tx_returned, packets);
}

void station_stop(struct station *station)
{
    struct virtio_net_statistics s;

    assert_true(virtio_net_stop(station->net));
    /* 2.4.1: what was exposed is the owner's again, so the device must have let go of it. */
    assert_int_equal(station->transport->operations->status(station->transport), 0);
    fetch_packets(station);
    assert_null(virtio_net_receive(station->net));
    station_check_balance(station);
    s = station_statistics(station);
    assert_int_equal(s.rx_buffers_taken, s.rx_buffers_returned);
    assert_int_equal(s.tx_accepted, s.tx_returned);
    assert_int_equal(station->sent, station->returned);
    virtio_net_free(station->net);
    station->net = NULL;
}

void station_clear_wire(struct station *station)
{
    uint8_t frame[STATION_FRAME_BYTES];

    qtest_wait(0);
    while (recv(station->setting->wire, frame, sizeof(frame), MSG_DONTWAIT) >= 0) {
    }
    station->arrived = station->stale_arrivals = station->sent;
    station->received = station->stale_frames = station->injected;
}

void station_close(struct station *station)
{
    station_stop(station);
    if (station->transport->vectors != 0) {
        qtest_msix_disable(station->function);
    }
    virtio_platform_dma_free(station->buffer_memory, STATION_BUFFERS * STATION_BUFFER_BYTES);
    virtio_platform_dma_free(station->packet_memory, STATION_PACKETS * PACKET_BYTES);
}

void station_describe(struct station *station)
{
    struct virtio_net_statistics s = station_statistics(station);

    printf("sent %u arrived %u returned %u, injected %u received %u, line %d, signalled %d\n",
           station->sent, station->arrived, station->returned, station->injected, station->received,
           qtest_line(station->line), station->signalled);
    printf("interrupts %" PRIu64 " spurious %" PRIu64 " signals %" PRIu64 ", exposed %" PRIu64
           " in flight %" PRIu64 " queued %" PRIu64 "\n",
           s.interrupts, s.interrupts_spurious, s.signals, s.rx_exposed, s.tx_in_flight,
           s.tx_queued);
    rules_describe();
}

static uint32_t size_of_frame(uint32_t number)
{
    static const uint32_t edges[] = {STATION_FRAME_MIN, 61, 64, 127, 128, 1000, 1513,
                                     STATION_FRAME_MAX};

    return edges[number % (sizeof(edges) / sizeof(edges[0]))];
}

void station_exchange(struct station *station, unsigned count, unsigned segments)
{
    uint32_t sent = station->sent + count;
    uint32_t injected = station->injected + count;
    uint64_t started = virtio_platform_now();

    /* A small ring takes no long chains. */
    if (station->setting->tx_ring != 0 && station->setting->tx_ring < segments) {
        segments = station->setting->tx_ring;
    }
    while (station->sent != sent || station->injected != injected) {
        if (virtio_platform_now() - started > STATION_PATIENCE) {
            station_describe(station);
            fail_msg("the driver takes no frames");
        }
        if (station->sent != sent) {
            (void)station_send(station, size_of_frame(station->sent), 1 + station->sent % segments);
        }
        if (station->sent % 3 == 0 || station->sent == sent) {
            virtio_net_flush(station->net);
        }
        if (station->injected != injected) {
            (void)station_inject(station, size_of_frame(station->injected));
        }
        station_serve(station, true);
    }
    station_until(station, station->arrived == sent && station->received == injected);
    station_check_balance(station);
}
