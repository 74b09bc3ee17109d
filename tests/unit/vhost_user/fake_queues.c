/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fake_queues.h"
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags, next;
};

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

void fake_set_address(struct fake_queue *queue, const struct message *message)
{
    RULE(message->bytes == 40 && message->payload.word[1] == 0);
    queue->descriptors = message->payload.wide[1];
    queue->used = message->payload.wide[2];
    queue->available = message->payload.wide[3];
    RULE(queue->descriptors % 16 == 0 && queue->available % 2 == 0 && queue->used % 4 == 0);
}

static void *at(const struct fake_memory *memory, uint64_t address, uint64_t base, uint64_t bytes)
{
    RULE(memory->region != NULL && address >= base && bytes <= memory->bytes &&
         address - base <= memory->bytes - bytes);
    return memory->region + (address - base);
}

/* The next chain the driver made available, or NULL. */
static struct descriptor *next_chain(const struct fake_memory *memory, struct fake_queue *queue,
                                     uint16_t *head)
{
    struct descriptor *descriptor;
    uint16_t *available;

    if (!queue->enabled) {
        return NULL;
    }
    available = at(memory, queue->available, memory->user_address, 4 + 2 * queue->size);
    if (__atomic_load_n(&available[1], __ATOMIC_ACQUIRE) == queue->next) {
        return NULL;
    }
    *head = available[2 + queue->next % queue->size];
    RULE(*head < queue->size);
    descriptor = at(memory, queue->descriptors, memory->user_address, UINT64_C(16) * queue->size);
    RULE((descriptor[*head].flags & 0x1u) == 0);
    return &descriptor[*head];
}

static void finish(const struct fake_memory *memory, struct fake_queue *queue, uint16_t head,
                   uint32_t written)
{
    uint16_t *used = at(memory, queue->used, memory->user_address, 4 + 8 * queue->size);
    uint32_t element[2] = {head, written};

    memcpy(&used[2 + 4 * (queue->next % queue->size)], element, sizeof(element));
    queue->next++;
    __atomic_store_n(&used[1], queue->next, __ATOMIC_RELEASE);
    if (queue->call >= 0) {
        (void)eventfd_write(queue->call, 1);
    }
}

unsigned fake_send_back(const struct fake_memory *memory, struct fake_queue *from,
                        struct fake_queue *to)
{
    struct descriptor *source;
    struct descriptor *target;
    uint16_t source_head;
    uint16_t target_head;
    unsigned frames = 0;

    while ((source = next_chain(memory, from, &source_head)) != NULL) {
        uint8_t *frame = at(memory, source->address, memory->guest_address, source->bytes);

        RULE(source->flags == 0 && source->bytes >= 12 + 14);
        frames++;
        target = next_chain(memory, to, &target_head);
        if (target != NULL && target->bytes >= source->bytes) {
            memcpy(at(memory, target->address, memory->guest_address, source->bytes), frame,
                   source->bytes);
            finish(memory, to, target_head, source->bytes);
        }
        finish(memory, from, source_head, 0);
    }
    return frames;
}
