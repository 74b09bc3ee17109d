/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwIP's sequential interface, with one place of every mailbox kept for the news that a connection
 * has ended. As it is (2.1.3, 2.2.1: recv_tcp()) lwIP posts data until the mailbox is full, and
 * then forgets that the peer has closed: the program waits for ever.
 *
 * Compiled with lwIP's arguments; the include path has the folder of api_msg.c.
 */
#include "lwip/sys.h"

static err_t post_message(sys_mbox_t *mbox, void *message);

#define sys_mbox_trypost post_message

#include "api_msg.c"

#undef sys_mbox_trypost

/* Under lwIP's core lock: nobody else posts meanwhile, so what is free stays free. */
static err_t post_message(sys_mbox_t *mbox, void *message)
{
    const void *what = message;
    int end = what == &netconn_closed || what == &netconn_reset || what == &netconn_aborted;

    if (!end && mbox->count + 1 >= mbox->capacity) {
        return ERR_MEM;
    }
    return sys_mbox_trypost(mbox, message);
}
