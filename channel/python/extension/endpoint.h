/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The type Endpoint, from which the types of all kinds of channels derive: an endpoint of Linux
 * that one thread uses at a time. All functions need the interpreter's lock.
 */
#ifndef EXTENSION_ENDPOINT_H
#define EXTENSION_ENDPOINT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "channel/linux.h"

struct endpoint_object {
    PyObject_HEAD struct linux_endpoint *endpoint; /* NULL: not opened yet; valid while is_open */
    bool is_open;
    bool is_busy; /* a method waits without the interpreter's lock */
};

/* The arguments of a type: those of linux_map_file(). */
struct endpoint_arguments {
    const char *name; /* a path if it has a '/', otherwise that of a channel or a PCI function */
    unsigned end;
    enum linux_kind kind;
    unsigned long long ring_bytes; /* only for a path */
};

/* Adds Endpoint to the module. Returns the type, a borrowed reference; NULL with an exception. */
PyObject *endpoint_add(PyObject *module);

/* Adds a type that derives from Endpoint to the module. Returns false with an exception. */
bool endpoint_add_derived(PyObject *module, PyObject *endpoint_type, PyType_Spec *spec);

/* Opens the endpoint, and begins to use it. For `tp_init` of derived types. Returns false with an
 * exception. */
bool endpoint_open(struct endpoint_object *self, const struct endpoint_arguments *arguments);

/* Returns true if the endpoint can be used now; false with an exception if it is closed, belongs to
 * another process, or another thread uses it. */
bool endpoint_is_usable(const struct endpoint_object *self);

/* `tp_dealloc` of Endpoint and derived types. */
void endpoint_dealloc(PyObject *object);

#endif
