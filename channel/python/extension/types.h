/* SPDX-License-Identifier: BSD-2-Clause */
/* The types that derive from Endpoint. Each has the methods of a class of __init__.py. */
#ifndef EXTENSION_TYPES_H
#define EXTENSION_TYPES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec channel_spec;
extern PyType_Spec value_channel_spec;
extern PyType_Spec one_way_sender_spec;
extern PyType_Spec one_way_receiver_spec;

#endif
