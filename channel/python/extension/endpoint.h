/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The type Endpoint, from which the types of all kinds of channels derive: an endpoint of Linux.
 * All functions need the interpreter's lock, which protects the endpoint. A thread that waits
 * sleeps without it: at most one that receives, and one that sends.
 */
#ifndef EXTENSION_ENDPOINT_H
#define EXTENSION_ENDPOINT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "channel/linux.h"

/* The actions of methods that may wait. A method may do both. */
#define ENDPOINT_RECEIVES 1u
#define ENDPOINT_SENDS    2u

/* A thread that sleeps without the interpreter's lock, or may do so. */
struct endpoint_sleeper {
    bool is_asleep;
    uint64_t flags; /* for which it has asked the peer, while it sleeps */
    int wake;       /* an eventfd that ends its sleep; valid with `has_wake` */
    bool has_wake;
};

struct endpoint_object {
    PyObject_HEAD struct linux_endpoint *endpoint; /* NULL: not opened yet; valid while is_open */
    bool is_open;
    unsigned uses; /* ENDPOINT_*: what methods do that wait without the interpreter's lock */
    struct endpoint_sleeper sleepers[2]; /* of the thread that receives or calls, and that sends */
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

/* Returns true if the endpoint can be used now by a method that does this (ENDPOINT_*; 0: it never
 * waits); false with an exception if it is closed, belongs to another process, or another thread
 * waits in a method that does the same. */
bool endpoint_is_usable(const struct endpoint_object *self, unsigned uses);

/* Sleeps without the interpreter's lock until the wait may be over, or until the time passes. A
 * signal may end it. `uses`: of the method; no other thread waits in a method that does the same.
 * Returns 1 if the wait was over, or the sleep ended before the time; 0 if the time passed; -1 with
 * an exception. */
int endpoint_sleep(struct endpoint_object *self, unsigned uses, const struct channel_wait *wait,
                   uint64_t until);

/* Ends the sleeps of all threads, so that they look at the endpoint again. */
void endpoint_wake_all(const struct endpoint_object *self);

/* `tp_dealloc` of Endpoint and derived types. */
void endpoint_dealloc(PyObject *object);

#endif
