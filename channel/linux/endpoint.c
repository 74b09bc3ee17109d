/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint.h"

#include "kind.h"
#include "lock.h"
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
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

/* The number of fork()s from the first process with this library to this one. */
static unsigned forks;

static void count_fork(void)
{
    forks++;
}

static void __attribute__((constructor)) watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

bool linux_is_own(const struct linux_endpoint *endpoint)
{
    return endpoint->forks == forks;
}

struct linux_endpoint *endpoint_make(size_t bytes, const struct endpoint_operations *operations,
                                     const char *name, char *problem)
{
    struct linux_endpoint *endpoint = calloc(1, bytes);

    if (endpoint == NULL) {
        endpoint_fail(problem, "there is no memory for an endpoint of %s", name);
        return NULL;
    }
    endpoint->operations = operations;
    endpoint->forks = forks;
    endpoint->bell = -1;
    endpoint->alarm = -1;
    endpoint->loop_file = -1;
    endpoint->lock_file = -1;
    (void)snprintf(endpoint->name, sizeof(endpoint->name), "%.*s", (int)LINUX_NAME_BYTES - 1, name);
    return endpoint;
}

static void close_if_open(int file)
{
    if (file >= 0) {
        close(file);
    }
}

void endpoint_free(struct linux_endpoint *endpoint)
{
    endpoint->operations->close(endpoint);
    close_if_open(endpoint->loop_file);
    close_if_open(endpoint->alarm);
    close_if_open(endpoint->bell);
    if (endpoint->region != NULL) {
        munmap(endpoint->region, endpoint->region_bytes);
    }
    free(endpoint);
}

static bool add_to_loop(const struct linux_endpoint *endpoint, int file)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(endpoint->loop_file, EPOLL_CTL_ADD, file, &event) == 0;
}

bool endpoint_open_loop(struct linux_endpoint *endpoint, char *problem)
{
    endpoint->alarm = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    endpoint->loop_file = epoll_create1(EPOLL_CLOEXEC);
    return (endpoint->alarm >= 0 && endpoint->loop_file >= 0 &&
            add_to_loop(endpoint, endpoint->bell) && add_to_loop(endpoint, endpoint->alarm)) ||
           endpoint_fail(problem, "%s can't be used by event loops: %s", endpoint->name,
                         strerror(errno));
}

void endpoint_set_kind(struct linux_endpoint *endpoint, enum linux_kind kind)
{
    endpoint->kind = kind;
    endpoint->kind_operations = kind_operations(kind);
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

uint64_t endpoint_region_bytes(const struct linux_endpoint *endpoint, uint64_t ring_bytes)
{
    return REGION_STATE_BYTES + endpoint->common_bytes +
           endpoint->kind_operations->sections * (CHANNEL_CONTROL_BYTES + ring_bytes);
}

bool endpoint_map(struct linux_endpoint *endpoint, int file, uint64_t offset, uint64_t ring_bytes,
                  char *problem)
{
    uint64_t section_bytes = CHANNEL_CONTROL_BYTES + ring_bytes;
    uint64_t bytes = endpoint_region_bytes(endpoint, ring_bytes);
    uint8_t *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);
    uint8_t *sections[2] = {NULL, NULL};

    if (region == MAP_FAILED) {
        return endpoint_fail(problem, "the memory of %s can't be mapped: %s", endpoint->name,
                             strerror(errno));
    }
    for (unsigned i = 0; i < endpoint->kind_operations->sections; i++) {
        sections[i] = region + REGION_STATE_BYTES + endpoint->common_bytes + i * section_bytes;
    }
    endpoint->region = region;
    endpoint->region_bytes = bytes;
    endpoint->memory = (struct channel_memory){
        .own = sections[endpoint->end],
        .peer = sections[1 - endpoint->end],
        .ring_bytes = ring_bytes,
    };
    /* The page of states and the peer's section are mapped for reading only. A store there would
     * raise SIGBUS, or change what the peer has written. A Linux whose pages are larger than
     * these parts leaves them writable. */
    (void)mprotect(region, REGION_STATE_BYTES, PROT_READ);
    if (sections[1 - endpoint->end] != NULL) {
        (void)mprotect(sections[1 - endpoint->end], section_bytes, PROT_READ);
    }
    return true;
}

enum linux_kind linux_endpoint_kind(const struct linux_endpoint *endpoint)
{
    return endpoint->kind;
}

unsigned linux_endpoint_end(const struct linux_endpoint *endpoint)
{
    return endpoint->end;
}

uint64_t linux_endpoint_ring_bytes(const struct linux_endpoint *endpoint)
{
    return endpoint->memory.ring_bytes;
}

int linux_endpoint_bell(const struct linux_endpoint *endpoint)
{
    return endpoint->loop_file;
}

/* Returns false with errno. */
static bool take_locks(const struct linux_endpoint *endpoint)
{
    int error;

    if (endpoint->inherits_lock_file && !lock_take_in_process(endpoint->lock_file, endpoint->end)) {
        return false;
    }
    if (lock_take(endpoint->lock_file, endpoint->end)) {
        return true;
    }
    error = errno;
    if (endpoint->inherits_lock_file) {
        lock_free_in_process(endpoint->lock_file, endpoint->end);
    }
    errno = error;
    return false;
}

static void free_locks(const struct linux_endpoint *endpoint)
{
    /* Closing the file does not free the lock if a child of fork() has the file open, too. */
    lock_free(endpoint->lock_file, endpoint->end);
    if (endpoint->inherits_lock_file) {
        lock_free_in_process(endpoint->lock_file, endpoint->end);
    }
}

static bool lock_end(const struct linux_endpoint *endpoint, char *problem)
{
    if (take_locks(endpoint)) {
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
    /* A lock belongs to the open file, which a parent and its children share. */
    if (!linux_is_own(endpoint) || endpoint->is_locked) {
        return endpoint_fail(problem, "this endpoint of %s %s: map it again", endpoint->name,
                             endpoint->is_locked ? "was used before"
                                                 : "belongs to another process");
    }
    if (!lock_end(endpoint, problem)) {
        return false;
    }
    endpoint->is_locked = true;
    if (endpoint->operations->begin != NULL && !endpoint->operations->begin(endpoint, problem)) {
        return false;
    }
    endpoint->is_used = true;
    endpoint->kind_operations->begin(endpoint);
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
    if (!endpoint->is_used || !linux_is_own(endpoint)) {
        return;
    }
    endpoint->is_used = false;
    if (endpoint->kind_operations->end != NULL) {
        endpoint->kind_operations->end(endpoint);
    }
    if (endpoint->operations->end != NULL) {
        endpoint->operations->end(endpoint);
    }
}

void linux_close(struct linux_endpoint *endpoint)
{
    linux_end(endpoint);
    if (endpoint->is_locked && linux_is_own(endpoint)) {
        free_locks(endpoint);
    }
    endpoint_free(endpoint);
}

void endpoint_arm(struct linux_endpoint *endpoint)
{
    if (endpoint->operations->arm != NULL) {
        endpoint->operations->arm(endpoint);
    }
}

void endpoint_quiet(struct linux_endpoint *endpoint)
{
    endpoint->operations->quiet(endpoint);
}

bool endpoint_watches_peer(const struct linux_endpoint *endpoint)
{
    return endpoint->operations->watches_peer != NULL &&
           endpoint->operations->watches_peer(endpoint);
}

void linux_look_for_peer(struct linux_endpoint *endpoint)
{
    if (endpoint_watches_peer(endpoint)) {
        endpoint->operations->look_for_peer(endpoint);
    }
}
