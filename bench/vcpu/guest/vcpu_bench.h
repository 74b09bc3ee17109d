/* SPDX-License-Identifier: BSD-2-Clause */
/* The measurements of ./bulkhead bench vcpu, and what they share. Thread context. */
#ifndef VCPU_BENCH_H
#define VCPU_BENCH_H

#include "kernel/thread.h"
#include "kernel/vcpu.h"
#include <stdint.h>

/* Priorities in the background. The thread "init", which controls a measurement, has 32. */
#define PRIORITY_WITHOUT_BUDGET \
    THREAD_PRIORITY_LOWEST         /* a VCPU's thread when the budget has ended */
#define PRIORITY_SPINNING      10u /* a thread without VCPU that always has work */
#define PRIORITY_ABOVE_NETWORK 60u

/* Reports and ends the machine. */
_Noreturn void fail(const char *what);

/* Creates a VCPU of C / T microseconds. Returns its id. */
int make_vcpu(const char *name, enum vcpu_policy policy, uint64_t budget, uint64_t period);

/* Creates a thread and binds it to a VCPU, or to none if `vcpu` is 0. */
struct thread *start_thread(const char *name, unsigned priority, int vcpu,
                            void (*entry)(void *argument), void *argument);

/* Reads a decimal number. Moves `*text` behind it. */
uint64_t read_number(char **text);

/* Starts a thread that spins for ever, bound to a VCPU, or to none if `vcpu` is 0. */
void start_spinning(unsigned priority, int vcpu);

/* Starts the network with its bottom half on an I/O VCPU, and opens the port of the flood. The
 * calling thread gets a priority above the network's, because a flood would keep it from running
 * otherwise. */
void start_network(int vcpu);

/* Waits until datagrams arrive. */
void wait_for_flood(void);

/* Returns the number of received frames. */
uint64_t received_frames(void);

/* The real-time loop, alone and under a flood beside a spinning thread. */
void measure_wake_ups(void);

/* The shares that sets of VCPUs get under overload. `sets`: NAME:C/T+C/T+...,NAME:... in
 * microseconds. */
void measure_shares(char *sets, uint64_t milliseconds);

/* The same with two marks (bench/cost/mark.h) around a part of it, in which the bench counts the
 * kernel's instructions. */
void measure_decisions(char *sets, uint64_t milliseconds);

/* The work of a victim on a VCPU of 5 in 10 ms, alone and beside each attack of `attacks`:
 * NAME/COUNT/C/T/SLEEP,... for COUNT VCPUs of C / T microseconds. */
void measure_attacks(char *attacks, uint64_t milliseconds);

/* Instructions of a switch between two threads. */
void measure_switches(void);

/* The frames that a flooded network handles with an I/O VCPU of so many per cent. */
void measure_input(unsigned percent, uint64_t milliseconds);

#endif
