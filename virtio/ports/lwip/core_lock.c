/* SPDX-License-Identifier: BSD-2-Clause */
/* See core_lock.h. */
#include "core_lock.h"
#include "lwip/sys.h"
#include "lwip/tcpip.h"

static struct {
    void (*call)(void *context);
    void *context;
} on_release;

void network_lock(void)
{
    sys_mutex_lock(&lock_tcpip_core);
}

void network_unlock(void)
{
    if (on_release.call != NULL) {
        on_release.call(on_release.context);
    }
    sys_mutex_unlock(&lock_tcpip_core);
}

void network_set_release(void (*release)(void *context), void *context)
{
    on_release.call = release;
    on_release.context = context;
}
