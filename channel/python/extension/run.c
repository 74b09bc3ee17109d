/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include "errors.h"
#include <time.h>

/* A signal handler of Python may end the method, so each wait is short. */
#define WAIT_NS UINT64_C(100000000)

#define PAUSE_MIN_NS UINT64_C(1000)
#define PAUSE_MAX_NS UINT64_C(10000000)

int run_read_deadline(PyObject *timeout, void *deadline)
{
    double seconds;

    if (timeout == Py_None) {
        *(uint64_t *)deadline = CHANNEL_FOREVER;
        return 1;
    }
    seconds = PyFloat_AsDouble(timeout);
    if (seconds == -1.0 && PyErr_Occurred() != NULL) {
        return 0;
    }
    if (!(seconds >= 0 && seconds < 1e9)) {
        PyErr_SetString(PyExc_ValueError, "a timeout is None or a number of seconds from 0 on");
        return 0;
    }
    *(uint64_t *)deadline = linux_now() + (uint64_t)(seconds * 1e9);
    return 1;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Sleeps before a wait that follows a wait that was over. */
static void pause_once(const struct run *run)
{
    uint64_t now = linux_now();
    uint64_t left = run->deadline > now ? run->deadline - now : 0;
    uint64_t pause_ns = earlier(run->pause_ns, left);
    const struct timespec time = {.tv_nsec = (long)pause_ns};

    if (pause_ns != 0) {
        /* A signal may end it. */
        (void)nanosleep(&time, NULL);
    }
}

/* Each pause is twice as long as the last one, so an honest peer does not delay the method. */
static uint64_t next_pause(uint64_t pause_ns)
{
    return pause_ns == 0 ? PAUSE_MIN_NS : earlier(2 * pause_ns, PAUSE_MAX_NS);
}

/* Waits once, without the interpreter's lock. Returns false with an exception if no attempt must
 * follow. */
static bool wait_once(struct run *run, run_wait *wait, void *context)
{
    struct endpoint_object *self = run->self;
    bool is_over;

    if (run->has_passed) {
        return raise_timeout() != NULL;
    }
    self->is_busy = true;
    Py_BEGIN_ALLOW_THREADS;
    pause_once(run);
    is_over = wait(self, context, earlier(linux_now() + WAIT_NS, run->deadline));
    Py_END_ALLOW_THREADS;
    self->is_busy = false;
    /* A signal handler may have closed the channel. */
    if (PyErr_CheckSignals() != 0 || !endpoint_is_usable(self)) {
        return false;
    }
    run->pause_ns = is_over ? next_pause(run->pause_ns) : 0;
    run->has_passed = linux_now() >= run->deadline;
    return is_over || !run->has_passed || raise_timeout() != NULL;
}

bool run_until(struct run *run, run_attempt *attempt, run_wait *wait, void *context)
{
    enum run_result result = attempt(run->self, context);

    while (result == RUN_AGAIN) {
        result = wait_once(run, wait, context) ? attempt(run->self, context) : RUN_RAISED;
    }
    return result == RUN_DONE;
}

bool run_wait_for_message(struct endpoint_object *self, void *context, uint64_t until)
{
    (void)context;
    return linux_wait_for_message(self->endpoint, until);
}
