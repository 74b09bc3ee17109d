/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for owner and device, made of bytes that a fuzzer writes. Every sequence of bytes is a
 * valid program.
 *
 * The header holds the bus, vectors and HEADER_ bits, the features not offered (two bytes), and the
 * driver's parameters. Steps of four bytes follow: the number of the step and three operands a, b,
 * c.
 */
#include "steps.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Features that a program may leave out. An honest device always offers VERSION_1. */
static const uint64_t optional[16] = {
    VIRTIO_F_EVENT_IDX,
    VIRTIO_F_INDIRECT_DESC,
    VIRTIO_NET_F_CSUM,
    VIRTIO_NET_F_GUEST_CSUM,
    VIRTIO_NET_F_MTU,
    VIRTIO_NET_F_MAC,
    VIRTIO_NET_F_STATUS,
    VIRTIO_F_RING_PACKED,
    VIRTIO_F_IN_ORDER,
    VIRTIO_F_RING_RESET,
    VIRTIO_NET_F_MRG_RXBUF,
    VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6,
    VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6,
    VIRTIO_NET_F_CTRL_VQ,
    VIRTIO_NET_F_MQ,
    VIRTIO_NET_F_SPEED_DUPLEX,
};

#define FEATURES_COMMANDS                                                         \
    (VIRTIO_NET_F_CTRL_RX | VIRTIO_NET_F_CTRL_RX_EXTRA | VIRTIO_NET_F_CTRL_VLAN | \
     VIRTIO_NET_F_CTRL_MAC_ADDR | VIRTIO_NET_F_GUEST_ANNOUNCE)

struct settings settings;
static bool tracing;

void program_trace(bool on)
{
    tracing = on;
}

/* Returns the number of receive buffers. Some programs have enough for large frames
 * (VIRTIO_NET_LARGE_RECEIVE_BYTES). */
static uint16_t receive_buffers(uint8_t byte)
{
    return (uint16_t)(byte < 160 ? 1 + byte % 32 : 43 + byte % 4);
}

static void read_header(const uint8_t *header)
{
    unsigned off = header[1] | ((unsigned)header[2] << 8);

    settings = (struct settings){
        .bus = (header[0] & 1) != 0 ? BUS_PCI : BUS_MMIO,
        .legacy = (header[0] & HEADER_LEGACY) != 0,
        .offered = VIRTIO_F_VERSION_1,
        .mtu = 1500,
        .parameters =
            {
                .rx_buffers = receive_buffers(header[3]),
                .rx_buffers_max =
                    (uint16_t)(receive_buffers(header[3]) * (1u + header[4] / 8u % 3u)),
                .tx_ring = (uint16_t)(2u << header[4] % 8),
                .send_queue = (uint16_t)(1 + header[5] % 64),
                .interrupt_budget = (uint16_t)(1 + header[6] % 64),
                .queue_pairs = (header[0] & HEADER_PAIRS) != 0 ? PAIRS : 1,
                .vlan_filter = (header[0] & HEADER_COMMANDS) != 0,
            },
        .queue_size_max = (uint16_t)(header[7] < 128 ? QUEUE_LIMIT : header[7] - 127u),
    };
    if ((header[0] & HEADER_LARGE_MTU) != 0) {
        settings.mtu = LARGE_MTU;
        settings.parameters.mtu_max = LARGE_MTU;
        settings.parameters.rx_buffers_max = BUFFER_SLOTS;
    }
    settings.vectors = settings.bus == BUS_PCI ? (header[0] >> 1) % 4 : 0;
    for (unsigned i = 0; i < 16; i++) {
        settings.offered |= (off >> i & 1u) != 0 ? 0 : optional[i];
    }
    settings.offered |= (header[0] & HEADER_COMMANDS) != 0 ? FEATURES_COMMANDS : 0;
    if (settings.legacy) { /* legacy devices have 32 feature bits (4.1.4.10, 4.2.4) */
        settings.offered = (settings.offered & UINT32_MAX) |
                           ((header[0] & HEADER_ANY_LAYOUT) != 0 ? VIRTIO_F_ANY_LAYOUT : 0);
    }
}

static void run_step(const uint8_t *bytes)
{
    const struct step *step = step_of(bytes[0]);

    if (tracing) {
        (void)fprintf(stderr, "%s %u %u %u%s\n", step->name, bytes[1], bytes[2], bytes[3],
                      owner_net() == NULL                      ? " (no driver)"
                      : virtio_net_broken(owner_net()) != NULL ? " (broken)"
                                                               : "");
    }
    if (owner_net() != NULL || step->without_driver) {
        step->run(bytes[1], bytes[2], bytes[3]);
        owner_check();
    }
}

/* Checks that frames pass both ways, without loss, on the chosen pair. */
static void check_traffic(void)
{
    unsigned received = owner_frames_received();
    unsigned transmit = 2 * owner_chosen() + 1;

    for (unsigned i = 0; i < 3; i++) {
        HOSTILE_CHECK(owner_transmit(14 + i, 1, false), "no recovery: nothing can be sent");
        owner_flush();
        traffic_take(transmit, HELD_MAX);
        traffic_return(transmit, HELD_MAX, i);
        traffic_receive(owner_chosen(), 1, 14 + i, 0);
        owner_settle();
    }
    (void)owner_fetch_packets(PACKET_SLOTS);
    owner_check();
    HOSTILE_CHECK(owner_frames_received() == received + 3 && pool_packets_held() == 0,
                  "no recovery: %u of 3 frames received, %u packets not sent",
                  owner_frames_received() - received, pool_packets_held());
}

/* Checks that the driver works, and that afterwards only the exposed buffers are in use. */
static void check_alive(void)
{
    const char *reason;

    step_power_on();
    pool_limit_buffers(BUFFER_SLOTS - 1);
    owner_short_buffers(false);
    reason = owner_create(&settings.parameters, VIRTIO_NET_RECEIVE_BYTES);
    HOSTILE_CHECK(reason == NULL, "no recovery: %s", reason);
    for (unsigned pair = PAIRS; pair-- != 0;) {
        owner_choose(pair);
        check_traffic();
    }
    (void)owner_command(COMMAND_MAC, 1, 1);
    HOSTILE_CHECK(virtio_net_broken(owner_net()) == NULL,
                  "no recovery: the device is broken again");
    HOSTILE_CHECK(pool_buffers_held() != 0, "no recovery: no buffer exposed");
}

void program_finish(void)
{
    if (tracing) {
        (void)fprintf(stderr, "end\n");
    }
    snare_clear();
    if (owner_net() != NULL) {
        (void)owner_fetch_frames(BUFFER_SLOTS);
        HOSTILE_CHECK(owner_destroy(), "no recovery: the driver can't be stopped");
    }
    check_alive();
    HOSTILE_CHECK(owner_destroy(), "the driver can't be stopped");
    HOSTILE_CHECK(platform_allocations() == 0, "memory is lost");
}

void program_begin(const uint8_t header[PROGRAM_HEADER])
{
    read_header(header);
    snare_clear();
    memory_clear();
    platform_clear();
    owner_power_on();
    step_power_on();
    step_restart(false, UINT_MAX, VIRTIO_NET_RECEIVE_BYTES);
}

unsigned program_run(const uint8_t *program, size_t bytes)
{
    uint8_t header[PROGRAM_HEADER] = {0};
    size_t given = bytes < sizeof(header) ? bytes : sizeof(header);
    unsigned count = 0;

    if (given != 0) {
        memcpy(header, program, given);
    }
    program_begin(header);
    for (size_t at = given; at + STEP_BYTES <= bytes; at += STEP_BYTES) {
        run_step(program + at);
        count++;
    }
    program_finish();
    return count;
}
