/* SPDX-License-Identifier: BSD-2-Clause */
/* The headers are C11 and C++17. In C++ what they declare has the linkage of C. */
#ifndef CHANNEL_LINKAGE_H
#define CHANNEL_LINKAGE_H

#ifdef __cplusplus
#define CHANNEL_C_BEGIN extern "C" {
#define CHANNEL_C_END   }
#else
#define CHANNEL_C_BEGIN
#define CHANNEL_C_END
#endif

#endif
