/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels between processes: a file that both map, and a named pipe for each doorbell. The lock of
 * the peer's end in the file tells whether the peer lives.
 */
#define _GNU_SOURCE /* fallocate, gettid */
#include "endpoint.h"

#include "lock.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 4096

enum peer_state { ABSENT, PRESENT };

struct file_endpoint {
    struct linux_endpoint endpoint;
    int peer_bell;       /* -1: not open */
    bool watches_peer;   /* the peer is connected, and has not been seen without its lock */
    uint64_t next_look;  /* time of the next look at the lock, in the clock of linux_now() */
    uint32_t peer_state; /* enum peer_state, for the library */
};

_Static_assert(offsetof(struct file_endpoint, endpoint) == 0, "an endpoint of a file is one");

static void ring_bell(void *context)
{
    const struct file_endpoint *file = context;

    /* A full pipe has more than enough notifications. */
    if (write(file->peer_bell, "", 1) < 0) {
        return;
    }
}

static void discard_rings(struct linux_endpoint *endpoint)
{
    uint8_t discarded[64]; /* one byte for each notification */

    /* Nothing is there to read if another wait has read it. */
    if (read(endpoint->bell, discarded, sizeof(discarded)) < 0) {
        return;
    }
}

/* The lock of a peer is watched while it is connected. */
static void observe_state(void *context, const struct channel *channel)
{
    struct file_endpoint *file = context;

    file->peer_state = PRESENT;
    file->next_look = 0;
    file->watches_peer = channel->state == CHANNEL_CONNECTED;
}

static bool is_peer_watched(const struct linux_endpoint *endpoint)
{
    return ((const struct file_endpoint *)endpoint)->watches_peer;
}

static void look_for_lock(struct linux_endpoint *endpoint)
{
    struct file_endpoint *file = (struct file_endpoint *)endpoint;
    uint64_t now = linux_now();

    if (now < file->next_look) {
        return;
    }
    file->next_look = now + ENDPOINT_LOOK_NS;
    if (!lock_is_taken(endpoint->lock_file, 1 - endpoint->end)) {
        file->watches_peer = false;
        file->peer_state = ABSENT;
    }
}

static void close_files(struct linux_endpoint *endpoint)
{
    const struct file_endpoint *file = (const struct file_endpoint *)endpoint;

    if (endpoint->lock_file >= 0) {
        close(endpoint->lock_file);
    }
    if (file->peer_bell >= 0) {
        close(file->peer_bell);
    }
}

/* A named pipe is always able to ring, and the lock tells the peer that this end is used. */
static const struct endpoint_operations file_operations = {
    .quiet = discard_rings,
    .watches_peer = is_peer_watched,
    .look_for_peer = look_for_lock,
    .close = close_files,
};

/* Which files a process opens. */
struct opening {
    const char *path;
    uint64_t ring_bytes;
    bool creates; /* those that do not exist */
};

/* Returns the rights of a new file. In a folder with the set-group-ID bit a file gets the group of
 * the folder, whose members may use the channel, too. */
static mode_t rights_beside(const char *path)
{
    char folder[NAME_BYTES];
    struct stat status;

    (void)snprintf(folder, sizeof(folder), "%s", path);
    return stat(dirname(folder), &status) == 0 && (status.st_mode & S_ISGID) != 0 ? 0660 : 0600;
}

/* Creates a file or a named pipe (`type`), unless it exists. It appears with all its rights, which
 * the umask does not limit: another user may open it at once. Returns false with errno. */
static bool create(const char *name, mode_t type)
{
    char made[NAME_BYTES + 16];
    bool is_there;

    (void)snprintf(made, sizeof(made), "%s.%d", name, (int)gettid());
    if (mknod(made, type | S_IRUSR | S_IWUSR, 0) != 0) {
        return false;
    }
    is_there = chmod(made, rights_beside(name)) == 0 && (link(made, name) == 0 || errno == EEXIST);
    (void)unlink(made);
    return is_there;
}

/* Opens a file or a named pipe, and creates it if it does not exist. O_CREAT would do that, but
 * Linux refuses it for an existing file of another user in a folder such as /dev/shm (the sysctl
 * fs.protected_regular). Returns -1 with errno. */
static int open_or_create(const struct opening *opening, const char *name, mode_t type, int flags)
{
    int file = open(name, O_RDWR | O_CLOEXEC | flags);

    if (file < 0 && errno == ENOENT && opening->creates && create(name, type)) {
        file = open(name, O_RDWR | O_CLOEXEC | flags);
    }
    return file;
}

/* Opens the doorbell of an end, for both reading and writing, so that it never ends. */
static bool open_bell(const struct opening *opening, unsigned end, int *bell, char *problem)
{
    char name[NAME_BYTES];
    struct stat status;

    if (snprintf(name, sizeof(name), "%s.%u", opening->path, end) >= (int)sizeof(name)) {
        return endpoint_fail(problem, "the path has more than %d characters", NAME_BYTES - 3);
    }
    *bell = open_or_create(opening, name, S_IFIFO, O_NONBLOCK);
    if (*bell < 0) {
        return endpoint_fail(problem, "%s can't be opened: %s", name, strerror(errno));
    }
    if (fstat(*bell, &status) != 0 || !S_ISFIFO(status.st_mode)) {
        return endpoint_fail(problem, "%s is no named pipe: remove it", name);
    }
    return true;
}

/* Gives the file all its blocks: a store to a page without one ends the process by SIGBUS if the
 * file system is full. Its size changes at once, because another process may look at it meanwhile.
 * Some file systems can't reserve blocks. Returns false with errno. */
static bool allocate(int file, uint64_t bytes)
{
    return (fallocate(file, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) == 0 || errno == EOPNOTSUPP ||
            errno == ENOSYS) &&
           ftruncate(file, (off_t)bytes) == 0;
}

/* Opens the file, and maps it. */
static bool map_file(struct file_endpoint *file, const struct opening *opening, char *problem)
{
    uint64_t bytes = endpoint_region_bytes(&file->endpoint, opening->ring_bytes);
    const char *path = opening->path;
    int opened = open_or_create(opening, path, S_IFREG, 0);
    struct stat status;

    if (opened < 0) {
        return endpoint_fail(problem, "%s can't be opened: %s", path, strerror(errno));
    }
    file->endpoint.lock_file = opened;
    if (fstat(opened, &status) != 0 || !S_ISREG(status.st_mode) ||
        ((uint64_t)status.st_size != bytes && (status.st_size != 0 || !opening->creates))) {
        return endpoint_fail(problem, "%s is no channel with rings of this size: remove it", path);
    }
    if (!allocate(opened, bytes)) {
        return endpoint_fail(problem, "%s can't have %llu bytes: %s", path,
                             (unsigned long long)bytes, strerror(errno));
    }
    return endpoint_map(&file->endpoint, opened, 0, opening->ring_bytes, problem);
}

/* Opens all parts. The caller closes those that are open when it returns false. */
static bool open_parts(struct file_endpoint *file, const struct opening *opening, char *problem)
{
    struct linux_endpoint *endpoint = &file->endpoint;

    return endpoint_check(opening->ring_bytes, problem) &&
           open_bell(opening, endpoint->end, &endpoint->bell, problem) &&
           open_bell(opening, 1 - endpoint->end, &file->peer_bell, problem) &&
           endpoint_open_loop(endpoint, problem) && map_file(file, opening, problem);
}

static struct linux_endpoint *map(const struct opening *opening, unsigned end, enum linux_kind kind,
                                  char *problem)
{
    struct linux_endpoint *endpoint =
        endpoint_make(sizeof(struct file_endpoint), &file_operations, opening->path, problem);
    struct file_endpoint *file = (struct file_endpoint *)endpoint;

    if (endpoint == NULL) {
        return NULL;
    }
    file->peer_bell = -1;
    endpoint->end = end & 1;
    endpoint_set_kind(endpoint, kind);
    endpoint->port = (struct channel_port){
        .context = file,
        .notify = ring_bell,
        .observe = observe_state,
    };
    if (!open_parts(file, opening, problem)) {
        endpoint_free(endpoint);
        return NULL;
    }
    endpoint->memory.peer_state = &file->peer_state;
    return endpoint;
}

struct linux_endpoint *linux_map_file(const char *path, unsigned end, enum linux_kind kind,
                                      uint64_t ring_bytes, char *problem)
{
    const struct opening opening = {path, ring_bytes, true};

    return map(&opening, end, kind, problem);
}

struct linux_endpoint *linux_map_existing_file(const char *path, unsigned end, enum linux_kind kind,
                                               uint64_t ring_bytes, char *problem)
{
    const struct opening opening = {path, ring_bytes, false};

    if (access(path, F_OK) != 0) {
        endpoint_fail(problem, "there is no channel %s: %s", path, strerror(errno));
        return NULL;
    }
    return map(&opening, end, kind, problem);
}
