/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranges of the analysis: demand() is called with times of up to 16 periods, at most 2^44 ticks. So
 * the demand of one VCPU is at most 2^46, or UNPAID_MAX more, and that of all of them 2^55.
 */
#include "schedule/admission.h"

#include "schedule/pibs_server.h"

/* Fixed-point format of utilizations. A budget shifted by FRACTION_BITS has at most 63 bits. */
#define FRACTION_BITS 23u
#define ONE           (UINT64_C(1) << FRACTION_BITS)

/* A more precise format for first_guess(), which divides by the difference from 1. */
#define GUESS_ONE (UINT64_C(1) << 46)

/* The bound n (2^(1/n) - 1) of Liu and Layland, rounded down, for n = 1, 2, ...; and its limit for
 * many VCPUs, ln 2. */
static const uint64_t liu_layland[] = {
    8388608, 6949350, 6541127, 6348737, 6236861, 6163716, 6112162, 6073871,
    6044307, 6020794, 6001646, 5985751, 5972344, 5960885, 5950977, 5942326,
};
#define LIU_LAYLAND_LIMIT   5814539u
#define LIU_LAYLAND_ENTRIES (sizeof(liu_layland) / sizeof(liu_layland[0]))

/* Longer times are counted as this one, which is later than every deadline. */
#define UNPAID_MAX (UINT64_C(1) << 48)

struct vcpu_set {
    const struct supply *supply; /* NULL: the processor executes all of the time */
    const struct admission_vcpu *vcpus;
    size_t count;
};

/* A VCPU under analysis. A Main VCPU runs at its own priority, so that `level` is `vcpu`; an I/O
 * VCPU at the priority of `level`, the Main VCPU that it serves. */
struct subject {
    size_t vcpu;
    size_t level;
};

static uint64_t divide_up(uint64_t dividend, uint64_t divisor)
{
    return (dividend + divisor - 1) / divisor;
}

static uint64_t shortest_main_period(const struct vcpu_set *set)
{
    uint64_t shortest = SCHEDULE_NEVER;

    for (size_t i = 0; i < set->count; i++) {
        if (set->vcpus[i].kind == ADMISSION_MAIN && set->vcpus[i].period < shortest) {
            shortest = set->vcpus[i].period;
        }
    }
    return shortest;
}

/* Returns (2 - U) U, rounded up. It grows with U. */
static uint64_t pibs_demand(uint64_t utilization)
{
    return divide_up((2 * ONE - utilization) * utilization, ONE);
}

static uint64_t utilization_bound(size_t main_vcpus)
{
    return main_vcpus <= LIU_LAYLAND_ENTRIES ? liu_layland[main_vcpus - 1] : LIU_LAYLAND_LIMIT;
}

bool admission_quick_test(const struct admission_vcpu *vcpus, size_t count)
{
    const struct vcpu_set set = {NULL, vcpus, count};
    uint64_t shortest = shortest_main_period(&set);
    uint64_t sum = 0;
    size_t main_vcpus = 0;

    for (size_t i = 0; i < count; i++) {
        const struct admission_vcpu *vcpu = &vcpus[i];
        uint64_t utilization = divide_up(vcpu->budget << FRACTION_BITS, vcpu->period);

        if (vcpu->kind == ADMISSION_MAIN) {
            main_vcpus++;
            sum += utilization;
        } else if (schedule_ratio_floor(shortest, vcpu->budget, vcpu->period) == 0) {
            return false; /* the budget is rounded up to one tick, see pibs_server_share() */
        } else {
            sum += pibs_demand(utilization);
        }
    }
    return main_vcpus != 0 && sum <= utilization_bound(main_vcpus);
}

/* Returns true if Main VCPU `one` has the higher priority. */
static bool outranks(const struct vcpu_set *set, size_t one, size_t other)
{
    const struct admission_vcpu *a = &set->vcpus[one], *b = &set->vcpus[other];

    if (a->period != b->period) {
        return a->period < b->period;
    }
    return (a->jitter != 0) != (b->jitter != 0) ? b->jitter != 0 : one < other;
}

/* Returns true if a VCPU executes before the subject. */
static bool interferes(const struct vcpu_set *set, const struct subject *subject, size_t vcpu)
{
    if (vcpu == subject->vcpu) {
        return false;
    }
    if (set->vcpus[vcpu].kind == ADMISSION_IO_OF_PERIOD) {
        return set->vcpus[vcpu].period <= set->vcpus[subject->level].period;
    }
    return set->vcpus[vcpu].kind == ADMISSION_IO || vcpu == subject->level ||
           outranks(set, vcpu, subject->level);
}

static uint64_t share_at(const struct vcpu_set *set, size_t io_vcpu, size_t level)
{
    const struct admission_vcpu *vcpu = &set->vcpus[io_vcpu];
    bool is_of_period = vcpu->kind == ADMISSION_IO_OF_PERIOD;

    return pibs_server_share(vcpu->budget, vcpu->period,
                             is_of_period ? vcpu->period : set->vcpus[level].period);
}

/* Returns I_j(time) of admission.h. */
static uint64_t io_interference(const struct vcpu_set *set, size_t io_vcpu, size_t level,
                                uint64_t time)
{
    const struct admission_vcpu *vcpu = &set->vcpus[io_vcpu];
    uint64_t share = share_at(set, io_vcpu, level);

    return time > share ? share + schedule_ratio_floor(time - share, vcpu->budget, vcpu->period)
                        : share;
}

/* Returns the ticks that I/O VCPU `io_vcpu` takes for the ends of budgets of so many ticks. */
static uint64_t io_unpaid(const struct vcpu_set *set, size_t io_vcpu, uint64_t ticks)
{
    const struct admission_vcpu *vcpu = &set->vcpus[io_vcpu];
    bool is_of_period = vcpu->kind == ADMISSION_IO_OF_PERIOD;
    uint64_t period = is_of_period ? vcpu->period : shortest_main_period(set);
    uint64_t budget = pibs_server_share(vcpu->budget, vcpu->period, period);
    uint64_t whole = schedule_ratio_ceiling(ticks, vcpu->unpaid, budget);

    return whole < UNPAID_MAX ? whole + vcpu->unpaid : UNPAID_MAX;
}

/* Returns the most ticks that VCPU `vcpu`, which executes before the subject, takes in `time`. */
static uint64_t interference(const struct vcpu_set *set, const struct subject *subject, size_t vcpu,
                             uint64_t time)
{
    const struct admission_vcpu *other = &set->vcpus[vcpu];
    uint64_t ticks;

    if (other->kind == ADMISSION_MAIN) {
        return divide_up(time + other->jitter, other->period) * (other->budget + other->unpaid);
    }
    ticks = io_interference(set, vcpu, subject->level, time);
    return ticks + io_unpaid(set, vcpu, ticks);
}

static uint64_t own_demand(const struct vcpu_set *set, const struct subject *subject)
{
    const struct admission_vcpu *vcpu = &set->vcpus[subject->vcpu];

    return vcpu->kind == ADMISSION_MAIN ? vcpu->budget
                                        : share_at(set, subject->vcpu, subject->level);
}

/* Returns the most ticks that the subject, and the VCPUs before it, execute in a busy window of
 * this length. */
static uint64_t demand(const struct vcpu_set *set, const struct subject *subject, uint64_t time)
{
    uint64_t sum = own_demand(set, subject) + set->vcpus[subject->vcpu].blocking;

    for (size_t i = 0; i < set->count; i++) {
        if (interferes(set, subject, i)) {
            sum += set->vcpus[i].overrun + interference(set, subject, i, time);
        }
    }
    return sum;
}

/*
 * Returns a lower bound of the response, from which few steps lead to the response. The demand in R
 * is at least own + sum of U R - losses, because each I/O VCPU's demand loses less than one tick by
 * rounding. So R >= (own - losses) / (1 - sum of U). Returns SCHEDULE_NEVER if no R solves that.
 */
static uint64_t first_guess(const struct vcpu_set *set, const struct subject *subject)
{
    uint64_t own = own_demand(set, subject);
    uint64_t losses = 0;
    uint64_t utilization = 0;

    for (size_t i = 0; i < set->count; i++) {
        if (interferes(set, subject, i)) {
            losses += set->vcpus[i].kind != ADMISSION_MAIN ? 1 : 0;
            utilization +=
                schedule_ratio_floor(set->vcpus[i].budget, GUESS_ONE, set->vcpus[i].period);
        }
    }
    if (own <= losses) {
        return own;
    }
    if (utilization >= GUESS_ONE) {
        return SCHEDULE_NEVER;
    }
    uint64_t guess = schedule_ratio_floor(own - losses, GUESS_ONE, GUESS_ONE - utilization);

    return guess > own ? guess : own;
}

/* Returns the least time in which the processor executes so many ticks. */
static uint64_t time_of(const struct vcpu_set *set, uint64_t ticks)
{
    return set->supply == NULL ? ticks : supply_time(set->supply, ticks);
}

/* Returns the ticks that the processor executes at least within `time`. */
static uint64_t executed_within(const struct vcpu_set *set, uint64_t time)
{
    return set->supply == NULL ? time : supply_within(set->supply, time);
}

/* Analyses one VCPU. Returns SCHEDULE_OK, SCHEDULE_OVERLOADED or SCHEDULE_UNDECIDED. */
static enum schedule_error analyse(const struct vcpu_set *set, const struct subject *subject,
                                   struct admission_response *response)
{
    uint64_t deadline = set->vcpus[subject->level].period;
    uint64_t time = first_guess(set, subject);

    *response = (struct admission_response){.ticks = SCHEDULE_NEVER, .deadline = deadline};
    for (unsigned step = 0; step < ADMISSION_STEPS_MAX && time <= deadline; step++) {
        uint64_t next = time_of(set, demand(set, subject, time));

        if (next <= time) {
            response->ticks = time;
            return SCHEDULE_OK;
        }
        time = next;
    }
    uint64_t total = demand(set, subject, deadline);
    uint64_t executed = executed_within(set, deadline);

    if (total <= executed) {
        response->ticks = deadline; /* an upper bound: the steps did not reach the response */
        return SCHEDULE_OK;
    }
    response->excess = total - executed;
    return time > deadline ? SCHEDULE_OVERLOADED : SCHEDULE_UNDECIDED;
}

static enum schedule_error check_vcpu(const struct admission_vcpu *vcpu)
{
    enum schedule_error error = schedule_check_parameters(vcpu->budget, vcpu->period);

    if (error == SCHEDULE_OK &&
        (vcpu->blocking > SCHEDULE_PERIOD_MAX || vcpu->overrun > SCHEDULE_PERIOD_MAX ||
         vcpu->unpaid > vcpu->period || vcpu->jitter > vcpu->period)) {
        error = SCHEDULE_BUDGET_OUT_OF_RANGE;
    }
    return error;
}

static enum schedule_error check_set(const struct vcpu_set *set, struct admission_result *result)
{
    for (size_t i = 0; i < set->count; i++) {
        enum schedule_error error = check_vcpu(&set->vcpus[i]);

        result->vcpu = i;
        if (error != SCHEDULE_OK) {
            return error;
        }
        if (i == ADMISSION_VCPUS_MAX) {
            return SCHEDULE_TOO_MANY_VCPUS;
        }
    }
    result->vcpu = 0;
    return SCHEDULE_OK;
}

/* Returns the Main VCPU of the lowest priority that an I/O VCPU may serve; `count` if the set has
 * none. */
static size_t lowest_served(const struct vcpu_set *set, size_t io_vcpu)
{
    const struct admission_vcpu *io = &set->vcpus[io_vcpu];
    bool is_any = io->kind == ADMISSION_IO;
    size_t lowest = set->count;

    for (size_t i = 0; i < set->count; i++) {
        if (set->vcpus[i].kind == ADMISSION_MAIN &&
            (is_any || set->vcpus[i].period == io->period) &&
            (lowest == set->count || outranks(set, lowest, i))) {
            lowest = i;
        }
    }
    return lowest;
}

/*
 * Analyses the I/O VCPUs of a set, whether it is admitted or not. In a set without Main VCPUs their
 * responses are 0, because they serve none. Returns the verdict, which is `verdict` unless it was
 * SCHEDULE_OK.
 */
static enum schedule_error analyse_io(const struct vcpu_set *set, enum schedule_error verdict,
                                      struct admission_response *responses,
                                      struct admission_result *result)
{
    for (size_t i = 0; i < set->count; i++) {
        size_t level = lowest_served(set, i);

        if (set->vcpus[i].kind == ADMISSION_MAIN) {
            continue;
        }
        responses[i] = (struct admission_response){0, 0, 0};
        if (level == set->count) {
            continue;
        }
        enum schedule_error found = analyse(set, &(struct subject){i, level}, &responses[i]);

        if (verdict == SCHEDULE_OK && found != SCHEDULE_OK) {
            verdict = found;
            *result = (struct admission_result){i, responses[i].excess};
        }
    }
    return verdict;
}

/* Returns true if the set passes the quick test, which knows nothing of the additions. */
static bool passes_quick_test(const struct vcpu_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct admission_vcpu *vcpu = &set->vcpus[i];

        if (vcpu->blocking != 0 || vcpu->overrun != 0 || vcpu->unpaid != 0 || vcpu->jitter != 0) {
            return false;
        }
    }
    return set->supply == NULL && admission_quick_test(set->vcpus, set->count);
}

enum schedule_error admission_test_within(const struct supply *supply,
                                          const struct admission_vcpu *vcpus, size_t count,
                                          struct admission_response *responses,
                                          struct admission_result *result)
{
    const struct vcpu_set set = {supply, vcpus, count};
    enum schedule_error verdict;

    *result = (struct admission_result){0, 0};
    verdict = check_set(&set, result);
    if (verdict != SCHEDULE_OK) {
        return verdict;
    }
    bool quick = passes_quick_test(&set);

    for (size_t i = 0; i < count; i++) {
        if (vcpus[i].kind != ADMISSION_MAIN) {
            continue;
        }
        enum schedule_error found = analyse(&set, &(struct subject){i, i}, &responses[i]);

        if (found == SCHEDULE_UNDECIDED && quick) {
            responses[i].ticks = responses[i].deadline;
            responses[i].excess = 0;
            found = SCHEDULE_OK;
        }
        bool first = verdict == SCHEDULE_OK || outranks(&set, i, result->vcpu);

        if (found != SCHEDULE_OK && first) {
            verdict = found;
            result->vcpu = i;
            result->excess = responses[i].excess;
        }
    }
    return analyse_io(&set, verdict, responses, result);
}

enum schedule_error admission_test(const struct admission_vcpu *vcpus, size_t count,
                                   struct admission_response *responses,
                                   struct admission_result *result)
{
    return admission_test_within(NULL, vcpus, count, responses, result);
}

uint64_t admission_late_response(const struct supply *supply, const struct admission_vcpu *vcpus,
                                 size_t count, size_t vcpu)
{
    const struct vcpu_set set = {supply, vcpus, count};
    size_t served = vcpus[vcpu].kind == ADMISSION_MAIN ? vcpu : lowest_served(&set, vcpu);
    const struct subject subject = {vcpu, served};
    uint64_t limit = ADMISSION_LATE_PERIODS * vcpus[served].period;
    uint64_t time = first_guess(&set, &subject);

    for (unsigned step = 0; step < ADMISSION_STEPS_MAX && time <= limit; step++) {
        uint64_t next = time_of(&set, demand(&set, &subject, time));

        if (next <= time) {
            return time;
        }
        time = next;
    }
    return SCHEDULE_NEVER;
}
