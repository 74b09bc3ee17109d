/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Linux guest of ./bulkhead bench vcpu, on one core: the real-time loop (loop.h) under
 * SCHED_FIFO and SCHED_DEADLINE, and cyclictest, first alone and then beside a spinning process and
 * a flood of datagrams; and the shares that reservations of SCHED_DEADLINE get (share.h).
 *
 * Arguments: the number of periods, the milliseconds for which shares are measured, and sets of
 * reservations C/T in microseconds, each with a name: two:1000/5000+2000/10000.
 */
#define _GNU_SOURCE /* SCHED_DEADLINE, MAP_ANONYMOUS */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NANOSECONDS_PER_SECOND UINT64_C(1000000000)
#define FIFO_PRIORITY          98 /* above all threads of the kernel that take a noticeable time */
#define FLOOD_PORT             5000
#define SETTLE_S               2 /* the kernel's deferred work of the start ends within this time */
#define RESERVED               (2 * WORK_MILLISECOND) /* for the loop: twice its work */

static uint64_t loop_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NANOSECONDS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static void loop_sleep_until(uint64_t time)
{
    struct timespec until = {.tv_sec = (time_t)(time / NANOSECONDS_PER_SECOND),
                             .tv_nsec = (long)(time % NANOSECONDS_PER_SECOND)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

#define loop_print (void)printf
#include "loop.h"

/* The counter itself: a reading is two instructions. */
static inline uint64_t share_now(void)
{
    uint64_t ticks;

    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
    return ticks;
}

#include "share.h"

static void fail(const char *what)
{
    (void)printf("vcpu: failed: %s: %s\n", what, strerror(errno));
    exit(1);
}

static bool write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY);
    bool written = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);

    if (file >= 0) {
        (void)close(file);
    }
    return written;
}

/* Prints which settings the kernel accepted. */
static void set(const char *path, const char *text)
{
    bool accepted = write_text(path, text);

    (void)printf("vcpu: set %s %s: %s\n", path, text, accepted ? "accepted" : strerror(errno));
}

static void configure(void)
{
    if (mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL) != 0) {
        fail("debugfs");
    }
    /* Budgets end at a timer of their own and not at the next tick. */
    set("/sys/kernel/debug/sched/features", "HRTICK_DL");
    set("/proc/sys/kernel/sched_rt_runtime_us", "-1");
    /* The driver's bottom half is a thread, which the loop preempts. */
    set("/sys/class/net/eth0/threaded", "1");
    set("/proc/sys/kernel/timer_migration", "0");
    set("/proc/sys/vm/stat_interval", "1000");
    /* cyclictest uses shared memory. */
    (void)mkdir("/dev/shm", 0755);
    (void)mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        fail("mlockall");
    }
}

static void *shared_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        fail("mmap");
    }
    memset(memory, 0, bytes);
    return memory;
}

static pid_t fork_process(void)
{
    pid_t child;

    (void)fflush(stdout);
    child = fork();
    if (child < 0) {
        fail("fork");
    }
    return child;
}

static void wait_for(pid_t child)
{
    int status = 0;

    if (waitpid(child, &status, 0) != child || status != 0) {
        fail("a process");
    }
}

/* The argument of sched_setattr(2). The header that declares it contradicts that of the C library.
 */
struct scheduling {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime; /* nanoseconds, as the next two */
    uint64_t deadline;
    uint64_t period;
};

static void be_fifo(void)
{
    struct sched_param parameter = {.sched_priority = FIFO_PRIORITY};

    if (sched_setscheduler(0, SCHED_FIFO, &parameter) != 0) {
        fail("SCHED_FIFO");
    }
}

/* Times in nanoseconds. */
static void be_reserved(uint64_t budget, uint64_t period)
{
    struct scheduling scheduling = {
        .size = sizeof(scheduling),
        .policy = SCHED_DEADLINE,
        .runtime = budget,
        .deadline = period,
        .period = period,
    };

    if (syscall(SYS_sched_setattr, 0, &scheduling, 0) != 0) {
        fail("SCHED_DEADLINE");
    }
}

static void be_reserved_for_loop(void)
{
    be_reserved(RESERVED, LOOP_DEADLINE);
}

static uint64_t received_frames(void)
{
    char text[32] = "";
    FILE *file = fopen("/sys/class/net/eth0/statistics/rx_packets", "r");

    if (file == NULL || fgets(text, sizeof(text), file) == NULL) {
        fail("rx_packets");
    }
    (void)fclose(file);
    return strtoull(text, NULL, 10);
}

static void run_loop(const char *name, void (*become)(void), uint32_t periods)
{
    struct loop_result *result = shared_memory(sizeof(*result));
    uint64_t frames = received_frames();
    pid_t child = fork_process();

    if (child == 0) {
        if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
            fail("mlockall");
        }
        become();
        loop_run(loop_now() + LOOP_PERIOD, periods, result);
        _exit(0);
    }
    wait_for(child);
    loop_report(name, result, received_frames() - frames);
}

static void run_cyclictest(const char *name, const char *periods)
{
    char interval[16];
    uint64_t frames = received_frames();
    pid_t child;

    (void)snprintf(interval, sizeof(interval), "%" PRIu64, LOOP_PERIOD / 1000);
    (void)printf("vcpu: cyclictest %s\n", name);
    child = fork_process();
    if (child == 0) {
        (void)execl("/bin/cyclictest", "cyclictest", "--mlockall", "--policy=fifo", "--priority=98",
                    "--affinity=0", "--threads=1", "--quiet", "--nsecs", "--interval", interval,
                    "--loops", periods, (char *)NULL);
        fail("cyclictest");
    }
    wait_for(child);
    (void)printf("vcpu: cyclictest %s frames %" PRIu64 "\n", name, received_frames() - frames);
}

/* Starts a process that spins at the ordinary priority. */
static pid_t start_spinning(void)
{
    pid_t child = fork_process();

    if (child == 0) {
        for (;;) {
            work(UINT32_MAX);
        }
    }
    return child;
}

static void end(pid_t child)
{
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

/* Waits for the first datagram. The next ones fill the socket's buffer, and the rest is dropped. */
static void wait_for_flood(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(FLOOD_PORT)};
    int endpoint = socket(AF_INET, SOCK_DGRAM, 0);
    char byte;

    if (endpoint < 0 || bind(endpoint, (struct sockaddr *)&own, sizeof(own)) != 0) {
        fail("socket");
    }
    (void)puts("vcpu: ready for the flood");
    (void)fflush(stdout);
    if (recv(endpoint, &byte, sizeof(byte), 0) < 0) {
        fail("recv");
    }
}

static void run_all(const char *load, const char *periods)
{
    uint32_t number = (uint32_t)strtoul(periods, NULL, 10);
    char name[32];

    (void)snprintf(name, sizeof(name), "fifo %s", load);
    run_loop(name, be_fifo, number);
    (void)snprintf(name, sizeof(name), "deadline %s", load);
    run_loop(name, be_reserved_for_loop, number);
    run_cyclictest(load, periods);
}

/* Measures a set of reservations NAME:C/T+C/T+..., each of a process that always has work, beside a
 * process without reservation that spins. */
static void run_shares(char *set, uint64_t milliseconds)
{
    struct share *share = shared_memory(sizeof(*share));
    pid_t children[SHARE_THREADS_MAX];
    uint64_t budgets[SHARE_THREADS_MAX];
    uint64_t periods[SHARE_THREADS_MAX];
    uint32_t count = 0;
    char *rest = strchr(set, ':');

    if (rest == NULL) {
        fail("a set of reservations");
    }
    *rest++ = '\0';
    while (*rest != '\0' && count < SHARE_THREADS_MAX - 1) {
        budgets[count] = strtoull(rest, &rest, 10) * 1000;
        periods[count] = strtoull(rest + 1, &rest, 10) * 1000;
        rest += *rest == '+';
        count++;
    }
    share_init(share);
    for (uint32_t i = 0; i <= count; i++) {
        children[i] = fork_process();
        if (children[i] == 0) {
            if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
                fail("mlockall");
            }
            if (i < count) {
                be_reserved(budgets[i], periods[i]);
            }
            share_spin(share, i);
            _exit(0);
        }
    }
    while (!share_all(share, count + 1, SHARE_SPINS)) {
        loop_sleep_until(loop_now() + WORK_MILLISECOND);
    }
    share_begin(share, milliseconds * WORK_MILLISECOND);
    for (uint32_t i = 0; i <= count; i++) {
        wait_for(children[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        (void)printf("vcpu: share %s %" PRIu32 " %" PRIu64 "/%" PRIu64 " received %" PRIu64
                     " of %" PRIu64 "\n",
                     set, i, budgets[i], periods[i], share->threads[i].received,
                     share->end - share->start);
    }
    (void)munmap(share, sizeof(*share));
}

int main(int argument_count, char **arguments)
{
    pid_t spinning;

    if (argument_count < 3) {
        (void)fputs("linux_loop: periods, milliseconds, sets of reservations\n", stderr);
        return 1;
    }
    configure();
    (void)sleep(SETTLE_S);
    run_all("quiet", arguments[1]);
    for (int i = 3; i < argument_count; i++) {
        run_shares(arguments[i], strtoull(arguments[2], NULL, 10));
    }
    spinning = start_spinning();
    wait_for_flood();
    run_all("flood", arguments[1]);
    end(spinning);
    (void)puts("vcpu: end");
    return 0;
}
