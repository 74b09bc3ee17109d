/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the programs of ./bulkhead bench ring have in common: two processes, each on a processor of
 * its own, that exchange numbered messages. The loops are inlined together with
 * the functions of the measured system, once for each shape of messages, so that sizes are
 * constants as in a program that has messages of one size.
 */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#define BATCH_MAX 32u

/* Rounds between two looks at the clock. */
#define THROUGHPUT_ROUNDS 4096u
#define LATENCY_ROUNDS    256u

struct shape {
    uint64_t bytes; /* of a message: a multiple of 8 */
    uint32_t batch; /* most messages that are sent or received at a time, 1 or BATCH_MAX */
    bool is_whole;  /* all content is written and read, otherwise its first 8 bytes */
};

enum measurement {
    THROUGHPUT, /* one side sends, the other receives */
    LATENCY,    /* one side sends a message, the other answers with one */
};

struct exchange {
    enum measurement measurement;
    const char *system; /* of those that the program measures */
    struct shape shape;
    uint64_t ring_bytes;
    double seconds;
    int processors[2]; /* of the receiver, which measures, and of the sender */
};

/* Memory that both sides map at the same address. */
struct meeting {
    _Alignas(128) uint64_t ready;          /* sides that can begin */
    _Alignas(128) uint64_t last;           /* number of the last message, once it was sent */
    _Alignas(128) uint8_t system_memory[]; /* of the measured system */
};

/* Reads the arguments. Ends the program if they are wrong. */
struct exchange exchange_arguments(int count, char **words);

/* Returns memory that both processes share, with `bytes` for the system. */
struct meeting *exchange_memory(size_t bytes);

/* Forks. Each process continues on its processor; returns 0 in the receiver, and 1 in the sender.
 */
unsigned exchange_fork(const struct exchange *exchange);

/* Waits until both sides called it. */
void exchange_meet(struct meeting *meeting);

/* Prints the result. Ends the program. */
_Noreturn void exchange_report(uint64_t messages, uint64_t nanoseconds);

/* Waits for the end of the receiver, which ends the sender. */
_Noreturn void exchange_wait(void);

_Noreturn void exchange_fail(const char *what);

uint64_t exchange_nanoseconds(void);

/* Sends up to `shape.batch` messages with consecutive numbers from `number`. Returns how many. */
typedef uint32_t send_function(void *side, struct shape shape, uint64_t number);

/* Receives up to `shape.batch` messages, which have consecutive numbers from `number`. */
typedef uint32_t receive_function(void *side, struct shape shape, uint64_t number);

ALWAYS_INLINE void write_content(void *place, struct shape shape, uint64_t number)
{
    uint64_t *words = place;
    uint64_t count = shape.is_whole ? shape.bytes / sizeof(*words) : 1;

    for (uint64_t i = 0; i < count; i++) {
        words[i] = number;
    }
}

ALWAYS_INLINE void check_content(const void *place, struct shape shape, uint64_t number)
{
    const uint64_t *words = place;
    uint64_t count = shape.is_whole ? shape.bytes / sizeof(*words) : 1;
    uint64_t sum = 0;

    for (uint64_t i = 0; i < count; i++) {
        sum += words[i];
    }
    if (__builtin_expect(sum != number * count, false)) {
        exchange_fail("a message has other content than was sent");
    }
}

/* Write and check `count` messages that lie one behind the other. */
ALWAYS_INLINE void write_contents(void *place, struct shape shape, uint64_t number, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        write_content((uint8_t *)place + i * shape.bytes, shape, number + i);
    }
}

ALWAYS_INLINE void check_contents(const void *place, struct shape shape, uint64_t number,
                                  uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        check_content((const uint8_t *)place + i * shape.bytes, shape, number + i);
    }
}

ALWAYS_INLINE bool is_last(const struct meeting *meeting, uint64_t number)
{
    return number != 0 && __atomic_load_n(&meeting->last, __ATOMIC_ACQUIRE) == number;
}

ALWAYS_INLINE void send_all(const struct exchange *exchange, struct meeting *meeting, void *side,
                            send_function *send, struct shape shape)
{
    uint64_t duration = (uint64_t)(exchange->seconds * 1e9);
    uint64_t start = exchange_nanoseconds();
    uint64_t number = 1;

    do {
        for (unsigned i = 0; i < THROUGHPUT_ROUNDS; i++) {
            number += send(side, shape, number);
        }
    } while (exchange_nanoseconds() - start < duration);
    __atomic_store_n(&meeting->last, number - 1, __ATOMIC_RELEASE);
}

ALWAYS_INLINE _Noreturn void receive_all(const struct meeting *meeting, void *side,
                                         receive_function *receive, struct shape shape)
{
    uint64_t number = 1;
    uint64_t start;

    do {
        number += receive(side, shape, number);
    } while (number == 1);
    start = exchange_nanoseconds();
    do {
        uint32_t count = receive(side, shape, number);

        number += count;
        if (count == 0 && is_last(meeting, number - 1)) {
            break;
        }
    } while (true);
    exchange_report(number - 1, exchange_nanoseconds() - start);
}

ALWAYS_INLINE void send_one(void *side, send_function *send, struct shape shape, uint64_t number)
{
    while (send(side, shape, number) == 0) {
    }
}

ALWAYS_INLINE void answer_all(const struct meeting *meeting, void *side, send_function *send,
                              receive_function *receive, struct shape shape)
{
    uint64_t number = 1;

    do {
        if (receive(side, shape, number) != 0) {
            send_one(side, send, shape, number);
            number++;
        }
    } while (!is_last(meeting, number - 1));
}

ALWAYS_INLINE _Noreturn void ask_all(const struct exchange *exchange, struct meeting *meeting,
                                     void *side, send_function *send, receive_function *receive,
                                     struct shape shape)
{
    uint64_t duration = (uint64_t)(exchange->seconds * 1e9);
    uint64_t start = exchange_nanoseconds();
    uint64_t number = 1;
    uint64_t passed;

    do {
        for (unsigned i = 0; i < LATENCY_ROUNDS; i++) {
            send_one(side, send, shape, number);
            while (receive(side, shape, number) == 0) {
            }
            number++;
        }
        passed = exchange_nanoseconds() - start;
    } while (passed < duration);
    __atomic_store_n(&meeting->last, number - 1, __ATOMIC_RELEASE);
    exchange_report(number - 1, passed);
}

/* `index`: of the side, as returned by exchange_fork(). */
ALWAYS_INLINE void exchange_shape(const struct exchange *exchange, struct meeting *meeting,
                                  unsigned index, void *side, send_function *send,
                                  receive_function *receive, struct shape shape)
{
    exchange_meet(meeting);
    if (exchange->measurement == THROUGHPUT && index == 0) {
        receive_all(meeting, side, receive, shape);
    } else if (exchange->measurement == THROUGHPUT) {
        send_all(exchange, meeting, side, send, shape);
    } else if (index == 0) {
        ask_all(exchange, meeting, side, send, receive, shape);
    } else {
        answer_all(meeting, side, send, receive, shape);
    }
}

ALWAYS_INLINE void exchange_size(const struct exchange *exchange, struct meeting *meeting,
                                 unsigned index, void *side, send_function *send,
                                 receive_function *receive, uint64_t bytes)
{
    const struct shape shape = exchange->shape;

    if (shape.batch == 1 && shape.is_whole) {
        exchange_shape(exchange, meeting, index, side, send, receive,
                       (struct shape){bytes, 1, true});
    } else if (shape.batch == 1) {
        exchange_shape(exchange, meeting, index, side, send, receive,
                       (struct shape){bytes, 1, false});
    } else if (shape.is_whole) {
        exchange_shape(exchange, meeting, index, side, send, receive,
                       (struct shape){bytes, BATCH_MAX, true});
    } else {
        exchange_shape(exchange, meeting, index, side, send, receive,
                       (struct shape){bytes, BATCH_MAX, false});
    }
}

/* Defines name(), which measures a system. It returns in the sender; the receiver reports, and
 * ends. A function for each size keeps the functions small, as compilers inline less into large
 * ones. */
#define EXCHANGE_SYSTEM(name, send, receive)                                                   \
    EXCHANGE_SYSTEM_OF(name, send, receive, 8)                                                 \
    EXCHANGE_SYSTEM_OF(name, send, receive, 64)                                                \
    EXCHANGE_SYSTEM_OF(name, send, receive, 1024)                                              \
    EXCHANGE_SYSTEM_OF(name, send, receive, 65536)                                             \
    static void name(const struct exchange *exchange, struct meeting *meeting, unsigned index, \
                     void *side)                                                               \
    {                                                                                          \
        switch (exchange->shape.bytes) {                                                       \
        case 8:                                                                                \
            name##_8(exchange, meeting, index, side);                                          \
            break;                                                                             \
        case 64:                                                                               \
            name##_64(exchange, meeting, index, side);                                         \
            break;                                                                             \
        case 1024:                                                                             \
            name##_1024(exchange, meeting, index, side);                                       \
            break;                                                                             \
        case 65536:                                                                            \
            name##_65536(exchange, meeting, index, side);                                      \
            break;                                                                             \
        default:                                                                               \
            exchange_fail("messages have 8, 64, 1024 or 65536 bytes");                         \
        }                                                                                      \
    }

#define EXCHANGE_SYSTEM_OF(name, send, receive, bytes)                                        \
    static __attribute__((noinline)) void name##_##bytes(                                     \
        const struct exchange *exchange, struct meeting *meeting, unsigned index, void *side) \
    {                                                                                         \
        exchange_size(exchange, meeting, index, side, send, receive, bytes);                  \
    }

#endif
