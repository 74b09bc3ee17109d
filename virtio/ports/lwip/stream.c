/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits for more frames of a stream before the bottom half enables interrupts and sleeps. First it
 * polls the ring, and then, if an interrupt is expensive, it looks at the ring from time to time.
 */
#include "core_lock.h"
#include "netif_private.h"
#include "network_system.h"
#include "virtio_netif.h"

/* Number of frames without a pause that count as a stream, not as a request or an answer. */
#define STREAM_FRAMES 8u

/* So many bytes received and sent since the bottom half was woken count as a stream, for which
 * interrupts are replaced by naps. More than a segment, because a nap costs more instructions than
 * the interrupt that a request or an answer has. */
#define STREAM_BYTES 8192u

/* The ring is looked at once in a nap, as often as the back-ends of shared devices look at theirs.
 * Each nap in vain is followed by one that is twice as long. A stream has ended after NAPS in vain:
 * 4 ms. */
#define NAP_NANOSECONDS_MIN UINT64_C(50000)
#define NAP_NANOSECONDS_MAX UINT64_C(200000)
#define NAPS                21u

/*
 * While frames arrive in a stream, polls the ring for a while instead of sleeping. Sleeping and
 * waking up take longer than a device needs to fill 8 buffers, so the device would stall each time.
 * Polls only while no other thread is ready, and not while the device has many frames to send,
 * because its interrupt is needed then. Returns true if there are frames.
 */
static bool poll_before_sleep(struct virtio_netif *interface)
{
    if (interface->streak < STREAM_FRAMES || interface->packets_free < TRANSMIT_PACKETS / 2) {
        return false;
    }
    for (uint32_t i = 0; i < interface->parameters.poll && network_is_alone(); i++) {
        network_step_begins();
        if (virtio_net_poll(interface->net)) {
            return true;
        }
    }
    return false;
}

/*
 * In place of interrupts, which a hypervisor emulates with an exit for each access to a register.
 * Sent packets are released after each nap, because no interrupt does that. If the bottom half is
 * woken for another reason, that is left to its loop.
 */
static void nap_before_sleep(struct virtio_netif *interface)
{
    uint64_t nap = NAP_NANOSECONDS_MIN;

    if (!virtio_net_interrupt_traps(interface->net) ||
        virtio_net_moved_bytes(interface->net) - interface->moved_before < STREAM_BYTES) {
        return;
    }
    for (unsigned naps = 0; naps < NAPS; naps++) {
        enum network_nap_end end = network_nap(&interface->wake, nap);

        nap = LWIP_MIN(2 * nap, NAP_NANOSECONDS_MAX);
        if (end == NETWORK_NAP_SIGNALLED) {
            sys_sem_signal(&interface->wake);
        }
        if (end != NETWORK_NAP_OVER) {
            return;
        }
        network_lock();
        transmit_release(interface);
        network_unlock();
        if (virtio_net_poll(interface->net)) {
            return;
        }
    }
}

void stream_begin(struct virtio_netif *interface)
{
    interface->streak = 0;
    interface->moved_before = virtio_net_moved_bytes(interface->net);
}

void stream_await(struct virtio_netif *interface)
{
    if (!poll_before_sleep(interface)) {
        nap_before_sleep(interface);
    }
}
