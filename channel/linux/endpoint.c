/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint.h"

#include "function.h"
#include "lock.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool endpoint_fail(char *problem, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(problem, LINUX_PROBLEM_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

void endpoint_name(struct linux_endpoint *endpoint, const char *name)
{
    (void)snprintf(endpoint->name, sizeof(endpoint->name), "%.*s", (int)LINUX_NAME_BYTES - 1, name);
}

bool endpoint_check(uint64_t ring_bytes, char *problem)
{
    if (ring_bytes < CHANNEL_RING_MIN || ring_bytes > CHANNEL_RING_MAX ||
        (ring_bytes & (ring_bytes - 1)) != 0) {
        return endpoint_fail(problem, "a ring has a power of two from %llu to %llu bytes, not %llu",
                             (unsigned long long)CHANNEL_RING_MIN,
                             (unsigned long long)CHANNEL_RING_MAX, (unsigned long long)ring_bytes);
    }
    return true;
}

void endpoint_place(struct linux_endpoint *endpoint, uint64_t ring_bytes)
{
    uint8_t *sections = (uint8_t *)endpoint->region + REGION_STATE_BYTES;
    const uint32_t *states = endpoint->region;
    uint64_t section_bytes = CHANNEL_CONTROL_BYTES + ring_bytes;

    uint8_t *section[] = {
        sections,
        endpoint->kind == LINUX_ONE_WAY ? NULL : sections + section_bytes,
    };

    endpoint->memory = (struct channel_memory){
        .own = section[endpoint->end],
        .peer = section[1 - endpoint->end],
        .ring_bytes = ring_bytes,
        .peer_state =
            endpoint->registers == NULL ? &endpoint->peer_state : &states[1 - endpoint->end],
    };
}

bool endpoint_map(struct linux_endpoint *endpoint, int file, uint64_t offset, char *problem)
{
    uint64_t sections = endpoint_sections(endpoint->kind);
    uint64_t section_bytes = (endpoint->region_bytes - REGION_STATE_BYTES) / sections;
    uint8_t *section;

    endpoint->region =
        mmap(NULL, endpoint->region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);
    if (endpoint->region == MAP_FAILED) {
        return endpoint_fail(problem, "the memory of %s can't be mapped: %s", endpoint->name,
                             strerror(errno));
    }
    /* The page of states and the peer's section are mapped for reading only. A store there would
     * stop the partition, or change what the peer has written. A Linux whose pages are larger than
     * these parts leaves them writable. */
    (void)mprotect(endpoint->region, REGION_STATE_BYTES, PROT_READ);
    section = (uint8_t *)endpoint->region + REGION_STATE_BYTES;
    if (endpoint->kind != LINUX_ONE_WAY || endpoint->end == 1) {
        (void)mprotect(section + (1 - endpoint->end) * section_bytes, section_bytes, PROT_READ);
    }
    return true;
}

static bool lock_end(const struct linux_endpoint *endpoint, char *problem)
{
    if (lock_take(endpoint)) {
        return true;
    }
    if (errno == EAGAIN || errno == EACCES) {
        return endpoint_fail(problem, "another process uses end %u of %s: end it first",
                             endpoint->end, endpoint->name);
    }
    return endpoint_fail(problem, "end %u of %s can't be locked: %s", endpoint->end, endpoint->name,
                         strerror(errno));
}

bool linux_begin(struct linux_endpoint *endpoint, char *problem)
{
    const struct channel_memory *memory = &endpoint->memory;

    if (!lock_end(endpoint, problem)) {
        return false;
    }
    if (endpoint->registers != NULL && !function_begin(endpoint, problem)) {
        return false;
    }
    endpoint->is_used = true;
    /* endpoint_check() has checked the size, so no function fails. */
    switch (endpoint->kind) {
    case LINUX_MESSAGES:
        (void)channel_open(&endpoint->channel, memory, &endpoint->port);
        break;
    case LINUX_VALUE:
        (void)value_writer_begin(&endpoint->writer, memory->own, memory->peer, memory->ring_bytes);
        (void)value_reader_begin(&endpoint->reader, memory->peer, memory->own, memory->ring_bytes);
        break;
    case LINUX_ONE_WAY:
        if (endpoint->end == 0) {
            (void)broadcast_sender_begin(&endpoint->sender, memory->own, memory->ring_bytes);
        } else {
            (void)broadcast_receiver_begin(&endpoint->receiver, memory->peer, memory->ring_bytes,
                                           false);
        }
        break;
    }
    return true;
}

void linux_notify(const struct linux_endpoint *endpoint)
{
    struct channel_control *own = endpoint->memory.own;

    own->notifications++;
    endpoint->port.notify(endpoint->port.context);
}

const struct channel_control *linux_control(const struct linux_endpoint *endpoint, unsigned end)
{
    return endpoint->end == end ? endpoint->memory.own : endpoint->memory.peer;
}

void linux_end(struct linux_endpoint *endpoint)
{
    if (!endpoint->is_used) {
        return;
    }
    endpoint->is_used = false;
    if (endpoint->kind == LINUX_MESSAGES) {
        channel_close(&endpoint->channel);
    }
    if (endpoint->registers != NULL) {
        function_end(endpoint);
    }
}

void linux_close(struct linux_endpoint *endpoint)
{
    linux_end(endpoint);
    /* Closing the file does not free the lock if a child of fork() has the file open, too. */
    lock_free(endpoint);
    if (endpoint->registers != NULL) {
        function_close(endpoint);
    } else {
        close(endpoint->file);
        close(endpoint->peer_bell);
    }
    close(endpoint->bell);
    munmap(endpoint->region, endpoint->region_bytes);
}

void endpoint_arm(const struct linux_endpoint *endpoint)
{
    if (endpoint->registers != NULL) {
        function_arm(endpoint);
    }
}

void endpoint_quiet(const struct linux_endpoint *endpoint)
{
    uint32_t discarded[64];

    /* The driver's count of interrupts, or one byte for each notification. Nothing is there to
     * read if another wait has read it. */
    if (read(endpoint->bell, discarded, endpoint->registers != NULL ? 4 : sizeof(discarded)) < 0) {
        return;
    }
}
