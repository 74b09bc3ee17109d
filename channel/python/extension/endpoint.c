/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint.h"

#include "numbers.h"
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool endpoint_is_usable(const struct endpoint_object *self, unsigned uses)
{
    if (!self->is_open) {
        PyErr_SetString(PyExc_ValueError, "the channel is closed");
    } else if (!linux_is_own(self->endpoint)) {
        PyErr_SetString(PyExc_RuntimeError, "the channel belongs to another process: open it here");
    } else if ((self->uses & uses & ENDPOINT_RECEIVES) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "another thread receives from the channel");
    } else if ((self->uses & uses) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "another thread sends to the channel");
    } else {
        return true;
    }
    return false;
}

void endpoint_wake_all(const struct endpoint_object *self)
{
    const uint64_t one = 1;

    for (unsigned i = 0; i < 2; i++) {
        const struct endpoint_sleeper *sleeper = &self->sleepers[i];

        /* It fails only if the counter is full: then the thread is being woken. */
        if (sleeper->is_asleep && write(sleeper->wake, &one, sizeof(one)) < 0) {
            continue;
        }
    }
}

static uint64_t flags_asleep(const struct endpoint_object *self)
{
    return self->sleepers[0].flags | self->sleepers[1].flags;
}

/* Makes what others need to end the sleep. Returns false with an exception. */
static bool prepare_wake(struct endpoint_sleeper *sleeper)
{
    if (!sleeper->has_wake) {
        sleeper->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        sleeper->has_wake = sleeper->wake >= 0;
    }
    return sleeper->has_wake || PyErr_SetFromErrno(PyExc_OSError) != NULL;
}

int endpoint_sleep(struct endpoint_object *self, unsigned uses, const struct channel_wait *wait,
                   uint64_t until)
{
    struct endpoint_sleeper *sleeper = &self->sleepers[(uses & ENDPOINT_RECEIVES) != 0 ? 0 : 1];
    uint64_t discarded;

    if (!prepare_wake(sleeper)) {
        return -1;
    }
    if (!linux_sleep_begin(self->endpoint, wait, flags_asleep(self))) {
        return 1;
    }
    sleeper->is_asleep = true;
    sleeper->flags = wait->flags;
    self->uses |= uses;
    Py_BEGIN_ALLOW_THREADS;
    linux_sleep(self->endpoint, sleeper->wake, until);
    Py_END_ALLOW_THREADS;
    self->uses &= ~uses;
    sleeper->is_asleep = false;
    sleeper->flags = 0;
    if (linux_sleep_end(self->endpoint, flags_asleep(self))) {
        endpoint_wake_all(self);
        return 1;
    }
    return read(sleeper->wake, &discarded, sizeof(discarded)) == sizeof(discarded) ||
           wait->is_ready(wait);
}

static void close_wakes(const struct endpoint_object *self)
{
    for (unsigned i = 0; i < 2; i++) {
        if (self->sleepers[i].has_wake) {
            close(self->sleepers[i].wake);
        }
    }
}

/* Returns false with a problem if the function is an end of a channel of another kind. */
static bool check_function(const struct linux_endpoint *endpoint,
                           const struct endpoint_arguments *arguments, char *problem)
{
    static const char *const kinds[] = {
        [LINUX_MESSAGES] = "messages",
        [LINUX_VALUE] = "values",
        [LINUX_ONE_WAY] = "messages one way",
    };
    enum linux_kind kind = linux_endpoint_kind(endpoint);
    unsigned end = linux_endpoint_end(endpoint);

    if (kind == arguments->kind && (kind != LINUX_ONE_WAY || end == arguments->end)) {
        return true;
    }
    (void)snprintf(problem, LINUX_PROBLEM_BYTES, "%s is end %u of a channel of %s", arguments->name,
                   end, kinds[kind]);
    return false;
}

/* Maps the endpoint that the arguments name. Returns NULL with a problem. */
static struct linux_endpoint *map(const struct endpoint_arguments *arguments, char *problem)
{
    struct linux_endpoint *endpoint;

    if (strchr(arguments->name, '/') != NULL) {
        return linux_map_file(arguments->name, arguments->end, arguments->kind,
                              arguments->ring_bytes, problem);
    }
    endpoint = linux_map_function(arguments->name, problem);
    if (endpoint != NULL && !check_function(endpoint, arguments, problem)) {
        linux_close(endpoint);
        endpoint = NULL;
    }
    return endpoint;
}

bool endpoint_open(struct endpoint_object *self, const struct endpoint_arguments *arguments)
{
    char problem[LINUX_PROBLEM_BYTES];
    struct linux_endpoint *endpoint;

    if (self->endpoint != NULL) {
        PyErr_SetString(PyExc_ValueError, "the channel was opened before");
        return false;
    }
    endpoint = map(arguments, problem);
    if (endpoint == NULL) {
        PyErr_SetString(PyExc_OSError, problem);
        return false;
    }
    if (!linux_begin(endpoint, problem)) {
        linux_close(endpoint);
        PyErr_SetString(PyExc_OSError, problem);
        return false;
    }
    self->endpoint = endpoint;
    self->is_open = true;
    return true;
}

static PyObject *endpoint_counters(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    const struct channel_control *control;
    unsigned end;

    if (!PyArg_ParseTuple(arguments, "O&", number_read_end, &end) || !endpoint_is_usable(self, 0)) {
        return NULL;
    }
    control = linux_control(self->endpoint, end);
    if (control == NULL) {
        PyErr_SetString(PyExc_ValueError, "the receiver of a one-way channel has no counters");
        return NULL;
    }
    return Py_BuildValue("KKKKKK", (unsigned long long)word_load(&control->generation),
                         (unsigned long long)word_load(&control->sent),
                         (unsigned long long)word_load(&control->received),
                         (unsigned long long)word_load(&control->notifications),
                         (unsigned long long)word_load(&control->sleeps),
                         (unsigned long long)word_load(&control->errors));
}

static PyObject *endpoint_fileno(PyObject *object, PyObject *none)
{
    const struct endpoint_object *self = (const struct endpoint_object *)object;

    (void)none;
    return endpoint_is_usable(self, 0) ? PyLong_FromLong(linux_endpoint_bell(self->endpoint))
                                       : NULL;
}

static PyObject *endpoint_end(PyObject *object, PyObject *none)
{
    const struct endpoint_object *self = (const struct endpoint_object *)object;

    (void)none;
    return endpoint_is_usable(self, 0) ? PyLong_FromUnsignedLong(linux_endpoint_end(self->endpoint))
                                       : NULL;
}

static PyObject *endpoint_arm(PyObject *object, PyObject *none)
{
    const struct endpoint_object *self = (const struct endpoint_object *)object;
    bool is_armed;

    (void)none;
    if (!endpoint_is_usable(self, 0)) {
        return NULL;
    }
    if (linux_broadcast_sender(self->endpoint) != NULL) {
        PyErr_SetString(PyExc_ValueError, "the sender of a one-way channel receives nothing");
        return NULL;
    }
    is_armed = linux_arm(self->endpoint);
    /* It has silenced a doorbell that may have rung for a thread that sleeps. */
    endpoint_wake_all(self);
    return PyBool_FromLong(is_armed);
}

static PyObject *endpoint_close(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    /* A child of fork() has no threads of its parent. */
    if (self->is_open && self->uses != 0 && linux_is_own(self->endpoint)) {
        PyErr_SetString(PyExc_RuntimeError, "another thread uses the channel");
        return NULL;
    }
    if (self->is_open) {
        self->is_open = false;
        linux_close(self->endpoint);
    }
    Py_RETURN_NONE;
}

void endpoint_dealloc(PyObject *object)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    PyTypeObject *type = Py_TYPE(object);

    if (self->is_open) {
        linux_close(self->endpoint);
    }
    close_wakes(self);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"counters", endpoint_counters, METH_VARARGS, NULL},
    {"fileno", endpoint_fileno, METH_NOARGS, NULL},
    {"end", endpoint_end, METH_NOARGS, NULL},
    {"arm", endpoint_arm, METH_NOARGS, NULL},
    {"close", endpoint_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, endpoint_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "bulkhead_channel._channel.Endpoint",
    .basicsize = sizeof(struct endpoint_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

/* Adds a type to the module, which then has the reference. Returns NULL with an exception. */
static PyObject *add_type(PyObject *module, PyObject *type)
{
    bool is_added = type != NULL && PyModule_AddType(module, (PyTypeObject *)type) == 0;

    Py_XDECREF(type);
    return is_added ? type : NULL;
}

PyObject *endpoint_add(PyObject *module)
{
    return add_type(module, PyType_FromSpec(&spec));
}

bool endpoint_add_derived(PyObject *module, PyObject *endpoint_type, PyType_Spec *derived)
{
    return add_type(module, PyType_FromSpecWithBases(derived, endpoint_type)) != NULL;
}
