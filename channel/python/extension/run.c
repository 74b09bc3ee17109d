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
    struct endpoint_object *self = run->self;
    uint64_t now = linux_now();
    uint64_t left = run->deadline > now ? run->deadline - now : 0;
    uint64_t pause_ns = earlier(run->pause_ns, left);
    const struct timespec time = {.tv_nsec = (long)pause_ns};

    if (pause_ns == 0) {
        return;
    }
    self->uses |= run->uses;
    Py_BEGIN_ALLOW_THREADS;
    /* A signal may end it. */
    (void)nanosleep(&time, NULL);
    Py_END_ALLOW_THREADS;
    self->uses &= ~run->uses;
}

/* Each pause is twice as long as the last one, so an honest peer does not delay the method. */
static uint64_t next_pause(uint64_t pause_ns)
{
    return pause_ns == 0 ? PAUSE_MIN_NS : earlier(2 * pause_ns, PAUSE_MAX_NS);
}

/* Returns false with an exception if no attempt must follow. A signal handler may raise one, or
 * close the channel. */
static bool may_go_on(const struct run *run)
{
    return PyErr_CheckSignals() == 0 && endpoint_is_usable(run->self, run->uses);
}

/* Waits once. Returns false with an exception if no attempt must
 * follow. */
static bool wait_once(struct run *run, run_wait *wait, void *context)
{
    struct channel_wait event;
    int result;

    if (run->has_passed) {
        return raise_timeout() != NULL;
    }
    pause_once(run);
    if (!may_go_on(run)) {
        return false;
    }
    event = wait(run->self, context);
    result =
        endpoint_sleep(run->self, run->uses, &event, earlier(linux_now() + WAIT_NS, run->deadline));
    if (result < 0 || !may_go_on(run)) {
        return false;
    }
    run->pause_ns = result > 0 ? next_pause(run->pause_ns) : 0;
    run->has_passed = linux_now() >= run->deadline;
    return result > 0 || !run->has_passed || raise_timeout() != NULL;
}

bool run_until(struct run *run, run_attempt *attempt, run_wait *wait, void *context)
{
    enum run_result result = attempt(run->self, context);

    while (result == RUN_AGAIN) {
        result = wait_once(run, wait, context) ? attempt(run->self, context) : RUN_RAISED;
    }
    return result == RUN_DONE;
}

struct channel_wait run_wait_for_message(const struct endpoint_object *self, void *context)
{
    (void)context;
    return channel_wait_for_message(linux_channel(self->endpoint));
}
