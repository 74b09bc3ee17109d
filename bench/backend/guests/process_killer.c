/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kills the process bulkhead-backend of this Linux at random instants, for ./bulkhead bench
 * backend. The script that has started it starts it again.
 *
 *     process-killer kills=K seed=S first=F pause=P window=W
 *
 * The arguments are those of killer.c, in the same order. Output:
 *
 *     killer: kill I at T ns
 *     killer: done
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NANOSECONDS UINT64_C(1000000000)
/* The kernel's name of the process: the first 15 letters (proc(5), /proc/pid/comm). */
#define COMMAND "bulkhead-backen\n"

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Returns the time of the board's counter. */
static uint64_t board_time(void)
{
    uint64_t ticks, frequency;

    __asm__ volatile("mrs %0, cntfrq_el0\n\tisb\n\tmrs %1, cntvct_el0"
                     : "=r"(frequency), "=r"(ticks));
    return ticks / frequency * NANOSECONDS + ticks % frequency * NANOSECONDS / frequency;
}

static void sleep_until(uint64_t board)
{
    uint64_t now = board_time();
    uint64_t left = board > now ? board - now : 0;
    struct timespec time = {(time_t)(left / NANOSECONDS), (long)(left % NANOSECONDS)};

    while (nanosleep(&time, &time) != 0 && errno == EINTR) {
    }
}

static int is_backend(const char *process)
{
    char path[64], command[32] = "";
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%.20s/comm", process);
    file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    (void)fgets(command, sizeof(command), file);
    (void)fclose(file);
    return strcmp(command, COMMAND) == 0;
}

/* Returns the number of the process, or 0 if there is none. */
static int find_backend(void)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    int found = 0;

    while (folder != NULL && found == 0 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && is_backend(entry->d_name)) {
            found = atoi(entry->d_name);
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return found;
}

int main(int count, char **arguments)
{
    uint64_t kills = 0, seed = 0, window_begin = 0, pause = 0, window = 0;
    uint64_t *const values[] = {&kills, &seed, &window_begin, &pause, &window};

    for (int i = 1; i < count && i <= 5; i++) {
        const char *value = strchr(arguments[i], '=');

        *values[i - 1] = value == NULL ? 0 : strtoull(value + 1, NULL, 0);
    }
    if (count != 6 || seed == 0 || window == 0) {
        (void)fputs("process-killer: kills=K seed=S first=F pause=P window=W\n", stderr);
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    for (uint64_t i = 1; i <= kills; i++, window_begin += pause) {
        int process;
        uint64_t at;

        sleep_until(window_begin);
        process = find_backend();
        sleep_until(window_begin + next_random(&seed) % window);
        at = board_time();
        if (process == 0 || kill(process, SIGKILL) != 0) {
            (void)printf("FAIL: killer: no process at %" PRIu64 " ns\n", at);
            return 1;
        }
        (void)printf("killer: kill %" PRIu64 " at %" PRIu64 " ns\n", i, at);
    }
    (void)puts("killer: done");
    return 0;
}
