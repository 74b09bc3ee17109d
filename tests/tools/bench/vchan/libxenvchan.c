/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two rings in a file that both ends map. A call that finds too little asks to be notified, and the
 * other end's next call notifies it, as Xen's library does. A notification itself does nothing: an
 * end that blocks looks at the ring again and again.
 */
#include "libxenvchan.h"
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#define ORDER      20
#define RING_BYTES (1u << ORDER)

struct shared {
    struct ring_shared left;
    struct ring_shared right;
    bool is_waiting[2]; /* server, client */
    uint8_t left_content[RING_BYTES];
    uint8_t right_content[RING_BYTES];
};

static struct shared *shared;
static struct libxenvchan end;
static unsigned number;

static struct libxenvchan *open_end(const char *path, int flags)
{
    int file = open(path, O_RDWR | flags, 0600);
    struct libxenvchan_ring left;
    struct libxenvchan_ring right;

    if (file < 0 || ftruncate(file, sizeof(*shared)) != 0) {
        return NULL;
    }
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED) {
        return NULL;
    }
    left = (struct libxenvchan_ring){&shared->left, shared->left_content, ORDER};
    right = (struct libxenvchan_ring){&shared->right, shared->right_content, ORDER};
    end.read = number == 0 ? left : right;
    end.write = number == 0 ? right : left;
    return &end;
}

struct libxenvchan *libxenvchan_server_init(void *logger, int domain, const char *path,
                                            size_t read_min, size_t write_min)
{
    (void)logger;
    if (domain != 1 || read_min > RING_BYTES || write_min > RING_BYTES) {
        return NULL;
    }
    number = 0;
    return open_end(path, O_CREAT);
}

struct libxenvchan *libxenvchan_client_init(void *logger, int domain, const char *path)
{
    (void)logger;
    number = 1;
    return domain == 0 ? open_end(path, 0) : NULL;
}

static uint32_t filled(const struct libxenvchan_ring *ring)
{
    return __atomic_load_n(&ring->shr->prod, __ATOMIC_ACQUIRE) -
           __atomic_load_n(&ring->shr->cons, __ATOMIC_ACQUIRE);
}

static size_t available(const struct libxenvchan *vchan, bool is_reading)
{
    return is_reading ? filled(&vchan->read) : RING_BYTES - filled(&vchan->write);
}

/* Returns true if `wanted` bytes or places are available, at once or after waiting. */
static bool wait_for(const struct libxenvchan *vchan, bool is_reading, size_t wanted)
{
    while (available(vchan, is_reading) < wanted) {
        __atomic_store_n(&shared->is_waiting[number], true, __ATOMIC_SEQ_CST);
        if (!vchan->blocking) {
            return false;
        }
        (void)sched_yield();
    }
    return true;
}

static void notify(void)
{
    if (__atomic_exchange_n(&shared->is_waiting[1 - number], false, __ATOMIC_SEQ_CST)) {
        (void)xenevtchn_notify(NULL, 0);
    }
}

int libxenvchan_recv(struct libxenvchan *vchan, void *data, size_t size)
{
    uint8_t *target = data;
    uint32_t place = vchan->read.shr->cons;

    if (!wait_for(vchan, true, size)) {
        return 0;
    }
    for (size_t i = 0; i < size; i++) {
        target[i] = vchan->read.buffer[(place + i) % RING_BYTES];
    }
    __atomic_store_n(&vchan->read.shr->cons, place + (uint32_t)size, __ATOMIC_RELEASE);
    notify();
    return (int)size;
}

int libxenvchan_read(struct libxenvchan *vchan, void *data, size_t size)
{
    size_t ready;

    if (!wait_for(vchan, true, 1)) {
        return 0;
    }
    ready = available(vchan, true);
    return libxenvchan_recv(vchan, data, size < ready ? size : ready);
}

int libxenvchan_send(struct libxenvchan *vchan, const void *data, size_t size)
{
    const uint8_t *source = data;
    uint32_t place = vchan->write.shr->prod;

    if (!wait_for(vchan, false, size)) {
        return 0;
    }
    for (size_t i = 0; i < size; i++) {
        vchan->write.buffer[(place + i) % RING_BYTES] = source[i];
    }
    __atomic_store_n(&vchan->write.shr->prod, place + (uint32_t)size, __ATOMIC_RELEASE);
    notify();
    return (int)size;
}
