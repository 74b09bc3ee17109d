/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the naps of the network's bottom half (network_nap()) on the kernel's semaphores. */
#include "kernel_fixture.h"
#include "lwip/sys.h"
#include "net/service.h"
#include "network_system.h"

#define NAP UINT64_C(50000)

static void init_naps(void)
{
    sys_sem_t semaphore;
    uint64_t began = time_now();

    CHECK_EQUAL(sys_sem_new(&semaphore, 0), ERR_OK);
    CHECK_EQUAL(network_nap(&semaphore, NAP), NETWORK_NAP_OVER);
    CHECK_EQUAL(time_now(), began + NAP);
    sys_sem_signal(&semaphore);
    CHECK_EQUAL(network_nap(&semaphore, NAP), NETWORK_NAP_SIGNALLED);
    CHECK_EQUAL(time_now(), began + NAP);
}

static void test_a_nap_ends_with_its_time_or_a_signal(void **state)
{
    (void)state;
    kernel_run(init_naps);
}

static void init_no_nap(void)
{
    sys_sem_t semaphore;
    uint64_t began = time_now();

    network_serve_interrupts();
    CHECK_EQUAL(sys_sem_new(&semaphore, 1), ERR_OK);
    CHECK_EQUAL(network_nap(&semaphore, NAP), NETWORK_NAP_IMPOSSIBLE);
    CHECK_EQUAL(time_now(), began);
    CHECK_EQUAL(sys_arch_sem_wait(&semaphore, 1), 0); /* the signal is still there */
}

/* With net_deferred=1 no interrupt of the network delays a thread that is more urgent than the
 * bottom half. The timer of a nap would. */
static void test_a_bottom_half_that_serves_interrupts_does_not_nap(void **state)
{
    (void)state;
    kernel_run(init_no_nap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_nap_ends_with_its_time_or_a_signal),
        cmocka_unit_test(test_a_bottom_half_that_serves_interrupts_does_not_nap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
