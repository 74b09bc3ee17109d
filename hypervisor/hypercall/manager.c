/* SPDX-License-Identifier: BSD-2-Clause */
#include "hypercall/manager.h"

#include "health/health.h"
#include "manager/checksum.h"
#include "manager/image.h"
#include "manager/order.h"
#include "manager/orders.h"
#include "partition/ownership.h"
#include "partition/recall.h"

/* Most bytes of an image that one call checks. The check uses the manager's own time, while the
 * partition executes. */
#define CHECK_BYTES 256u

static bool is_manager(const struct vcpu *vcpu)
{
    const struct description_manager *manager = &vcpu->partition->constant.system->manager;

    return manager->staging_bytes != 0 && vcpu->partition->constant.index == manager->partition &&
           vcpu->number == 0;
}

static bool is_order_taken(const struct manager_orders *orders, uint32_t index)
{
    const struct management *management = &orders->partitions[index]->boot_vcpu.management;

    return __atomic_load_n(&management->answered, __ATOMIC_ACQUIRE) == orders->orders[index].number;
}

static struct situation situation_of(const struct partition *partition)
{
    return (struct situation){
        .presence = __atomic_load_n(&partition->boot_vcpu.management.presence, __ATOMIC_ACQUIRE),
        .request = __atomic_load_n(&partition->atomic.request, __ATOMIC_ACQUIRE),
        .is_in_transition = __atomic_load_n(&partition->boot_vcpu.transition.phase,
                                            __ATOMIC_ACQUIRE) != TRANSITION_NONE,
        .is_halted =
            __atomic_load_n(&partition->atomic.power[0].state, __ATOMIC_ACQUIRE) == VCPU_HALTED,
        .may_start = partition->constant.described->restart != DESCRIPTION_RESTART_NEVER ||
                     __atomic_load_n(&partition->boot_vcpu.starts, __ATOMIC_RELAXED) == 0,
    };
}

static int64_t partition_status(const struct manager_orders *orders, uint32_t index,
                                uint64_t *result)
{
    const struct partition *partition = orders->partitions[index];
    bool taken = is_order_taken(orders, index);
    const struct situation situation = situation_of(partition);

    *result = (uint64_t)(int64_t)__atomic_load_n(&partition->boot_vcpu.management.result,
                                                 __ATOMIC_ACQUIRE);
    return taken || situation.is_halted ? order_state(&situation) : PARTITION_STATE_BUSY;
}

/* Returns the place in staging of the image that the partition loads in place of its own. While it
 * has not taken the last order, its monitor may change which image that is. */
static int64_t partition_image(const struct manager_orders *orders, uint32_t index, uint64_t *place)
{
    const struct partition *partition = orders->partitions[index];
    const struct staged_image *image = &partition->boot_vcpu.management.image;

    *place = 0;
    if (!is_order_taken(orders, index)) {
        return MANAGER_BUSY;
    }
    if (image->bytes != 0) {
        *place =
            (image->physical - partition->constant.system->manager.staging) << 32 | image->bytes;
    }
    return MANAGER_DONE;
}

/* Handles CALL_PARTITION_LOG. */
static enum manager_result partition_log(const struct partition *partition, uint64_t registers[4])
{
    struct health_record record = {.number = 0};
    bool is_found = health_read(partition, registers[2], &record);

    if (registers[3] == LOG_PART_EVENT) {
        registers[1] = record.number;
        registers[2] = record.time;
        registers[3] = record.error | (uint64_t)record.action << 16 | (uint64_t)record.source << 32;
        return MANAGER_DONE;
    }
    if (registers[3] != LOG_PART_PLACE || !is_found || record.number != registers[2]) {
        return MANAGER_INVALID;
    }
    registers[1] = record.address;
    registers[2] = record.syndrome;
    registers[3] = record.pc;
    return MANAGER_DONE;
}

/* Posts an order to a partition, and recalls its boot core, so that the core takes the order
 * whatever its guest does. Returns MANAGER_BUSY if the partition has not taken the last order, or
 * the reason why it would refuse this one: an order that is refused does not interrupt the
 * partition's core. The partition judges the order once more when it takes it. */
static enum manager_result post_order(const struct vcpu *vcpu, uint32_t index, uint32_t command,
                                      const struct staged_image *image)
{
    const struct partition *own = vcpu->partition;
    const struct situation situation = situation_of(own->constant.orders->partitions[index]);
    enum manager_result result;
    struct order *order = &own->constant.orders->orders[index];

    if (!is_order_taken(own->constant.orders, index) && !situation.is_halted) {
        return MANAGER_BUSY;
    }
    result = order_judge(command, &situation);
    if (result != MANAGER_DONE) {
        return result;
    }
    order->command = command;
    order->image = *image;
    __atomic_store_n(&order->number, order->number + 1, __ATOMIC_RELEASE);
    recall(vcpu, index);
    return MANAGER_DONE;
}

static bool is_same_image(const struct image_check *check, uint32_t index,
                          const struct staged_image *image)
{
    return check->has_begun && check->partition == index &&
           check->image.physical == image->physical && check->image.bytes == image->bytes &&
           check->image.checksum == image->checksum;
}

/* Begins to check an image: checks its place and its header. Returns MANAGER_DONE, or the error. */
static enum manager_result begin_check(struct image_check *check, const struct description *system,
                                       uint32_t index, const struct staged_image *image)
{
    const struct description_manager *manager = &system->manager;
    uint64_t offset = image->physical - manager->staging;

    check->has_begun = false;
    if (offset % DESCRIPTION_PAGE_BYTES != 0 || offset >= manager->staging_bytes ||
        image->bytes > manager->staging_bytes - offset) {
        return MANAGER_TOO_LARGE;
    }
    *check = (struct image_check){.has_begun = true, .partition = index, .image = *image};
    return image_check_header((const void *)(uintptr_t)image->physical, image->bytes,
                              &system->partitions[index]);
}

/* Handles CALL_PARTITION_REPLACE: checks the next bytes of the image, and posts the order after the
 * last ones. */
static enum manager_result replace_image(const struct vcpu *vcpu, uint32_t index,
                                         const uint64_t *registers)
{
    const struct description *system = vcpu->partition->constant.system;
    struct image_check *check = &vcpu->partition->constant.orders->check;
    const struct staged_image image = {
        .physical = system->manager.staging + (registers[2] >> 32),
        .bytes = registers[2] & UINT32_MAX,
        .checksum = (uint32_t)registers[3],
    };
    uint64_t left;

    if (!is_same_image(check, index, &image)) {
        enum manager_result result = begin_check(check, system, index, &image);

        if (result != MANAGER_DONE) {
            check->has_begun = false;
            return result;
        }
    }
    left = image.bytes - check->done;
    left = left < CHECK_BYTES ? left : CHECK_BYTES;
    check->checksum = checksum_add(check->checksum,
                                   (const void *)(uintptr_t)(image.physical + check->done), left);
    check->done += left;
    if (check->done < image.bytes) {
        return MANAGER_AGAIN;
    }
    check->has_begun = false;
    return check->checksum == image.checksum ? post_order(vcpu, index, ORDER_REPLACE, &image)
                                             : MANAGER_DAMAGED;
}

int64_t manager_call(const struct vcpu *vcpu, uint64_t registers[4])
{
    const struct staged_image none = {.bytes = 0};
    uint32_t function = (uint32_t)registers[0];
    uint64_t index = registers[1];

    if (!is_manager(vcpu) || function < CALL_PARTITION_STATUS || function > CALL_PARTITION_CRASH) {
        return MANAGER_NOT_SUPPORTED;
    }
    if (index >= vcpu->partition->constant.system->partition_count) {
        return MANAGER_INVALID;
    }
    if (function == CALL_PARTITION_STATUS) {
        registers[2] = health_errors(vcpu->partition->constant.orders->partitions[index]);
        return partition_status(vcpu->partition->constant.orders, (uint32_t)index, &registers[1]);
    }
    if (function == CALL_PARTITION_IMAGE) {
        return partition_image(vcpu->partition->constant.orders, (uint32_t)index, &registers[1]);
    }
    if (function == CALL_PARTITION_LOG) {
        return partition_log(vcpu->partition->constant.orders->partitions[index], registers);
    }
    if (function == CALL_DEVICE_GIVE) {
        return ownership_give(vcpu, (uint32_t)registers[2], (uint32_t)index, registers[3] != 0);
    }
    if (index == vcpu->partition->constant.index) {
        return MANAGER_INVALID;
    }
    if (function == CALL_PARTITION_REPLACE) {
        return replace_image(vcpu, (uint32_t)index, registers);
    }
    return post_order(
        vcpu, (uint32_t)index,
        function == CALL_PARTITION_CRASH ? ORDER_CRASH : function - CALL_PARTITION_CREATE, &none);
}
