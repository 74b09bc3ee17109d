/* SPDX-License-Identifier: BSD-2-Clause */
/* As much of Xen's interface of this name as bench/channel/vchan.c uses, for processes of one
 * Linux: see libxenvchan.c. */
#ifndef LIBXENVCHAN_H
#define LIBXENVCHAN_H

#include <stddef.h>
#include <stdint.h>

typedef int xenevtchn_handle;
typedef uint32_t evtchn_port_t;

struct ring_shared {
    uint32_t cons;
    uint32_t prod;
};

struct libxenvchan_ring {
    struct ring_shared *shr;
    uint8_t *buffer;
    int order;
};

struct libxenvchan {
    struct libxenvchan_ring read;
    struct libxenvchan_ring write;
    int blocking : 1;
};

struct libxenvchan *libxenvchan_server_init(void *logger, int domain, const char *path,
                                            size_t read_min, size_t write_min);
struct libxenvchan *libxenvchan_client_init(void *logger, int domain, const char *path);
int libxenvchan_recv(struct libxenvchan *vchan, void *data, size_t size);
int libxenvchan_read(struct libxenvchan *vchan, void *data, size_t size);
int libxenvchan_send(struct libxenvchan *vchan, const void *data, size_t size);
int xenevtchn_notify(const xenevtchn_handle *handle, evtchn_port_t port);

#endif
