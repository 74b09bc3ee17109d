/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers in the arguments of methods. The formats "I" and "K" of PyArg_ParseTuple() truncate them.
 */
#ifndef EXTENSION_NUMBERS_H
#define EXTENSION_NUMBERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Convert an int, for the format "O&" of PyArg_ParseTuple(): return 0 with an exception, ValueError
 * if the number is out of range. */

/* A tag, to a uint32_t. */
int number_read_tag(PyObject *object, void *tag);

/* An end, 0 or 1, to an unsigned. */
int number_read_end(PyObject *object, void *end);

/* A number of bytes, to an unsigned long long. */
int number_read_bytes(PyObject *object, void *bytes);

#endif
