/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/function.h"

#include "channel/channel.h"
#include "channel/function_interrupt.h"
#include "pci/lock.h"
#include <devices/pci_registers.h>

#define FUNCTIONS_PER_DEVICE 8u
#define PEERS                2u
#define BLOCK_BYTES          (UINT64_C(2) << 20)

/* Registers of BAR 0 (ivshmem, "Register Region"), of 32 bits each. */
#define REGISTER_ID        0x0u
#define REGISTER_PEERS     0x4u
#define REGISTER_INTERRUPT 0x8u
#define REGISTER_DOORBELL  0xCu
#define REGISTER_STATE     0x10u
#define REGISTER_BYTES     4u

#define INTERRUPT_ENABLE (1u << 0)
#define DOORBELL(peer)   ((peer) << 16) /* the vector is 0, because INTx has no other */

/* Finds the partition's end of a channel. Returns false if there is none, or if it is not a PCI
 * function. */
static bool find_function(const struct partition *partition, uint32_t index, struct end *end)
{
    return end_find(partition, index, end) && end_described(end)->function != 0;
}

void function_reset(const struct end *end)
{
    if (end_described(end)->function != 0) {
        end_function(end)->bar = 0;
        end_function(end)->command = 0;
        function_interrupt_change(end, UINT32_MAX, 0);
    }
}

static enum access_result refuse(struct access *access, uint64_t value)
{
    if (!access->write) {
        access->value = value >> (64 - 8 * access->bytes);
    }
    return ACCESS_REFUSED;
}

static enum access_result access_config(struct partition *partition, struct access *access)
{
    uint64_t number = access->offset / PCI_CONFIG_BYTES, index = number / FUNCTIONS_PER_DEVICE;
    enum access_result result;
    struct end end;

    if (number % FUNCTIONS_PER_DEVICE != 0 || access->bytes > sizeof(uint32_t) ||
        !find_function(partition, (uint32_t)index, &end)) {
        return refuse(access, UINT64_MAX);
    }
    access->offset %= PCI_CONFIG_BYTES;
    if (!pci_lock(partition)) {
        return ACCESS_AGAIN;
    }
    result = function_config_access(&end, access);
    pci_unlock(partition);
    return result;
}

static uint32_t read_register(const struct end *end, uint64_t at)
{
    switch (at) {
    case REGISTER_ID:
        return end_guest_number(end);
    case REGISTER_PEERS:
        return PEERS;
    case REGISTER_INTERRUPT:
        return (function_interrupt_bits(end) & FUNCTION_ENABLE) != 0 ? INTERRUPT_ENABLE : 0;
    case REGISTER_STATE:
        return __atomic_load_n(&end_page(end)->states.ends[end_guest_number(end)],
                               __ATOMIC_RELAXED);
    default:
        return 0;
    }
}

static void write_register(const struct end *end, uint64_t at, uint32_t value)
{
    switch (at) {
    case REGISTER_INTERRUPT:
        function_interrupt_change(end, FUNCTION_ENABLE,
                                  (value & INTERRUPT_ENABLE) != 0 ? FUNCTION_ENABLE : 0);
        break;
    case REGISTER_DOORBELL:
        if (value == DOORBELL(1 - end_guest_number(end))) {
            end_ring_peers(end);
        }
        break;
    case REGISTER_STATE:
        if (value != read_register(end, REGISTER_STATE)) {
            end_set_state(end, value);
        }
        break;
    default:
        break;
    }
}

static enum access_result access_register(const struct end *end, struct access *access)
{
    uint64_t at = access->offset % DESCRIPTION_PAGE_BYTES;

    if (access->bytes != REGISTER_BYTES || at > REGISTER_STATE) {
        return refuse(access, 0);
    }
    if (access->write) {
        write_register(end, at, (uint32_t)access->value);
    } else {
        access->value = read_register(end, at);
    }
    return ACCESS_DONE;
}

/* Handles an access to the window of BARs. `address`: guest address in the window. */
static enum access_result access_window(const struct partition *partition, uint64_t address,
                                        struct access *access)
{
    uint64_t page = address - address % DESCRIPTION_PAGE_BYTES;
    struct end end;

    for (uint32_t i = 0; i < partition->constant.system->channel_count; i++) {
        if (find_function(partition, i, &end) && end_function(&end)->bar == page &&
            (end_function(&end)->command & PCI_COMMAND_MEMORY) != 0) {
            return access_register(&end, access);
        }
    }
    return refuse(access, UINT64_MAX);
}

/* Returns true if the partition's PCI host for channels contains the address. Sets *offset. */
static bool is_in_host(const struct partition *partition, uint64_t address, uint64_t *offset)
{
    uint64_t host = partition->constant.described->channel_host;

    *offset = address - host; /* an address below the host wraps to a huge offset */
    return host != 0 && *offset < DESCRIPTION_HOST_ECAM_BYTES + DESCRIPTION_HOST_WINDOW_BYTES;
}

bool channel_is_near(const struct partition *partition, uint64_t address)
{
    uint64_t offset;
    struct end end;

    if (is_in_host(partition, address, &offset)) {
        return true;
    }
    for (uint32_t i = 0; i < partition->constant.system->channel_count; i++) {
        if (find_function(partition, i, &end)) {
            uint64_t start = end_described(&end)->guest;
            uint64_t last = start + channel_region_bytes(end.channel) - 1;

            if (address / BLOCK_BYTES >= start / BLOCK_BYTES &&
                address / BLOCK_BYTES <= last / BLOCK_BYTES) {
                return true;
            }
        }
    }
    return false;
}

bool channel_access(struct partition *partition, uint64_t address, struct access *access,
                    enum access_result *result)
{
    uint64_t offset;

    if (!is_in_host(partition, address, &offset)) {
        return false;
    }
    access->offset = offset;
    *result = offset < DESCRIPTION_HOST_ECAM_BYTES ? access_config(partition, access)
                                                   : access_window(partition, address, access);
    return true;
}
