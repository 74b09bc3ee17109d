/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Admission of VCPUs to a core. The tests decide whether each VCPU gets its budget in each of its
 * periods.
 *
 * Main VCPUs are sporadic servers (C, T) with rate-monotonic priorities: the shorter the period,
 * the higher the priority; of equal periods those without jitter (below), then the lower index. I/O
 * VCPUs are PIBS servers of utilization U = C / T; each may serve any of the Main VCPUs, at its
 * priority and before it, or those of one period alone.
 *
 * Two tests. The quick one is the bound of Quest-V, 3.3, over n Main VCPUs and all I/O VCPUs:
 *
 *   sum C/T + sum (2 - U) U <= n (2^(1/n) - 1)
 *
 * The exact one is response-time analysis. The worst response R of the Main VCPU i, from the time
 * at which a budget is available and wanted to the end of its execution, is the least solution of
 *
 *   R = C_i + sum over Main VCPUs k before i of ceil(R / T_k) C_k + sum over I/O VCPUs j of I_j(R)
 *   I_j(R) = B + floor(U_j (R - B)) for R > B, otherwise B; with B = U_j T_i in whole ticks, 1 at
 *            least. If VCPU j serves VCPUs of period T_j alone, B = U_j T_j, and I_j = 0 for
 *            T_i < T_j, because i is before it then
 *
 * and the set is admitted if R <= T_i for each i.
 *
 * Why this holds. Consider a busy window of priority i: a longest interval [a, a + R) in which the
 * processor always executes at priority i or higher. Just before a, no such work had budget. So
 * what is executed in the window was available from a or later on: a blocked server unblocks no
 * earlier, and a server without budget gets it no earlier.
 *
 * - Main VCPU k: a tick of its budget used in the window was available at a or later, and again one
 *   period later at the earliest (sporadic_server.h). So each of its C_k ticks is used at most
 *   ceil(R / T_k) times.
 * - I/O VCPU j interferes while it serves a VCPU of period T <= T_i, with budgets of at most B
 * ticks (the share grows with T). Let its budgets that are used in the window at this priority be
 *   x_1 .. x_m, each in part or in full, with eligible times e_1 .. e_m. pibs_server.h gives
 *   e_(n+1) >= e_n + x_n / U, and e_1 >= a; if the server came from a lower priority inside the
 *   window, its time forfeited there makes e_2 >= a + x_1 / U hold all the same. Budget m begins
 *   no earlier than e_m, and ends within the window: e_m <= a + R - x_m. The sum of the others is
 *   at most U (e_m - a) <= U (R - x_m). With x_m <= B the total is at most
 *   U (R - x_m) + x_m <= B + U (R - B). It is a whole number of ticks.
 *
 * The quick test implies the exact one: for R <= T_i, I_j(R) <= (2 - U_j) U_j T_i. Added to C_i
 * this makes a set of n Main VCPUs alone whose utilization is within the bound of Liu and Layland.
 * (Where U_j T_i is less than one tick, B is more, and the quick test does not pass.)
 *
 * An I/O VCPU that serves Main VCPU i ends a budget of B no later than i would: R_i counts at least
 * B for it as soon as R_i >= B, and it counts C_i besides. So no I/O VCPU is late unless its
 * blocking is longer than that of i. Its response is reported for the longest period that it can
 * serve.
 *
 * Five additions, each 0 unless the caller knows it:
 *
 * - `blocking` of VCPU i is added to R_i once: time in the window for which the processor executes
 *   what is less urgent or charged to none, such as a critical section that began before the
 * window.
 * - `overrun` of each VCPU k that interferes is added to R_i once: what VCPU k executes beyond its
 *   budget before it stops. Later budgets pay for it, so that VCPU k never executes more than this
 *   beyond the ticks that were available in the window.
 * - `unpaid` of each VCPU k that interferes is added to R_i for each of its budgets: time that the
 *   processor takes for it in a period beyond its budget, and that no budget pays, such as for the
 *   ends of budgets. A Main VCPU has ceil(R / T_k) budgets, an I/O VCPU as many of the shortest
 *   ones as are in I_j(R), and another one in part.
 * - `jitter` of a Main VCPU k that interferes: R_i counts ceil((R + jitter) / T_k) of its budgets.
 *   It is T_k - C_k if VCPU k has a deferrable server (deferrable_server.h). Let the first release
 *   in the window be at a + x. Before it, VCPU k executes at most min(x, C_k) ticks, of one budget.
 *   The releases from a + x on give n = ceil((R - x) / T_k) budgets. If x >= C_k, the sum is at
 *   most C_k + ceil((R - C_k) / T_k) C_k, the ticks of so many budgets. If x < C_k, n may be one
 *   more; then the last release is R - x - (n - 1) T_k <= C_k - x ticks before the end, so that the
 *   last budget and the first are C_k ticks together at most. For R < C_k, one budget is counted.
 *   The response of VCPU k itself is not changed by this: a busy window of its priority that a
 *   release interrupts is counted from the last instant before the release at which no VCPU before
 *   it has work; in between VCPU k executes nothing, and then one budget.
 * - The supply, of a guest whose processor is a server on a shared core (supply.h): R_i is the
 * least time in which the processor executes at least the right side of the equation. Between a and
 * the end of the window the guest has work throughout.
 */
#ifndef SCHEDULE_ADMISSION_H
#define SCHEDULE_ADMISSION_H

#include "schedule/supply.h"
#include "schedule/ticks.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADMISSION_VCPUS_MAX 64u
/* Most steps of the analysis for one VCPU. A step takes a division for each VCPU. Sets whose
 * utilization is not close to 1 need few steps. */
#ifndef ADMISSION_STEPS_MAX
#define ADMISSION_STEPS_MAX 10000u
#endif

enum admission_kind {
    ADMISSION_MAIN,
    ADMISSION_IO,
    ADMISSION_IO_OF_PERIOD, /* serves only VCPUs of its own period, at their priority */
};

struct admission_vcpu {
    enum admission_kind kind;
    uint64_t budget; /* ticks */
    uint64_t period; /* ticks */
    /* Ticks, at most SCHEDULE_PERIOD_MAX; see above. */
    uint64_t blocking;
    uint64_t overrun;
    uint64_t unpaid;
    uint64_t jitter;
};

struct admission_response {
    /* Worst response, at most `deadline`; SCHEDULE_NEVER if the response may be later. */
    uint64_t ticks;
    /* The VCPU's period. For an I/O VCPU: the longest period that it can serve; 0 if it serves
     * none. */
    uint64_t deadline;
    /* Ticks by which the demand in one period exceeds the supply in it, if the deadline may be
     * missed. */
    uint64_t excess;
};

struct admission_result {
    size_t vcpu;     /* index of the VCPU with the error, if there is one */
    uint64_t excess; /* with SCHEDULE_OVERLOADED: `excess` of its response */
};

/* Returns true if the set passes the quick test. The parameters must be valid. All roundings make
 * the test stricter. */
bool admission_quick_test(const struct admission_vcpu *vcpus, size_t count);

/*
 * Tests a set of VCPUs. Fills in `responses`, of as many elements, unless a parameter is wrong.
 * Returns
 *   SCHEDULE_OK           every VCPU gets its budget in each period;
 *   SCHEDULE_OVERLOADED   `result` names the VCPU of the highest priority that may not;
 *   SCHEDULE_UNDECIDED    no VCPU was found to miss, but the response of one was not found within
 *                         ADMISSION_STEPS_MAX steps; `result` names it;
 *   SCHEDULE_TOO_MANY_VCPUS, SCHEDULE_PERIOD_OUT_OF_RANGE or SCHEDULE_BUDGET_OUT_OF_RANGE: the set
 *                         was not tested; `result` names the VCPU. Blocking and overrun count as
 *                         parts of the budget here.
 * Admit the set only in the case of SCHEDULE_OK.
 *
 * `supply`: what the processor executes at least; NULL: all of the time. It is valid.
 */
enum schedule_error admission_test_within(const struct supply *supply,
                                          const struct admission_vcpu *vcpus, size_t count,
                                          struct admission_response *responses,
                                          struct admission_result *result);

/* The same for a processor that executes all of the time. */
enum schedule_error admission_test(const struct admission_vcpu *vcpus, size_t count,
                                   struct admission_response *responses,
                                   struct admission_result *result);

/* The longest response that admission_late_response() reports, in periods of the VCPU. */
#define ADMISSION_LATE_PERIODS 16u

/*
 * Returns the least solution R of the equation above for Main VCPU `vcpu` also if it is later than
 * the period, for a message about a set that admission_test() refused. A budget that is wanted
 * while an earlier one is still late may be later than R. Returns SCHEDULE_NEVER if R is longer
 * than ADMISSION_LATE_PERIODS periods, or was not found within ADMISSION_STEPS_MAX steps. The
 * parameters of the set are valid.
 */
uint64_t admission_late_response(const struct supply *supply, const struct admission_vcpu *vcpus,
                                 size_t count, size_t vcpu);

#endif
