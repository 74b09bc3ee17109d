/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the vhost-user port's own clock, which the other tests replace. */
#include "clock.h"
#include "virtio/platform.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#define MILLISECOND UINT64_C(1000000)

static void test_nothing_ready(void **state)
{
    int never = eventfd(0, EFD_NONBLOCK);
    struct pollfd wanted = {.fd = never, .events = POLLIN};
    uint64_t deadline = virtio_platform_now() + 2 * MILLISECOND;

    (void)state;
    assert_true(vhost_user_wait(&wanted, 1, deadline) == 0);
    assert_true(virtio_platform_now() >= deadline);
    assert_true(vhost_user_wait(&wanted, 1, 0) == 0);
    assert_true(vhost_user_wait(NULL, 0, deadline) == 0);
    close(never);
}

/* A ready descriptor is reported however late it is checked. */
static void test_ready_after_the_deadline(void **state)
{
    int ready = eventfd(1, EFD_NONBLOCK);
    int never = eventfd(0, EFD_NONBLOCK);
    struct pollfd wanted[3] = {{.fd = -1, .events = POLLIN},
                               {.fd = never, .events = POLLIN},
                               {.fd = ready, .events = POLLIN}};

    (void)state;
    assert_int_equal(vhost_user_wait(wanted, 3, 0), 1);
    assert_true(wanted[0].revents == 0 && wanted[1].revents == 0 && wanted[2].revents == POLLIN);
    assert_int_equal(vhost_user_wait(wanted, 3, UINT64_MAX), 1);
    close(ready);
    close(never);
}

static void test_time_passes(void **state)
{
    uint64_t before = virtio_platform_now();

    (void)state;
    virtio_platform_pause();
    assert_true(virtio_platform_now() > before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_ready),
        cmocka_unit_test(test_ready_after_the_deadline),
        cmocka_unit_test(test_time_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
