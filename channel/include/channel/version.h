/* SPDX-License-Identifier: BSD-2-Clause */
/* The version of the library, of the command bulkhead-channel and of the Python package. */
#ifndef CHANNEL_VERSION_H
#define CHANNEL_VERSION_H

#define CHANNEL_VERSION "0.1.0"

#endif
