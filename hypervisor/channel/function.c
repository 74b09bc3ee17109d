/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/function.h"

#include "emulated_function/host.h"
#include "emulated_function/interrupt.h"

#define PEERS 2u

/* Registers of BAR 0 (ivshmem, "Register Region"), of 32 bits each. */
#define REGISTER_ID        0x0u
#define REGISTER_PEERS     0x4u
#define REGISTER_INTERRUPT 0x8u
#define REGISTER_DOORBELL  0xCu
#define REGISTER_STATE     0x10u
#define REGISTER_BYTES     4u

#define INTERRUPT_ENABLE (1u << 0)
#define DOORBELL(peer)   ((peer) << 16) /* the vector is 0, because INTx has no other */

bool channel_function_find(const struct partition *partition, uint32_t index, struct end *end)
{
    return end_find(partition, index, end) && end_described(end)->function != 0;
}

static uint32_t read_register(const struct end *end, uint64_t at)
{
    switch (at) {
    case REGISTER_ID:
        return end_guest_number(end);
    case REGISTER_PEERS:
        return PEERS;
    case REGISTER_INTERRUPT:
        return (function_interrupt_bits(end_function(end)) & FUNCTION_ENABLE) != 0
                   ? INTERRUPT_ENABLE
                   : 0;
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
        function_interrupt_change(end_function(end), FUNCTION_ENABLE,
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

enum access_result channel_function_register(const struct end *end, struct access *access)
{
    if (access->bytes != REGISTER_BYTES || access->offset > REGISTER_STATE) {
        return function_host_refuse(access, 0);
    }
    if (access->write) {
        write_register(end, access->offset, (uint32_t)access->value);
    } else {
        access->value = read_register(end, access->offset);
    }
    return ACCESS_DONE;
}

bool channel_function_is_near(const struct end *end, uint64_t address)
{
    return function_host_is_near(end_described(end)->guest, channel_region_bytes(end->channel),
                                 address);
}
