/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps a page of a device, and loads from it, or stores to it: map_page DEVICE OFFSET load|store.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u

int main(int count, char **arguments)
{
    int file = count == 4 ? open(arguments[1], O_RDWR) : -1;
    void *page = MAP_FAILED;

    if (file >= 0) {
        page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, atoll(arguments[2]));
    }
    if (page == MAP_FAILED) {
        perror("map_page");
        return 1;
    }
    if (strcmp(arguments[3], "store") == 0) {
        *(volatile uint32_t *)page = 1;
    } else {
        printf("map_page: %u\n", *(volatile uint32_t *)page);
    }
    return 0;
}
