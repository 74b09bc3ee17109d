/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ./bulkhead bench linux has the Linux guest do: start processes, take page faults, find
 * primes (the microbenchmarks of the Quest-V paper). A task is done over and over, and a line says
 * how often and how long that took. Arguments: "seconds N", each task for so long; or "rounds N",
 * each so many rounds of fixed work.
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

#define SETTLE_S       3 /* what the start leaves to be done is done by then */
#define PAGES          256
#define HIGHEST_NUMBER 20000
#define PRIMES         2262 /* up to there */
#define END            "end"

static char *own_name;

/* A process that runs this program anew, which ends at once. */
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

/* The first write to each page of a fresh mapping. */
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
    unsigned found = 1; /* 2 */

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

/* Not the clock that the time of day is adjusted by. */
static uint64_t nanoseconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Until both limits are reached. */
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
 * Each process takes random numbers. The kernel makes them at greater cost until it has gathered
 * entropy, and whether it begins with a seed is the machine's choice.
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
