/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands of bulkhead-channel share. */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "channel/copy.h"
#include "channel/linux.h"

#define STATUS_DONE    0
#define STATUS_TIMEOUT 1 /* the time passed, or the peer ended, before all was done */
#define STATUS_PROBLEM 2

#define ROUND_TRIPS_MAX UINT64_C(10000)

/* Tags of the command's messages. Those of its calls are larger (CALL_TAG). */
enum { TAG_MESSAGE, TAG_END_OF_STREAM, TAG_ECHO, TAG_POLL };

struct options {
    const char *channel;
    bool is_file; /* `channel` is a path */
    unsigned end;
    enum linux_kind kind;
    uint64_t ring_bytes;
    uint64_t timeout; /* nanoseconds; CHANNEL_FOREVER */
    uint64_t count;   /* 0: no limit */
    uint64_t bytes;
    uint64_t trips;    /* round trips that bench measures */
    uint64_t interval; /* nanoseconds between two messages that bench sends; 0: none */
    bool keeps;        /* goes on with the peer's next life */
    bool listens;
    char **words; /* the rest of the command line */
};

/* Prints "bulkhead-channel: ..." to standard error. Returns STATUS_PROBLEM. */
int command_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a violation of the format by the peer. */
int command_fail_format(const struct channel_error *error);

/* The same for a peer that ended, violated the format, or did not answer in time. Returns a
 * status. */
int command_fail_ended(const struct channel *channel);

/* Returns the point in time at which the timeout of an operation that begins now has passed. */
uint64_t command_deadline(const struct options *options);

/* Waits until the endpoint is connected. Returns a status; prints what is wrong. */
int command_connect(struct linux_endpoint *endpoint, const struct options *options,
                    uint64_t deadline);

/* Returns a status for the result of sending `length` bytes; prints what is wrong. */
int command_check_sent(struct linux_endpoint *endpoint, uint64_t length,
                       enum channel_result result);

/* Sends a message. Returns a status; prints what is wrong. */
int command_send(struct linux_endpoint *endpoint, const void *content, uint64_t length,
                 uint32_t tag, uint64_t deadline);

/* Waits for a message, and returns it in place: channel_receive_end() releases it. NULL, with a
 * status, if the peer ended or the deadline passed. */
const uint8_t *command_receive(struct linux_endpoint *endpoint, uint64_t *length, uint32_t *tag,
                               uint64_t deadline, int *status);

/* Sends one message or value. Returns a status; prints what is wrong. */
typedef int command_send_one(struct linux_endpoint *endpoint, const void *content, uint64_t length,
                             uint64_t deadline);

/* Calls `send_one` for each word of the command line, or for each message of standard input if
 * there are no words, until a call does not return STATUS_DONE. Returns the last status. */
int command_send_input(struct linux_endpoint *endpoint, const struct options *options,
                       command_send_one *send_one);

/* Uses one message in place. Returns a status; prints what is wrong. */
typedef int command_receive_one(struct linux_endpoint *endpoint, const struct options *options,
                                const uint8_t *content, uint64_t length, uint32_t tag);

/* Calls `receive_one` for each message, until a call does not return STATUS_DONE, the peer ended,
 * or the options' count is reached. Returns a status; prints what is wrong. */
int command_receive_each(struct linux_endpoint *endpoint, const struct options *options,
                         command_receive_one *receive_one);

/* How messages follow each other in standard input and standard output: each ends with a newline or
 * with a NUL, or begins with its length, a little-endian number of 4 bytes. */
enum framing { FRAMING_LINES, FRAMING_NULS, FRAMING_LENGTHS };

/* Sets the framing of this process; at first it is FRAMING_LINES. */
void framing_set(enum framing chosen);

/* Writes a message to standard output. Returns a status; prints what is wrong. */
int framing_write(const uint8_t *content, uint64_t length);

/* A message of standard input. Zero at first; free() `content` in the end. */
struct input {
    char *content;
    size_t size; /* of the buffer, for getdelim() */
    uint64_t length;
};

/* Reads the next message of standard input. Sets *has_message to false at its end. Returns a
 * status; prints what is wrong. */
int framing_read(struct input *input, bool *has_message);

/* Executes the words of the command line as a program to which the channel is lent. Returns an exit
 * status if it can't. */
int lend(const struct options *options);

/* The commands. Each returns the exit status. */
int send_messages(struct linux_endpoint *endpoint, const struct options *options);
int send_values(struct linux_endpoint *endpoint, const struct options *options);
int send_broadcasts(struct linux_endpoint *endpoint, const struct options *options);
int receive_messages(struct linux_endpoint *endpoint, const struct options *options);
int receive_values(struct linux_endpoint *endpoint, const struct options *options);
int receive_broadcasts(struct linux_endpoint *endpoint, const struct options *options);
int make_calls(struct linux_endpoint *endpoint, const struct options *options);
int answer_calls(struct linux_endpoint *endpoint, const struct options *options);
int exchange_streams(struct linux_endpoint *endpoint, const struct options *options);
int measure(struct linux_endpoint *endpoint, const struct options *options);
int show_counters(struct linux_endpoint *endpoint, const struct options *options);

#define BRIDGE_WORDS_MAX 256u

/* Executes the bridge of the Python package in place of this process, with these words as its
 * command line. Returns a status only if it can't. */
int bridge_execute(char **words, size_t count);

#endif
