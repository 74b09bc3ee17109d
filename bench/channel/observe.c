/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a program in the Linux guests of ./bulkhead bench channel, and prints what Linux did
 * meanwhile:
 *
 *   observe NAME PROGRAM [ARGUMENT]...
 *   observe: NAME switches N busy MICROSECONDS of MICROSECONDS
 */
#include "usage.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char *words[])
{
    struct usage begin;
    struct usage end;
    pid_t child;
    int status = 0;

    if (count < 3) {
        (void)fputs("observe: NAME PROGRAM [ARGUMENT]...\n", stderr);
        return 2;
    }
    begin = usage_now();
    child = fork();
    if (child == 0) {
        (void)execvp(words[2], &words[2]);
        perror(words[2]);
        _exit(2);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0) {
        (void)fprintf(stderr, "observe: %s failed\n", words[2]);
        return 1;
    }
    end = usage_now();
    printf("observe: %s", words[1]);
    usage_print(&begin, &end);
    return 0;
}
