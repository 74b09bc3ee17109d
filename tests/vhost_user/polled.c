/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * polled SOCKET FRAMES: the polled driver in a Linux process, as a vhost-user front-end. Sends that
 * many frames to a back-end that sends each one back, and compares what returns, which is in order.
 * Then it stops, and begins anew, as often as ROUNDS says. It polls every PERIOD nanoseconds.
 */
#include "memory.h"
#include "vhost_user.h"
#include "virtio/net_polled.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS       2u
#define WINDOW       16u /* frames on the way at a time: a back-end drops what finds no buffer */
#define PERIOD       200000
#define WAIT_MS      10000
#define WAIT_SECONDS 10
#define FRAME_MIN    60u
#define FRAME_MAX    1514u
#define SHARED_BYTES (4u << 20)

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "polled: %s\n", what);
    exit(1);
}

static uint32_t frame_bytes(uint32_t number)
{
    return FRAME_MIN + number * 7919u % (FRAME_MAX - FRAME_MIN + 1);
}

static uint8_t frame_byte(uint32_t number, uint32_t position)
{
    return position == 0 ? 0x02 : (uint8_t)(number + position * 31u);
}

static bool send_frame(struct virtio_polled *polled, uint32_t number)
{
    uint8_t frame[FRAME_MAX];
    struct virtio_net_segment segment = {.memory = frame, .bytes = frame_bytes(number)};

    for (uint32_t i = 0; i < segment.bytes; i++) {
        frame[i] = frame_byte(number, i);
    }
    return virtio_polled_transmit(polled, &segment, 1);
}

/* Returns false if there is no frame. */
static bool receive_frame(struct virtio_polled *polled, uint32_t number)
{
    uint8_t frame[VIRTIO_POLLED_FRAME_MAX];
    uint32_t bytes = virtio_polled_receive(polled, frame, sizeof(frame));

    if (bytes == 0) {
        return false;
    }
    if (bytes != frame_bytes(number)) {
        fail("a frame came back with another length");
    }
    for (uint32_t i = 0; i < bytes; i++) {
        if (frame[i] != frame_byte(number, i)) {
            fail("a frame came back with other bytes");
        }
    }
    return true;
}

/* Sends and receives until all frames are back. */
static void exchange(struct virtio_polled *polled, uint32_t frames)
{
    time_t deadline = time(NULL) + WAIT_SECONDS;
    uint32_t received = 0;
    uint32_t sent = 0;

    while (received < frames) {
        while (sent < frames && sent - received < WINDOW && send_frame(polled, sent)) {
            sent++;
        }
        virtio_polled_flush(polled);
        while (receive_frame(polled, received)) {
            received++;
            deadline = time(NULL) + WAIT_SECONDS;
        }
        virtio_polled_flush(polled);
        if (virtio_polled_broken(polled) != NULL) {
            fail(virtio_polled_broken(polled));
        }
        if (time(NULL) > deadline) {
            fail("nothing comes back");
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = PERIOD}, NULL);
    }
    virtio_polled_watch(polled);
}

static void run_round(struct vhost_user *vhost, struct virtio_polled *polled, uint32_t frames)
{
    struct virtio_net_statistics statistics;
    const char *reason;

    if (!virtio_polled_start(polled, &vhost->transport, &reason)) {
        fail(reason);
    }
    exchange(polled, frames);
    if (!virtio_polled_stop(polled)) {
        fail("the back-end does not stop");
    }
    virtio_polled_statistics(polled, &statistics);
    printf("polled: %llu frames, %llu interrupts\n", (unsigned long long)statistics.rx_frames,
           (unsigned long long)statistics.interrupts);
    if (statistics.tx_accepted != statistics.tx_returned ||
        statistics.rx_buffers_taken != statistics.rx_buffers_returned) {
        fail("the counters do not balance");
    }
}

int main(int count, char **arguments)
{
    static struct vhost_user vhost;
    struct vhost_user_options options = {.mac = {2, 0, 0, 0, 0, 1}, .queue_pairs = 1};
    struct virtio_polled *polled;
    const char *reason;

    if (count != 3) {
        fail("usage: polled SOCKET FRAMES");
    }
    options.path = arguments[1];
    if (!vhost_user_memory_open(SHARED_BYTES, false, &reason) ||
        !vhost_user_open(&vhost, &options, &reason)) {
        fail(reason);
    }
    polled = virtio_polled_create(NULL);
    if (polled == NULL || !vhost_user_connect(&vhost, WAIT_MS)) {
        fail("there is no memory or no back-end");
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        run_round(&vhost, polled, (uint32_t)strtoul(arguments[2], NULL, 10));
    }
    virtio_polled_destroy(polled);
    vhost_user_close(&vhost);
    if (vhost_user_memory_free_bytes() != vhost_user_memory()->bytes) {
        fail("shared memory was lost");
    }
    vhost_user_memory_close();
    return 0;
}
