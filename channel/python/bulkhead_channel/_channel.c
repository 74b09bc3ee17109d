/* SPDX-License-Identifier: BSD-2-Clause */
/* The extension module: an endpoint as a Python object. __init__.py documents what it does. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "channel/call.h"
#include "channel/copy.h"
#include "channel/linux.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct endpoint_object {
    PyObject_HEAD struct linux_endpoint *endpoint; /* valid while is_open */
    uint8_t *buffer; /* for the largest message of a one-way channel, at its receiver; or NULL */
    bool is_open;
    bool is_busy;      /* a call waits without the interpreter's lock */
    bool has_told_end; /* receive() has raised EOFError for the life of the peer that ended */
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

/* Between two waits of a call that were over. */
#define PAUSE_MIN_NS UINT64_C(1000)
#define PAUSE_MAX_NS UINT64_C(10000000)

/* The waits of one call. A malicious peer can end each of them and take back what ended it, and so
 * can an honest peer that was killed. So the deadline counts whether or not a wait was over, and
 * the call pauses between its waits. */
struct call_waits {
    uint64_t deadline;
    uint64_t pause_ns; /* before the next wait */
    bool has_passed;   /* the last wait ended after the deadline */
};

enum wait_for { FOR_MESSAGE, FOR_SPACE, FOR_VALUE, FOR_BROADCAST };

static bool wait_until(struct linux_endpoint *endpoint, enum wait_for what, uint64_t length,
                       uint64_t deadline)
{
    switch (what) {
    case FOR_SPACE:
        return linux_wait_for_space(endpoint, length, deadline);
    case FOR_VALUE:
        return linux_wait_for_value(endpoint, deadline);
    case FOR_BROADCAST:
        return linux_wait_for_broadcast(endpoint, deadline);
    default:
        return linux_wait_for_message(endpoint, deadline);
    }
}

/* Sleeps before a wait that follows a wait that was over. Each pause is twice as long as the last
 * one, so an honest peer does not delay the call. */
static void pause_once(struct call_waits *waits)
{
    uint64_t now = linux_now();
    uint64_t left = waits->deadline > now ? waits->deadline - now : 0;
    uint64_t pause_ns = waits->pause_ns < left ? waits->pause_ns : left;
    const struct timespec time = {.tv_nsec = (long)pause_ns};

    if (pause_ns != 0) {
        /* A signal may end it. */
        (void)nanosleep(&time, NULL);
    }
}

static void count_wait(struct call_waits *waits, bool is_over)
{
    uint64_t longer = waits->pause_ns == 0 ? PAUSE_MIN_NS : 2 * waits->pause_ns;

    longer = longer < PAUSE_MAX_NS ? longer : PAUSE_MAX_NS;
    waits->pause_ns = is_over ? longer : 0;
    waits->has_passed = linux_now() >= waits->deadline;
}

static void *raise_timeout(void)
{
    PyErr_SetString(PyExc_TimeoutError, "the time passed");
    return NULL;
}

/* Waits for a while. Returns false with an exception if a signal handler raised one or closed the
 * channel, or if the deadline passed. If the wait was over when it passed, the caller has one more
 * attempt. */
static bool wait_once(struct endpoint_object *self, enum wait_for what, uint64_t length,
                      struct call_waits *waits)
{
    uint64_t until;
    bool is_over;

    if (waits->has_passed) {
        return raise_timeout() != NULL;
    }
    self->is_busy = true;
    Py_BEGIN_ALLOW_THREADS;
    pause_once(waits);
    until = linux_now() + SLEEP_NS;
    until = until < waits->deadline ? until : waits->deadline;
    is_over = wait_until(self->endpoint, what, length, until);
    Py_END_ALLOW_THREADS;
    self->is_busy = false;
    /* A signal handler may have closed the channel. */
    if (PyErr_CheckSignals() != 0 || !begin_use(self)) {
        return false;
    }
    count_wait(waits, is_over);
    return is_over || !waits->has_passed || raise_timeout() != NULL;
}

static void *raise_failure(const struct channel_error *error)
{
    PyErr_Format(channel_error, "%s: %llu at position %llu", channel_error_text(error->kind),
                 (unsigned long long)error->value, (unsigned long long)error->position);
    return NULL;
}

/* Connects with the peer's next life, if the last one ended. */
static void accept_next_life(struct endpoint_object *self)
{
    channel_accept(linux_channel(self->endpoint));
    self->has_told_end = false;
}

/* Waits until there is a connection. Returns false with an exception. */
static bool keep_connection(struct endpoint_object *self, struct call_waits *waits)
{
    struct channel *channel = linux_channel(self->endpoint);

    if (channel->state == CHANNEL_ENDED) {
        accept_next_life(self);
    }
    linux_look_for_peer(self->endpoint);
    while (channel_update(channel) == CHANNEL_CONNECTING) {
        if (!wait_once(self, FOR_MESSAGE, 0, waits)) {
            return false;
        }
    }
    return channel->state != CHANNEL_FAILED || raise_failure(&channel->error) != NULL;
}

static bool map(struct endpoint_object *self, const char *name, unsigned end, enum linux_kind kind,
                uint64_t ring_bytes, char *problem)
{
    if (strchr(name, '/') != NULL) {
        self->endpoint = linux_map_file(name, end, kind, ring_bytes, problem);
        return self->endpoint != NULL;
    }
    self->endpoint = linux_map_function(name, problem);
    if (self->endpoint == NULL) {
        return false;
    }
    if (linux_endpoint_kind(self->endpoint) != kind ||
        (kind == LINUX_ONE_WAY && linux_endpoint_end(self->endpoint) != end)) {
        static const char *const kinds[] = {
            [LINUX_MESSAGES] = "messages",
            [LINUX_VALUE] = "values",
            [LINUX_ONE_WAY] = "messages one way",
        };

        (void)snprintf(problem, LINUX_PROBLEM_BYTES, "%s is end %u of a channel of %s", name,
                       linux_endpoint_end(self->endpoint),
                       kinds[linux_endpoint_kind(self->endpoint)]);
        linux_close(self->endpoint);
        return false;
    }
    return true;
}

static int endpoint_init(PyObject *object, PyObject *arguments, PyObject *names)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    char problem[LINUX_PROBLEM_BYTES];
    const char *name;
    unsigned end;
    unsigned kind;
    unsigned long long ring_bytes;

    (void)names;
    if (!PyArg_ParseTuple(arguments, "sIKI", &name, &end, &ring_bytes, &kind)) {
        return -1;
    }
    if (self->is_open || end > 1 || kind > LINUX_ONE_WAY) {
        PyErr_SetString(PyExc_ValueError, "the end of a channel is 0 or 1");
        return -1;
    }
    if (!map(self, name, end, (enum linux_kind)kind, ring_bytes, problem)) {
        PyErr_SetString(PyExc_OSError, problem);
        return -1;
    }
    if (!linux_begin(self->endpoint, problem)) {
        linux_close(self->endpoint);
        PyErr_SetString(PyExc_OSError, problem);
        return -1;
    }
    if (kind == LINUX_ONE_WAY && end == 1) {
        free(self->buffer); /* of an earlier call */
        self->buffer = malloc(linux_endpoint_ring_bytes(self->endpoint));
        if (self->buffer == NULL) {
            linux_close(self->endpoint);
            PyErr_NoMemory();
            return -1;
        }
    }
    self->is_open = true;
    return 0;
}

static PyObject *endpoint_connect(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    struct call_waits waits = {0};

    if (!PyArg_ParseTuple(arguments, "O&", read_deadline, &waits.deadline) || !begin_use(self) ||
        !keep_connection(self, &waits)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Waits until a message can be sent, or the state changes. Returns false with an exception. */
static bool wait_to_send(struct endpoint_object *self, uint64_t length, struct call_waits *waits)
{
    struct channel *channel = linux_channel(self->endpoint);

    if (channel->state == CHANNEL_ENDING || channel->state == CHANNEL_ENDED) {
        accept_next_life(self);
    }
    if (channel->state == CHANNEL_FAILED) {
        return raise_failure(&channel->error) != NULL;
    }
    return wait_once(self, channel->state == CHANNEL_CONNECTED ? FOR_SPACE : FOR_MESSAGE, length,
                     waits);
}

/* Sends a message with the tag, or a request if there is a client. */
static enum channel_result try_to_send(struct endpoint_object *self, const Py_buffer *content,
                                       uint32_t tag, struct call_client *client)
{
    const struct channel_sleeper sleeper = linux_sleeper(self->endpoint);
    uint64_t length = (uint64_t)content->len;

    return client == NULL ? channel_send(linux_channel(self->endpoint), content->buf, length, tag)
                          : call_request(client, &sleeper, 0, content->buf, length);
}

static bool send_all(struct endpoint_object *self, const Py_buffer *content, uint32_t tag,
                     struct call_client *client, struct call_waits *waits)
{
    uint64_t length = (uint64_t)content->len;

    if (length > channel_content_max(linux_endpoint_ring_bytes(self->endpoint))) {
        PyErr_Format(
            PyExc_ValueError, "a message has at most %llu bytes, not %llu",
            (unsigned long long)channel_content_max(linux_endpoint_ring_bytes(self->endpoint)),
            (unsigned long long)length);
        return false;
    }
    while (try_to_send(self, content, tag, client) != CHANNEL_DONE) {
        if (!wait_to_send(self, length, waits)) {
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
    struct call_waits waits = {0};
    bool is_sent;

    if (!PyArg_ParseTuple(arguments, "y*IO&", &content, &tag, read_deadline, &waits.deadline)) {
        return NULL;
    }
    is_sent = begin_use(self) && send_all(self, &content, tag, NULL, &waits);
    PyBuffer_Release(&content);
    if (!is_sent) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static void *tell_end(struct endpoint_object *self)
{
    self->has_told_end = true;
    PyErr_SetString(PyExc_EOFError, "the peer ended");
    return NULL;
}

static PyObject *endpoint_receive(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    struct channel *channel;
    const uint8_t *content;
    struct call_waits waits = {0};
    uint64_t length;
    uint32_t tag;
    PyObject *result;

    if (!PyArg_ParseTuple(arguments, "O&", read_deadline, &waits.deadline) || !begin_use(self)) {
        return NULL;
    }
    channel = linux_channel(self->endpoint);
    /* arm() may have seen the end. */
    if (channel->state == CHANNEL_ENDED && !self->has_told_end) {
        return tell_end(self);
    }
    if (channel->state != CHANNEL_CONNECTED && channel->state != CHANNEL_ENDING &&
        !keep_connection(self, &waits)) {
        return NULL;
    }
    while ((content = channel_receive_begin(channel, &length, &tag)) == NULL) {
        if (channel->state == CHANNEL_ENDED) {
            return tell_end(self);
        }
        if (channel->state == CHANNEL_FAILED) {
            return raise_failure(&channel->error);
        }
        if (!wait_once(self, FOR_MESSAGE, 0, &waits)) {
            return NULL;
        }
    }
    result = Py_BuildValue("y#I", content, (Py_ssize_t)length, tag);
    channel_receive_end(channel);
    return result;
}

/* Returns when a wait ends that begins now, so that a signal handler of Python may end the call. */
static uint64_t end_of_wait(uint64_t deadline)
{
    uint64_t until = linux_now() + SLEEP_NS;

    return until < deadline ? until : deadline;
}

/* Waits for the response. Returns false with an exception. */
static bool wait_for_response(struct endpoint_object *self, struct call_client *client,
                              uint64_t deadline, const uint8_t **content, uint64_t *length)
{
    const struct channel_sleeper sleeper = linux_sleeper(self->endpoint);
    const struct channel *channel = linux_channel(self->endpoint);
    enum call_result result;

    do {
        uint64_t until = end_of_wait(deadline);

        self->is_busy = true;
        Py_BEGIN_ALLOW_THREADS;
        result = call_wait(client, &sleeper, until, content, length);
        Py_END_ALLOW_THREADS;
        self->is_busy = false;
        /* A signal handler may have closed the channel. */
        if (PyErr_CheckSignals() != 0 || !begin_use(self)) {
            return false;
        }
        if (result == CALL_TIMED_OUT && linux_now() >= deadline) {
            return raise_timeout() != NULL;
        }
    } while (result == CALL_TIMED_OUT);
    if (result == CALL_ANSWERED) {
        return true;
    }
    return channel->state == CHANNEL_FAILED ? raise_failure(&channel->error) != NULL
                                            : tell_end(self) != NULL;
}

static PyObject *endpoint_call(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    struct call_client client;
    Py_buffer request;
    struct call_waits waits = {0};
    const uint8_t *response;
    uint64_t length;
    bool is_sent;
    PyObject *result;

    if (!PyArg_ParseTuple(arguments, "y*O&", &request, read_deadline, &waits.deadline)) {
        return NULL;
    }
    is_sent = begin_use(self);
    if (is_sent) {
        call_begin(&client, linux_channel(self->endpoint));
        is_sent = send_all(self, &request, 0, &client, &waits);
    }
    PyBuffer_Release(&request);
    if (!is_sent || !wait_for_response(self, &client, waits.deadline, &response, &length)) {
        return NULL;
    }
    result = Py_BuildValue("y#", response, (Py_ssize_t)length);
    call_end(&client);
    return result;
}

/* Sends a response, in this life of the peer only. Returns a negative number with an exception, 0
 * if the life has ended, 1 if the response was sent. */
static int send_response(struct endpoint_object *self, const Py_buffer *content, uint32_t tag,
                         struct call_waits *waits)
{
    struct channel *channel = linux_channel(self->endpoint);

    /* Otherwise nobody may have noticed that the peer ended. */
    linux_look_for_peer(self->endpoint);
    while (channel_update(channel) == CHANNEL_CONNECTED) {
        switch (try_to_send(self, content, tag, NULL)) {
        case CHANNEL_DONE:
            return 1;
        case CHANNEL_NOTHING:
            if (!wait_once(self, FOR_SPACE, (uint64_t)content->len, waits)) {
                return -1;
            }
            break;
        case CHANNEL_TOO_LARGE:
            PyErr_Format(
                PyExc_ValueError, "a response has at most %llu bytes, not %llu",
                (unsigned long long)channel_content_max(linux_endpoint_ring_bytes(self->endpoint)),
                (unsigned long long)content->len);
            return -1;
        case CHANNEL_NOT_CONNECTED:
            break;
        }
    }
    if (channel->state == CHANNEL_FAILED) {
        raise_failure(&channel->error);
        return -1;
    }
    return 0;
}

static PyObject *endpoint_answer(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    Py_buffer content;
    unsigned tag;
    struct call_waits waits = {0};
    int sent;

    if (!PyArg_ParseTuple(arguments, "y*IO&", &content, &tag, read_deadline, &waits.deadline)) {
        return NULL;
    }
    sent = begin_use(self) ? send_response(self, &content, tag, &waits) : -1;
    PyBuffer_Release(&content);
    return sent < 0 ? NULL : PyBool_FromLong(sent);
}

static bool is_too_large(uint64_t length, uint64_t largest)
{
    if (length > largest) {
        PyErr_Format(PyExc_ValueError, "a value has at most %llu bytes, not %llu",
                     (unsigned long long)largest, (unsigned long long)length);
    }
    return length > largest;
}

static PyObject *endpoint_write(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    struct linux_endpoint *endpoint = self->endpoint;
    Py_buffer content;
    bool is_written;

    if (!PyArg_ParseTuple(arguments, "y*", &content)) {
        return NULL;
    }
    is_written =
        begin_use(self) && !is_too_large((uint64_t)content.len,
                                         value_content_max(linux_endpoint_ring_bytes(endpoint)));
    if (is_written) {
        struct value_writer *writer = linux_value_writer(endpoint);

        memcpy(value_write_begin(writer), content.buf, (size_t)content.len);
        if (value_write_end(writer, (uint64_t)content.len)) {
            linux_notify(endpoint);
        }
    }
    PyBuffer_Release(&content);
    if (!is_written) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *endpoint_read(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    struct value_reader *reader;
    const uint8_t *content;
    uint64_t length;

    (void)none;
    if (!begin_use(self)) {
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

static PyObject *endpoint_wait_for_value(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    struct value_reader *reader;
    struct call_waits waits = {0};
    const uint8_t *content;
    uint64_t length;

    if (!PyArg_ParseTuple(arguments, "O&", read_deadline, &waits.deadline) || !begin_use(self)) {
        return NULL;
    }
    reader = linux_value_reader(self->endpoint);
    for (;;) {
        content = value_is_new(reader) ? value_read(reader, &length) : NULL;
        if (content != NULL) {
            return Py_BuildValue("y#", content, (Py_ssize_t)length);
        }
        if (reader->error.kind != CHANNEL_ERROR_NONE) {
            return raise_failure(&reader->error);
        }
        if (!wait_once(self, FOR_VALUE, 0, &waits)) {
            return NULL;
        }
    }
}

static PyObject *endpoint_broadcast(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    struct linux_endpoint *endpoint = self->endpoint;
    Py_buffer content;
    unsigned tag;
    uint8_t *place;

    if (!PyArg_ParseTuple(arguments, "y*I", &content, &tag)) {
        return NULL;
    }
    if (!begin_use(self)) {
        PyBuffer_Release(&content);
        return NULL;
    }
    place = broadcast_send_begin(linux_broadcast_sender(endpoint), (uint64_t)content.len);
    if (place == NULL) {
        PyErr_Format(PyExc_ValueError, "a message has at most %llu bytes, not %llu",
                     (unsigned long long)broadcast_content_max(linux_endpoint_ring_bytes(endpoint)),
                     (unsigned long long)content.len);
    } else {
        memcpy(place, content.buf, (size_t)content.len);
        broadcast_send_end(linux_broadcast_sender(endpoint), (uint64_t)content.len, tag);
        linux_notify(endpoint);
    }
    PyBuffer_Release(&content);
    if (place == NULL) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *endpoint_receive_broadcast(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    struct broadcast_receiver *receiver;
    enum broadcast_result result;
    struct call_waits waits = {0};
    uint64_t length;
    uint32_t tag;

    if (!PyArg_ParseTuple(arguments, "O&", read_deadline, &waits.deadline) || !begin_use(self)) {
        return NULL;
    }
    receiver = linux_broadcast_receiver(self->endpoint);
    do {
        result = broadcast_receive(receiver, self->buffer,
                                   linux_endpoint_ring_bytes(self->endpoint), &length, &tag);
        if (result == BROADCAST_NONE && !wait_once(self, FOR_BROADCAST, 0, &waits)) {
            return NULL;
        }
    } while (result == BROADCAST_NONE);
    if (result == BROADCAST_FAILED) {
        return raise_failure(&receiver->error);
    }
    return Py_BuildValue("y#I", self->buffer, (Py_ssize_t)length, tag);
}

static PyObject *endpoint_missed(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    return begin_use(self)
               ? PyLong_FromUnsignedLongLong(linux_broadcast_receiver(self->endpoint)->lost)
               : NULL;
}

static PyObject *endpoint_is_connected(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    if (!begin_use(self)) {
        return NULL;
    }
    linux_look_for_peer(self->endpoint);
    return PyBool_FromLong(channel_update(linux_channel(self->endpoint)) == CHANNEL_CONNECTED);
}

static PyObject *endpoint_message_max(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    if (!begin_use(self)) {
        return NULL;
    }
    return PyLong_FromUnsignedLongLong(
        channel_content_max(linux_endpoint_ring_bytes(self->endpoint)));
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
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    return begin_use(self) ? PyLong_FromLong(linux_endpoint_bell(self->endpoint)) : NULL;
}

/* As endpoint_receive(): tells the end of a life once, then connects with the next one. */
static bool arm_bell(struct endpoint_object *self)
{
    if (linux_endpoint_kind(self->endpoint) == LINUX_MESSAGES &&
        linux_channel(self->endpoint)->state == CHANNEL_ENDED) {
        if (!self->has_told_end) {
            return false;
        }
        accept_next_life(self);
    }
    return linux_arm(self->endpoint);
}

static PyObject *endpoint_arm_bell(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    return begin_use(self) ? PyBool_FromLong(arm_bell(self)) : NULL;
}

static PyObject *endpoint_reset(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    if (!begin_use(self)) {
        return NULL;
    }
    channel_reset(linux_channel(self->endpoint));
    self->has_told_end = false;
    Py_RETURN_NONE;
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
        linux_close(self->endpoint);
    }
    Py_RETURN_NONE;
}

static void endpoint_dealloc(PyObject *object)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    PyTypeObject *type = Py_TYPE(object);

    if (self->is_open) {
        linux_close(self->endpoint);
    }
    free(self->buffer);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyMethodDef endpoint_methods[] = {
    {"connect", endpoint_connect, METH_VARARGS, NULL},
    {"send", endpoint_send, METH_VARARGS, NULL},
    {"receive", endpoint_receive, METH_VARARGS, NULL},
    {"call", endpoint_call, METH_VARARGS, NULL},
    {"answer", endpoint_answer, METH_VARARGS, NULL},
    {"write", endpoint_write, METH_VARARGS, NULL},
    {"read", endpoint_read, METH_NOARGS, NULL},
    {"wait_for_value", endpoint_wait_for_value, METH_VARARGS, NULL},
    {"broadcast", endpoint_broadcast, METH_VARARGS, NULL},
    {"receive_broadcast", endpoint_receive_broadcast, METH_VARARGS, NULL},
    {"missed", endpoint_missed, METH_NOARGS, NULL},
    {"is_connected", endpoint_is_connected, METH_NOARGS, NULL},
    {"message_max", endpoint_message_max, METH_NOARGS, NULL},
    {"counters", endpoint_counters, METH_VARARGS, NULL},
    {"fileno", endpoint_fileno, METH_NOARGS, NULL},
    {"arm", endpoint_arm_bell, METH_NOARGS, NULL},
    {"reset", endpoint_reset, METH_NOARGS, NULL},
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
