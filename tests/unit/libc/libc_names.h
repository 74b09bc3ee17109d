/* SPDX-License-Identifier: BSD-2-Clause */
/* Included before each file of our C library in host builds, to give its functions names of their
 * own. */
#ifndef LIBC_NAMES_H
#define LIBC_NAMES_H

#define memcpy      tested_memcpy
#define memmove     tested_memmove
#define memset      tested_memset
#define memcmp      tested_memcmp
#define memchr      tested_memchr
#define strlen      tested_strlen
#define strnlen     tested_strnlen
#define strcmp      tested_strcmp
#define strncmp     tested_strncmp
#define strcasecmp  tested_strcasecmp
#define strncasecmp tested_strncasecmp
#define strchr      tested_strchr
#define strrchr     tested_strrchr
#define strstr      tested_strstr
#define strcpy      tested_strcpy
#define strncpy     tested_strncpy
#define strcat      tested_strcat
#define strtol      tested_strtol
#define strtoul     tested_strtoul
#define atoi        tested_atoi
#define snprintf    tested_snprintf
#define vsnprintf   tested_vsnprintf

#endif
