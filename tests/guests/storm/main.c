/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A control loop beside a packet flood and busy threads. The boot argument `vcpus` gives the
 * threads their VCPUs: "control", "receiver", "spinner", "attacker0" and so on, and those of the
 * network. Without a VCPU, "control" has the lowest priority of all, so its deadlines depend on its
 * VCPU alone.
 *
 * The job of the control loop is a fixed number of instructions, which took `work_us` when they
 * were executed alone. After `periods` jobs the program prints the deadlines that were missed, the
 * longest response, and the interrupts.
 *
 * Boot arguments: periods=N; work_us=N (default 900); spinner=PRIORITY of the thread "spinner",
 * which executes always (default: the lowest); receive=1: a thread waits for the datagrams of the
 * flood, so that the network's I/O VCPU serves its VCPU; flood=0: do not wait for a flood;
 * attackerN=PATTERN (attackers.h).
 */
#include "attackers.h"
#include "kernel/application.h"
#include "kernel/datagram.h"
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/network.h"
#include "kernel/periodic.h"
#include "kernel/print.h"
#include "kernel/thread.h"
#include "kernel/time.h"
#include "kernel/vcpu.h"
#include "lwip/tcpip.h"
#include "virtio_netif.h"
#include "work.h"

#define PERIOD        (10 * NANOSECONDS_PER_MILLISECOND)
#define PERIODS       1000u
#define WORK_US       900u
#define FLOOD_FRAMES  200u /* received before the measurement starts */
#define FLOOD_PORT    5000u
#define START_LIMIT   (60 * NANOSECONDS_PER_SECOND)
#define STACK_BYTES   16384u
#define DATAGRAM_MAX  64u
#define VCPUS_PRINTED 16u

static struct {
    uint64_t periods;
    uint64_t work;  /* turns of work_execute() in a job */
    uint64_t begin; /* time of the first release */
    struct periodic periodic;
    struct periodic_statistics outcome;
    uint64_t job_interrupts_max;         /* interrupts during one job */
    uint64_t job_network_interrupts_max; /* those of the network's device */
    uint64_t job_time_max;               /* from the begin of a job to its end */
    volatile uint64_t datagrams;         /* received by the thread that waits for them */
} storm;

static uint64_t interrupts_now(void)
{
    struct scheduler_statistics statistics;

    scheduler_statistics(&statistics);
    return statistics.interrupts;
}

/* No thread holds the network's lock for this: nothing changes while interrupts are masked. */
static uint64_t network_interrupts_now(void)
{
    struct virtio_netif_statistics statistics;
    interrupt_state state = interrupts_save();

    virtio_netif_statistics(network_interface(), &statistics);
    interrupts_restore(state);
    return statistics.driver.interrupts;
}

static uint64_t larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static void job(void)
{
    uint64_t interrupts = interrupts_now();
    uint64_t network_interrupts = network_interrupts_now();
    uint64_t began = time_now();

    work_execute(storm.work);
    storm.job_time_max = larger(storm.job_time_max, time_now() - began);
    storm.job_interrupts_max = larger(storm.job_interrupts_max, interrupts_now() - interrupts);
    storm.job_network_interrupts_max =
        larger(storm.job_network_interrupts_max, network_interrupts_now() - network_interrupts);
}

static void control(void *argument)
{
    const struct periodic_attributes attributes = {.period = PERIOD, .first = storm.begin};

    (void)argument;
    (void)periodic_start(&storm.periodic, &attributes);
    for (uint64_t i = 0; i < storm.periods; i++) {
        (void)periodic_wait(&storm.periodic);
        job();
    }
    periodic_stop(&storm.periodic);
    periodic_statistics(&storm.periodic, &storm.outcome);
}

static void spin(void *argument)
{
    (void)argument;
    for (;;) {
        work_execute(1000);
    }
}

static void receive(void *argument)
{
    struct datagram *datagram = argument;
    char data[DATAGRAM_MAX];
    size_t bytes;

    for (;;) {
        if (datagram_receive(datagram, data, sizeof(data), &bytes, DEADLINE_NONE) == RESULT_OK) {
            storm.datagrams++;
        }
    }
}

static bool start(const char *name, unsigned priority, void (*entry)(void *), void *argument,
                  struct thread **thread)
{
    const struct thread_attributes attributes = {
        .name = name, .priority = priority, .stack_bytes = STACK_BYTES};

    return thread_create(thread, &attributes, entry, argument) == RESULT_OK;
}

/* The processor is never idle from now on, so that time does not jump. */
static bool start_spinner(void)
{
    unsigned priority = (unsigned)boot_argument_number(
        "spinner", THREAD_PRIORITY_LOWEST, THREAD_PRIORITY_LOWEST, THREAD_PRIORITY_HIGHEST);
    struct thread *thread;

    return start("spinner", priority, spin, NULL, &thread);
}

static bool start_receiver(void)
{
    const struct datagram_parameters parameters = {.peer = IPADDR4_INIT_BYTES(10, 0, 2, 2),
                                                   .peer_port = FLOOD_PORT,
                                                   .local_port = FLOOD_PORT,
                                                   .receive_buffers = 16};
    struct datagram *datagram;
    struct thread *thread;

    return datagram_open(&datagram, &parameters) == RESULT_OK &&
           start("receiver", THREAD_PRIORITY_LOWEST, receive, datagram, &thread);
}

static struct virtio_net_statistics driver_now(void)
{
    struct virtio_netif_statistics statistics;

    LOCK_TCPIP_CORE();
    virtio_netif_statistics(network_interface(), &statistics);
    UNLOCK_TCPIP_CORE();
    return statistics.driver;
}

static bool wait_for_flood(void)
{
    uint64_t limit = time_after(START_LIMIT);

    print("storm: ready\n");
    while (driver_now().rx_frames < FLOOD_FRAMES) {
        if (time_now() > limit) {
            return false;
        }
        thread_sleep_until(time_after(PERIOD));
    }
    return true;
}

/* Runs the control loop beside the others until its last period. */
static bool run_control(void)
{
    struct thread *thread;

    storm.begin = time_after(10 * PERIOD);
    return attackers_start(storm.begin) &&
           start("control", THREAD_PRIORITY_LOWEST, control, NULL, &thread) &&
           thread_join(thread, DEADLINE_NONE) == RESULT_OK;
}

static unsigned long long in_microseconds(uint64_t nanoseconds)
{
    return (unsigned long long)(nanoseconds / NANOSECONDS_PER_MICROSECOND);
}

static void print_vcpus(void)
{
    static struct vcpu_statistics vcpus[VCPUS_PRINTED];
    size_t count = vcpu_statistics(vcpus, VCPUS_PRINTED);

    for (size_t i = 0; i < count && i < VCPUS_PRINTED; i++) {
        print("storm: vcpu %s: received %llu us, background %llu us, exhausted %llu times, "
              "response at most %llu us, blocking at most %llu us\n",
              vcpus[i].param.name, in_microseconds(vcpus[i].received_nanoseconds),
              in_microseconds(vcpus[i].background_nanoseconds),
              (unsigned long long)vcpus[i].exhaustions,
              in_microseconds(vcpus[i].response_nanoseconds_max),
              in_microseconds(vcpus[i].blocking_nanoseconds_max));
    }
}

static void print_outcome(const struct virtio_net_statistics *before, uint64_t interrupts)
{
    struct virtio_net_statistics after = driver_now();

    print(
        "storm: releases=%llu completions=%llu misses=%llu skipped=%llu response_max=%llu "
        "lateness_max=%llu job_max=%llu job_interrupts_max=%llu job_network_interrupts_max=%llu\n",
        (unsigned long long)storm.outcome.releases, (unsigned long long)storm.outcome.completions,
        (unsigned long long)storm.outcome.misses, (unsigned long long)storm.outcome.skipped,
        (unsigned long long)storm.outcome.worst_response,
        (unsigned long long)storm.outcome.worst_lateness, (unsigned long long)storm.job_time_max,
        (unsigned long long)storm.job_interrupts_max,
        (unsigned long long)storm.job_network_interrupts_max);
    print("storm: frames=%llu datagrams=%llu interrupts=%llu network_interrupts=%llu signals=%llu "
          "handler_max=%llu\n",
          (unsigned long long)(after.rx_frames - before->rx_frames),
          (unsigned long long)storm.datagrams, (unsigned long long)interrupts,
          (unsigned long long)(after.interrupts - before->interrupts),
          (unsigned long long)(after.signals - before->signals),
          (unsigned long long)after.handler_instructions_max);
}

int application_main(void)
{
    uint64_t nanoseconds;
    struct virtio_net_statistics before;
    uint64_t interrupts;

    /* Above the spinner, to print the outcome. */
    (void)thread_set_priority(thread_current(), THREAD_PRIORITY_HIGHEST);
    nanoseconds =
        boot_argument_number("work_us", WORK_US, 1, UINT32_MAX) * NANOSECONDS_PER_MICROSECOND;
    storm.work = work_turns(nanoseconds);
    storm.periods = boot_argument_number("periods", PERIODS, 1, UINT32_MAX);
    if (network_start() != RESULT_OK || !start_spinner() ||
        (boot_argument_number("receive", 0, 0, 1) == 1 && !start_receiver())) {
        return 1;
    }
    if (boot_argument_number("flood", 1, 0, 1) == 1 && !wait_for_flood()) {
        print("FAIL: no flood\n");
        return 1;
    }
    before = driver_now();
    interrupts = interrupts_now();
    if (!run_control()) {
        print("FAIL: a thread can't be started\n");
        return 1;
    }
    print_outcome(&before, interrupts_now() - interrupts);
    print_vcpus();
    print("PASS\n");
    return 0;
}
