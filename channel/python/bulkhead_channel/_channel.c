/* SPDX-License-Identifier: BSD-2-Clause */
/* The extension module: an endpoint as a Python object. __init__.py documents what it does. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "channel/copy.h"
#include "channel/linux.h"
#include <string.h>

struct endpoint_object {
    PyObject_HEAD struct linux_endpoint endpoint;
    bool is_open;
    bool is_busy; /* a call waits without the interpreter's lock */
};

static PyObject *channel_error;

/* Converts a timeout in seconds, or None. Returns false with an exception. */
static int read_deadline(PyObject *timeout, void *deadline)
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

/* Returns false with an exception if the object can't be used now. */
static bool begin_use(struct endpoint_object *self)
{
    if (!self->is_open) {
        PyErr_SetString(PyExc_ValueError, "the channel is closed");
    } else if (self->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread uses the channel");
    }
    return self->is_open && !self->is_busy;
}

/* A signal handler of Python may end the wait, so each sleep is short. */
#define SLEEP_NS UINT64_C(100000000)

/* Waits for one of two. Returns false with an exception if the deadline passed. */
static bool wait_once(struct endpoint_object *self, bool for_space, uint64_t length,
                      uint64_t deadline)
{
    uint64_t until = linux_now() + SLEEP_NS;
    bool is_over;

    until = until < deadline ? until : deadline;
    self->is_busy = true;
    Py_BEGIN_ALLOW_THREADS;
    is_over = for_space ? linux_wait_for_space(&self->endpoint, length, until)
                        : linux_wait_for_message(&self->endpoint, until);
    Py_END_ALLOW_THREADS;
    self->is_busy = false;
    if (PyErr_CheckSignals() != 0) {
        return false;
    }
    if (!is_over && linux_now() >= deadline) {
        PyErr_SetString(PyExc_TimeoutError, "the time passed");
        return false;
    }
    return true;
}

static void *raise_failure(const struct channel *channel)
{
    PyErr_Format(channel_error, "%s: %llu at position %llu",
                 channel_error_text(channel->error.kind), (unsigned long long)channel->error.value,
                 (unsigned long long)channel->error.position);
    return NULL;
}

/* Waits until there is a connection. Returns false with an exception. */
static bool keep_connection(struct endpoint_object *self, uint64_t deadline)
{
    struct channel *channel = &self->endpoint.channel;

    if (channel->state == CHANNEL_ENDED) {
        channel_accept(channel);
    }
    while (channel_update(channel) == CHANNEL_CONNECTING) {
        if (!wait_once(self, false, 0, deadline)) {
            return false;
        }
    }
    return channel->state != CHANNEL_FAILED || raise_failure(channel) != NULL;
}

static int endpoint_init(PyObject *object, PyObject *arguments, PyObject *names)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    char problem[LINUX_PROBLEM_BYTES];
    const char *name;
    unsigned end;
    unsigned long long ring_bytes;
    bool is_mapped;

    (void)names;
    if (!PyArg_ParseTuple(arguments, "sIK", &name, &end, &ring_bytes)) {
        return -1;
    }
    if (self->is_open || end > 1) {
        PyErr_SetString(PyExc_ValueError, "the end of a channel is 0 or 1");
        return -1;
    }
    is_mapped = strchr(name, '/') != NULL
                    ? linux_map_file(&self->endpoint, name, end, ring_bytes, problem)
                    : linux_map_function(&self->endpoint, name, problem);
    if (!is_mapped) {
        PyErr_SetString(PyExc_OSError, problem);
        return -1;
    }
    linux_begin(&self->endpoint);
    self->is_open = true;
    return 0;
}

static PyObject *endpoint_connect(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    uint64_t deadline;

    if (!PyArg_ParseTuple(arguments, "O&", read_deadline, &deadline) || !begin_use(self) ||
        !keep_connection(self, deadline)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static bool send_all(struct endpoint_object *self, const Py_buffer *content, uint32_t tag,
                     uint64_t deadline)
{
    struct channel *channel = &self->endpoint.channel;
    uint64_t length = (uint64_t)content->len;

    if (length > channel_content_max(self->endpoint.memory.ring_bytes)) {
        PyErr_Format(PyExc_ValueError, "a message has at most %llu bytes, not %llu",
                     (unsigned long long)channel_content_max(self->endpoint.memory.ring_bytes),
                     (unsigned long long)length);
        return false;
    }
    while (channel_send(channel, content->buf, length, tag) != CHANNEL_DONE) {
        if (channel->state == CHANNEL_ENDING) {
            channel_accept(channel);
        }
        if (channel->state == CHANNEL_CONNECTED ? !wait_once(self, true, length, deadline)
                                                : !keep_connection(self, deadline)) {
            return false;
        }
    }
    return true;
}

static PyObject *endpoint_send(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    Py_buffer content;
    unsigned tag;
    uint64_t deadline;
    bool is_sent;

    if (!PyArg_ParseTuple(arguments, "y*IO&", &content, &tag, read_deadline, &deadline)) {
        return NULL;
    }
    is_sent = begin_use(self) && send_all(self, &content, tag, deadline);
    PyBuffer_Release(&content);
    if (!is_sent) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *endpoint_receive(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    struct channel *channel = &self->endpoint.channel;
    const uint8_t *content;
    uint64_t deadline;
    uint64_t length;
    uint32_t tag;
    PyObject *result;

    if (!PyArg_ParseTuple(arguments, "O&", read_deadline, &deadline) || !begin_use(self)) {
        return NULL;
    }
    if (channel->state != CHANNEL_CONNECTED && channel->state != CHANNEL_ENDING &&
        !keep_connection(self, deadline)) {
        return NULL;
    }
    while ((content = channel_receive_begin(channel, &length, &tag)) == NULL) {
        if (channel->state == CHANNEL_ENDED) {
            PyErr_SetString(PyExc_EOFError, "the peer ended");
            return NULL;
        }
        if (channel->state == CHANNEL_FAILED) {
            return raise_failure(channel);
        }
        if (!wait_once(self, false, 0, deadline)) {
            return NULL;
        }
    }
    result = Py_BuildValue("y#I", content, (Py_ssize_t)length, tag);
    channel_receive_end(channel);
    return result;
}

static PyObject *endpoint_is_connected(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    if (!begin_use(self)) {
        return NULL;
    }
    return PyBool_FromLong(channel_update(&self->endpoint.channel) == CHANNEL_CONNECTED);
}

static PyObject *endpoint_message_max(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    if (!begin_use(self)) {
        return NULL;
    }
    return PyLong_FromUnsignedLongLong(channel_content_max(self->endpoint.memory.ring_bytes));
}

static PyObject *endpoint_counters(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    const struct channel_control *control;
    unsigned end;

    if (!PyArg_ParseTuple(arguments, "I", &end) || !begin_use(self)) {
        return NULL;
    }
    if (end > 1) {
        PyErr_SetString(PyExc_ValueError, "the end of a channel is 0 or 1");
        return NULL;
    }
    control = linux_control(&self->endpoint, end);
    return Py_BuildValue("KKKKKK", (unsigned long long)word_load(&control->generation),
                         (unsigned long long)word_load(&control->sent),
                         (unsigned long long)word_load(&control->received),
                         (unsigned long long)word_load(&control->notifications),
                         (unsigned long long)word_load(&control->sleeps),
                         (unsigned long long)word_load(&control->errors));
}

static PyObject *endpoint_fileno(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    return begin_use(self) ? PyLong_FromLong(self->endpoint.bell) : NULL;
}

static PyObject *endpoint_arm_bell(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    return begin_use(self) ? PyBool_FromLong(linux_arm(&self->endpoint)) : NULL;
}

static PyObject *endpoint_close(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    if (self->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread uses the channel");
        return NULL;
    }
    if (self->is_open) {
        self->is_open = false;
        linux_close(&self->endpoint);
    }
    Py_RETURN_NONE;
}

static void endpoint_dealloc(PyObject *object)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    PyTypeObject *type = Py_TYPE(object);

    if (self->is_open) {
        linux_close(&self->endpoint);
    }
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef endpoint_methods[] = {
    {"connect", endpoint_connect, METH_VARARGS, NULL},
    {"send", endpoint_send, METH_VARARGS, NULL},
    {"receive", endpoint_receive, METH_VARARGS, NULL},
    {"is_connected", endpoint_is_connected, METH_NOARGS, NULL},
    {"message_max", endpoint_message_max, METH_NOARGS, NULL},
    {"counters", endpoint_counters, METH_VARARGS, NULL},
    {"fileno", endpoint_fileno, METH_NOARGS, NULL},
    {"arm", endpoint_arm_bell, METH_NOARGS, NULL},
    {"close", endpoint_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot endpoint_slots[] = {
    {Py_tp_init, endpoint_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, endpoint_dealloc},
    {Py_tp_methods, endpoint_methods},
    {0, NULL},
};

static PyType_Spec endpoint_spec = {
    .name = "bulkhead_channel._channel.Endpoint",
    .basicsize = sizeof(struct endpoint_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = endpoint_slots,
};

static struct PyModuleDef module_definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_channel",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__channel(void);

PyMODINIT_FUNC PyInit__channel(void)
{
    PyObject *module = PyModule_Create(&module_definition);
    PyObject *type = module == NULL ? NULL : PyType_FromSpec(&endpoint_spec);

    channel_error = PyErr_NewException("bulkhead_channel.ChannelError", NULL, NULL);
    if (type == NULL || channel_error == NULL ||
        PyModule_AddObjectRef(module, "Endpoint", type) != 0 ||
        PyModule_AddObjectRef(module, "ChannelError", channel_error) != 0) {
        Py_XDECREF(module);
        module = NULL;
    }
    Py_XDECREF(type);
    return module;
}
