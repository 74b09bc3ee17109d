/* SPDX-License-Identifier: BSD-2-Clause */
#include "wild.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ESR_EL2 does not describe an access of a pair, so the hypervisor can't emulate it. */
static void load_pair(volatile void *at)
{
    uint64_t low, high;

    __asm__ volatile("ldp %0, %1, [%2]" : "=r"(low), "=r"(high) : "r"(at) : "memory");
}

static void store_pair(volatile void *at)
{
    __asm__ volatile("stp xzr, xzr, [%0]" : : "r"(at) : "memory");
}

static void store(volatile void *at)
{
    *(volatile uint32_t *)at = 1;
}

static void load_exclusive(volatile void *at)
{
    uint32_t value;

    __asm__ volatile("ldxr %w0, [%1]" : "=r"(value) : "r"(at) : "memory");
}

static void try_access(const char *name, void (*access)(volatile void *at), volatile void *at)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        access(at);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
        exit(1);
    }
    printf("function: %s ended by signal %d\n", name, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    fflush(stdout);
}

void wild_access(volatile uint32_t *registers, volatile uint32_t *states, volatile void *section)
{
    fflush(stdout);
    try_access("store to states", store, states);
    try_access("store to section", store, section);
    try_access("pair to section", store_pair, section);
    try_access("load of pair of registers", load_pair, registers);
    try_access("store of pair to registers", store_pair, registers);
    try_access("exclusive load of register", load_exclusive, registers);
}
