/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket of the tests' back-end. */
#ifndef TESTS_VHOST_USER_FAKE_SOCKET_H
#define TESTS_VHOST_USER_FAKE_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PAYLOAD_MAX  256u
#define HEADER_BYTES 12u

/* A rule of the protocol that the front-end has to keep. */
#define RULE(kept)                                                                         \
    do {                                                                                   \
        if (!(kept)) {                                                                     \
            (void)fprintf(stderr, "line %d: the front-end breaks: %s\n", __LINE__, #kept); \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

struct __attribute__((packed)) message { /* as it goes over the socket, up to the payload's end */
    uint32_t request;
    uint32_t flags;
    uint32_t bytes;
    union {
        uint64_t number;
        uint32_t word[PAYLOAD_MAX / 4];
        uint64_t wide[PAYLOAD_MAX / 8];
        uint8_t byte[PAYLOAD_MAX];
    } payload;
    int descriptor;
};

struct fake_socket {
    int connection; /* -1: none */
    int quit;       /* eventfd: the end of the thread */
};

/* Waits for the descriptor to be readable. False: it is the end. */
bool fake_wait_for(const struct fake_socket *socket, int descriptor);
/* The next message. False: the front-end has hung up, or it is the end. */
bool fake_receive(const struct fake_socket *socket, struct message *message);
/* Closes what came with the message and nobody took. */
void fake_drop_descriptor(struct message *message);
void fake_send(const struct fake_socket *socket, const void *memory, size_t bytes);

#endif
