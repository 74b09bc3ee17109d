/* SPDX-License-Identifier: BSD-2-Clause */
/* Returns the bytes of each connection to a port of the guest's virtio socket (vsock(7)). */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#define PORT 1234

static bool write_whole(int connection, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(connection, bytes, size);

        if (written <= 0) {
            return false;
        }
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

static void return_bytes(int connection)
{
    static char bytes[65536];
    ssize_t size;

    do {
        size = read(connection, bytes, sizeof bytes);
    } while (size > 0 && write_whole(connection, bytes, (size_t)size));
}

int main(void)
{
    const struct sockaddr_vm address = {
        .svm_family = AF_VSOCK,
        .svm_cid = VMADDR_CID_ANY,
        .svm_port = PORT,
    };
    int listener = socket(AF_VSOCK, SOCK_STREAM, 0);

    if (listener < 0 || bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 1) != 0) {
        printf("vsock: %s\n", strerror(errno));
        return 1;
    }
    printf("vsock: listening on port %d\n", PORT);
    (void)fflush(stdout);
    for (;;) {
        int connection = accept(listener, NULL, NULL);

        if (connection >= 0) {
            return_bytes(connection);
            (void)close(connection);
        }
    }
}
