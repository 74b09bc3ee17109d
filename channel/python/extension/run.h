/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wait loop of all methods. A method makes attempts with the interpreter's lock, and between
 * them sleeps without it, until the deadline. A signal handler of Python may end the method.
 */
#ifndef EXTENSION_RUN_H
#define EXTENSION_RUN_H

#include "endpoint.h"

/* The waits of one call of a method. A malicious peer can end each of them and take back what ended
 * it, and so can an honest peer that was killed. So the deadline counts whether or not a wait was
 * over, and the method pauses between its waits. */
struct run {
    struct endpoint_object *self;
    unsigned uses;     /* ENDPOINT_*: what the method does */
    uint64_t deadline; /* of linux_now(), or CHANNEL_FOREVER */
    uint64_t pause_ns; /* before the next wait; 0 at first */
    bool has_passed;   /* the last wait ended after the deadline; false at first */
};

enum run_result {
    RUN_DONE,
    RUN_RAISED, /* an exception */
    RUN_AGAIN,  /* after a wait */
};

/* Makes an attempt. Has the interpreter's lock, and the endpoint is usable. */
typedef enum run_result run_attempt(struct endpoint_object *self, void *context);

/* Returns the wait for an event after which an attempt may succeed. Has the interpreter's lock, and
 * the endpoint is usable. */
typedef struct channel_wait run_wait(const struct endpoint_object *self, void *context);

/* Makes attempts, and waits between them, until one is done or raises an exception, the deadline
 * passed, or a signal handler raised an exception or closed the endpoint. An attempt follows each
 * wait that was over, even if the deadline passed meanwhile. A method may call it several times
 * with one `run`. Returns false with an exception. */
bool run_until(struct run *run, run_attempt *attempt, run_wait *wait, void *context);

/* The wait for a message, or a new state. */
struct channel_wait run_wait_for_message(const struct endpoint_object *self, void *context);

/* Converts a timeout in seconds from now on, or None, to a deadline (a uint64_t). For the format
 * "O&" of PyArg_ParseTuple(): returns 0 with an exception. */
int run_read_deadline(PyObject *timeout, void *deadline);

#endif
