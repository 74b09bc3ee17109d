/* SPDX-License-Identifier: BSD-2-Clause */
#include "errors.h"

static PyObject *channel_error;

bool errors_add(PyObject *module)
{
    channel_error = PyErr_NewException("bulkhead_channel.ChannelError", NULL, NULL);
    return channel_error != NULL &&
           PyModule_AddObjectRef(module, "ChannelError", channel_error) == 0;
}

void *raise_failure(const struct channel_error *error)
{
    PyErr_Format(channel_error, "%s: %llu at position %llu", channel_error_text(error->kind),
                 (unsigned long long)error->value, (unsigned long long)error->position);
    return NULL;
}

void *raise_timeout(void)
{
    PyErr_SetString(PyExc_TimeoutError, "the time passed");
    return NULL;
}

void *raise_end(void)
{
    PyErr_SetString(PyExc_EOFError, "the peer ended");
    return NULL;
}

void *raise_too_large(const char *thing, uint64_t largest, uint64_t length)
{
    PyErr_Format(PyExc_ValueError, "%s has at most %llu bytes, not %llu", thing,
                 (unsigned long long)largest, (unsigned long long)length);
    return NULL;
}
