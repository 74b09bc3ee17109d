# SPDX-License-Identifier: BSD-2-Clause
"""What `./bulkhead campaign` concludes from invented runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bulkhead.campaign.fault import Place
from bulkhead.campaign.injection import Injection
from bulkhead.campaign.plan import Plan
from bulkhead.campaign.trial import (
    HYPERVISOR_MEMORY,
    Line,
    Record,
    Times,
    is_working,
    lines_of,
)
from bulkhead.campaign.verdict import Judgement, Verdict, judge, needs_twin
from bulkhead.system.board import PAGE_BYTES

VICTIM, NEIGHBOUR = "victim", "neighbour"
BYTES = 16 * PAGE_BYTES
FAULT, CHECK, END = 1_000, 10_000, 20_000
DIGESTS = {turn: f"{turn:08x}" for turn in range(1, 100)}
NEIGHBOURS_LINES = ["turn 4: 0000abcd", "done: 0000abcd, memory intact"]
MASKED = 3  # a page of the hypervisor's memory that depends on the time
PLAN = Plan(
    Times(CHECK, CHECK, END - CHECK),
    range(10, 20),
    DIGESTS,
    {NEIGHBOUR: NEIGHBOURS_LINES},
    {NEIGHBOUR: bytes(BYTES), HYPERVISOR_MEMORY: bytes(BYTES)},
    {HYPERVISOR_MEMORY: frozenset({MASKED})},
)


def turn(time: int, number: int, digest: str | None = None) -> Line:
    return Line(time, VICTIM, f"turn {number}: {digest or DIGESTS[number]}")


def record(*lines: Line, neighbour: list[str] | None = None, **facts: Any) -> Record:
    """Return the record of a run. The neighbour prints as in the golden run."""
    shown = NEIGHBOURS_LINES if neighbour is None else neighbour
    others = [Line(500, NEIGHBOUR, text) for text in shown]
    made = Record(
        injection=Injection("a change"),
        injected_at=FAULT,
        checked_at=CHECK,
        ended_at=CHECK,
        lines=[*others, *lines],
        memory={NEIGHBOUR: bytes(BYTES), HYPERVISOR_MEMORY: bytes(BYTES)},
    )
    return replace(made, **facts)


def judged(*lines: Line, neighbour: list[str] | None = None, **facts: Any) -> Judgement:
    return judge(record(*lines, neighbour=neighbour, **facts), PLAN, VICTIM)


def changed(page: int) -> bytes:
    return bytes(page * PAGE_BYTES) + b"\1" + bytes(BYTES - page * PAGE_BYTES - 1)


WORKS = (turn(5_000, 2), turn(9_000, 4))
RESTARTED: dict[str, Any] = {"restarted_at": CHECK, "ended_at": END}
STOP = Line(1_700, "bulkhead", "victim is stopped: core 0, address 0x0, syndrome 0x0, pc 0x0")
PANIC = Line(1_500, VICTIM, "panic: undefined instruction")
RESTART = Line(6_000, "bulkhead", "victim restarts")
AGAIN = (turn(12_000, 2), turn(14_000, 4))


@pytest.mark.parametrize(
    ("text", "detector"),
    [
        ("is stopped: core 0, its heartbeat stands still, pc 0x40200000", "heartbeat"),
        ("is stopped: core 0, its watchdog was not refreshed, pc 0x0", "watchdog"),
        ("is stopped: core 0, address unknown, syndrome 0x0, pc 0x0", "stop"),
    ],
)
def test_what_noticed_a_hang(text: str, detector: str) -> None:
    """The victim restarts by itself, so its turns begin again."""
    again = (turn(6_000, 2), turn(9_000, 4))
    found = judged(Line(1_700, "bulkhead", f"victim {text}"), *again, executed_at=1_200)
    assert (found.verdict, found.detector) == (Verdict.RECOVERED, detector)
    assert found.detection == 700


def test_fault_that_nobody_used() -> None:
    found = judged(*WORKS)
    assert found.verdict is Verdict.INACTIVE
    assert not found.activated
    assert found.contained


@pytest.mark.parametrize("facts", [{"read_at": 1_100}, {"executed_at": 1_100}])
def test_fault_that_was_used_without_an_effect(facts: dict[str, Any]) -> None:
    assert judged(*WORKS, **facts).verdict is Verdict.MASKED


VICTIMS: dict[str, Any] = {
    "blocks": 7,
    "stores": 9,
    "victims_start": 0x1000,
    "victims_memory": bytes(32),
}
TWIN = record(*WORKS, **VICTIMS)
CHANGE = Injection("a change", {0x1008: b"\1"})  # of a byte of the victim


def compared(read_at: int = 1_100, **facts: Any) -> Judgement:
    changed = record(*WORKS, **(VICTIMS | {"injection": CHANGE, "read_at": read_at} | facts))
    return judge(changed, PLAN, VICTIM, TWIN)


@pytest.mark.parametrize("byte", [0, 1], ids=["overwritten", "still wrong"])
def test_victim_that_does_the_same_as_its_twin_masks_the_fault(byte: int) -> None:
    memory = bytes(8) + bytes([byte]) + bytes(23)
    found = compared(victims_memory=memory)
    assert found.verdict is Verdict.MASKED
    assert found.used
    assert not found.activated
    assert compared(read_at=0, victims_memory=memory).verdict is Verdict.INACTIVE


@pytest.mark.parametrize(
    ("facts", "deviation"),
    [
        ({"turns": 6, "blocks": 8}, "turns"),
        ({"blocks": 8, "stores": 10}, "blocks"),
        ({"checked_at": CHECK + 1}, "blocks"),
        ({"stores": 10}, "stores"),
        ({"victims_memory": bytes(9) + b"\1" + bytes(22)}, "memory"),
        ({"victims_memory": b"\1" + bytes(31)}, "memory"),
    ],
    ids=["turns", "blocks", "time", "stores", "memory", "memory before"],
)
@pytest.mark.parametrize("read_at", [0, 1_100])
def test_victim_that_does_something_else_has_an_error(
    facts: dict[str, Any], deviation: str, read_at: int
) -> None:
    found = compared(read_at, **facts)
    assert found.verdict is Verdict.LATENT
    assert found.deviation == deviation
    assert found.activated
    assert found.contained
    assert not found.silent


def test_skipped_instruction_is_an_error_without_a_twin() -> None:
    found = judged(*WORKS, injection=Injection("skipped", is_certain=True))
    assert found.verdict is Verdict.LATENT
    assert found.used
    assert not needs_twin(found, Place.CODE)


def test_twin_is_run_when_it_decides() -> None:
    used, unused, stopped = judged(*WORKS, read_at=1_100), judged(*WORKS), judged(PANIC, *WORKS)
    assert needs_twin(used, Place.HEAP)
    assert not needs_twin(unused, Place.HEAP), "nothing has read it"
    assert needs_twin(unused, Place.REGISTERS), "nobody sees who reads a register"
    assert not needs_twin(stopped, Place.REGISTERS), "it had an effect"


@pytest.mark.parametrize(
    ("text", "detector"),
    [
        ("scrubber: the page at 0x40080000 has changed", "scrubber"),
        ("turn 12: 00000001, then 00000002", "comparison"),
        ("undefined instruction", "panic"),
    ],
)
def test_panic_names_its_detector(text: str, detector: str) -> None:
    assert judged(replace(PANIC, text=f"panic: {text}"), *WORKS).detector == detector


def test_overwritten_word_was_not_used_unless_it_is_stuck() -> None:
    facts: dict[str, Any] = {"written_at": 1_100, "read_at": 1_200}
    assert judged(*WORKS, **facts).verdict is Verdict.INACTIVE
    stuck = Injection("a change", is_stuck=True)
    assert judged(*WORKS, **facts, injection=stuck).verdict is Verdict.MASKED


def test_word_that_was_read_before_it_was_overwritten_was_used() -> None:
    assert judged(*WORKS, written_at=1_200, read_at=1_100).used


def test_crash_that_a_restart_cures() -> None:
    found = judged(PANIC, STOP, *AGAIN, **RESTARTED)
    assert found.verdict is Verdict.RECOVERED
    assert (found.detector, found.detection) == ("panic", 500)
    assert found.recovered
    assert found.recovery == 4_000
    assert found.activated


def test_stop_by_the_hypervisor_is_a_detection() -> None:
    found = judged(STOP, *AGAIN, **RESTARTED)
    assert (found.detector, found.detection) == ("stop", 700)


def test_message_before_the_fault_is_no_detection() -> None:
    assert judged(replace(PANIC, time=900), *WORKS).verdict is Verdict.INACTIVE


def test_message_about_another_partition_is_a_leak() -> None:
    line = Line(1_700, "bulkhead", "neighbour is stopped: core 1, address 0x0")
    found = judged(line, *WORKS)
    assert found.verdict is Verdict.LEAKED
    assert "neighbour is stopped" in found.leaks[0]


@pytest.mark.parametrize(
    "again", [(), AGAIN[:1], (turn(12_000, 2), turn(14_000, 4, "deadbeef"))],
    ids=["silent", "one turn", "wrong"],
)  # fmt: skip
def test_crash_that_a_restart_does_not_cure(again: tuple[Line, ...]) -> None:
    found = judged(PANIC, *again, **RESTARTED)
    assert found.verdict is Verdict.LOST
    assert found.recovered is False


def test_wrong_output_between_the_detection_and_the_restart_is_cured() -> None:
    program = Line(1_500, VICTIM, "network: 74195e85 instead of 02105923")
    wrong = turn(2_000, 4, "deadbeef")
    found = judged(program, wrong, RESTART, turn(7_000, 2), turn(8_000, 4))
    assert found.verdict is Verdict.RECOVERED
    assert (found.detector, found.recovery) == ("program", 6_500)
    still = judged(program, wrong, RESTART, turn(7_000, 2), replace(wrong, time=8_000))
    assert still.verdict is Verdict.LOST


@pytest.mark.parametrize(
    "text",
    [
        "device stopped: the device asks for a reset",
        "queue 1 was reset: used id beyond the queue's size",
    ],
    ids=["device", "queue"],
)
def test_driver_that_recovers_by_itself(text: str) -> None:
    found = judged(Line(2_000, VICTIM, f"virtio: virtio-net: {text}"), *WORKS)
    assert found.verdict is Verdict.RECOVERED
    assert found.detector == "driver"
    assert found.recovery == 7_000


def test_standstill_that_nobody_noticed() -> None:
    found = judged(turn(1_200, 2), *AGAIN, **RESTARTED)
    assert found.verdict is Verdict.HUNG
    assert found.recovered is None, "nothing was detected"


def test_wrong_output_that_nobody_noticed() -> None:
    found = judged(turn(5_000, 2), turn(9_000, 4, "deadbeef"))
    assert found.verdict is Verdict.SILENT
    assert found.silent
    assert not found.silent_neighbour


def test_wrong_output_of_a_fault_that_was_noticed_is_not_silent() -> None:
    found = judged(turn(1_200, 2, "deadbeef"), PANIC, *AGAIN, **RESTARTED)
    assert found.verdict is Verdict.RECOVERED
    assert not found.silent


@pytest.mark.parametrize(
    "lines",
    [
        [NEIGHBOURS_LINES[0]],
        ["turn 4: 0000abce", NEIGHBOURS_LINES[1]],
        [*NEIGHBOURS_LINES, "panic: "],
        [],
    ],
    ids=["missing", "wrong", "more", "none"],
)
def test_other_output_of_a_neighbour_is_a_leak(lines: list[str]) -> None:
    found = judged(*WORKS, neighbour=lines)
    assert found.verdict is Verdict.LEAKED
    assert not found.contained
    assert found.silent_neighbour


@pytest.mark.parametrize("owner", [NEIGHBOUR, HYPERVISOR_MEMORY])
@pytest.mark.parametrize("when", ["memory", "memory_at_end"])
def test_other_memory_is_a_leak(owner: str, when: str) -> None:
    facts: dict[str, Any] = {when: dict(PLAN.memory) | {owner: changed(5)}}
    found = judged(*WORKS, **facts)
    assert found.verdict is Verdict.LEAKED
    assert found.leaks == (f"memory of {owner}: 1 pages from {5 * PAGE_BYTES:#x}",)


def test_memory_that_depends_on_the_time_is_no_leak() -> None:
    memory = dict(PLAN.memory) | {HYPERVISOR_MEMORY: changed(MASKED)}
    assert judged(*WORKS, memory=memory).contained
    memory = dict(PLAN.memory) | {NEIGHBOUR: changed(MASKED)}
    assert not judged(*WORKS, memory=memory).contained


def test_machine_that_stands_still_is_a_leak() -> None:
    found = judged(*WORKS, checked_at=0, error="the machine stands still")
    assert found.verdict is Verdict.LEAKED


def test_nothing_to_inject() -> None:
    found = judged(*WORKS, injection=None, reason="the device has no queue")
    assert found.verdict is Verdict.NOT_INJECTED
    assert not found.injected


def test_lines_have_the_times_of_their_first_characters() -> None:
    console = b"victim| turn 2: 1\r\n\r\nbulkhead| x\r\nhalf"
    times = range(100, 100 + len(console))
    assert lines_of(console, times) == [
        Line(100, "victim", "turn 2: 1"),
        Line(100 + console.index(b"bulk"), "bulkhead", "x"),
    ]


def test_victim_works_if_it_ends_two_turns() -> None:
    assert is_working(WORKS, VICTIM, 4_000)
    assert not is_working(WORKS, VICTIM, 6_000)
    assert not is_working(WORKS, "other", 4_000)
    error = Line(9_500, VICTIM, "network: no answer")
    assert not is_working([*WORKS, error], VICTIM, 4_000)
    assert is_working([*WORKS, replace(error, time=3_000)], VICTIM, 4_000)


def test_fault_that_is_noticed_late_and_stops_nothing() -> None:
    line = Line(9_500, VICTIM, "virtio: virtio-net: device stopped: the device asks for a reset")
    found = judged(*WORKS, line)
    assert found.verdict is Verdict.RECOVERED
    assert found.recovery == 0
