/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Types of the hypervisor that its assembly and the tools use (tools/layouts/layout.h).
 */
#include "layout.h"

#include "description/limits.h"
#include "entry/frame.h"
#include "health/state.h"
#include "hypervisor/description.h"
#include "hypervisor/partition.h"
#include "hypervisor/processor.h"
#include "hypervisor/vcpu.h"
#include "scheduler/core.h"
#include "scheduler/scheduler.h"
#include "scheduler/trace.h"
#include "world_switch/vectors.h"
#include <stdint.h>

void layouts_assembly(void);
void layouts_limits(void);
void layouts_description(void);
void layouts_state(void);

/* These functions are tables with one statement for each member. The size of a member that is a
 * pointer is that of the pointer.
 * NOLINTBEGIN(readability-function-size, bugprone-sizeof-expression) */
void layouts_assembly(void)
{
    LAYOUT_ASSEMBLY(FRAME_BYTES, sizeof(struct registers));
    LAYOUT_ASSEMBLY(FRAME_X30, offsetof(struct registers, x[30])); /* pc follows */
    LAYOUT_ASSEMBLY(FRAME_STATE, offsetof(struct registers, state));
    LAYOUT_ASSEMBLY(PROCESSOR_SERVICES, offsetof(struct processor, services));
    LAYOUT_ASSEMBLY(PROCESSOR_STACK, offsetof(struct processor, stack));
    LAYOUT_ASSEMBLY(PROCESSOR_RESIDENT, offsetof(struct processor, resident));
    LAYOUT_ASSEMBLY(VECTORS_CONTROL, offsetof(struct vector_registers, control));
}

void layouts_limits(void)
{
    LAYOUT_CONSTANT(DESCRIPTION_MAGIC);
    LAYOUT_CONSTANT(DESCRIPTION_VERSION);
    LAYOUT_CONSTANT(DESCRIPTION_CORES_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_PARTITIONS_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_VCPUS_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_CORE_VCPUS_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_NAME_BYTES);
    LAYOUT_CONSTANT(DESCRIPTION_MEMORIES_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_DEVICES_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_IMAGES_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_FUNCTIONS_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_MOVABLES_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_CHANNELS_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_ENDS_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_SHARED_DEVICES_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_WINDOWS_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_SPI_WORDS);
    LAYOUT_CONSTANT(DESCRIPTION_RESTARTS_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_WINDOW_MIN);
    LAYOUT_CONSTANT(DESCRIPTION_WINDOW_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_HEARTBEAT_MIN);
    LAYOUT_CONSTANT(DESCRIPTION_HEARTBEAT_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_HEARTBEAT_START_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_HOST_ECAM_BYTES);
    LAYOUT_CONSTANT(DESCRIPTION_HOST_WINDOW_BYTES);
    LAYOUT_CONSTANT(DESCRIPTION_PAGE_BYTES);
    LAYOUT_CONSTANT(DESCRIPTION_GUEST_BITS);
    LAYOUT_CONSTANT(DESCRIPTION_NO_PARTITION);
    LAYOUT_CONSTANT(DESCRIPTION_QUANTUM_MIN);
    LAYOUT_CONSTANT(DESCRIPTION_QUANTUM_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_PERIOD_MIN);
    LAYOUT_CONSTANT(DESCRIPTION_PERIOD_MAX);
    LAYOUT_CONSTANT(DESCRIPTION_WEIGHT_MAX);
    LAYOUT_CONSTANT(PHYSICAL_LIMIT);
    LAYOUT_CONSTANT(PCI_LIMIT);
    LAYOUT_CONSTANT(DEVICE_FRAME_BYTES);
    LAYOUT_CONSTANT(DEVICE_REDISTRIBUTOR_BYTES);
    LAYOUT_CONSTANT(SMMU_BYTES);
    LAYOUT_CONSTANT(SPI_FIRST);
    LAYOUT_CONSTANT(SPI_LIMIT);
    LAYOUT_CONSTANT(REPORT_MAGIC);
    LAYOUT_CONSTANT(HEALTH_MAGIC);
    LAYOUT_CONSTANT(HEALTH_LOG_RECORDS);
    LAYOUT_CONSTANT(PROFILE_PARTS);
    LAYOUT_CONSTANT(PROFILE_PARTS_A_SECOND);
    LAYOUT_CONSTANT(SCHEDULER_TRACE_BYTES);
    LAYOUT_CONSTANT(TRACE_NONE);
    LAYOUT_CONSTANT(TRACE_LEVEL_SHIFT);
    LAYOUT_CONSTANT(TRACE_KIND_SHIFT);
}

/* Structures of the system description, which tools/bulkhead/system/description.py writes. */
void layouts_description(void)
{
    LAYOUT_ENUMERATOR(description_dma, DESCRIPTION_DMA_, NONE);
    LAYOUT_ENUMERATOR(description_dma, DESCRIPTION_DMA_, SMMU);
    LAYOUT_ENUMERATOR(description_dma, DESCRIPTION_DMA_, TRUSTED);
    LAYOUT_ENUMERATOR(description_restart, DESCRIPTION_RESTART_, AFTER_RESET);
    LAYOUT_ENUMERATOR(description_restart, DESCRIPTION_RESTART_, WITHOUT_RESET);
    LAYOUT_ENUMERATOR(description_restart, DESCRIPTION_RESTART_, NEVER);
    LAYOUT_ENUMERATOR(description_unmapped, DESCRIPTION_UNMAPPED_, STOP);
    LAYOUT_ENUMERATOR(description_unmapped, DESCRIPTION_UNMAPPED_, ABORT);
    LAYOUT_ENUMERATOR(description_maintenance, DESCRIPTION_MAINTENANCE_, BROADCAST);
    LAYOUT_ENUMERATOR(description_maintenance, DESCRIPTION_MAINTENANCE_, LOCAL);
    LAYOUT_ENUMERATOR(description_server, DESCRIPTION_SERVER_, SPORADIC);
    LAYOUT_ENUMERATOR(description_server, DESCRIPTION_SERVER_, PIBS);
    LAYOUT_ENUMERATOR(description_server, DESCRIPTION_SERVER_, DEFERRABLE);
    LAYOUT_ENUMERATOR(description_interrupt_mode, DESCRIPTION_INTERRUPT_MODE_, DIRECT);
    LAYOUT_ENUMERATOR(description_interrupt_mode, DESCRIPTION_INTERRUPT_MODE_, LISTED);
    LAYOUT_ENUMERATOR(description_channel_function, DESCRIPTION_CHANNEL_FUNCTION_, NONE);
    LAYOUT_ENUMERATOR(description_channel_function, DESCRIPTION_CHANNEL_FUNCTION_, WHOLE);
    LAYOUT_ENUMERATOR(description_channel_function, DESCRIPTION_CHANNEL_FUNCTION_, CONTROL);
    LAYOUT_ENUMERATOR(health_error, HEALTH_ERROR_, MEMORY_VIOLATION);
    LAYOUT_ENUMERATOR(health_error, HEALTH_ERROR_, REFUSED_DMA);
    LAYOUT_ENUMERATOR(health_error, HEALTH_ERROR_, SERROR);
    LAYOUT_ENUMERATOR(health_error, HEALTH_ERROR_, DEVICE_FAILURE);
    LAYOUT_ENUMERATOR(health_error, HEALTH_ERROR_, PANIC);
    LAYOUT_ENUMERATOR(health_error, HEALTH_ERROR_, WATCHDOG);
    LAYOUT_ENUMERATOR(health_error, HEALTH_ERROR_, HEARTBEAT);
    LAYOUT_ENUMERATOR(health_error, HEALTH_ERROR_, RESTARTS);
    LAYOUT_ENUMERATOR(health_action, HEALTH_ACTION_, STOP);
    LAYOUT_ENUMERATOR(health_action, HEALTH_ACTION_, IGNORE);
    LAYOUT_ENUMERATOR(health_action, HEALTH_ACTION_, LOG);
    LAYOUT_ENUMERATOR(health_action, HEALTH_ACTION_, RESTART);
    LAYOUT_ENUMERATOR(health_action, HEALTH_ACTION_, FAILOVER);
    LAYOUT_WHOLE_STRUCT(description_core);
    LAYOUT_NUMBER(description_core, affinity);
    LAYOUT_NUMBER(description_core, redistributor);
    LAYOUT_NUMBER(description_core, quantum);
    LAYOUT_NUMBER(description_core, message_interrupt);
    LAYOUT_NUMBER(description_core, reserved);
    LAYOUT_WHOLE_STRUCT(description_vcpu);
    LAYOUT_NUMBER(description_vcpu, core);
    LAYOUT_NUMBER(description_vcpu, shared);
    LAYOUT_NUMBER(description_vcpu, budget);
    LAYOUT_NUMBER(description_vcpu, period);
    LAYOUT_NUMBER(description_vcpu, weight);
    LAYOUT_NUMBER(description_vcpu, server);
    LAYOUT_NUMBER(description_vcpu, slot_interval);
    LAYOUT_NUMBER(description_vcpu, slot_phase);
    LAYOUT_WHOLE_STRUCT(description_memory);
    LAYOUT_NUMBER(description_memory, guest);
    LAYOUT_NUMBER(description_memory, physical);
    LAYOUT_NUMBER(description_memory, bytes);
    LAYOUT_NUMBER(description_memory, kept);
    LAYOUT_NUMBER(description_memory, reserved);
    LAYOUT_WHOLE_STRUCT(description_device);
    LAYOUT_NUMBER(description_device, address);
    LAYOUT_NUMBER(description_device, bytes);
    LAYOUT_WHOLE_STRUCT(description_image);
    LAYOUT_NUMBER(description_image, offset);
    LAYOUT_NUMBER(description_image, guest);
    LAYOUT_NUMBER(description_image, bytes);
    LAYOUT_WHOLE_STRUCT(description_function);
    LAYOUT_NUMBER(description_function, address);
    LAYOUT_NUMBER(description_function, movable);
    LAYOUT_NUMBERS(description_function, reserved);
    LAYOUT_WHOLE_STRUCT(description_movable);
    LAYOUT_NUMBER(description_movable, address);
    LAYOUT_NUMBER(description_movable, interrupt);
    LAYOUT_NUMBER(description_movable, owner);
    LAYOUT_NUMBER(description_movable, candidates);
    LAYOUT_WHOLE_STRUCT(description_health);
    LAYOUT_NUMBER(description_health, is_monitored);
    LAYOUT_NUMBER(description_health, restarts);
    LAYOUT_NUMBER(description_health, window);
    LAYOUT_NUMBERS(description_health, actions);
    LAYOUT_NUMBER(description_health, watchdog);
    LAYOUT_NUMBER(description_health, heartbeat);
    LAYOUT_NUMBER(description_health, heartbeat_period);
    LAYOUT_NUMBER(description_health, heartbeat_start);
    LAYOUT_NUMBER(description_health, watchdog_interrupt);
    LAYOUT_NUMBER(description_health, reserved);
    LAYOUT_WHOLE_STRUCT(description_partition);
    LAYOUT_NUMBERS(description_partition, name);
    LAYOUT_NUMBER(description_partition, entry);
    LAYOUT_NUMBER(description_partition, devicetree);
    LAYOUT_NUMBER(description_partition, console);
    LAYOUT_NUMBER(description_partition, pci_memory);
    LAYOUT_NUMBER(description_partition, pci_memory_bytes);
    LAYOUT_NUMBER(description_partition, pci_io);
    LAYOUT_NUMBER(description_partition, pci_io_bytes);
    LAYOUT_NUMBER(description_partition, pci_wide);
    LAYOUT_NUMBER(description_partition, pci_wide_physical);
    LAYOUT_NUMBER(description_partition, pci_wide_bytes);
    LAYOUT_NUMBER(description_partition, times);
    LAYOUT_NUMBER(description_partition, channel_host);
    LAYOUT_NUMBER(description_partition, rtc);
    LAYOUT_NUMBER(description_partition, tree_seeds);
    LAYOUT_NUMBER(description_partition, standby_kept);
    LAYOUT_NUMBER(description_partition, vcpu_count);
    LAYOUT_NUMBER(description_partition, console_interrupt);
    LAYOUT_NUMBER(description_partition, console_input);
    LAYOUT_NUMBER(description_partition, dma);
    LAYOUT_NUMBER(description_partition, memory_count);
    LAYOUT_NUMBER(description_partition, device_count);
    LAYOUT_NUMBER(description_partition, image_count);
    LAYOUT_NUMBER(description_partition, function_count);
    LAYOUT_NUMBER(description_partition, restart);
    LAYOUT_NUMBER(description_partition, unmapped);
    LAYOUT_NUMBER(description_partition, maintenance);
    LAYOUT_NUMBER(description_partition, interrupt_mode);
    LAYOUT_NUMBER(description_partition, distribute);
    LAYOUT_NUMBER(description_partition, console_shown);
    LAYOUT_NUMBER(description_partition, standby);
    LAYOUT_NUMBER(description_partition, reserved);
    LAYOUT_NESTED(description_partition, vcpus, description_vcpu);
    LAYOUT_NESTED(description_partition, memories, description_memory);
    LAYOUT_NESTED(description_partition, devices, description_device);
    LAYOUT_NESTED(description_partition, images, description_image);
    LAYOUT_NESTED(description_partition, functions, description_function);
    LAYOUT_NUMBERS(description_partition, interrupts);
    LAYOUT_NUMBERS(description_partition, edges);
    LAYOUT_NESTED(description_partition, health, description_health);
    LAYOUT_WHOLE_STRUCT(description_board);
    LAYOUT_NUMBER(description_board, hypervisor);
    LAYOUT_NUMBER(description_board, hypervisor_bytes);
    LAYOUT_NUMBER(description_board, distributor);
    LAYOUT_NUMBER(description_board, uart);
    LAYOUT_NUMBER(description_board, rtc);
    LAYOUT_NUMBER(description_board, memory);
    LAYOUT_NUMBER(description_board, memory_bytes);
    LAYOUT_NUMBER(description_board, ecam);
    LAYOUT_NUMBER(description_board, ecam_bytes);
    LAYOUT_NUMBER(description_board, pci_io);
    LAYOUT_NUMBER(description_board, smmu);
    LAYOUT_NUMBER(description_board, uart_interrupt);
    LAYOUT_NUMBER(description_board, smmu_interrupt);
    LAYOUT_NUMBER(description_board, isolates_branches);
    LAYOUT_NUMBER(description_board, reserved);
    LAYOUT_WHOLE_STRUCT(description_manager);
    LAYOUT_NUMBER(description_manager, partition);
    LAYOUT_NUMBER(description_manager, absent);
    LAYOUT_NUMBER(description_manager, staging);
    LAYOUT_NUMBER(description_manager, staging_bytes);
    LAYOUT_WHOLE_STRUCT(description_channel_end);
    LAYOUT_NUMBER(description_channel_end, partition);
    LAYOUT_NUMBER(description_channel_end, interrupt);
    LAYOUT_NUMBER(description_channel_end, guest);
    LAYOUT_NUMBER(description_channel_end, function);
    LAYOUT_NUMBER(description_channel_end, reserved);
    LAYOUT_WHOLE_STRUCT(description_channel);
    LAYOUT_NUMBER(description_channel, physical);
    LAYOUT_NUMBER(description_channel, section_bytes);
    LAYOUT_NUMBER(description_channel, one_way);
    LAYOUT_NUMBER(description_channel, common_pages);
    LAYOUT_NUMBER(description_channel, further_receivers);
    LAYOUT_NUMBER(description_channel, reserved);
    LAYOUT_NESTED(description_channel, ends, description_channel_end);
    LAYOUT_WHOLE_STRUCT(description_window);
    LAYOUT_NUMBER(description_window, client);
    LAYOUT_NUMBER(description_window, backend);
    LAYOUT_NUMBER(description_window, bytes);
    LAYOUT_WHOLE_STRUCT(description_shared_device);
    LAYOUT_NUMBER(description_shared_device, physical);
    LAYOUT_NUMBER(description_shared_device, registers);
    LAYOUT_NUMBER(description_shared_device, page);
    LAYOUT_NUMBER(description_shared_device, features);
    LAYOUT_NUMBER(description_shared_device, required);
    LAYOUT_NUMBER(description_shared_device, client);
    LAYOUT_NUMBER(description_shared_device, backend);
    LAYOUT_NUMBER(description_shared_device, interrupt);
    LAYOUT_NUMBER(description_shared_device, doorbell);
    LAYOUT_NUMBER(description_shared_device, device_id);
    LAYOUT_NUMBER(description_shared_device, queue_count);
    LAYOUT_NUMBER(description_shared_device, queue_size_max);
    LAYOUT_NUMBER(description_shared_device, config_bytes);
    LAYOUT_NUMBER(description_shared_device, window_count);
    LAYOUT_NUMBER(description_shared_device, function);
    LAYOUT_NUMBERS(description_shared_device, config);
    LAYOUT_NESTED(description_shared_device, windows, description_window);
    LAYOUT_WHOLE_STRUCT(description_colours);
    LAYOUT_NUMBER(description_colours, first);
    LAYOUT_NUMBER(description_colours, run);
    LAYOUT_NUMBER(description_colours, period);
    LAYOUT_WHOLE_STRUCT(description_partition_colours);
    LAYOUT_NESTED(description_partition_colours, memories, description_colours);
    LAYOUT_NESTED(description_partition_colours, images, description_colours);
    LAYOUT_WHOLE_STRUCT(description);
    LAYOUT_NUMBER(description, magic);
    LAYOUT_NUMBER(description, version);
    LAYOUT_NUMBER(description, bytes);
    LAYOUT_NUMBER(description, payload);
    LAYOUT_NUMBER(description, checksum);
    LAYOUT_NUMBER(description, core_count);
    LAYOUT_NUMBER(description, partition_count);
    LAYOUT_NUMBER(description, mark);
    LAYOUT_NESTED(description, board, description_board);
    LAYOUT_NESTED(description, manager, description_manager);
    LAYOUT_NUMBER(description, channel_count);
    LAYOUT_NUMBER(description, movable_count);
    LAYOUT_NUMBER(description, shared_device_count);
    LAYOUT_NUMBER(description, reserved);
    LAYOUT_NESTED(description, cores, description_core);
    LAYOUT_NESTED(description, partitions, description_partition);
    LAYOUT_NESTED(description, channels, description_channel);
    LAYOUT_NESTED(description, movables, description_movable);
    LAYOUT_NESTED(description, shared_devices, description_shared_device);
    LAYOUT_NESTED(description, colours, description_partition_colours);
    LAYOUT_NESTED(description, own_colours, description_colours);
}

/* Structures of a running system, which the tools read through the machine's memory. */
void layouts_state(void)
{
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, SGI);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, DISTRIBUTOR);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, REDISTRIBUTOR);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, PCI);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, CONSOLE);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, POWER);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, CACHE);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, REGISTER);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, INTERRUPT);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, FAULT);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, LISTED);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, WAIT);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, HYPERCALL);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, CLOCK);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, WATCHDOG);
    LAYOUT_ENUMERATOR(exit_cause, EXIT_, SHARED_DEVICE);
    LAYOUT_ENUMERATOR(report_state, REPORT_, OFF);
    LAYOUT_ENUMERATOR(report_state, REPORT_, RUNNING);
    LAYOUT_ENUMERATOR(report_state, REPORT_, STOPPED);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, CHOICE);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, OFF);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, START);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, INTERRUPT);
    LAYOUT_WHOLE_STRUCT(vcpu_report);
    LAYOUT_NUMBER(vcpu_report, magic);
    LAYOUT_NUMBER(vcpu_report, processor);
    LAYOUT_NUMBER(vcpu_report, partition);
    LAYOUT_NUMBER(vcpu_report, state);
    LAYOUT_NUMBER(vcpu_report, starts);
    LAYOUT_NUMBER(vcpu_report, refused);
    LAYOUT_NUMBERS(vcpu_report, exits);
    LAYOUT_NUMBER(vcpu_report, syndrome);
    LAYOUT_NUMBER(vcpu_report, address);
    LAYOUT_NUMBER(vcpu_report, pc);
    LAYOUT_NUMBER(vcpu_report, used);
    LAYOUT_NUMBER(vcpu_report, switches);
    LAYOUT_STRUCT(vcpu);
    LAYOUT_NESTED(vcpu, report, vcpu_report);
    LAYOUT_NUMBER(vcpu, partition);
    LAYOUT_NUMBER(vcpu, stage2);
    LAYOUT_NUMBER(vcpu, number);
    LAYOUT_NUMBER(vcpu, services);
    LAYOUT_STRUCT(processor);
    LAYOUT_NUMBER(processor, services);
    LAYOUT_NUMBER(processor, stack);
    LAYOUT_NUMBER(processor, resident);
    LAYOUT_NUMBER(processor, vcpu);
    LAYOUT_NUMBER(processor, shared);
    LAYOUT_WHOLE_STRUCT(trace);
    LAYOUT_NUMBER(trace, ring);
    LAYOUT_NUMBER(trace, written);
    LAYOUT_WHOLE_STRUCT(trace_record);
    LAYOUT_NUMBER(trace_record, event);
    LAYOUT_NUMBER(trace_record, runnable);
    LAYOUT_NUMBER(trace_record, second);
    LAYOUT_ENUMERATOR(distribution_reason, DISTRIBUTION_, COLLIDED);
    LAYOUT_ENUMERATOR(distribution_reason, DISTRIBUTION_, CROWDED);
    LAYOUT_ENUMERATOR(distribution_reason, DISTRIBUTION_, HOME);
    LAYOUT_ENUMERATOR(distribution_reason, DISTRIBUTION_, SPORADIC);
    LAYOUT_ENUMERATOR(distribution_reason, DISTRIBUTION_, UNTAKEN);
    LAYOUT_ENUMERATOR(distribution_reason, DISTRIBUTION_, CLOSED);
    LAYOUT_WHOLE_STRUCT(distribution_decision);
    LAYOUT_NUMBER(distribution_decision, time);
    LAYOUT_NUMBER(distribution_decision, number);
    LAYOUT_NUMBER(distribution_decision, rate);
    LAYOUT_NUMBER(distribution_decision, partition);
    LAYOUT_NUMBER(distribution_decision, reason);
    LAYOUT_NUMBER(distribution_decision, vcpu);
    LAYOUT_NUMBER(distribution_decision, origin);
    LAYOUT_NUMBER(distribution_decision, target);
    LAYOUT_NUMBER(distribution_decision, demand);
    LAYOUT_NUMBER(distribution_decision, doubled);
    LAYOUT_NUMBER(distribution_decision, idle);
    LAYOUT_NUMBER(distribution_decision, used);
    LAYOUT_NUMBER(distribution_decision, urgent);
    LAYOUT_NUMBER(distribution_decision, is_contended);
    LAYOUT_WHOLE_STRUCT(distribution_log);
    LAYOUT_NUMBER(distribution_log, count);
    LAYOUT_NESTED(distribution_log, decisions, distribution_decision);
    LAYOUT_STRUCT(shared_core);
    LAYOUT_NESTED(shared_core, trace, trace);
    LAYOUT_NUMBERS(shared_core, vcpus);
    LAYOUT_NESTED(shared_core, log, distribution_log);
    LAYOUT_STRUCT(distribution_source);
    LAYOUT_NUMBER(distribution_source, number);
    LAYOUT_NUMBER(distribution_source, rate);
    LAYOUT_NUMBER(distribution_source, home);
    LAYOUT_NUMBER(distribution_source, target);
    LAYOUT_NUMBER(distribution_source, is_periodic);
    LAYOUT_NUMBER(distribution_source, moves);
    LAYOUT_NUMBER(distribution_source, returns);
    LAYOUT_NUMBER(distribution_source, wanted);
    LAYOUT_STRUCT(distribution);
    LAYOUT_NESTED(distribution, sources, distribution_source);
    LAYOUT_STRUCT(load_progress);
    LAYOUT_NUMBER(load_progress, phase);
    LAYOUT_STRUCT(transition);
    LAYOUT_NUMBER(transition, phase);
    LAYOUT_NESTED(transition, load, load_progress);
    LAYOUT_STRUCT(partition_boot_vcpu);
    LAYOUT_NESTED(partition_boot_vcpu, transition, transition);
    LAYOUT_STRUCT(partition);
    LAYOUT_NESTED(partition, boot_vcpu, partition_boot_vcpu);
    LAYOUT_NESTED(partition, distribution, distribution);
    LAYOUT_WHOLE_STRUCT(health_record);
    LAYOUT_NUMBER(health_record, number);
    LAYOUT_NUMBER(health_record, time);
    LAYOUT_NUMBER(health_record, address);
    LAYOUT_NUMBER(health_record, syndrome);
    LAYOUT_NUMBER(health_record, pc);
    LAYOUT_NUMBER(health_record, error);
    LAYOUT_NUMBER(health_record, action);
    LAYOUT_NUMBER(health_record, source);
    LAYOUT_WHOLE_STRUCT(health_log);
    LAYOUT_NUMBER(health_log, written);
    LAYOUT_NESTED(health_log, records, health_record);
    LAYOUT_STRUCT(health);
    LAYOUT_NUMBER(health, magic);
    LAYOUT_NUMBER(health, errors);
    LAYOUT_NESTED(health, log, health_log);
}
/* NOLINTEND(readability-function-size, bugprone-sizeof-expression) */
