/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "lock.h"

#include <fcntl.h>

/* An end's lock belongs to the open file, not to the process, so that closing another one of the
 * same file does not free it. */
static struct flock lock_of(unsigned byte, short type)
{
    return (struct flock){
        .l_type = type,
        .l_whence = SEEK_SET,
        .l_start = (off_t)byte,
        .l_len = 1,
    };
}

/* The byte of the lock among processes: both kinds of locks exclude each other on the same byte. */
static unsigned process_byte(unsigned end)
{
    return 2 + end;
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

bool lock_take_in_process(int file, unsigned end)
{
    struct flock lock = lock_of(process_byte(end), F_WRLCK);

    return fcntl(file, F_SETLK, &lock) == 0;
}

void lock_free_in_process(int file, unsigned end)
{
    struct flock lock = lock_of(process_byte(end), F_UNLCK);

    (void)fcntl(file, F_SETLK, &lock);
}

bool lock_is_taken(int file, unsigned end)
{
    struct flock lock = lock_of(end, F_WRLCK);

    return fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}
