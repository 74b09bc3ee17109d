/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lives of a machine with a server on kept connections: each is a process that executes lwIP and
 * the server. All lives have the same kept memory. A life ends before one of the frames that it
 * sends, or before one of the stores to its records.
 *
 * The server's protocol: a request is struct life_request and as many bytes as it says. An answer
 * is struct life_answer and as many bytes as it says, which depend on the life that made the
 * answer. So an answer of two lives, and one that was made twice, are found.
 */
#ifndef TESTS_CONNECTION_LIFE_H
#define TESTS_CONNECTION_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIFE_PORT    80u
#define LIFE_KEPT    3u /* connections that are kept */
#define LIFE_ENDLESS UINT64_MAX
#define LIFE_STRANGE 3 /* exit status: the server was told something wrong */
#define LIFE_ENDED   4 /* exit status: the end that was planned */

struct life_request {
    uint32_t number;
    uint32_t bytes; /* that follow, and flags */
};

#define LIFE_CLOSE       0x80000000u /* the server closes behind the answer */
#define LIFE_CLOSE_LATER 0x40000000u /* it closes when the answer was acknowledged */
#define LIFE_FLAGS       (LIFE_CLOSE | LIFE_CLOSE_LATER)

struct life_answer {
    uint32_t number;
    uint32_t sum; /* of the bytes of the request */
    uint32_t life;
    uint32_t bytes; /* that follow */
};

/* The byte of an answer. */
static inline uint8_t life_byte(const struct life_answer *answer, uint32_t i)
{
    return (uint8_t)(answer->life * 31 + answer->number * 7 + i + (i >> 8));
}

/* When a life ends. */
struct life_plan {
    uint64_t frames; /* that it sends before */
    uint64_t stores;
};

/* Allocates and zeroes the kept memory of all lives. `slots`: as many fit; 0: there is none. */
void life_memory(unsigned slots);
uint8_t *life_memory_start(void);
size_t life_memory_bytes(void);

/* Called with each frame that a life sends. */
typedef void (*life_sent)(const uint8_t *frame, size_t bytes);

/* Begins a life at the time `now` (ms). Returns false if it has ended already. */
bool life_begin(uint32_t now, const struct life_plan *plan, life_sent sent);
/* Hands a frame to the life, if bytes is not 0, and lets it execute its timers. Returns false if
 * the life has ended. */
bool life_step(uint32_t now, const uint8_t *frame, size_t bytes, life_sent sent);
/* Ends the life, if there is one. */
void life_end(void);
/* Counts lines that a life has printed and that contain the text. */
unsigned life_lines(const char *text);

#endif
