/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Types of the kernel, of channels and of the test of admission that the tools use, and what the
 * kernel's assembly uses (tools/layouts/layout.h).
 */
#include "layout.h"

#include "boot/vcpu_arguments.h"
#include "kernel/report.h"
#include "kernel/sync.h"
#include "kernel/trace.h"
#include "kernel/vcpu.h"
#include "kernel/vcpu_report.h"
#include <arch/channel.h>
#include <channel/connection.h>
#include <channel/error.h>
#include <channel/format.h>
#include <schedule/admission.h>
#include <schedule/guest_costs.h>
#include <schedule/overlap.h>
#include <schedule/supply.h>
#include <schedule/ticks.h>
#include <stdint.h>

void layouts_limits(void);
void layouts_reports(void);
void layouts_trace(void);
void layouts_trace_ring(void);
void layouts_channels(void);

void layouts_limits(void)
{
    LAYOUT_CONSTANT(THREAD_NAME_BYTES);
    LAYOUT_CONSTANT(VCPU_MAX);
    LAYOUT_CONSTANT(VCPU_ARGUMENTS_THREADS_MAX);
    LAYOUT_CONSTANT(VCPU_ARGUMENTS_TEXT_BYTES);
    LAYOUT_CONSTANT(ADMISSION_LATE_PERIODS);
    LAYOUT_CONSTANT(SCHEDULE_PERIOD_MAX);
    LAYOUT_CONSTANT(SCHEDULE_NEVER);
    LAYOUT_ENUMERATOR(admission_kind, ADMISSION_, MAIN);
    LAYOUT_ENUMERATOR(admission_kind, ADMISSION_, IO);
    LAYOUT_ENUMERATOR(admission_kind, ADMISSION_, IO_OF_PERIOD);
    LAYOUT_ENUMERATOR(schedule_error, SCHEDULE_, OK);
    LAYOUT_ENUMERATOR(schedule_error, SCHEDULE_, PERIOD_OUT_OF_RANGE);
    LAYOUT_ENUMERATOR(schedule_error, SCHEDULE_, BUDGET_OUT_OF_RANGE);
    LAYOUT_ENUMERATOR(schedule_error, SCHEDULE_, CAPACITY_OUT_OF_RANGE);
    LAYOUT_ENUMERATOR(schedule_error, SCHEDULE_, TOO_MANY_VCPUS);
    LAYOUT_ENUMERATOR(schedule_error, SCHEDULE_, OVERLOADED);
    LAYOUT_ENUMERATOR(schedule_error, SCHEDULE_, UNDECIDED);
    LAYOUT_STRUCT(admission_vcpu);
    LAYOUT_NUMBER(admission_vcpu, kind);
    LAYOUT_NUMBER(admission_vcpu, budget);
    LAYOUT_NUMBER(admission_vcpu, period);
    LAYOUT_NUMBER(admission_vcpu, blocking);
    LAYOUT_NUMBER(admission_vcpu, overrun);
    LAYOUT_NUMBER(admission_vcpu, unpaid);
    LAYOUT_NUMBER(admission_vcpu, jitter);
    LAYOUT_WHOLE_STRUCT(overlap_vcpu);
    LAYOUT_NUMBER(overlap_vcpu, lag);
    LAYOUT_NUMBER(overlap_vcpu, overrun);
    LAYOUT_WHOLE_STRUCT(supply);
    LAYOUT_NUMBER(supply, budget);
    LAYOUT_NUMBER(supply, period);
    LAYOUT_NUMBER(supply, delay);
    LAYOUT_NUMBER(supply, waiting);
    LAYOUT_NUMBER(supply, piece);
    LAYOUT_NUMBER(supply, cost);
    LAYOUT_WHOLE_STRUCT(guest_costs);
    LAYOUT_NUMBER(guest_costs, enter);
    LAYOUT_NUMBER(guest_costs, leave);
    LAYOUT_NUMBER(guest_costs, end);
    LAYOUT_NUMBER(guest_costs, early);
    LAYOUT_WHOLE_STRUCT(guest_overheads);
    LAYOUT_NUMBER(guest_overheads, end);
    LAYOUT_NUMBER(guest_overheads, wakes);
    LAYOUT_NUMBER(guest_overheads, unpaid);
    LAYOUT_NUMBER(guest_overheads, overrun);
    LAYOUT_WHOLE_STRUCT(admission_response);
    LAYOUT_NUMBER(admission_response, ticks);
    LAYOUT_NUMBER(admission_response, deadline);
    LAYOUT_NUMBER(admission_response, excess);
    LAYOUT_WHOLE_STRUCT(admission_result);
    LAYOUT_NUMBER(admission_result, vcpu);
    LAYOUT_NUMBER(admission_result, excess);
}

void layouts_reports(void)
{
    LAYOUT_ASSEMBLY(REPORT_MAGIC, REPORT_MAGIC);
    LAYOUT_CONSTANT(REPORT_MAGIC);
    LAYOUT_CONSTANT(REPORT_LOCATOR_OFFSET);
    LAYOUT_CONSTANT(VCPU_REPORT_VERSION);
    LAYOUT_ENUMERATOR(report_kind, REPORT_, TRACE);
    LAYOUT_ENUMERATOR(report_kind, REPORT_, VCPUS);
    LAYOUT_ENUMERATOR(report_kind, REPORT_, NETWORK);
    LAYOUT_ENUMERATOR(report_kind, REPORT_, MIRROR);
    LAYOUT_ENUMERATOR(report_kind, REPORT_, STORAGE);
    LAYOUT_ENUMERATOR(vcpu_record_kind, VCPU_RECORD_, FREE);
    LAYOUT_ENUMERATOR(vcpu_record_kind, VCPU_RECORD_, MAIN);
    LAYOUT_ENUMERATOR(vcpu_record_kind, VCPU_RECORD_, IO);
    LAYOUT_WHOLE_STRUCT(report_locator);
    LAYOUT_NUMBER(report_locator, magic);
    LAYOUT_NUMBER(report_locator, distance);
    LAYOUT_WHOLE_STRUCT(report);
    LAYOUT_NUMBER(report, kind);
    LAYOUT_NUMBER(report, version);
    LAYOUT_NUMBER(report, address);
    LAYOUT_NUMBER(report, bytes);
    LAYOUT_WHOLE_STRUCT(report_directory);
    LAYOUT_NUMBER(report_directory, magic);
    LAYOUT_NUMBER(report_directory, count);
    LAYOUT_NUMBER(report_directory, report_bytes);
    LAYOUT_NESTED(report_directory, reports, report);
    LAYOUT_WHOLE_STRUCT(vcpu_record);
    LAYOUT_NUMBER(vcpu_record, sequence);
    LAYOUT_NUMBER(vcpu_record, kind);
    LAYOUT_NUMBERS(vcpu_record, name);
    LAYOUT_NUMBER(vcpu_record, budget);
    LAYOUT_NUMBER(vcpu_record, period);
    LAYOUT_NUMBER(vcpu_record, since);
    LAYOUT_NUMBER(vcpu_record, received);
    LAYOUT_NUMBER(vcpu_record, background);
    LAYOUT_NUMBER(vcpu_record, response_max);
    LAYOUT_NUMBER(vcpu_record, exhaustions);
    LAYOUT_NUMBER(vcpu_record, deadline_misses);
    LAYOUT_NUMBER(vcpu_record, blocking_max);
    LAYOUT_WHOLE_STRUCT(vcpu_report);
    LAYOUT_NUMBER(vcpu_report, frequency);
    LAYOUT_NUMBER(vcpu_report, accounted_until);
    LAYOUT_NUMBER(vcpu_report, record_count);
    LAYOUT_NUMBER(vcpu_report, record_bytes);
    LAYOUT_NUMBER(vcpu_report, unpaid);
    LAYOUT_NESTED(vcpu_report, records, vcpu_record);
}

void layouts_trace(void)
{
    LAYOUT_CONSTANT(TRACE_VERSION);
    LAYOUT_CONSTANT(TRACE_EVENTS_MIN);
    LAYOUT_CONSTANT(TRACE_EVENTS_MAX);
    LAYOUT_CONSTANT(TRACE_KIND_SHIFT);
    LAYOUT_CONSTANT(TRACE_WAIT_KIND_SHIFT);
    LAYOUT_CONSTANT(TRACE_OBJECT_MASK);
    LAYOUT_CONSTANT(TRACE_CONNECTION_ERROR_SHIFT);
    LAYOUT_CONSTANT(TRACE_CONNECTION_GENERATION_SHIFT);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, SWITCH);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, PREEMPT);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, READY);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, BLOCK);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, CREATE);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, END);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, BIND);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, DEADLINE_MISS);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, INTERRUPT_ENTRY);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, INTERRUPT_EXIT);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, VCPU_CREATE);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, VCPU_DESTROY);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, VCPU_EXHAUSTED);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, VCPU_REPLENISHED);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, VCPU_RUNNABLE);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, VCPU_BLOCKED);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, CHANNEL_NOTIFY);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, CHANNEL_DOORBELL);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, CHANNEL_STATE);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, CHANNEL_CONNECTION);
    LAYOUT_ENUMERATOR(trace_kind, TRACE_, CHANNEL_SLEEP);
    LAYOUT_ENUMERATOR(wait_kind, WAIT_, SLEEP);
    LAYOUT_ENUMERATOR(wait_kind, WAIT_, MUTEX);
    LAYOUT_ENUMERATOR(wait_kind, WAIT_, SEMAPHORE);
    LAYOUT_ENUMERATOR(wait_kind, WAIT_, EVENT_FLAGS);
    LAYOUT_ENUMERATOR(wait_kind, WAIT_, SEND);
    LAYOUT_ENUMERATOR(wait_kind, WAIT_, RECEIVE);
    LAYOUT_ENUMERATOR(wait_kind, WAIT_, JOIN);
    LAYOUT_ENUMERATOR(wait_kind, WAIT_, CONDITION);
    LAYOUT_ENUMERATOR(trace_name_state, TRACE_NAME_, FREE);
    LAYOUT_ENUMERATOR(trace_name_state, TRACE_NAME_, LIVE);
    LAYOUT_ENUMERATOR(trace_name_state, TRACE_NAME_, ENDED);
}

void layouts_trace_ring(void)
{
    LAYOUT_WHOLE_STRUCT(trace_event);
    LAYOUT_NUMBER(trace_event, kind_and_ticks);
    LAYOUT_NUMBER(trace_event, subject);
    LAYOUT_NUMBER(trace_event, argument);
    LAYOUT_WHOLE_STRUCT(trace_thread);
    LAYOUT_NUMBER(trace_thread, state);
    LAYOUT_NUMBER(trace_thread, number);
    LAYOUT_NUMBER(trace_thread, vcpu);
    LAYOUT_NUMBER(trace_thread, priority);
    LAYOUT_NUMBERS(trace_thread, name);
    LAYOUT_WHOLE_STRUCT(trace_vcpu);
    LAYOUT_NUMBER(trace_vcpu, state);
    LAYOUT_NUMBER(trace_vcpu, policy);
    LAYOUT_NUMBER(trace_vcpu, budget_ticks);
    LAYOUT_NUMBER(trace_vcpu, period_ticks);
    LAYOUT_NUMBERS(trace_vcpu, name);
    LAYOUT_WHOLE_STRUCT(trace);
    LAYOUT_NUMBER(trace, frequency);
    LAYOUT_NUMBER(trace, start_ticks);
    LAYOUT_NUMBER(trace, written);
    LAYOUT_NUMBER(trace, capacity);
    LAYOUT_NUMBER(trace, event_bytes);
    LAYOUT_NUMBER(trace, thread_count);
    LAYOUT_NUMBER(trace, vcpu_count);
    LAYOUT_NUMBERS(trace, reserved);
    LAYOUT_NESTED(trace, threads, trace_thread);
    LAYOUT_NESTED(trace, vcpus, trace_vcpu);
}

void layouts_channels(void)
{
    LAYOUT_CONSTANT(CHANNEL_RING_MIN);
    LAYOUT_CONSTANT(CHANNEL_RING_MAX);
    LAYOUT_ENUMERATOR(channel_state, CHANNEL_, CONNECTING);
    LAYOUT_ENUMERATOR(channel_state, CHANNEL_, CONNECTED);
    LAYOUT_ENUMERATOR(channel_state, CHANNEL_, ENDING);
    LAYOUT_ENUMERATOR(channel_state, CHANNEL_, ENDED);
    LAYOUT_ENUMERATOR(channel_state, CHANNEL_, FAILED);
    LAYOUT_ENUMERATOR(channel_error_kind, CHANNEL_ERROR_, FORMAT);
    LAYOUT_ENUMERATOR(channel_error_kind, CHANNEL_ERROR_, RING_BYTES);
    LAYOUT_ENUMERATOR(channel_error_kind, CHANNEL_ERROR_, PRODUCED);
    LAYOUT_ENUMERATOR(channel_error_kind, CHANNEL_ERROR_, CONSUMED);
    LAYOUT_ENUMERATOR(channel_error_kind, CHANNEL_ERROR_, LENGTH);
    LAYOUT_ENUMERATOR(channel_error_kind, CHANNEL_ERROR_, START);
    LAYOUT_WHOLE_STRUCT(channel_states);
    LAYOUT_NUMBERS(channel_states, ends);
    LAYOUT_STRUCT(channel_control);
    LAYOUT_NUMBER(channel_control, generation);
    LAYOUT_NUMBER(channel_control, acknowledged);
    LAYOUT_NUMBER(channel_control, produced);
    LAYOUT_NUMBER(channel_control, sent);
    LAYOUT_NUMBER(channel_control, received);
    LAYOUT_NUMBER(channel_control, notifications);
    LAYOUT_NUMBER(channel_control, sleeps);
    LAYOUT_NUMBER(channel_control, errors);
}
