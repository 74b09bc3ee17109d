/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "lock.h"

#include <fcntl.h>

enum peer { ABSENT, PRESENT }; /* values of `peer_state` */

/* An end's lock is a byte of a file that both ends open. It belongs to the open file, not to the
 * process, so that closing another one of the same file does not free it. */
static struct flock lock_of(unsigned end, short type)
{
    return (struct flock){
        .l_type = type,
        .l_whence = SEEK_SET,
        .l_start = (off_t)end,
        .l_len = 1,
    };
}

static int file_of(const struct linux_endpoint *endpoint)
{
    return endpoint->registers != NULL ? endpoint->config : endpoint->file;
}

bool lock_take(const struct linux_endpoint *endpoint)
{
    struct flock lock = lock_of(endpoint->end, F_WRLCK);

    return fcntl(file_of(endpoint), F_OFD_SETLK, &lock) == 0;
}

void lock_free(const struct linux_endpoint *endpoint)
{
    struct flock lock = lock_of(endpoint->end, F_UNLCK);

    (void)fcntl(file_of(endpoint), F_OFD_SETLK, &lock);
}

static bool peer_has_locked(const struct linux_endpoint *endpoint)
{
    struct flock lock = lock_of(1 - endpoint->end, F_WRLCK);

    /* If the file system can't tell, the peer is taken to live. */
    return fcntl(endpoint->file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

void lock_observe(void *endpoint, const struct channel *channel)
{
    struct linux_endpoint *own = endpoint;

    own->peer_state = PRESENT;
    own->look_due = 0;
    own->watches_peer = channel->state == CHANNEL_CONNECTED;
}

void linux_look_for_peer(struct linux_endpoint *endpoint)
{
    uint64_t now;

    if (!endpoint->watches_peer) {
        return;
    }
    now = linux_now();
    if (now < endpoint->look_due) {
        return;
    }
    endpoint->look_due = now + LOCK_LOOK_NS;
    if (!peer_has_locked(endpoint)) {
        endpoint->watches_peer = false;
        endpoint->peer_state = ABSENT;
    }
}
