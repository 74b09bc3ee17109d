/* SPDX-License-Identifier: BSD-2-Clause */
/* The types OneWaySender and OneWayReceiver: the ends of a one-way channel. */
#include "types.h"

#include "endpoint.h"
#include "errors.h"
#include "numbers.h"
#include "run.h"
#include <stdlib.h>
#include <string.h>

static bool open_end(struct endpoint_object *self, PyObject *arguments, unsigned end)
{
    struct endpoint_arguments opened = {.end = end, .kind = LINUX_ONE_WAY};

    return PyArg_ParseTuple(arguments, "sO&", &opened.name, number_read_bytes,
                            &opened.ring_bytes) &&
           endpoint_open(self, &opened);
}

static int sender_init(PyObject *object, PyObject *arguments, PyObject *names)
{
    (void)names;
    return open_end((struct endpoint_object *)object, arguments, 0) ? 0 : -1;
}

/* Sends a message. Returns false with an exception if it is too large. */
static bool send_message(struct linux_endpoint *endpoint, const Py_buffer *content, uint32_t tag)
{
    struct broadcast_sender *sender = linux_broadcast_sender(endpoint);
    uint64_t length = (uint64_t)content->len;
    uint8_t *place = broadcast_send_begin(sender, length);

    if (place == NULL) {
        uint64_t largest = broadcast_content_max(linux_endpoint_ring_bytes(endpoint));

        return raise_too_large("a message", largest, length) != NULL;
    }
    memcpy(place, content->buf, (size_t)length);
    broadcast_send_end(sender, length, tag);
    linux_notify(endpoint);
    return true;
}

static PyObject *sender_send(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    Py_buffer content;
    uint32_t tag;
    bool is_sent;

    if (!PyArg_ParseTuple(arguments, "y*O&", &content, number_read_tag, &tag)) {
        return NULL;
    }
    is_sent = endpoint_is_usable(self, 0) && send_message(self->endpoint, &content, tag);
    PyBuffer_Release(&content);
    if (!is_sent) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef sender_methods[] = {
    {"send", sender_send, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot sender_slots[] = {
    {Py_tp_init, sender_init},
    {Py_tp_dealloc, endpoint_dealloc},
    {Py_tp_methods, sender_methods},
    {0, NULL},
};

PyType_Spec one_way_sender_spec = {
    .name = "bulkhead_channel._channel.OneWaySender",
    .basicsize = sizeof(struct endpoint_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = sender_slots,
};

struct receiver_object {
    struct endpoint_object endpoint;
    uint8_t *buffer; /* for the largest message; NULL: not opened yet */
};

static int receiver_init(PyObject *object, PyObject *arguments, PyObject *names)
{
    struct receiver_object *self = (struct receiver_object *)object;
    struct endpoint_object *endpoint = &self->endpoint;

    (void)names;
    if (!open_end(endpoint, arguments, 1)) {
        return -1;
    }
    self->buffer = malloc(linux_endpoint_ring_bytes(endpoint->endpoint));
    if (self->buffer == NULL) {
        endpoint->is_open = false;
        linux_close(endpoint->endpoint);
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static void receiver_dealloc(PyObject *object)
{
    free(((struct receiver_object *)object)->buffer);
    endpoint_dealloc(object);
}

struct received_message {
    uint64_t length;
    uint32_t tag;
};

static enum run_result receive_next(struct endpoint_object *self, void *context)
{
    struct broadcast_receiver *receiver = linux_broadcast_receiver(self->endpoint);
    struct received_message *message = context;
    enum broadcast_result result = broadcast_receive(
        receiver, ((struct receiver_object *)self)->buffer,
        linux_endpoint_ring_bytes(self->endpoint), &message->length, &message->tag);

    if (result == BROADCAST_FAILED) {
        raise_failure(&receiver->error);
        return RUN_RAISED;
    }
    return result == BROADCAST_NONE ? RUN_AGAIN : RUN_DONE;
}

static struct channel_wait wait_for_broadcast(const struct endpoint_object *self, void *context)
{
    (void)context;
    return channel_wait_for_broadcast(linux_broadcast_receiver(self->endpoint));
}

static PyObject *receiver_receive(PyObject *object, PyObject *arguments)
{
    struct run run = {.self = (struct endpoint_object *)object, .uses = ENDPOINT_RECEIVES};
    struct received_message message;

    if (!PyArg_ParseTuple(arguments, "O&", run_read_deadline, &run.deadline) ||
        !endpoint_is_usable(run.self, run.uses) ||
        !run_until(&run, receive_next, wait_for_broadcast, &message)) {
        return NULL;
    }
    return Py_BuildValue("y#I", ((struct receiver_object *)object)->buffer,
                         (Py_ssize_t)message.length, message.tag);
}

static PyObject *receiver_missed(PyObject *object, PyObject *none)
{
    const struct endpoint_object *self = (const struct endpoint_object *)object;

    (void)none;
    return endpoint_is_usable(self, 0)
               ? PyLong_FromUnsignedLongLong(linux_broadcast_receiver(self->endpoint)->lost)
               : NULL;
}

static PyMethodDef receiver_methods[] = {
    {"receive", receiver_receive, METH_VARARGS, NULL},
    {"missed", receiver_missed, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot receiver_slots[] = {
    {Py_tp_init, receiver_init},
    {Py_tp_dealloc, receiver_dealloc},
    {Py_tp_methods, receiver_methods},
    {0, NULL},
};

PyType_Spec one_way_receiver_spec = {
    .name = "bulkhead_channel._channel.OneWayReceiver",
    .basicsize = sizeof(struct receiver_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = receiver_slots,
};
