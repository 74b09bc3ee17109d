/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "lock.h"

#include <fcntl.h>

/* An end's lock belongs to the open file, not to the process, so that closing another one of the
 * same file does not free it. */
static struct flock lock_of(unsigned end, short type)
{
    return (struct flock){
        .l_type = type,
        .l_whence = SEEK_SET,
        .l_start = (off_t)end,
        .l_len = 1,
    };
}

bool lock_take(int file, unsigned end)
{
    struct flock lock = lock_of(end, F_WRLCK);

    return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

void lock_free(int file, unsigned end)
{
    struct flock lock = lock_of(end, F_UNLCK);

    (void)fcntl(file, F_OFD_SETLK, &lock);
}

bool lock_is_taken(int file, unsigned end)
{
    struct flock lock = lock_of(end, F_WRLCK);

    return fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}
