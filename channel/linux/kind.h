/* SPDX-License-Identifier: BSD-2-Clause */
/* The kinds of channels, for endpoints: their sections, and the beginning and end of their use. */
#ifndef LINUX_KIND_H
#define LINUX_KIND_H

#include "endpoint.h"

struct kind_operations {
    unsigned sections; /* of the region: 1 or 2 */

    /* Begins the use of the endpoint's objects. endpoint_check() has checked the size, so the
     * library's functions do not fail. */
    void (*begin)(struct linux_endpoint *endpoint);

    /* Ends their use, so that the peer notices it. Safe in a signal handler. NULL: the peer of this
     * kind can't notice it. */
    void (*end)(struct linux_endpoint *endpoint);

    /* Returns a wait for what the channel delivers. */
    struct channel_wait (*wait)(struct linux_endpoint *endpoint);
};

const struct kind_operations *kind_operations(enum linux_kind kind);

#endif
