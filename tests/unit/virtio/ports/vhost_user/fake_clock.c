/* SPDX-License-Identifier: BSD-2-Clause */
/* Time in the tests (see fake_backend.h); in the place of the port's clock.c. */
#include "clock.h"
#include "fake_backend.h"
#include "fake_socket.h"
#include "virtio/platform.h"
#include <errno.h>
#include <string.h>

#define WANTED_MAX 4u
#define STEP       UINT64_C(100000000)

static uint64_t now;

uint64_t virtio_platform_now(void)
{
    return now;
}

/* For a back-end that will not do it the time passes; for any other it does not. */
void virtio_platform_pause(void)
{
    struct pollfd stuck = {.fd = fake_backend_stuck(), .events = POLLIN};

    if (poll(&stuck, 1, 1) > 0) {
        now += STEP;
    }
}

int vhost_user_wait(struct pollfd *wanted, unsigned count, uint64_t deadline)
{
    struct pollfd all[WANTED_MAX + 1] = {{.fd = fake_backend_mute(), .events = POLLIN}};
    int ready = 0;

    RULE(count <= WANTED_MAX);
    if (count == 0) { /* for somebody to connect, who will */
        return poll(NULL, 0, 1);
    }
    memcpy(&all[1], wanted, count * sizeof(*wanted));
    while (poll(all, 1 + count, -1) < 0) {
        RULE(errno == EINTR);
    }
    for (unsigned i = 0; i < count; i++) {
        wanted[i].revents = all[1 + i].revents;
        ready += wanted[i].revents != 0;
    }
    if (ready == 0 && now < deadline) {
        now = deadline;
    }
    return ready;
}
