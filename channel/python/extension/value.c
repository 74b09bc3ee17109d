/* SPDX-License-Identifier: BSD-2-Clause */
/* The type ValueChannel: one side of a channel of values. */
#include "types.h"

#include "endpoint.h"
#include "errors.h"
#include "numbers.h"
#include "run.h"
#include <string.h>

static int initialize(PyObject *object, PyObject *arguments, PyObject *names)
{
    struct endpoint_arguments opened = {.kind = LINUX_VALUE};

    (void)names;
    return PyArg_ParseTuple(arguments, "sO&O&", &opened.name, number_read_end, &opened.end,
                            number_read_bytes, &opened.ring_bytes) &&
                   endpoint_open((struct endpoint_object *)object, &opened)
               ? 0
               : -1;
}

/* Makes the content the newest value. Returns false with an exception if it is too large. */
static bool write_value(struct linux_endpoint *endpoint, const Py_buffer *content)
{
    struct value_writer *writer = linux_value_writer(endpoint);
    uint64_t length = (uint64_t)content->len;
    uint64_t largest = value_content_max(linux_endpoint_ring_bytes(endpoint));

    if (length > largest) {
        return raise_too_large("a value", largest, length) != NULL;
    }
    memcpy(value_write_begin(writer), content->buf, (size_t)length);
    if (value_write_end(writer, length)) {
        linux_notify(endpoint);
    }
    return true;
}

static PyObject *method_write(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    Py_buffer content;
    bool is_written;

    if (!PyArg_ParseTuple(arguments, "y*", &content)) {
        return NULL;
    }
    is_written = endpoint_is_usable(self, 0) && write_value(self->endpoint, &content);
    PyBuffer_Release(&content);
    if (!is_written) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *method_read(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    struct value_reader *reader;
    const uint8_t *content;
    uint64_t length;

    (void)none;
    if (!endpoint_is_usable(self, ENDPOINT_RECEIVES)) {
        return NULL;
    }
    reader = linux_value_reader(self->endpoint);
    content = value_read(reader, &length);
    if (content == NULL && reader->error.kind != CHANNEL_ERROR_NONE) {
        return raise_failure(&reader->error);
    }
    if (content == NULL) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("y#", content, (Py_ssize_t)length);
}

struct next_value {
    const uint8_t *content;
    uint64_t length;
};

static enum run_result read_next(struct endpoint_object *self, void *context)
{
    struct value_reader *reader = linux_value_reader(self->endpoint);
    struct next_value *next = context;

    next->content = value_is_new(reader) ? value_read(reader, &next->length) : NULL;
    if (next->content != NULL) {
        return RUN_DONE;
    }
    if (reader->error.kind != CHANNEL_ERROR_NONE) {
        raise_failure(&reader->error);
        return RUN_RAISED;
    }
    return RUN_AGAIN;
}

static struct channel_wait wait_for_value(const struct endpoint_object *self, void *context)
{
    (void)context;
    return channel_wait_for_value(linux_value_reader(self->endpoint));
}

static PyObject *method_wait(PyObject *object, PyObject *arguments)
{
    struct run run = {.self = (struct endpoint_object *)object, .uses = ENDPOINT_RECEIVES};
    struct next_value next;

    if (!PyArg_ParseTuple(arguments, "O&", run_read_deadline, &run.deadline) ||
        !endpoint_is_usable(run.self, run.uses) ||
        !run_until(&run, read_next, wait_for_value, &next)) {
        return NULL;
    }
    return Py_BuildValue("y#", next.content, (Py_ssize_t)next.length);
}

static PyMethodDef methods[] = {
    {"write", method_write, METH_VARARGS, NULL},
    {"read", method_read, METH_NOARGS, NULL},
    {"wait", method_wait, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_init, initialize},
    {Py_tp_dealloc, endpoint_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec value_channel_spec = {
    .name = "bulkhead_channel._channel.ValueChannel",
    .basicsize = sizeof(struct endpoint_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
