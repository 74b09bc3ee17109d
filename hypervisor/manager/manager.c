/* SPDX-License-Identifier: BSD-2-Clause */
/* Carries out the manager's orders, on the boot core of the partition that gets the order. */
#include "manager/manager.h"

#include "console/terminal.h"
#include "manager/checksum.h"
#include "manager/order.h"
#include "manager/orders.h"
#include "partition/fault.h"
#include "partition/life.h"
#include "partition/load.h"

#include <string.h>

/* Most bytes that a step copies and checks. */
#define STEP_BYTES 1024u

static bool may_start(const struct vcpu *vcpu)
{
    return vcpu->partition->constant.described->restart != DESCRIPTION_RESTART_NEVER ||
           vcpu->report.starts == 0;
}

static void carry_out(struct vcpu *vcpu, const struct order *order)
{
    struct partition *partition = vcpu->partition;
    struct management *management = &partition->boot_vcpu.management;

    switch (order->command) {
    case ORDER_CREATE:
        management->presence = PARTITION_PRESENT;
        partition->boot_vcpu.has_kept = false;
        terminal_print_event(partition, "is created");
        break;
    case ORDER_START:
        management->presence = PARTITION_PRESENT;
        life_replace_request(vcpu, REQUEST_RESET, "is started by the manager");
        break;
    case ORDER_STOP:
        life_replace_request(vcpu, REQUEST_STOP, "is stopped by the manager");
        break;
    case ORDER_REPLACE:
        management->presence = PARTITION_PRESENT;
        management->image = order->image;
        partition->boot_vcpu.has_kept = false;
        life_replace_request(vcpu, REQUEST_RESET, "gets another image");
        break;
    case ORDER_CRASH:
        fault_of_panic(vcpu, 0, 0);
        break;
    default: /* ORDER_DESTROY */
        management->presence = PARTITION_ENDING;
        management->image.bytes = 0;
        partition->boot_vcpu.has_kept = false;
        life_replace_request(vcpu, REQUEST_RESET, "is stopped to be destroyed");
        break;
    }
}

/* Returns true if the partition's result says why it does not execute, which no refused order may
 * hide: its manager asks for the reason later. */
static bool says_why_stopped(const struct partition *partition, const struct situation *situation)
{
    return partition->boot_vcpu.management.result == MANAGER_RESTARTS_USED_UP ||
           situation->request == REQUEST_FAILED;
}

static void handle_order(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    struct management *management = &partition->boot_vcpu.management;
    const struct order *order = &partition->constant.orders->orders[partition->constant.index];
    uint32_t number = __atomic_load_n(&order->number, __ATOMIC_ACQUIRE);
    const struct situation situation = {
        .presence = management->presence,
        .request = __atomic_load_n(&partition->atomic.request, __ATOMIC_ACQUIRE),
        .is_in_transition = partition->boot_vcpu.transition.phase != TRANSITION_NONE,
        .may_start = may_start(vcpu),
    };
    enum manager_result result;

    if (number == management->answered) {
        return;
    }
    result = order_judge(order->command, &situation);
    if (result == MANAGER_DONE || !says_why_stopped(partition, &situation)) {
        management->result = result;
    }
    if (result == MANAGER_DONE) {
        carry_out(vcpu, order);
    }
    __atomic_store_n(&management->answered, number, __ATOMIC_RELEASE);
}

void manager_take_order(struct vcpu *vcpu)
{
    if (vcpu->partition->constant.orders != NULL) {
        handle_order(vcpu);
    }
}

/* Ends the partition's start, and prints `event`. The boot VCPU executes this, and finds the
 * request before its next step. */
static void end_start(struct partition *partition, const char *event)
{
    terminal_print_event(partition, "%s", event);
    __atomic_store_n(&partition->atomic.request, REQUEST_STOP, __ATOMIC_RELEASE);
}

/* Ends the start of a partition that is destroyed or not created: its memory has been zeroed, and
 * no image is loaded. */
static void end_without_image(struct partition *partition)
{
    struct management *management = &partition->boot_vcpu.management;
    bool is_ordered = management->presence == PARTITION_ENDING && management->answered != 0;

    end_start(partition, is_ordered ? "is destroyed" : "is not created");
    __atomic_store_n(&management->presence, PARTITION_ABSENT, __ATOMIC_RELEASE);
}

/* Returns true if a staged image is copied in place of the description's image at `guest`. */
static bool is_replaced(const struct partition *partition, uint64_t guest)
{
    return partition->boot_vcpu.management.image.bytes != 0 &&
           guest == partition->constant.described->entry;
}

uint64_t manager_image_bytes(const struct partition *partition,
                             const struct description_image *image)
{
    const struct management *management = &partition->boot_vcpu.management;

    if (management->presence != PARTITION_PRESENT) {
        return 0;
    }
    return is_replaced(partition, image->guest) ? management->image.bytes : image->bytes;
}

bool manager_copies(struct partition *partition, uint64_t guest, uint64_t to,
                    struct load_progress *progress)
{
    struct management *management = &partition->boot_vcpu.management;
    const struct staged_image *image = &management->image;
    uint64_t left = image->bytes - progress->done;
    void *target = (void *)(uintptr_t)(to + progress->done);

    if (management->presence != PARTITION_PRESENT) {
        end_without_image(partition);
        return true;
    }
    if (!is_replaced(partition, guest)) {
        return false;
    }
    left = left < STEP_BYTES ? left : STEP_BYTES;
    memcpy(target, (const void *)(uintptr_t)(image->physical + progress->done), left);
    /* The checksum of the copy is calculated, because the manager may have changed the image since
     * its check. */
    management->copied = checksum_add(progress->done == 0 ? 0 : management->copied, target, left);
    load_clean((uintptr_t)target, (uintptr_t)target + left);
    progress->done += left;
    if (progress->done == image->bytes) {
        progress->done = 0;
        progress->index++;
        if (management->copied != image->checksum) {
            management->result = MANAGER_CHANGED;
            end_start(partition, "can't start: its image was changed in the manager's memory");
        }
    }
    return true;
}
