/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"
#include "health/health.h"
#include "manager/check.h"
#include "manager/manager.h"
#include "manager/orders.h"
#include "memory/tables.h"

void manager_boot(const struct description *system, struct partition *const *partitions)
{
    struct manager_orders *orders;
    const char *failure;

    if (system->manager.staging_bytes == 0) {
        return;
    }
    failure = manager_check(system);
    if (failure != NULL) {
        boot_refuse(failure, system->manager.partition);
    }
    orders = (struct manager_orders *)(uintptr_t)boot_take(1);
    for (uint32_t i = 0; i < system->partition_count; i++) {
        bool is_absent = (system->manager.absent >> i & 1) != 0;

        orders->partitions[i] = partitions[i];
        partitions[i]->constant.orders = orders;
        /* Its start at boot zeroes its memory. */
        partitions[i]->boot_vcpu.management.presence =
            is_absent ? PARTITION_ENDING : PARTITION_PRESENT;
    }
}

void manager_map(uint64_t *root, const struct partition *partition)
{
    const struct manager_orders *orders = partition->constant.orders;
    const struct description_manager *manager = &partition->constant.system->manager;
    bool is_manager = orders != NULL && partition->constant.index == manager->partition;

    if (orders == NULL) {
        return;
    }
    boot_map(root, (uint64_t)(uintptr_t)orders, DESCRIPTION_PAGE_BYTES,
             is_manager ? MONITOR_DATA : MONITOR_CONSTANTS);
    if (!is_manager) {
        boot_map(root, manager->staging, manager->staging_bytes, MONITOR_CONSTANTS);
        return;
    }
    for (uint32_t i = 0; i < partition->constant.system->partition_count; i++) {
        if (i != partition->constant.index) {
            boot_map(root, (uint64_t)(uintptr_t)orders->partitions[i],
                     (1 + health_pages()) * DESCRIPTION_PAGE_BYTES, MONITOR_CONSTANTS);
        }
    }
}
