/* SPDX-License-Identifier: BSD-2-Clause */
/* The extension module bulkhead_channel._channel. __init__.py documents what its types do. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "endpoint.h"
#include "errors.h"
#include "types.h"

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_channel",
    .m_size = -1,
};

/* Returns false with an exception. */
static bool add_types(PyObject *module)
{
    PyObject *endpoint_type = endpoint_add(module);

    return endpoint_type != NULL && endpoint_add_derived(module, endpoint_type, &channel_spec) &&
           endpoint_add_derived(module, endpoint_type, &value_channel_spec) &&
           endpoint_add_derived(module, endpoint_type, &one_way_sender_spec) &&
           endpoint_add_derived(module, endpoint_type, &one_way_receiver_spec);
}

PyMODINIT_FUNC PyInit__channel(void);

PyMODINIT_FUNC PyInit__channel(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module != NULL && errors_add(module) && add_types(module)) {
        return module;
    }
    Py_XDECREF(module);
    return NULL;
}
