/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tasks of the Linux guest in ./bulkhead bench linux: start processes, take page faults, find
 * primes (the microbenchmarks of the Quest-V paper). The program repeats each task, and prints the
 * number of repetitions and the time that they took. Arguments: "seconds N" repeats each task for N
 * seconds; "rounds N" runs N rounds with a fixed number of repetitions of each task.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MADV_NOHUGEPAGE */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_S       3 /* the kernel's deferred work of the start ends within this time */
#define PAGES          256
#define HIGHEST_NUMBER 20000
#define PRIMES         2262 /* number of primes up to HIGHEST_NUMBER */
#define END            "end"

static char *own_name;

/* Forks a process that executes this program with END, so that it ends at once, and waits for it.
 */
static bool fork_exec_wait(void)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        (void)execl(own_name, own_name, END, (char *)NULL);
        _exit(1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Writes to each page of a new mapping for the first time. */
static bool page_faults(void)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = PAGES * page_bytes;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || madvise(memory, bytes, MADV_NOHUGEPAGE) != 0) {
        return false;
    }
    for (size_t page = 0; page < PAGES; page++) {
        *(volatile char *)&memory[page * page_bytes] = 1;
    }
    return munmap(memory, bytes) == 0;
}

static bool is_prime(uint32_t number)
{
    for (uint32_t divisor = 3; divisor * divisor <= number; divisor += 2) {
        if (number % divisor == 0) {
            return false;
        }
    }
    return true;
}

static bool find_primes(void)
{
    unsigned found = 1; /* the prime 2 */

    for (uint32_t number = 3; number <= HIGHEST_NUMBER; number += 2) {
        found += is_prime(number);
    }
    return found == PRIMES;
}

static const struct task {
    const char *name;
    bool (*once)(void);
    unsigned times_a_round;
} tasks[] = {
    {"fork", fork_exec_wait, 200},
    {"fault", page_faults, 200},
    {"primes", find_primes, 40},
};

/* Returns the time of a clock that adjustments of the time of day do not affect. */
static uint64_t nanoseconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Repeats the task until both minimums are reached, and prints a line. Returns false if it fails.
 */
static bool measure(const struct task *task, uint64_t times_min, uint64_t nanoseconds_min)
{
    uint64_t start = nanoseconds();
    uint64_t times = 0;
    uint64_t elapsed;

    do {
        if (!task->once()) {
            (void)printf("tasks: %s failed\n", task->name);
            return false;
        }
        times++;
        elapsed = nanoseconds() - start;
    } while (times < times_min || elapsed < nanoseconds_min);
    (void)printf("tasks: %s %llu times in %llu ns\n", task->name, (unsigned long long)times,
                 (unsigned long long)elapsed);
    return true;
}

/*
 * Each process takes random numbers when it starts. They cost more until the kernel has gathered
 * entropy, and the machine determines whether the kernel has a seed from the start. So all machines
 * wait for entropy.
 */
static bool wait_for_entropy(void)
{
    char number;

    return getrandom(&number, sizeof(number), 0) == sizeof(number);
}

int main(int argument_count, char **arguments)
{
    bool timed = argument_count == 3 && strcmp(arguments[1], "seconds") == 0;
    unsigned rounds;

    if (argument_count == 2 && strcmp(arguments[1], END) == 0) {
        return 0;
    }
    if (argument_count != 3 || (!timed && strcmp(arguments[1], "rounds") != 0)) {
        (void)fputs("tasks: seconds N, or rounds N\n", stderr);
        return 1;
    }
    own_name = arguments[0];
    if (!wait_for_entropy()) {
        perror("tasks: getrandom");
        return 1;
    }
    (void)sleep(SETTLE_S);
    rounds = timed ? 1 : (unsigned)strtoul(arguments[2], NULL, 10);
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
            if (!measure(&tasks[i], timed ? 1 : tasks[i].times_a_round,
                         timed ? (uint64_t)(strtod(arguments[2], NULL) * 1e9) : 0)) {
                return 1;
            }
        }
    }
    (void)puts("tasks: done");
    return 0;
}
