/* SPDX-License-Identifier: BSD-2-Clause */
/* Channels between processes: a file that both map, and a named pipe for each doorbell. */
#include "endpoint.h"

#include "lock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 4096

static void ring_bell(void *context)
{
    const struct linux_endpoint *endpoint = context;

    /* A full pipe has more than enough notifications. */
    if (write(endpoint->peer_bell, "", 1) < 0) {
        return;
    }
}

/* Opens the doorbell of an end, for both reading and writing, so that it never ends. */
static bool open_bell(const char *path, unsigned end, int *bell, char *problem)
{
    char name[NAME_BYTES];
    struct stat status;

    if (snprintf(name, sizeof(name), "%s.%u", path, end) >= (int)sizeof(name)) {
        return endpoint_fail(problem, "the path has more than %d characters", NAME_BYTES - 3);
    }
    if (mkfifo(name, 0600) != 0 && errno != EEXIST) {
        return endpoint_fail(problem, "%s can't be created: %s", name, strerror(errno));
    }
    *bell = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (*bell < 0) {
        return endpoint_fail(problem, "%s can't be opened: %s", name, strerror(errno));
    }
    if (fstat(*bell, &status) != 0 || !S_ISFIFO(status.st_mode)) {
        close(*bell);
        return endpoint_fail(problem, "%s is no named pipe: remove it", name);
    }
    return true;
}

/* Maps the open file. */
static bool map_file(struct linux_endpoint *endpoint, const char *path, char *problem)
{
    struct stat status;

    if (fstat(endpoint->file, &status) != 0 || !S_ISREG(status.st_mode) ||
        (status.st_size != 0 && (uint64_t)status.st_size != endpoint->region_bytes)) {
        return endpoint_fail(problem, "%s is no channel with rings of this size: remove it", path);
    }
    if (status.st_size == 0 && ftruncate(endpoint->file, (off_t)endpoint->region_bytes) != 0) {
        return endpoint_fail(problem, "%s can't be made larger: %s", path, strerror(errno));
    }
    return endpoint_map(endpoint, endpoint->file, 0, problem);
}

/* Opens the file, and maps it. */
static bool open_file(struct linux_endpoint *endpoint, const char *path, char *problem)
{
    endpoint->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (endpoint->file < 0) {
        return endpoint_fail(problem, "%s can't be opened: %s", path, strerror(errno));
    }
    if (!map_file(endpoint, path, problem)) {
        close(endpoint->file);
        return false;
    }
    return true;
}

bool linux_map_file(struct linux_endpoint *endpoint, const char *path, unsigned end,
                    enum linux_kind kind, uint64_t ring_bytes, char *problem)
{
    uint64_t section_bytes = CHANNEL_CONTROL_BYTES + ring_bytes;

    *endpoint = (struct linux_endpoint){
        .kind = kind,
        .end = end & 1,
        .config = -1,
        .region_bytes = REGION_STATE_BYTES + endpoint_sections(kind) * section_bytes,
    };
    endpoint->port = (struct channel_port){
        .context = endpoint,
        .notify = ring_bell,
        .observe = lock_observe,
    };
    endpoint_name(endpoint, path);
    if (!endpoint_check(ring_bytes, problem) ||
        !open_bell(path, endpoint->end, &endpoint->bell, problem)) {
        return false;
    }
    if (!open_bell(path, 1 - endpoint->end, &endpoint->peer_bell, problem)) {
        close(endpoint->bell);
        return false;
    }
    if (!open_file(endpoint, path, problem)) {
        close(endpoint->bell);
        close(endpoint->peer_bell);
        return false;
    }
    endpoint_place(endpoint, ring_bytes);
    return true;
}
