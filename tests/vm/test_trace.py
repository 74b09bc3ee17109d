# SPDX-License-Identifier: BSD-2-Clause
"""The trace of the schedule: its cost in the guest, and what a tool reads of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.physical_memory import PhysicalMemory, arguments

from bulkhead.building.build import guest_image
from bulkhead.errors import UserError
from bulkhead.inspecting.reports import Guest, physical_memory
from bulkhead.layouts.kernel import REPORT_LOCATOR_OFFSET, REPORT_MAGIC, ReportLocator
from bulkhead.running.attach import GuestMemory
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Machine
from bulkhead.tracing.ring import Event, Trace, read_trace
from bulkhead.tracing.timeline import State, make_timeline

StartGuest = Callable[..., GuestProcess]
PERIOD_NS = 10_000_000  # of tests/guests/trace.c


def machine(*arguments: str, compiler: str = "gcc") -> Machine:
    """Return the machine of the test program, whose time is the number of its instructions."""
    return Machine(
        guest_image("trace", compiler),
        boot_arguments=("exit=semihosting", *arguments),
        icount=True,
    )


def test_instructions_of_an_event(start_guest: StartGuest, compiler: str) -> None:
    guest = start_guest(machine(compiler=compiler))
    # The program compares its counts with the limits.
    assert guest.wait() == 0
    assert "instructions an event" in guest.console()
    assert "PASS" in guest.console()


def traced(guest: GuestProcess) -> Trace:
    """Return a copy of the ring of a program on a bare machine."""
    size = int(guest.qmp().execute("query-memory-size-summary")["base-memory"])
    memory = GuestMemory("", 0x4000_0000, size, 0x4000_0000, 0x4020_0000)
    trace = read_trace(Guest(memory, "trace", physical_memory(guest.qmp())))
    assert trace is not None
    return trace


def number_of(trace: Trace, name: str) -> int:
    (number,) = (each.number for each in trace.threads.values() if each.name == name)
    return number


@pytest.fixture
def story(start_guest: StartGuest, compiler: str) -> Trace:
    """Return the whole trace of the program, which has stopped it."""
    guest = start_guest(machine("trace=8192", "periods=20", compiler=compiler))
    guest.wait_for("trace: stopped")
    return traced(guest)


def near(times: Sequence[int], expected: Sequence[int]) -> bool:
    """Return True if each time is within some thousand instructions behind the expected one."""
    return len(times) == len(expected) and all(
        0 <= time - each < 60_000 for time, each in zip(times, expected, strict=True)
    )


def test_timeline_of_a_known_schedule(story: Trace) -> None:
    """The facts of tests/guests/trace.c. Time is the number of instructions, so they are exact but
    for the work of the kernel."""
    assert story.lost == 0
    loop, worker, waiter, server, init = (
        number_of(story, name) for name in ("loop", "worker", "waiter", "server", "init")
    )
    (created,) = (e for e in story.events if e.kind == Event.CREATE and e.subject == loop)
    (vcpu,) = (e for e in story.events if e.kind == Event.VCPU_CREATE)
    (bound,) = (e for e in story.events if e.kind == Event.BIND)
    assert (vcpu.subject, bound.subject, bound.argument) == (1, loop, 1)
    assert created.time_ns < bound.time_ns
    made = make_timeline(story, story.events)

    # The loop runs for 1 ms in each period of 10 ms, and for 4 ms in every fourth.
    runs = [s for s in made.threads[loop].spans if s.state is State.RUNNING][1:]
    first = round(runs[0].start_ns / PERIOD_NS) * PERIOD_NS
    periods = [first + number * PERIOD_NS for number in range(len(runs))]
    assert len(runs) >= 19
    assert near([run.start_ns for run in runs], periods)
    works = [4 if number % 4 == 0 else 1 for number in range(1, len(runs) + 1)]
    assert near(
        [run.end_ns - run.start_ns for run in runs[:19]], [work * 10**6 for work in works[:19]]
    )
    # Its VCPU is exhausted 2 ms into every fourth period, which misses a deadline. It gets budget
    # again when 10 ms have passed since it began to use the budget.
    marks = made.vcpus[1].marks
    replenished = [mark.time_ns for mark in marks if mark.event is Event.VCPU_REPLENISHED]
    exhausted = [mark.time_ns for mark in marks if mark.event is Event.VCPU_EXHAUSTED]
    missed = [m.time_ns for m in made.threads[loop].marks if m.event is Event.DEADLINE_MISS]
    assert near(replenished[1:5], periods[4::4][:4])
    assert near(exhausted[:4], [at + 2 * 10**6 for at in periods[3::4]][:4])
    assert near(missed[:4], [at + 4 * 10**6 for at in periods[3::4]][:4])
    assert story.vcpus[1].name == "control"
    assert (story.vcpus[1].budget_ns, story.vcpus[1].period_ns) == (2 * 10**6, PERIOD_NS)

    # Where the loop is short, the waiter waits from 3 ms to 5 ms for the mutex of the worker.
    waits = [s for s in made.threads[waiter].spans if s.detail == "mutex"]
    short = [at for number, at in enumerate(periods[:19], 1) if number % 4 != 0]
    assert near([wait.start_ns for wait in waits[: len(short)]], [at + 3 * 10**6 for at in short])
    assert near([wait.end_ns for wait in waits[: len(short)]], [at + 5 * 10**6 for at in short])
    assert len({wait.object for wait in waits}) == 1
    # The server is posted every 5 ms, in an interrupt.
    served = [s.end_ns for s in made.threads[server].spans if s.detail == "semaphore"]
    assert near(served[:30], [first + number * PERIOD_NS // 2 for number in range(30)])
    (timer,) = made.interrupts
    handled = made.interrupts[timer].spans
    assert all(any(i.start_ns <= at <= i.end_ns for i in handled) for at in served)
    assert {s.detail for s in made.threads[worker].spans if s.state is State.BLOCKED} == {"sleep"}
    assert story.threads[init].priority == 32


def test_events_are_in_order(story: Trace) -> None:
    """A thread is created, is ready, runs, and then blocks; one thread runs at a time."""
    state: dict[int, str] = {number_of(story, name): "ready" for name in ("idle", "init")}
    running = None
    for event in story.events:
        match event.kind:
            case Event.CREATE:
                assert event.subject not in state or event.subject < 2
                state[event.subject] = "created"
            case Event.READY:
                assert state[event.subject] in ("created", "blocked")
                state[event.subject] = "ready"
            case Event.SWITCH | Event.PREEMPT:
                assert state[event.subject] == "ready"
                if running is not None:
                    assert event.argument == running
                    left = "running" if event.kind == Event.PREEMPT else "blocked"
                    assert state[running] == left
                    state[running] = "ready" if event.kind == Event.PREEMPT else "blocked"
                running = event.subject
                state[running] = "running"
            case Event.BLOCK:
                assert event.subject == running
                state[event.subject] = "blocked"
    assert list(state.values()).count("running") <= 1


def test_names_outlive_the_events_of_creation(start_guest: StartGuest) -> None:
    """A small ring that the guest overwrites while it is read."""
    guest = start_guest(machine("trace=256"))
    guest.wait_for("trace: begins")
    deadline = time.monotonic() + 60
    written = 0
    reads = 0
    while written < 4 * 256 or reads < 5:
        assert time.monotonic() < deadline
        try:
            trace = traced(guest)
        except UserError as error:
            assert "was overwritten while it was read" in str(error)  # noqa: PT017
            continue
        reads += 1
        written = trace.written
        times = [event.time_ns for event in trace.events]
        assert times == sorted(times)
        assert all(isinstance(event.kind, Event) for event in trace.events)
        if trace.lost > 0:
            names = ("idle", "init", "loop", "worker", "waiter", "server", "console")
            ready = {event.subject for event in trace.events if event.kind == Event.READY}
            assert ready <= {number_of(trace, name) for name in names}


@pytest.mark.parametrize("argument", ["trace=x", "trace=99999999"])
def test_arguments_that_are_no_number_of_events(start_guest: StartGuest, argument: str) -> None:
    guest = start_guest(machine(argument))
    guest.wait_for(f"boot argument {argument}: not a number from 0 to 4194304, taking 0")
    guest.wait_for("trace: begins")
    with pytest.raises(AssertionError):
        traced(guest)


def test_a_ring_that_does_not_fit(start_guest: StartGuest) -> None:
    guest = start_guest(replace(machine("trace=4194304"), memory_mib=32))
    guest.wait_for("boot: no trace: out of memory")
    guest.wait_for("trace: begins")


def test_a_guest_that_damages_its_directory(start_guest: StartGuest, tmp_path: Path) -> None:
    gdb = tmp_path / "gdb"
    guest = start_guest(replace(machine("trace=256"), extra=arguments(gdb)))
    guest.wait_for("trace: begins")
    locator = 0x4020_0000 + REPORT_LOCATOR_OFFSET
    distance = 1 << 40
    with PhysicalMemory(gdb) as memory:
        assert memory.read(locator, 8) == REPORT_MAGIC.to_bytes(8, "little")
        memory.write(locator + ReportLocator.distance.offset, distance.to_bytes(8, "little"))
    directory = f"{locator + distance:#x}"
    with pytest.raises(UserError, match=f"are damaged: the directory at {directory} is outside"):
        traced(guest)
