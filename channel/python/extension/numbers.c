/* SPDX-License-Identifier: BSD-2-Clause */
#include "numbers.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns false with an exception; `range`: what it says of a number that is out of range. */
static bool read_number(PyObject *object, unsigned long long largest, const char *range,
                        unsigned long long *number)
{
    PyObject *index = PyNumber_Index(object);
    bool is_in_range;

    if (index == NULL) {
        return false;
    }
    *number = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    is_in_range = PyErr_Occurred() == NULL && *number <= largest;
    if (!is_in_range) {
        PyErr_SetString(PyExc_ValueError, range);
    }
    return is_in_range;
}

int number_read_tag(PyObject *object, void *tag)
{
    unsigned long long number;

    if (!read_number(object, UINT32_MAX, "a tag is a number from 0 to 4294967295", &number)) {
        return 0;
    }
    *(uint32_t *)tag = (uint32_t)number;
    return 1;
}

int number_read_end(PyObject *object, void *end)
{
    unsigned long long number;

    if (!read_number(object, 1, "the end of a channel is 0 or 1", &number)) {
        return 0;
    }
    *(unsigned *)end = (unsigned)number;
    return 1;
}

int number_read_bytes(PyObject *object, void *bytes)
{
    return read_number(object, ULLONG_MAX, "a number of bytes is from 0 to 2^64 - 1", bytes) ? 1
                                                                                             : 0;
}
