/* SPDX-License-Identifier: BSD-2-Clause */
/* The exceptions that methods raise. All functions need the interpreter's lock. */
#ifndef EXTENSION_ERRORS_H
#define EXTENSION_ERRORS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "channel/error.h"
#include <stdbool.h>
#include <stdint.h>

/* Adds ChannelError to the module. Returns false with an exception. */
bool errors_add(PyObject *module);

/* Raise exceptions. They return NULL, for the caller to return it. */

/* ChannelError: the peer violated the format. */
void *raise_failure(const struct channel_error *error);

/* TimeoutError. */
void *raise_timeout(void);

/* EOFError: the peer ended. */
void *raise_end(void);

/* ValueError: "THING has at most LARGEST bytes, not LENGTH". */
void *raise_too_large(const char *thing, uint64_t largest, uint64_t length);

#endif
