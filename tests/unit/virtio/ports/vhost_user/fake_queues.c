/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fake_queues.h"
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void fake_close(int *descriptor)
{
    if (*descriptor >= 0) {
        close(*descriptor);
    }
    *descriptor = -1;
}

void fake_unmap(struct fake_memory *memory)
{
    if (memory->region != NULL) {
        munmap(memory->region, memory->bytes);
        memory->region = NULL;
    }
}

void fake_map(struct fake_memory *memory, const struct message *message)
{
    struct stat file;

    RULE(message->bytes == 8 + 32 && message->payload.word[0] == 1 && message->descriptor >= 0);
    RULE(memory->region == NULL || memory->bytes == message->payload.wide[2]);
    fake_unmap(memory);
    memory->guest_address = message->payload.wide[1];
    memory->bytes = message->payload.wide[2];
    memory->user_address = message->payload.wide[3];
    RULE(message->payload.wide[4] == 0);
    RULE(fstat(message->descriptor, &file) == 0 && (uint64_t)file.st_size == memory->bytes);
    /* A back-end that is not to be trusted: it can't take the memory away. */
    RULE(ftruncate(message->descriptor, 0) != 0);
    memory->region =
        mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, message->descriptor, 0);
    RULE(memory->region != MAP_FAILED);
}

void fake_forget_queue(struct fake_queue *queue)
{
    fake_close(&queue->kick);
    fake_close(&queue->call);
    fake_close(&queue->error);
    *queue = (struct fake_queue){.kick = -1, .call = -1, .error = -1};
}

static void *at(const struct fake_memory *memory, uint64_t address, uint64_t bytes)
{
    RULE(memory->region != NULL && address >= memory->guest_address && bytes <= memory->bytes &&
         address - memory->guest_address <= memory->bytes - bytes);
    return memory->region + (address - memory->guest_address);
}

static void *reach(void *context, uint64_t address, uint32_t bytes, bool write)
{
    (void)write;
    return at(context, address, bytes);
}

static void broken(void *context, const char *rule)
{
    (void)context;
    (void)fprintf(stderr, "the driver breaks a rule: %s\n", rule);
    abort();
}

/* A ring's address is one of the front-end's own; buffers and the model have the guest's. */
static uint64_t guest_address(const struct fake_memory *memory, uint64_t user_address)
{
    RULE(memory->region != NULL && user_address >= memory->user_address);
    return user_address - memory->user_address + memory->guest_address;
}

void fake_set_address(struct fake_queue *queue, struct fake_memory *memory,
                      const struct message *message)
{
    const uint64_t descriptors = message->payload.wide[1];
    const uint64_t used = message->payload.wide[2];
    const uint64_t available = message->payload.wide[3];

    RULE(message->bytes == 40 && message->payload.word[1] == 0);
    RULE(descriptors % 16 == 0 && used % 4 == 0 && available % 2 == 0);
    queue->ring.descriptors = guest_address(memory, descriptors);
    queue->ring.device_area = guest_address(memory, used);
    queue->ring.driver_area = guest_address(memory, available);
    queue->access = (struct ring_memory){.reach = reach, .broken = broken, .context = memory};
    queue->ring.memory = &queue->access;
}

/* False: the driver has made none available. */
static bool next_chain(struct fake_queue *queue, struct ring_chain *chain)
{
    if (!queue->enabled) {
        return false;
    }
    RULE(queue->ring.memory != NULL && queue->ring.size != 0);
    if (!ring_take(&queue->ring, chain)) {
        return false;
    }
    RULE(chain->count == 1 && !chain->indirect);
    return true;
}

static void finish(struct fake_queue *queue, const struct ring_chain *chain, uint32_t written)
{
    ring_return(&queue->ring, chain, 1, written);
    if (queue->call >= 0) {
        (void)eventfd_write(queue->call, 1);
    }
}

unsigned fake_send_back(const struct fake_memory *memory, struct fake_queue *from,
                        struct fake_queue *to)
{
    struct ring_chain sent;
    struct ring_chain received;
    unsigned frames = 0;

    while (next_chain(from, &sent)) {
        uint32_t bytes = sent.readable;
        const uint8_t *frame = at(memory, sent.segment[0].address, bytes);

        RULE(sent.writable == 0 && bytes >= 12 + 14);
        frames++;
        if (next_chain(to, &received)) {
            RULE(received.readable == 0 && received.writable >= bytes); /* 5.1.6.3.1 */
            memcpy(at(memory, received.segment[0].address, bytes), frame, bytes);
            finish(to, &received, bytes);
        }
        finish(from, &sent, 0);
    }
    return frames;
}
