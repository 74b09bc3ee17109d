/* SPDX-License-Identifier: BSD-2-Clause */
/* The type Channel: one side of a channel of messages. */
#include "types.h"

#include "channel/call.h"
#include "channel/copy.h"
#include "endpoint.h"
#include "errors.h"
#include "numbers.h"
#include "run.h"

struct channel_object {
    struct endpoint_object endpoint;
    bool has_told_end;      /* receive() has raised EOFError for the life of the peer that ended */
    unsigned long receiver; /* the thread that called receive() last; 0: none */
};

static int initialize(PyObject *object, PyObject *arguments, PyObject *names)
{
    struct endpoint_arguments opened = {.kind = LINUX_MESSAGES};

    (void)names;
    return PyArg_ParseTuple(arguments, "sO&O&", &opened.name, number_read_end, &opened.end,
                            number_read_bytes, &opened.ring_bytes) &&
                   endpoint_open((struct endpoint_object *)object, &opened)
               ? 0
               : -1;
}

static struct channel *channel_of(const struct endpoint_object *self)
{
    return linux_channel(self->endpoint);
}

/* Raises the end of the peer's life, once. A sender may wait for that. */
static void *tell_end(struct endpoint_object *self)
{
    ((struct channel_object *)self)->has_told_end = true;
    endpoint_wake_all(self);
    return raise_end();
}

/* Connects with the peer's next life, if the last one ended. */
static void accept_next_life(struct endpoint_object *self)
{
    channel_accept(channel_of(self));
    ((struct channel_object *)self)->has_told_end = false;
}

static enum run_result is_connected(struct endpoint_object *self, void *context)
{
    struct channel *channel = channel_of(self);

    (void)context;
    switch (channel_update(channel)) {
    case CHANNEL_CONNECTING:
        return RUN_AGAIN;
    case CHANNEL_FAILED:
        raise_failure(&channel->error);
        return RUN_RAISED;
    default:
        return RUN_DONE;
    }
}

/* Waits until there is a connection. Returns false with an exception. */
static bool keep_connection(struct run *run)
{
    if (channel_of(run->self)->state == CHANNEL_ENDED) {
        accept_next_life(run->self);
    }
    linux_look_for_peer(run->self->endpoint);
    return run_until(run, is_connected, run_wait_for_message, NULL);
}

static PyObject *method_connect(PyObject *object, PyObject *arguments)
{
    struct run run = {.self = (struct endpoint_object *)object, .uses = ENDPOINT_RECEIVES};

    if (!PyArg_ParseTuple(arguments, "O&", run_read_deadline, &run.deadline) ||
        !endpoint_is_usable(run.self, run.uses) || !keep_connection(&run)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* A message that a method sends. */
struct sent_message {
    const void *content;
    uint64_t length;
    uint32_t tag;
    struct call_client *client; /* of the request that the message is; NULL: it is none */
    bool keeps_received;        /* another coroutine receives what the peer left */
    bool is_sent;
};

/* Returns what the arguments of a method say. The content stays valid until the buffer is released.
 */
static struct sent_message message_of(const Py_buffer *content, uint32_t tag)
{
    return (struct sent_message){
        .content = content->buf,
        .length = (uint64_t)content->len,
        .tag = tag,
    };
}

static uint64_t content_max(const struct endpoint_object *self)
{
    return channel_content_max(linux_endpoint_ring_bytes(self->endpoint));
}

static enum channel_result send_now(const struct endpoint_object *self,
                                    const struct sent_message *message)
{
    const struct channel_sleeper sleeper = linux_sleeper(self->endpoint);

    return message->client == NULL
               ? channel_send(channel_of(self), message->content, message->length, message->tag)
               : call_request(message->client, &sleeper, 0, message->content, message->length);
}

/* Returns true if somebody else than this call will receive what the ended life of the peer left:
 * messages, and its end. */
static bool is_left_to_others(const struct endpoint_object *self,
                              const struct sent_message *message)
{
    const struct channel_object *object = (const struct channel_object *)self;
    bool is_other = object->receiver != 0 && object->receiver != PyThread_get_thread_ident();

    return (message->keeps_received || is_other) && !object->has_told_end;
}

/* Sends a message to the present life of the peer, or to the next one. */
static enum run_result try_to_send(struct endpoint_object *self, void *context)
{
    const struct channel *channel = channel_of(self);

    if (send_now(self, context) == CHANNEL_DONE) {
        return RUN_DONE;
    }
    if ((channel->state == CHANNEL_ENDING || channel->state == CHANNEL_ENDED) &&
        !is_left_to_others(self, context)) {
        accept_next_life(self);
    }
    if (channel->state == CHANNEL_FAILED) {
        raise_failure(&channel->error);
        return RUN_RAISED;
    }
    return RUN_AGAIN;
}

/* Never over: tell_end() ends the sleep. */
static bool is_never_over(const struct channel_wait *wait)
{
    (void)wait;
    return false;
}

/* Waits until the message can be sent, the state changes, or another thread was told the end. */
static struct channel_wait wait_to_send(const struct endpoint_object *self, void *context)
{
    const struct sent_message *message = context;
    struct channel *channel = channel_of(self);

    switch (channel->state) {
    case CHANNEL_CONNECTED:
        return channel_wait_for_space(channel, message->length);
    case CHANNEL_ENDING:
    case CHANNEL_ENDED:
        return (struct channel_wait){.is_ready = is_never_over};
    default:
        return channel_wait_for_message(channel);
    }
}

/* Sends a message or a request. Waits for the peer, and for space. Returns false with an exception.
 */
static bool send_message(struct run *run, struct sent_message *message)
{
    uint64_t largest = content_max(run->self);

    if (message->length > largest) {
        return raise_too_large("a message", largest, message->length) != NULL;
    }
    return run_until(run, try_to_send, wait_to_send, message);
}

static PyObject *method_send(PyObject *object, PyObject *arguments)
{
    struct run run = {.self = (struct endpoint_object *)object, .uses = ENDPOINT_SENDS};
    struct sent_message message;
    Py_buffer content;
    uint32_t tag;
    int keeps_received = 0;
    bool is_sent;

    if (!PyArg_ParseTuple(arguments, "y*O&O&|p", &content, number_read_tag, &tag, run_read_deadline,
                          &run.deadline, &keeps_received)) {
        return NULL;
    }
    message = message_of(&content, tag);
    message.keeps_received = keeps_received != 0;
    is_sent = endpoint_is_usable(run.self, run.uses) && send_message(&run, &message);
    PyBuffer_Release(&content);
    if (!is_sent) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* A message in place. */
struct received_message {
    const uint8_t *content;
    uint64_t length;
    uint32_t tag;
};

/* Returns a copy of a content in place, which the caller releases then. Creating a tuple may
 * collect garbage, and so execute any program, in which another thread may use the channel: a
 * message is released before. */
static PyObject *copy_of(const uint8_t *content, uint64_t length)
{
    return PyBytes_FromStringAndSize((const char *)content, (Py_ssize_t)length);
}

static enum run_result try_to_receive(struct endpoint_object *self, void *context)
{
    struct received_message *message = context;
    struct channel *channel = channel_of(self);

    message->content = channel_receive_begin(channel, &message->length, &message->tag);
    if (message->content != NULL) {
        return RUN_DONE;
    }
    if (channel->state == CHANNEL_ENDED) {
        tell_end(self);
        return RUN_RAISED;
    }
    if (channel->state == CHANNEL_FAILED) {
        raise_failure(&channel->error);
        return RUN_RAISED;
    }
    return RUN_AGAIN;
}

/* Waits for the next message. Returns false with an exception. */
static bool receive_message(struct run *run, struct received_message *message)
{
    enum channel_state state = channel_of(run->self)->state;

    /* arm() may have seen the end. */
    if (state == CHANNEL_ENDED && !((struct channel_object *)run->self)->has_told_end) {
        return tell_end(run->self) != NULL;
    }
    if (state != CHANNEL_CONNECTED && state != CHANNEL_ENDING && !keep_connection(run)) {
        return false;
    }
    return run_until(run, try_to_receive, run_wait_for_message, message);
}

static PyObject *method_receive(PyObject *object, PyObject *arguments)
{
    struct run run = {.self = (struct endpoint_object *)object, .uses = ENDPOINT_RECEIVES};
    struct received_message message;
    PyObject *content;

    if (!PyArg_ParseTuple(arguments, "O&", run_read_deadline, &run.deadline) ||
        !endpoint_is_usable(run.self, run.uses)) {
        return NULL;
    }
    ((struct channel_object *)object)->receiver = PyThread_get_thread_ident();
    if (!receive_message(&run, &message)) {
        return NULL;
    }
    content = copy_of(message.content, message.length);
    channel_receive_end(channel_of(run.self));
    return content == NULL ? NULL : Py_BuildValue("NI", content, message.tag);
}

/* A request that was sent. */
struct call {
    struct call_client client;
    enum call_result result; /* of the last attempt */
    const uint8_t *response; /* valid with CALL_ANSWERED */
    uint64_t length;
};

/* Messages that one attempt drops at most, because the deadline counts between attempts. */
#define DROPPED_MAX 256u

/* Looks for the response, and drops other messages. With a deadline that has passed, call_wait()
 * drops at most one. */
static void find_response(const struct endpoint_object *self, struct call *call)
{
    const struct channel_sleeper sleeper = linux_sleeper(self->endpoint);
    uint64_t first = call->client.dropped;
    uint64_t dropped;

    do {
        dropped = call->client.dropped;
        call->result = call_wait(&call->client, &sleeper, 0, &call->response, &call->length);
    } while (call->result == CALL_TIMED_OUT && call->client.dropped != dropped &&
             call->client.dropped - first < DROPPED_MAX);
}

static enum run_result is_answered(struct endpoint_object *self, void *context)
{
    struct call *call = context;
    const struct channel *channel = channel_of(self);

    find_response(self, call);
    switch (call->result) {
    case CALL_ANSWERED:
        return RUN_DONE;
    case CALL_TIMED_OUT:
        return RUN_AGAIN;
    case CALL_NOT_CONNECTED:
        break;
    }
    if (channel->state == CHANNEL_FAILED) {
        raise_failure(&channel->error);
    } else {
        tell_end(self);
    }
    return RUN_RAISED;
}

/* Sends a request. Returns false with an exception. */
static bool send_request(struct run *run, const Py_buffer *content, struct call *call)
{
    struct sent_message request = message_of(content, 0);

    if (!endpoint_is_usable(run->self, run->uses)) {
        return false;
    }
    call_begin(&call->client, channel_of(run->self));
    request.client = &call->client;
    return send_message(run, &request);
}

/* Waits for the response, and returns its content. Returns NULL with an exception. */
static PyObject *await_response(struct run *run, struct call *call)
{
    PyObject *content;

    if (!run_until(run, is_answered, run_wait_for_message, call)) {
        return NULL;
    }
    content = copy_of(call->response, call->length);
    call_end(&call->client);
    return content;
}

static PyObject *method_call(PyObject *object, PyObject *arguments)
{
    struct run sending = {
        .self = (struct endpoint_object *)object,
        .uses = ENDPOINT_RECEIVES | ENDPOINT_SENDS,
    };
    struct run waiting = {.self = sending.self, .uses = sending.uses};
    struct call call = {.result = CALL_TIMED_OUT};
    Py_buffer request;
    bool is_sent;

    if (!PyArg_ParseTuple(arguments, "y*O&", &request, run_read_deadline, &sending.deadline)) {
        return NULL;
    }
    waiting.deadline = sending.deadline;
    is_sent = send_request(&sending, &request, &call);
    PyBuffer_Release(&request);
    return is_sent ? await_response(&waiting, &call) : NULL;
}

/* The first half of call(): sends the request, and returns what response() needs. */
static PyObject *method_request(PyObject *object, PyObject *arguments)
{
    struct run run = {.self = (struct endpoint_object *)object, .uses = ENDPOINT_SENDS};
    struct call call = {.result = CALL_TIMED_OUT};
    Py_buffer request;
    bool is_sent;

    if (!PyArg_ParseTuple(arguments, "y*O&", &request, run_read_deadline, &run.deadline)) {
        return NULL;
    }
    is_sent = send_request(&run, &request, &call);
    PyBuffer_Release(&request);
    return is_sent ? Py_BuildValue("KKI", (unsigned long long)call.client.generation,
                                   (unsigned long long)call.client.peer, call.client.tag)
                   : NULL;
}

/* The second half of call(). */
static PyObject *method_response(PyObject *object, PyObject *arguments)
{
    struct run run = {.self = (struct endpoint_object *)object, .uses = ENDPOINT_RECEIVES};
    struct call call = {.result = CALL_TIMED_OUT};
    unsigned long long generation;
    unsigned long long peer;
    unsigned tag;

    if (!PyArg_ParseTuple(arguments, "(KKI)O&", &generation, &peer, &tag, run_read_deadline,
                          &run.deadline) ||
        !endpoint_is_usable(run.self, run.uses)) {
        return NULL;
    }
    call_begin(&call.client, channel_of(run.self));
    call.client.generation = generation;
    call.client.peer = peer;
    call.client.tag = tag;
    return await_response(&run, &call);
}

/* Sends a response in the present life of the peer. Done without it if the life has ended. */
static enum run_result try_to_answer(struct endpoint_object *self, void *context)
{
    struct channel *channel = channel_of(self);
    struct sent_message *message = context;

    while (channel_update(channel) == CHANNEL_CONNECTED) {
        switch (send_now(self, message)) {
        case CHANNEL_DONE:
            message->is_sent = true;
            return RUN_DONE;
        case CHANNEL_NOTHING:
            return RUN_AGAIN;
        case CHANNEL_TOO_LARGE:
            raise_too_large("a response", content_max(self), message->length);
            return RUN_RAISED;
        case CHANNEL_NOT_CONNECTED:
            break;
        }
    }
    if (channel->state == CHANNEL_FAILED) {
        raise_failure(&channel->error);
        return RUN_RAISED;
    }
    return RUN_DONE;
}

static struct channel_wait wait_for_space(const struct endpoint_object *self, void *context)
{
    const struct sent_message *message = context;

    return channel_wait_for_space(channel_of(self), message->length);
}

/* Sends a response, or notices that the peer ended. Returns false with an exception. */
static bool answer_request(struct run *run, struct sent_message *message)
{
    /* Otherwise nobody may have noticed that the peer ended. */
    linux_look_for_peer(run->self->endpoint);
    return run_until(run, try_to_answer, wait_for_space, message);
}

static PyObject *method_answer(PyObject *object, PyObject *arguments)
{
    struct run run = {.self = (struct endpoint_object *)object, .uses = ENDPOINT_SENDS};
    struct sent_message message;
    Py_buffer content;
    uint32_t tag;
    bool is_done;

    if (!PyArg_ParseTuple(arguments, "y*O&O&", &content, number_read_tag, &tag, run_read_deadline,
                          &run.deadline)) {
        return NULL;
    }
    message = message_of(&content, tag);
    is_done = endpoint_is_usable(run.self, run.uses) && answer_request(&run, &message);
    PyBuffer_Release(&content);
    return is_done ? PyBool_FromLong(message.is_sent) : NULL;
}

static PyObject *method_is_connected(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    if (!endpoint_is_usable(self, 0)) {
        return NULL;
    }
    linux_look_for_peer(self->endpoint);
    return PyBool_FromLong(channel_update(channel_of(self)) == CHANNEL_CONNECTED);
}

static PyObject *method_message_max(PyObject *object, PyObject *none)
{
    const struct endpoint_object *self = (const struct endpoint_object *)object;

    (void)none;
    return endpoint_is_usable(self, 0) ? PyLong_FromUnsignedLongLong(content_max(self)) : NULL;
}

/* As receive(): tells the end of a life once, then connects with the next one. `length`: of a
 * message for which there may be space soon; NULL: none. `has_messages`: a message is an event,
 * too. */
static bool arm_bell(struct endpoint_object *self, const unsigned long long *length,
                     bool has_messages)
{
    if (channel_of(self)->state == CHANNEL_ENDED) {
        if (!((struct channel_object *)self)->has_told_end) {
            return false;
        }
        accept_next_life(self);
    }
    if (length == NULL) {
        return linux_arm(self->endpoint);
    }
    return has_messages ? linux_arm_with_space(self->endpoint, *length)
                        : linux_arm_for_space(self->endpoint, *length);
}

static PyObject *method_arm(PyObject *object, PyObject *arguments)
{
    struct endpoint_object *self = (struct endpoint_object *)object;
    PyObject *space = Py_None;
    unsigned long long length = 0;
    int has_messages = 1;
    bool is_armed;

    if (!PyArg_ParseTuple(arguments, "|Op", &space, &has_messages) ||
        (space != Py_None && number_read_bytes(space, &length) == 0) ||
        !endpoint_is_usable(self, 0)) {
        return NULL;
    }
    if (length > content_max(self)) {
        return raise_too_large("a message", content_max(self), length);
    }
    is_armed = arm_bell(self, space != Py_None ? &length : NULL, has_messages != 0);
    /* It has silenced a doorbell that may have rung for a thread that sleeps. */
    endpoint_wake_all(self);
    return PyBool_FromLong(is_armed);
}

static PyObject *method_reset(PyObject *object, PyObject *none)
{
    struct endpoint_object *self = (struct endpoint_object *)object;

    (void)none;
    if (!endpoint_is_usable(self, 0)) {
        return NULL;
    }
    channel_reset(channel_of(self));
    ((struct channel_object *)self)->has_told_end = false;
    endpoint_wake_all(self);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"connect", method_connect, METH_VARARGS, NULL},
    {"send", method_send, METH_VARARGS, NULL},
    {"receive", method_receive, METH_VARARGS, NULL},
    {"call", method_call, METH_VARARGS, NULL},
    {"request", method_request, METH_VARARGS, NULL},
    {"response", method_response, METH_VARARGS, NULL},
    {"answer", method_answer, METH_VARARGS, NULL},
    {"is_connected", method_is_connected, METH_NOARGS, NULL},
    {"message_max", method_message_max, METH_NOARGS, NULL},
    {"arm", method_arm, METH_VARARGS, NULL},
    {"reset", method_reset, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_init, initialize},
    {Py_tp_dealloc, endpoint_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec channel_spec = {
    .name = "bulkhead_channel._channel.Channel",
    .basicsize = sizeof(struct channel_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
