# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead trace` of shared cores: their rings, also damaged ones, and what is made of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from ctypes import LittleEndianStructure, sizeof
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

from bulkhead.cli import bulkhead
from bulkhead.errors import EXIT_USER_ERROR, UserError
from bulkhead.layouts.hypervisor import (
    REPORT_MAGIC,
    TRACE_KIND_SHIFT,
    TRACE_LEVEL_SHIFT,
    TRACE_NONE,
    DistributionDecision,
    DistributionReason,
    Processor,
    SharedCore,
    Trace,
    TraceRecord,
    Vcpu,
    VcpuReport,
)
from bulkhead.layouts.hypervisor import SCHEDULER_TRACE_BYTES as TRACE_BYTES
from bulkhead.running.attach import GuestMemory, Running
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.ranges import Range
from bulkhead.tracing import trace_command
from bulkhead.tracing.core_command import trace_cores
from bulkhead.tracing.core_moves import read_moves
from bulkhead.tracing.core_ring import CAPACITY, CoreTrace, Kind, place_of_ring, read_core
from bulkhead.tracing.core_schedule import make_schedule
from bulkhead.tracing.timeline import State
from bulkhead.tracing.trace_command import TraceOptions, choose_cores

START = 0x4000_0000
PLACE = START + 15 * PAGE_BYTES  # of the core's page, before its ring
RING = START + TRACE_BYTES
END = RING + TRACE_BYTES + 6 * PAGE_BYTES  # with the pages of 2 processors and 3 VCPUs
CORE = 1
NONE = TRACE_NONE
RECORD_BYTES = sizeof(TraceRecord)
OFF, LOOP, MEDIA = 0, 1, 2
STARTED = (1000, Kind.CHOICE, 0, 0b11, 0b11)
Event = tuple[int, int, int, int, int]  # time in ns, kind, level, runnable, second


@dataclass
class Memory:
    """The hypervisor's memory. The fields are what it writes, right or wrong."""

    events: Sequence[Event] = field(default_factory=lambda: [STARTED])
    ring: int = RING
    place: int = PLACE
    written: int | None = None  # bytes; default: those of all events
    magic: int = REPORT_MAGIC
    vcpus: tuple[int, ...] = (END - 2 * PAGE_BYTES, END - PAGE_BYTES)  # by level
    partitions: tuple[int, ...] = (LOOP, MEDIA)
    states: tuple[int, ...] = (1, 1)
    number: int = 0  # of each VCPU in its partition
    decisions: Sequence[DistributionDecision] = ()
    after_ring: Callable[[Memory], None] | None = None  # called when the ring has been read

    def read(self, address: int, size: int) -> bytes:
        assert START <= address <= END - size, "the command reads outside of the hypervisor"
        memory = self.memory()
        data = memory[address - START : address - START + size]
        if address == self.ring and self.after_ring is not None:
            self.after_ring(self)
        return bytes(data)

    def memory(self) -> bytearray:
        memory = bytearray(END - START)

        def put(address: int, content: LittleEndianStructure) -> None:
            data = bytes(content)
            memory[address - START : address - START + len(data)] = data

        put(END - 4 * PAGE_BYTES, Processor(shared=self.place))  # the second one's page
        written = RECORD_BYTES * len(self.events) if self.written is None else self.written
        core = SharedCore(trace=Trace(ring=self.ring, written=written))
        for level, page in enumerate(self.vcpus):
            core.vcpus[level] = page
        core.log.count = len(self.decisions)
        for number, decision in enumerate(self.decisions):
            core.log.decisions[number % len(core.log.decisions)] = decision
        put(PLACE, core)
        for page, partition, state in zip(self.vcpus, self.partitions, self.states, strict=True):
            report = VcpuReport(magic=self.magic, processor=CORE, partition=partition, state=state)
            if START <= page < END:
                put(page, Vcpu(report=report, number=self.number))
        for number, event in enumerate(self.events):
            put(RING + number % CAPACITY * RECORD_BYTES, record(event))
        return memory


def record(event: Event) -> TraceRecord:
    time, kind, level, runnable, second = event
    return TraceRecord(
        time | level << TRACE_LEVEL_SHIFT | kind << TRACE_KIND_SHIFT, runnable, second
    )


def guest(name: str) -> GuestMemory:
    return GuestMemory(name, 0x4000_0000, 1 << 20, 0x9000_0000, 0x4020_0000)


RUNNING = Running(
    "shared", END, 3, [guest(each) for each in ("own", "loop", "media")], [CORE],
    [{}, {"1": 0.1}, {"1": 0.3}], 1_000_000_000,
    budgets=[[], [100_000, 1_000_000], [3_000_000, 10_000_000]], hypervisor_start=START, cores=2,
)  # fmt: skip
BY_WEIGHT = replace(RUNNING, credit_cores=[CORE], promised=[{}, {"1": 0.25}, {"1": 0.75}])


def read(memory: Memory, running: Running = RUNNING) -> CoreTrace:
    return read_core(running, CORE, memory.read)


def refused(memory: Memory) -> str:
    with pytest.raises(UserError) as caught:
        read(memory)
    return str(caught.value)


def numbered(count: int) -> list[Event]:
    """Return choices at the times 1000, 1001, ..."""
    return [(1000 + number, Kind.CHOICE, number % 2, 3, 3) for number in range(count)]


def times(trace: CoreTrace) -> list[int]:
    return [each.time_ns for each in trace.records]


def test_vcpus_of_one_partition_are_numbered() -> None:
    same = read(Memory(partitions=(MEDIA, MEDIA), number=3))
    assert [each.label for each in same.members.values()] == ["media VCPU 3"] * 2
    assert [(each.name, each.vcpu) for each in same.members.values()] == [("media", 3)] * 2
    different = read(Memory(number=3))
    assert [each.label for each in different.members.values()] == ["loop", "media"]


def test_records_and_members() -> None:
    trace = read(Memory([STARTED, (5000, Kind.OFF, 1, 3, 2), (6000, Kind.CHOICE, NONE, 0, 0)]))
    assert [(each.time_ns, each.kind, each.level) for each in trace.records] == [
        (1000, Kind.CHOICE, 0), (5000, Kind.OFF, 1), (6000, Kind.CHOICE, None),
    ]  # fmt: skip
    assert (trace.records[1].runnable, trace.records[1].second) == (3, 2)
    loop, media = trace.members.values()
    assert (loop.name, loop.promised, loop.budget_ns, loop.period_ns) == (
        "loop", 0.1, 100_000, 1_000_000,
    )  # fmt: skip
    assert media.is_on
    assert (trace.written, trace.lost) == (3, 0)


def test_place_of_a_ring() -> None:
    assert place_of_ring(RUNNING, CORE, Memory().read) == Range(RING, TRACE_BYTES)


def test_a_ring_that_has_wrapped() -> None:
    trace = read(Memory(numbered(CAPACITY + 100)))
    assert times(trace) == list(range(1000 + 100 + 8, 1000 + CAPACITY + 100))
    assert (trace.written, trace.lost) == (CAPACITY + 100, 108)


def test_records_that_are_overwritten_while_they_are_read() -> None:
    """The core has written 50 more before the ring was copied, and goes on."""
    memory = Memory(numbered(CAPACITY + 150), written=RECORD_BYTES * (CAPACITY + 100))
    memory.after_ring = lambda own: setattr(own, "written", RECORD_BYTES * (CAPACITY + 160))
    assert times(read(memory)) == list(range(1000 + 160 + 8, 1000 + CAPACITY + 100))


def test_a_ring_that_is_overwritten_as_a_whole() -> None:
    memory = Memory(numbered(100))
    memory.after_ring = lambda own: setattr(own, "written", RECORD_BYTES * (CAPACITY + 100))
    assert "4,096 records of core 1 were overwritten while they were read" in refused(memory)


@pytest.mark.parametrize("count", [1, 8])
def test_records_that_are_not_visible_yet(count: int) -> None:
    """`written` may become visible before the records, of which the places have old times, or 0."""
    for before in (20, CAPACITY + 20):
        memory = Memory(numbered(before), written=RECORD_BYTES * (before + count))
        trace = read(memory)
        assert times(trace)[-1] == 1000 + before - 1
        assert trace.written == before
    assert "is earlier than the one before" in refused(
        Memory(numbered(20), written=RECORD_BYTES * 29)
    )


def test_two_records_at_one_time() -> None:
    events = [STARTED, (1000, Kind.START, 0, 3, 3)]
    assert times(read(Memory(events))) == [1000, 1000]


def test_a_restart_while_the_ring_is_read() -> None:
    memory = Memory(numbered(20))
    memory.after_ring = lambda own: setattr(own, "written", 16)
    assert "was restarted while its trace was read" in refused(memory)


DAMAGED = {
    "a ring elsewhere": (Memory(ring=END), "the ring at 0x40026000 is outside"),
    "a ring at the end": (Memory(ring=END - TRACE_BYTES + 16), "the ring at 0x40016010 is outside"),
    "a page elsewhere": (Memory(place=0x1000), "the core's page at 0x1000 is outside"),
    "half a record": (Memory(written=24), "24 bytes of records"),
    "a VCPU elsewhere": (Memory(vcpus=(END, END - PAGE_BYTES)), "the VCPU of level 0 at"),
    "no VCPU": (Memory(magic=1), "there is no VCPU at 0x40024000"),
    "a foreign VCPU": (Memory(partitions=(LOOP, 3)), "there is no VCPU at 0x40025000"),
    "nobody's interrupt": (Memory([(1, 3, NONE, 0, 0)]), "record 0 is of kind 3, of level 32"),
    "a level": (Memory([(1, 0, 2, 0, 0)]), "record 0 is of kind 0, of level 2"),
    "nobody is off": (Memory([(1, 1, NONE, 0, 0)]), "record 0 is of kind 1, of level 32"),
    "a set": (Memory([(1, 0, 0, 4, 0)]), "record 0 has VCPUs that the core has not"),
    "another set": (Memory([(1, 0, 0, 0, 1 << 31)]), "record 0 has VCPUs that the core has not"),
    "time": (Memory([*numbered(20), *numbered(20)]), "record 20 is earlier than the one before"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED)
def test_damage(case: str) -> None:
    memory, expected = DAMAGED[case]
    line = refused(memory)
    assert line.startswith("the trace of core 1 is damaged: ")
    assert expected in line


def test_before_the_start() -> None:
    assert "core 1 has not started yet" in refused(Memory(place=0))
    assert "the trace of core 1 has no records yet" in refused(Memory(written=0))


# loop preempts media, blocks, spends its budget; then the core is idle.
SCHEDULE: list[Event] = [
    (1000, Kind.CHOICE, 1, 0b10, 0b10),
    (2000, Kind.CHOICE, 0, 0b11, 0b11),  # woken
    (2500, Kind.CHOICE, 1, 0b10, 0b10),  # blocked
    (3000, Kind.CHOICE, 0, 0b11, 0b11),
    (3600, Kind.CHOICE, 1, 0b11, 0b10),  # its budget is spent
    (4000, Kind.CHOICE, NONE, 0b11, 0b00),
    (5000, Kind.CHOICE, 0, 0b11, 0b01),  # replenished
    (5100, Kind.OFF, 0, 0b11, 0b01),
    (5200, Kind.CHOICE, NONE, 0b10, 0b00),
    (6000, Kind.CHOICE, 1, 0b10, 0b10),
]


def test_events_of_a_core_shared_by_budgets() -> None:
    schedule = make_schedule(read(Memory(SCHEDULE)))
    found = [
        (each.time_ns, each.name, each.level, each.previous, each.reason and each.reason.value)
        for each in schedule.events
    ]
    assert found == [
        (2000, "vcpu_runnable", 0, None, None),
        (2000, "preempt", 0, 1, "preempted"),
        (2500, "vcpu_blocked", 0, None, None),
        (2500, "switch", 1, 0, "blocked"),
        (3000, "vcpu_runnable", 0, None, None),
        (3000, "preempt", 0, 1, "preempted"),
        (3600, "vcpu_exhausted", 0, None, None),
        (3600, "switch", 1, 0, "budget"),
        (4000, "vcpu_exhausted", 1, None, None),
        (4000, "idle", None, 1, "budget"),
        (5000, "vcpu_replenished", 0, None, None),
        (5000, "switch", 0, None, None),
        (5100, "vcpu_off", 0, None, None),
        (5200, "vcpu_blocked", 0, None, None),
        (5200, "idle", None, 0, "off"),
        (6000, "vcpu_replenished", 1, None, None),
        (6000, "switch", 1, None, None),
    ]
    spans = [(each.start_ns, each.end_ns, each.state) for each in schedule.vcpus[0].spans]
    assert spans == [
        (1000, 2000, State.BLOCKED),
        (2000, 2500, State.RUNNING),
        (2500, 3000, State.BLOCKED),
        (3000, 3600, State.RUNNING),
        (3600, 5000, State.WITHOUT_BUDGET),
        (5000, 5200, State.RUNNING),
    ]  # and off
    assert [(each.start_ns, each.end_ns, each.detail) for each in schedule.lane.spans] == [
        (1000, 2000, "media"), (2000, 2500, "loop"), (2500, 3000, "media"), (3000, 3600, "loop"),
        (3600, 4000, "media"), (5000, 5200, "loop"),
    ]  # fmt: skip


def test_an_interrupt_for_a_vcpu_that_is_out() -> None:
    """Its handling counts for that VCPU, and is no change to it."""
    events: list[Event] = [
        (1000, Kind.CHOICE, 1, 0b10, 0b10),
        (2000, Kind.INTERRUPT, 0, 0b11, 0b10),  # without budget
        (2100, Kind.CHOICE, 1, 0b11, 0b10),
        (3000, Kind.CHOICE, NONE, 0b00, 0b00),
        (4000, Kind.INTERRUPT, 0, 0b01, 0b01),
        (4200, Kind.CHOICE, 0, 0b01, 0b01),
        (5000, Kind.CHOICE, NONE, 0b00, 0b00),
    ]
    schedule = make_schedule(read(Memory(events)))
    assert [(each.time_ns, each.name) for each in schedule.events if each.level == 0] == [
        (2100, "vcpu_runnable"), (3000, "vcpu_blocked"),
        (4200, "vcpu_runnable"), (4200, "switch"), (5000, "vcpu_blocked"),
    ]  # fmt: skip
    assert [(each.start_ns, each.end_ns, each.detail) for each in schedule.lane.spans] == [
        (1000, 2000, "media"), (2000, 2100, "loop"), (2100, 3000, "media"), (4000, 5000, "loop"),
    ]  # fmt: skip


def test_events_of_a_core_shared_by_weights() -> None:
    """The second set has boosts: media wakes with one, and then its turn ends."""
    events: list[Event] = [
        (1000, Kind.CHOICE, 0, 0b01, 0),
        (2000, Kind.CHOICE, 1, 0b11, 0b10),
        (3000, Kind.CHOICE, 0, 0b11, 0),
    ]
    schedule = make_schedule(read(Memory(events), BY_WEIGHT))
    found = [(each.name, each.reason and each.reason.value) for each in schedule.events]
    assert found == [
        ("vcpu_runnable", None), ("preempt", "preempted"), ("preempt", "turn"),
    ]  # fmt: skip
    ready = [each for each in schedule.vcpus[0].spans if each.state is State.READY]
    assert [(each.start_ns, each.end_ns) for each in ready] == [(2000, 3000)]


@pytest.mark.parametrize(
    ("states", "events", "off"),
    [
        ((0, 1), [], [True, True]),  # its state now
        ((1, 1), [], [False, False]),
        ((1, 1), [Kind.START], [True, False]),
        ((0, 1), [Kind.OFF], [False, True]),
    ],
)
def test_a_vcpu_that_is_off_at_first(
    states: tuple[int, int], events: list[Kind], off: list[bool]
) -> None:
    changes: list[Event] = [(1500, kind, 0, 0b10, 0b10) for kind in events]
    around: list[Event] = [(time, Kind.CHOICE, 1, 0b10, 0b10) for time in (1000, 2000)]
    last: Event = (3000, Kind.CHOICE, NONE, 0, 0)
    schedule = make_schedule(read(Memory([around[0], *changes, around[1], last], states=states)))
    blocked = [each for each in schedule.vcpus[0].spans if each.state is State.BLOCKED]
    covered = [any(each.start_ns <= at < each.end_ns for each in blocked) for at in (1200, 2500)]
    assert [not each for each in covered] == off


def test_the_last_part() -> None:
    schedule = make_schedule(read(Memory(SCHEDULE)), 3300)
    assert (schedule.start_ns, schedule.end_ns) == (3300, 6000)
    assert schedule.vcpus[0].total_ns(State.RUNNING) == 300 + 200
    assert schedule.events[0].time_ns == 3600


def test_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: tmp_path / name for name in ("svg", "perfetto", "json")}
    options = TraceOptions(
        "shared", svg=files["svg"], perfetto=files["perfetto"], json=files["json"]
    )
    trace_cores(RUNNING, [CORE], Memory(SCHEDULE).read, None, options)
    printed = capsys.readouterr().out
    assert "shared: core 1, shared by budgets" in printed
    (row,) = (line for line in printed.splitlines() if "│ loop " in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "loop", "10.0%", "26.0%", "1.3", "0.0", "0.0", "2", "1", "1", "0", "1",
    ]  # fmt: skip
    assert "10 records in 0.005 ms; 0 earlier ones are not shown, 0 are lost" in printed
    (core,) = json.loads(files["json"].read_text())["cores"]
    assert core["partitions"][0]["ran_ns"] == 1300
    assert core["events"][1] == {
        "time_ns": 2000, "event": "preempt", "partition": "loop", "vcpu": 0, "previous": "media",
        "previous_vcpu": 0, "reason": "preempted",
    }  # fmt: skip
    assert core["events"][9] == {
        "time_ns": 4000, "event": "idle", "previous": "media", "previous_vcpu": 0,
        "reason": "budget",
    }  # fmt: skip
    message = schema.Trace()
    message.ParseFromString(files["perfetto"].read_bytes())
    tracks = {each.track_descriptor.uuid: each.track_descriptor.name for each in message.packet}
    assert {"core 1", "core 1: loop, 100 us in 1 ms"} <= set(tracks.values())
    slices = [
        each.track_event.name
        for each in message.packet
        if tracks.get(each.track_event.track_uuid) == "core 1" and each.track_event.name
    ]
    assert slices == ["media", "loop", "media", "loop", "media", "loop"]
    picture = files["svg"].read_text()
    for text in ("Schedule of shared", "core 1: media, 3 ms in 10 ms", "time since boot (µs)",
                 "loop runs", "waits for budget", "budget exhausted"):  # fmt: skip
        assert text in picture
    trace_cores(RUNNING, [CORE], Memory(SCHEDULE).read, None, options)
    assert files["svg"].read_text() == picture


def decision(time: int, **values: int) -> DistributionDecision:
    reason = int(DistributionReason.COLLIDED)
    return DistributionDecision(
        **{"time": time, "number": 37, "partition": MEDIA, "reason": reason} | values
    )


def test_moves_of_interrupts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both VCPUs of the fake memory are of core 1."""
    made = decision(
        2_500_000_000, rate=24, demand=60, doubled=1, idle=55, used=5, urgent=40, is_contended=1
    )
    memory = Memory(SCHEDULE, decisions=[made])
    file = tmp_path / "json"
    trace_cores(RUNNING, [CORE], memory.read, None, TraceOptions("shared", json=file))
    printed = capsys.readouterr().out
    (row,) = (line for line in printed.splitlines() if "collided" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "2.500", "media", "37", "1", "1", "collided", "1", "240", "60%", "1", "55%", "5%", "40%",
        "yes",
    ]  # fmt: skip
    (move,) = json.loads(file.read_text())["moves"]
    assert (move["time_ns"], move["reason"], move["demand"]) == (2_500_000_000, "collided", 60)


def test_the_decision_that_may_be_overwritten_is_left_out() -> None:
    made = [decision(1 + number) for number in range(40)]
    moves = read_moves(RUNNING, [CORE], Memory(decisions=made).read)
    assert [move.time_ns for move in moves] == list(range(26, 41))


@pytest.mark.parametrize("wrong", [{"reason": 9}, {"partition": 7}, {"origin": 1}, {"target": 1}])
def test_a_damaged_decision(wrong: dict[str, int]) -> None:
    with pytest.raises(UserError, match="the trace of core 1 is damaged: a decision"):
        read_moves(RUNNING, [CORE], Memory(decisions=[decision(1, **wrong)]).read)


def test_choice_of_cores() -> None:
    assert choose_cores(RUNNING, TraceOptions()) == [1]
    assert choose_cores(RUNNING, TraceOptions(core=1)) == [1]
    assert choose_cores(RUNNING, TraceOptions(partition="loop")) == []
    assert choose_cores(Running("own"), TraceOptions()) == []
    with pytest.raises(UserError, match="no partitions share core 0"):
        choose_cores(RUNNING, TraceOptions(core=0))
    with pytest.raises(UserError, match="no partitions share core 1"):
        choose_cores(Running("own"), TraceOptions(core=1))


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that a system with damaged memory runs."""
    monkeypatch.setattr(trace_command, "attach", lambda _: (RUNNING, None))
    damaged = Memory(ring=0)
    monkeypatch.setattr(trace_command, "physical_memory", lambda _: damaged.read)


def line_of(*arguments: str) -> str:
    result = CliRunner().invoke(bulkhead, ["trace", *arguments], catch_exceptions=True)
    assert isinstance(result.exception, UserError)
    return str(result.exception)


@pytest.mark.usefixtures("connected")
def test_bad_input() -> None:
    assert EXIT_USER_ERROR == 2
    assert "the ring at 0x0 is outside of the hypervisor's memory" in line_of("shared")
    assert "no partitions share core 0" in line_of("shared", "--core", "0")
    assert "exclude each other" in line_of("shared", "--core", "1", "--partition", "loop")
    assert "a bare machine has no shared cores" in line_of("--bare", "trace", "--core", "1")
    assert "--last 'soon' is not a time" in line_of("shared", "--last", "soon")


def test_a_system_that_does_not_run(tmp_path: Path) -> None:
    file = tmp_path / "quiet.toml"
    file.write_text(
        'board = "qemu-virt"\n'
        + "".join(
            f'[[partition]]\nname = "{name}"\ncores = [0]\nbudget = "1 ms"\nperiod = "10 ms"\n'
            'memory = "16 MiB"\nimage = "boot"\n'
            for name in ("one", "two")
        )
    )
    assert "system 'quiet' is not running" in line_of(str(file))
