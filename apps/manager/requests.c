/* SPDX-License-Identifier: BSD-2-Clause */
#include "requests.h"

#include "calls.h"
#include "kernel/devicetree.h"
#include "request_page.h"
#include <arch/mmu.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE 4096u
static struct request_page *page;

bool requests_begin(void)
{
    int node = devicetree_next_compatible(-1, "bulkhead,staging");
    uint64_t address, bytes;

    if (node < 0 || devicetree_reg(node, 0, &address, &bytes) != RESULT_OK || bytes < PAGE ||
        arch_mmu_map_memory(address, (size_t)bytes) != RESULT_OK) {
        return false;
    }
    page = (struct request_page *)(uintptr_t)(address + bytes - PAGE);
    *page = (struct request_page){.magic = 0};
    __atomic_store_n(&page->magic, REQUEST_PAGE_MAGIC, __ATOMIC_RELEASE);
    return true;
}

static void list(void)
{
    for (uint32_t i = 0; i < CALL_PARTITIONS_MAX; i++) {
        struct partition_situation situation = partition_status(i);

        page->states[i] = (int32_t)situation.state;
        page->results[i] = (int32_t)situation.result;
        page->errors[i] = (uint32_t)situation.errors;
        page->images[i] = partition_image(i);
    }
}

void requests_serve(void)
{
    uint32_t request = __atomic_load_n(&page->request, __ATOMIC_ACQUIRE);
    uint32_t command = page->command, partition = page->partition;
    const struct staged image = page->image;
    int64_t result = 0;

    if (request == page->answer) {
        return;
    }
    if (command <= ORDER_CRASH && partition < CALL_PARTITIONS_MAX) {
        result = partition_order((enum order_command)command, partition, &image);
    } else if (command == REQUEST_GIVE) {
        result = device_give(image.offset, partition);
    }
    list();
    page->result = (int32_t)result;
    __atomic_store_n(&page->answer, request, __ATOMIC_RELEASE);
}
