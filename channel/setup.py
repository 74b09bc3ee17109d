# SPDX-License-Identifier: BSD-2-Clause
"""The extension module of bulkhead_channel: the library of channels, and its port to Linux."""

from setuptools import Extension, setup

LIBRARY = ("broadcast", "call", "connection", "copy", "error", "ring", "value", "wait")
EXTENSION = ("broadcast", "channel", "endpoint", "errors", "module", "numbers", "run", "value")
PORT = (
    "dax",
    "endpoint",
    "file",
    "function",
    "function_files",
    "kind",
    "lent",
    "lock",
    "pci_function",
    "poll",
)

setup(
    ext_modules=[
        Extension(
            "bulkhead_channel._channel",
            sources=[
                *(f"python/extension/{name}.c" for name in EXTENSION),
                *(f"{name}.c" for name in LIBRARY),
                *(f"linux/{name}.c" for name in PORT),
            ],
            include_dirs=["include", "linux/include", "linux"],
            extra_compile_args=["-std=gnu11"],
        )
    ]
)
