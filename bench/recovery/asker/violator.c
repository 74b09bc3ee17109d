/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes orders to have a fault (page.h) in Linux: it accesses memory that the partition does not
 * have, through /dev/mem. It does not return from that in a partition.
 */
#include "page.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* As in guests/violation.c. */
#define NOWHERE    0x3000000000
#define PAGE_BYTES 4096
#define SECOND     1000000000

static volatile uint32_t *map(void)
{
    int memory = open("/dev/mem", O_RDWR | O_SYNC);
    void *mapped = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, NOWHERE);

    return mapped == MAP_FAILED ? NULL : mapped;
}

static int receive_order(struct fault_order *order)
{
    const struct sockaddr_in place = {
        .sin_family = AF_INET, .sin_port = htons(FAULT_PORT), .sin_addr.s_addr = INADDR_ANY};
    int datagrams = socket(AF_INET, SOCK_DGRAM, 0);

    if (bind(datagrams, (const struct sockaddr *)&place, sizeof(place)) != 0) {
        return -1;
    }
    (void)puts("violator: ready");
    return recv(datagrams, order, sizeof(*order), 0) == sizeof(*order) ? 0 : -1;
}

int main(void)
{
    struct fault_order order;
    struct timespec wait;
    volatile uint32_t *nowhere = map();

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (nowhere == NULL || receive_order(&order) != 0) {
        (void)puts("FAIL: violator: no memory, or no order");
        return 1;
    }
    wait.tv_sec = ntohl(order.nanoseconds) / SECOND;
    wait.tv_nsec = ntohl(order.nanoseconds) % SECOND;
    (void)nanosleep(&wait, NULL);
    *nowhere = 0;
    (void)puts("FAIL: violator: it goes on");
    return 1;
}
