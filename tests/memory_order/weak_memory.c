/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The explorer runs the program repeatedly, each time with other decisions, as a depth-first search
 * over the decisions. A decision is taken before each access to a shared word (which thread
 * continues) and in each load (which message it returns). Of executions that differ only in the
 * order of independent accesses, sleep sets leave one (Godefroid, 1996).
 *
 * Each thread has a stack, which makecontext() prepares once. Threads change by _longjmp(), because
 * swapcontext() saves and restores the mask of signals with two system calls.
 */
#include "weak_memory.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define WORDS_MAX    32u
#define MESSAGES_MAX 64u
#define EVENTS_MAX   4u
#define LOCKS_MAX    4u
#define DATA_MAX     512u
#define DEPTH_MAX    4096u
#define STACK_BYTES  65536u

/* A thread's knowledge: for each word the oldest message that it may still read, for each thread
 * the number of steps that happened before. */
struct view {
    uint8_t word[WORDS_MAX];
    uint32_t step[MODEL_THREADS];
};

struct message {
    uint64_t value;
    struct view view;
};

struct word {
    const uint8_t *location;
    unsigned bytes;
    unsigned count;
    struct message message[MESSAGES_MAX];
};

/* The last accesses to a piece of data. */
struct data {
    const void *location;
    unsigned writer;
    uint32_t written; /* the writer's step; 0: before the threads started */
    uint32_t read[MODEL_THREADS];
};

enum kind { LOAD, STORE, FENCE, LOCK, END };

/* The next access of a thread. */
struct operation {
    enum kind kind;
    /* Word, or WORDS_MAX + event (a LOAD of an event waits for it). LOCK: index of the lock. */
    unsigned place;
    unsigned awaited; /* LOAD: blocked until the word has more messages than this */
};

struct thread {
    jmp_buf context;
    struct operation next;
    struct view known;    /* now */
    struct view released; /* at the last release fence */
    struct view heard;    /* including the knowledge received with all messages read */
    uint32_t signals[EVENTS_MAX];
    uint8_t read[WORDS_MAX];        /* the last message that was read */
    unsigned newer_than[WORDS_MAX]; /* model_await(): number of messages to skip */
};

struct event {
    uint32_t signals;
    struct view view;
};

struct lock {
    const void *address;
    bool is_taken;
    struct view view;
};

/* A decision. A choice of a thread has a mask of threads that need not be tried and a mask of those
 * tried; a choice of a message has the number of messages. */
struct decision {
    bool of_thread;
    unsigned chosen;
    unsigned count;
    unsigned sleeping;
    unsigned tried;
};

static struct thread threads[MODEL_THREADS];
static struct view full_fences; /* joint knowledge of all full fences */
static struct word words[WORDS_MAX];
static unsigned word_count;
static struct data data[DATA_MAX];
static unsigned data_count;
static struct event events[EVENTS_MAX];
static struct lock locks[LOCKS_MAX];
static unsigned lock_count;
static unsigned running;
static bool started;
static struct decision decisions[DEPTH_MAX];
static unsigned depth;   /* number of decisions of this execution so far */
static unsigned decided; /* number of them repeated from the last execution */
static unsigned sleeping;
static const char *error;
static jmp_buf scheduler;
static jmp_buf beginnings[MODEL_THREADS]; /* of the threads' stacks */
static const struct model_program *current;
static _Alignas(16) uint8_t stacks[MODEL_THREADS][STACK_BYTES];

/* Ends this execution. Called on a thread's stack, which is abandoned. */
static void __attribute__((noreturn)) end_execution(const char *what)
{
    error = what;
    _longjmp(scheduler, 1);
}

void model_fail(const char *what)
{
    end_execution(what);
}

static void join(struct view *view, const struct view *with, bool steps)
{
    /* All words, also those without a location: a constant number is quicker. */
    for (unsigned i = 0; i < WORDS_MAX; i++) {
        view->word[i] = view->word[i] < with->word[i] ? with->word[i] : view->word[i];
    }
    for (unsigned i = 0; steps && i < MODEL_THREADS; i++) {
        if (view->step[i] < with->step[i]) {
            view->step[i] = with->step[i];
        }
    }
}

static bool blocked(const struct thread *thread)
{
    const struct operation *next = &thread->next;

    if (next->kind == END) {
        return true;
    }
    if (next->kind == LOCK) {
        return locks[next->place].is_taken;
    }
    if (next->kind != LOAD) {
        return false;
    }
    if (next->place >= WORDS_MAX) {
        unsigned event = next->place - WORDS_MAX;

        return events[event].signals == thread->signals[event];
    }
    return words[next->place].count <= next->awaited;
}

/* Returns true if the order of the two accesses matters. */
static bool dependent(const struct operation *a, const struct operation *b)
{
    if (a->kind == FENCE || b->kind == FENCE) {
        return a->kind == b->kind;
    }
    if (a->kind == LOCK || b->kind == LOCK) {
        return a->kind == b->kind && a->place == b->place;
    }
    return a->place == b->place && (a->kind == STORE || b->kind == STORE);
}

static struct decision *next_decision(void)
{
    if (depth == DEPTH_MAX) {
        end_execution("too many decisions");
    }
    return &decisions[depth++];
}

/* Chooses the thread that continues. Returns MODEL_THREADS if no thread has to be tried. */
static unsigned choose_thread(void)
{
    bool replayed = depth < decided;
    struct decision *decision = next_decision();
    unsigned enabled = 0;
    unsigned chosen;

    for (unsigned i = 0; i < MODEL_THREADS; i++) {
        enabled |= blocked(&threads[i]) ? 0 : 1u << i;
    }
    if (enabled == 0) {
        for (unsigned i = 0; i < MODEL_THREADS; i++) {
            if (threads[i].next.kind != END) {
                end_execution("a thread waits for ever");
            }
        }
        end_execution(NULL);
    }
    if (!replayed) {
        *decision = (struct decision){.of_thread = true, .sleeping = sleeping};
    }
    if (!replayed || decision->chosen == MODEL_THREADS) {
        unsigned candidates = enabled & ~decision->sleeping & ~decision->tried;

        decision->chosen = candidates == 0 ? MODEL_THREADS : (unsigned)__builtin_ctz(candidates);
    }
    chosen = decision->chosen;
    if (chosen == MODEL_THREADS) {
        return chosen;
    }
    sleeping = 0;
    for (unsigned i = 0; i < MODEL_THREADS; i++) {
        if (((decision->sleeping | decision->tried) >> i & 1u) != 0 && i != chosen &&
            !dependent(&threads[i].next, &threads[chosen].next)) {
            sleeping |= 1u << i;
        }
    }
    return chosen;
}

static unsigned choose(unsigned count)
{
    bool replayed = depth < decided;
    struct decision *decision;

    if (count == 1) {
        return 0;
    }
    decision = next_decision();
    if (!replayed) {
        *decision = (struct decision){.count = count};
    }
    return decision->chosen;
}

/* Prepares the next execution. Returns false after the last one. */
static bool advance(void)
{
    while (depth != 0) {
        struct decision *last = &decisions[depth - 1];

        if (!last->of_thread) {
            if (++last->chosen < last->count) {
                decided = depth;
                return true;
            }
        } else if (last->chosen != MODEL_THREADS) {
            last->tried |= 1u << last->chosen;
            last->chosen = MODEL_THREADS; /* chosen again once the enabled threads are known */
            decided = depth;
            return true;
        }
        depth--;
    }
    return false;
}

/* Called before an access: another thread may run first. */
static void step(struct operation operation)
{
    unsigned self = running;
    unsigned next;

    threads[self].next = operation;
    next = choose_thread();
    if (next == MODEL_THREADS) {
        end_execution(NULL); /* other executions cover the rest */
    }
    running = next;
    if (next != self && _setjmp(threads[self].context) == 0) {
        _longjmp(threads[next].context, 1);
    }
    threads[running].known.step[running]++;
}

static unsigned word_of(const void *location)
{
    for (unsigned i = 0; i < word_count; i++) {
        if ((size_t)((const uint8_t *)location - words[i].location) < words[i].bytes) {
            return i;
        }
    }
    return WORDS_MAX;
}

bool model_is_shared(const void *location)
{
    return word_of(location) != WORDS_MAX;
}

static uint64_t plain_load(const void *location, unsigned bytes)
{
    uint64_t value = 0;

    memcpy(&value, location, bytes); /* little-endian */
    return value;
}

static void plain_store(void *location, unsigned bytes, uint64_t value)
{
    memcpy(location, &value, bytes); /* little-endian */
}

static struct data *data_of(const void *location)
{
    for (unsigned i = 0; i < data_count; i++) {
        if (data[i].location == location) {
            return &data[i];
        }
    }
    if (data_count == DATA_MAX) {
        model_fail("too much data");
    }
    data[data_count] = (struct data){.location = location};
    return &data[data_count++];
}

static void access_data(const void *location, bool stores)
{
    struct data *of = data_of(location);
    struct view *known = &threads[running].known;

    known->step[running]++;
    if (of->written > known->step[of->writer]) {
        model_fail(stores ? "data race: a store not ordered after the one before"
                          : "data race: a load not ordered after the store");
    }
    for (unsigned i = 0; stores && i < MODEL_THREADS; i++) {
        if (of->read[i] > known->step[i]) {
            model_fail("data race: a store not ordered after the load of the old value");
        }
    }
    if (stores) {
        of->writer = running;
        of->written = known->step[running];
    } else {
        of->read[running] = known->step[running];
    }
}

static uint64_t load(const void *location, unsigned bytes, bool acquires)
{
    unsigned index = word_of(location);
    struct thread *thread = &threads[running];
    struct word *word;
    unsigned first;
    unsigned which;
    uint64_t value;

    if (!started) {
        return plain_load(location, bytes);
    }
    if (index == WORDS_MAX) {
        access_data(location, false);
        return plain_load(location, bytes);
    }
    step((struct operation){.kind = LOAD, .place = index});
    word = &words[index];
    first = thread->known.word[index];
    if (first < thread->newer_than[index]) {
        first = thread->newer_than[index];
    }
    thread->newer_than[index] = 0;
    which = word->count - 1 - choose(word->count - first); /* the newest message first */
    thread->known.word[index] = (uint8_t)which;
    thread->read[index] = (uint8_t)which;
    if (acquires) {
        join(&thread->known, &word->message[which].view, true);
    }
    join(&thread->heard, &word->message[which].view, true);
    join(&thread->heard, &thread->known, true);
    value = word->message[which].value >> (8 * ((const uint8_t *)location - word->location));
    return bytes == 8 ? value : value & ((UINT64_C(1) << (8 * bytes)) - 1);
}

uint64_t model_load(const void *location, unsigned bytes)
{
    return load(location, bytes, false);
}

uint64_t model_load_acquire(const void *location, unsigned bytes)
{
    return load(location, bytes, true);
}

static void store(void *location, unsigned bytes, uint64_t value, bool releases)
{
    unsigned index = word_of(location);
    struct thread *thread = &threads[running];
    struct word *word;

    if (!started || index == WORDS_MAX) {
        if (started) {
            access_data(location, true);
        }
        plain_store(location, bytes, value);
        return;
    }
    step((struct operation){.kind = STORE, .place = index});
    word = &words[index];
    /* All stores to one word must be ordered. Then a store can only follow the newest message, and
     * a store to a part of the word changes the newest value. */
    if (thread->known.word[index] != word->count - 1) {
        model_fail("a store to a shared word not ordered after the one before");
    }
    if (word->count == MESSAGES_MAX) {
        model_fail("too many stores");
    }
    if (bytes != word->bytes) {
        unsigned shift = 8 * (unsigned)((const uint8_t *)location - word->location);
        uint64_t mask = ((UINT64_C(1) << (8 * bytes)) - 1) << shift;

        value = (word->message[word->count - 1].value & ~mask) | (value << shift & mask);
    }
    word->message[word->count] =
        (struct message){.value = value, .view = releases ? thread->known : thread->released};
    word->message[word->count].view.word[index] = (uint8_t)word->count;
    thread->known.word[index] = (uint8_t)word->count++;
}

void model_store(void *location, unsigned bytes, uint64_t value)
{
    store(location, bytes, value, false);
}

void model_store_release(void *location, unsigned bytes, uint64_t value)
{
    store(location, bytes, value, true);
}

uint64_t model_update_ordered(void *location, unsigned bytes, uint64_t keep, uint64_t set,
                              uint64_t add, bool acquires, bool releases)
{
    unsigned index = word_of(location);
    struct thread *thread = &threads[running];
    struct word *word = &words[index];
    struct message *newest, *made;
    uint64_t before = plain_load(location, bytes), mask = UINT64_MAX >> (64 - 8 * bytes);

    if (!started) {
        plain_store(location, bytes, ((before & keep) | set) + add);
        return before;
    }
    if (index == WORDS_MAX || word->bytes != bytes) {
        model_fail("an update of what is no shared word");
    }
    step((struct operation){.kind = STORE, .place = index});
    if (word->count == MESSAGES_MAX) {
        model_fail("too many stores");
    }
    newest = &word->message[word->count - 1];
    made = &word->message[word->count];
    if (acquires) {
        join(&thread->known, &newest->view, true);
    }
    join(&thread->heard, &newest->view, true);
    *made = (struct message){.value = (((newest->value & keep) | set) + add) & mask,
                             .view = releases ? thread->known : thread->released};
    join(&made->view, &newest->view, true);
    made->view.word[index] = (uint8_t)word->count;
    thread->read[index] = (uint8_t)(word->count - 1);
    thread->known.word[index] = (uint8_t)word->count++;
    join(&thread->heard, &thread->known, true);
    return newest->value;
}

uint64_t model_update(void *location, unsigned bytes, uint64_t keep, uint64_t set, uint64_t add)
{
    return model_update_ordered(location, bytes, keep, set, add, false, false);
}

static unsigned lock_of(const void *address)
{
    unsigned index = 0;

    while (index < lock_count && locks[index].address != address) {
        index++;
    }
    if (index == lock_count) {
        if (lock_count == LOCKS_MAX) {
            model_fail("too many locks");
        }
        locks[lock_count++] = (struct lock){.address = address};
    }
    return index;
}

void model_lock(const void *lock)
{
    unsigned index;

    if (!started) {
        return;
    }
    index = lock_of(lock);
    step((struct operation){.kind = LOCK, .place = index});
    locks[index].is_taken = true;
    join(&threads[running].known, &locks[index].view, true);
    join(&threads[running].heard, &threads[running].known, true);
}

/* Needs no step: another thread can continue before the next access, or is blocked until then. */
void model_unlock(const void *lock)
{
    unsigned index;

    if (!started) {
        return;
    }
    index = lock_of(lock);
    if (!locks[index].is_taken) {
        model_fail("a lock is given that is not taken");
    }
    locks[index].is_taken = false;
    locks[index].view = threads[running].known;
}

void model_release(void)
{
    if (started) {
        threads[running].released = threads[running].known;
    }
}

void model_acquire(void)
{
    if (started) {
        join(&threads[running].known, &threads[running].heard, true);
    }
}

void model_full(void)
{
    struct thread *thread = &threads[running];

    if (!started) {
        return;
    }
    step((struct operation){.kind = FENCE});
    model_acquire();
    join(&thread->known, &full_fences, false);
    join(&full_fences, &thread->known, false);
    model_release();
}

/* Blocks until the word has a message after the first `seen` ones, which the next load skips. */
static void await_after(unsigned index, unsigned seen)
{
    step((struct operation){.kind = LOAD, .place = index, .awaited = seen});
    threads[running].newer_than[index] = seen;
}

void model_await(const void *location)
{
    unsigned index = word_of(location);

    await_after(index, threads[running].known.word[index] + 1u);
}

void model_await_unread(const void *location)
{
    unsigned index = word_of(location);

    await_after(index, threads[running].read[index] + 1u);
}

void model_signal(unsigned event)
{
    struct thread *thread = &threads[running];

    if (!started) {
        return;
    }
    step((struct operation){.kind = STORE, .place = WORDS_MAX + event});
    events[event].signals++;
    join(&events[event].view, &thread->known, true);
}

static void consume_signals(unsigned event, enum kind kind)
{
    struct thread *thread = &threads[running];

    step((struct operation){.kind = kind, .place = WORDS_MAX + event});
    thread->signals[event] = events[event].signals;
    join(&thread->known, &events[event].view, true);
    join(&thread->heard, &thread->known, true);
}

void model_wait(unsigned event)
{
    consume_signals(event, LOAD);
}

void model_clear(unsigned event)
{
    /* The load of an event would wait for a signal. */
    consume_signals(event, STORE);
}

void model_share(const void *location, unsigned bytes)
{
    struct word *word = &words[word_count];

    if (word_count == WORDS_MAX) {
        abort();
    }
    word->location = location;
    word->bytes = bytes;
    word->count = 1;
    word->message[0] = (struct message){.value = plain_load(location, bytes)};
    word_count++;
}

static void run_thread(void)
{
    current->thread[running]();
    step((struct operation){.kind = END});
    abort(); /* this thread is never chosen again */
}

/* The first frame of a thread's stack: each execution of the thread begins here. */
static void begin_thread(void)
{
    if (_setjmp(beginnings[running]) == 0) {
        _longjmp(scheduler, 1);
    }
    run_thread();
}

static void prepare_stacks(void)
{
    for (running = 0; running < MODEL_THREADS; running++) {
        ucontext_t context;

        getcontext(&context);
        context.uc_stack.ss_sp = stacks[running];
        context.uc_stack.ss_size = STACK_BYTES;
        makecontext(&context, begin_thread, 0);
        if (_setjmp(scheduler) == 0) {
            setcontext(&context);
            abort();
        }
    }
}

static void prepare_execution(void)
{
    memset(threads, 0, sizeof(threads));
    memset(&full_fences, 0, sizeof(full_fences));
    memset(events, 0, sizeof(events));
    lock_count = 0;
    word_count = 0;
    data_count = 0;
    depth = 0;
    sleeping = 0;
    error = NULL;
    running = 0;
    current->prepare();
    for (unsigned i = 0; i < MODEL_THREADS; i++) {
        if (current->thread[i] == NULL) {
            threads[i].next.kind = END;
            continue;
        }
        memcpy(threads[i].context, beginnings[i], sizeof(jmp_buf));
        /* The first step of each thread leads to its first access. */
        threads[i].next = (struct operation){.kind = STORE, .place = WORDS_MAX + EVENTS_MAX + i};
    }
}

static void run_once(void)
{
    prepare_execution();
    started = true;
    if (_setjmp(scheduler) == 0) {
        running = choose_thread();
        if (running != MODEL_THREADS) {
            _longjmp(threads[running].context, 1);
        }
    }
    started = false;
}

struct model_result model_explore(const struct model_program *program, uint64_t limit)
{
    struct model_result result = {0};

    current = program;
    decided = 0;
    prepare_stacks();
    do {
        if (result.executions++ == limit) {
            result.error = "the limit of executions is exceeded";
            return result;
        }
        run_once();
        if (error != NULL) {
            result.error = error;
            return result;
        }
    } while (advance());
    return result;
}
