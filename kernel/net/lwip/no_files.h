/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's HTTP server includes its table of built-in files from this file. There are none. */
#ifndef NETWORK_NO_FILES_H
#define NETWORK_NO_FILES_H

#define FS_ROOT NULL

#endif
