/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "exchange.h"
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static const char usage[] = "arguments: throughput|latency SYSTEM BYTES BATCH whole|word "
                            "RING_BYTES SECONDS PROCESSOR PROCESSOR";

_Noreturn void exchange_fail(const char *what)
{
    (void)fprintf(stderr, "%s\n", what);
    exit(1);
}

uint64_t exchange_nanoseconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct exchange exchange_arguments(int count, char **words)
{
    struct exchange exchange;

    if (count != 10) {
        exchange_fail(usage);
    }
    exchange = (struct exchange){
        .measurement = strcmp(words[1], "latency") == 0 ? LATENCY : THROUGHPUT,
        .system = words[2],
        .shape = {.bytes = strtoull(words[3], NULL, 0),
                  .batch = (uint32_t)strtoul(words[4], NULL, 0),
                  .is_whole = strcmp(words[5], "whole") == 0},
        .ring_bytes = strtoull(words[6], NULL, 0),
        .seconds = strtod(words[7], NULL),
        .processors = {(int)strtol(words[8], NULL, 10), (int)strtol(words[9], NULL, 10)},
    };
    if (exchange.shape.batch != 1 && exchange.shape.batch != BATCH_MAX) {
        exchange_fail("a batch has 1 message or 32");
    }
    if (exchange.measurement == LATENCY && exchange.shape.batch != 1) {
        exchange_fail("round trips have batches of 1");
    }
    return exchange;
}

struct meeting *exchange_memory(size_t bytes)
{
    struct meeting *meeting = mmap(NULL, sizeof(*meeting) + bytes, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (meeting == MAP_FAILED) {
        exchange_fail("there is not enough memory");
    }
    return meeting;
}

/* The sender never ends before the receiver, unless it failed. */
static void sender_ended(int number)
{
    (void)number;
    _exit(1);
}

unsigned exchange_fork(const struct exchange *exchange)
{
    pid_t parent = getpid();
    unsigned index;
    cpu_set_t processors;
    pid_t child;

    if (signal(SIGCHLD, sender_ended) == SIG_ERR) {
        exchange_fail("the end of the sender can't be noticed");
    }
    child = fork();
    index = child == 0 ? 1 : 0;
    if (child < 0) {
        exchange_fail("there is no second process");
    }
    /* The sender ends with the receiver. */
    if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)) {
        exchange_fail("the receiver ended");
    }
    CPU_ZERO(&processors);
    CPU_SET((size_t)exchange->processors[index], &processors);
    if (sched_setaffinity(0, sizeof(processors), &processors) != 0) {
        exchange_fail("there is no such processor");
    }
    return index;
}

void exchange_meet(struct meeting *meeting)
{
    (void)__atomic_add_fetch(&meeting->ready, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&meeting->ready, __ATOMIC_ACQUIRE) < 2) {
        (void)sched_yield();
    }
}

_Noreturn void exchange_wait(void)
{
    for (;;) {
        (void)pause();
    }
}

_Noreturn void exchange_report(uint64_t messages, uint64_t nanoseconds)
{
    printf("messages %ju nanoseconds %ju\n", (uintmax_t)messages, (uintmax_t)nanoseconds);
    exit(0);
}
