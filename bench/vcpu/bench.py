# SPDX-License-Identifier: BSD-2-Clause
"""Measure guaranteed processor time: wake-ups and shares, beside Linux and RTEMS.

./bulkhead bench vcpu [--case CASE]: wake-ups under a flood, shares under overload, switches,
decisions, and a flooded network on a budget. The machine counts instructions (QEMU's icount), and
its counter has one tick per instruction, so a nanosecond of a guest's time is an instruction. A
flood of datagrams is sent as fast as the guest's card takes it.
"""

from __future__ import annotations

import random
import re
import socket
import struct
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bulkhead.building.build import Variant, guest_image
from bulkhead.measuring import plot
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.measuring.flood import Flood
from bulkhead.measuring.instructions import Function, ImageCode
from bulkhead.measuring.wire import Endpoint, udp_frame
from bulkhead.paths import BENCHES, ROOT
from bulkhead.peers import linux_guest, rtems
from bulkhead.peers.linux_guest import LinuxImage
from bulkhead.peers.rtems import Sample
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qemu import MAC, Machine, NetworkCard

_FOLDER = BENCHES / "vcpu"
_FREQUENCY = 1_000_000_000  # Hz: an instruction takes a nanosecond of virtual time
_BOARD = Machine(Path(), cpu=f"{Machine.cpu},cntfrq={_FREQUENCY}", icount=True, semihosting=False)
_HOST = Endpoint("52:54:00:00:00:01", "10.77.0.1", 5000)
_GUEST = Endpoint(MAC, "10.77.0.10", 5000)
_DATAGRAM = bytes(18)  # makes the shortest frame
_READY = "vcpu: ready for the flood"
_BOOT_TIMEOUT_S = 300
_PERIODS_A_SECOND = 100

_QUIET, _FLOOD = "quiet", "flood"
_LINUX, _LINUX_RT, _RTEMS = _PEERS = "linux", "linux_rt", "rtems"
_CYCLICTEST = "cyclictest"

# Arguments that reduce Linux's own work on the only core. The ordinary kernel's bottom half handles
# one frame at a time, because it can't be preempted.
_LINUX_ARGUMENTS = (
    "console=ttyAMA0", "quiet", "panic=-1", "nokaslr", "mitigations=off", "nohz=off", "rcu_nocbs=0",
    "nosoftlockup", "nowatchdog", "audit=0",
)  # fmt: skip
_ONE_FRAME = "virtio_net.napi_weight=1"
_LINUX_MIB = 512

_SHARE_MS = 2000  # a multiple of each set's common period
_COMMON_PERIOD_MS = 200
_RANDOM_SETS = 3
_RANDOM_PERIODS_MS = (10, 20, 25, 40, 50, 100, 200)
_RANDOM_UTILIZATION = 0.69  # any set of periods is feasible with fixed priorities
_BUDGET_MIN_US = 500

_LOOP = re.compile(
    r"vcpu: loop (\w+) (\w+) (\d+) periods late (\d+) (\d+) (\d+) missed (\d+) frames (\d+)"
)
_CYCLIC = re.compile(
    r"vcpu: cyclictest (?P<load>\w+)\n(?:(?!vcpu: ).*\n)*?"
    r"T: 0 .* C:\s*(?P<periods>\d+) Min:\s*(?P<min>\d+) Act:.* Avg:\s*(?P<avg>\d+) "
    r"Max:\s*(?P<max>\d+).*\n"
    r"(?:(?!vcpu: ).*\n)*?vcpu: cyclictest (?P=load) frames (?P<frames>\d+)"
)
_SHARE = re.compile(r"vcpu: share (\w+) (\d+) (\d+)/(\d+) received (\d+) of (\d+)")

_SWITCH = re.compile(r"vcpu: switch (\w+) (\d+) (\d+) (\d+)")
_DECISIONS = re.compile(r"vcpu: decisions (\w+) interrupts (\d+) switches (\d+)")
_ATTACK = re.compile(r"vcpu: attack (\w+) turns (\d+) background (\d+)")
_INPUT = re.compile(
    r"vcpu: input (\d+) frames (\d+) received (\d+) background (\d+) of (\d+) exhaustions (\d+)"
)

_US = "bulkhead"
_OURS = "vcpu"  # the scheduling of our guest; its summary's names have no prefix
_GUEST_NAME = "vcpu-bench"
_DECISION_MS = 400
_FEW, _MANY = "four", "thirty_two"
_PERCENTS = (10, 30, 50, 100)
_ATTACK_MS = 200
_NO_ATTACK = "none"
# Kind, number of VCPUs, budget and period in microseconds, and nanoseconds of sleep. With the
# victim, all sets are admitted.
_ATTACKS = (
    *(("sleep", 5, 6, 100, sleep) for sleep in (200, 1000, 5000, 20_000)),
    *(("sleep", 1, 30, 100, sleep) for sleep in (200, 1000, 20_000)),
    *(("sleep", 31, 10, 1000, sleep) for sleep in (200, 1000, 100_000)),
    *(("sleep", 7, 40, 1000, sleep) for sleep in (5000, 20_000, 1_000_000)),
    *((kind, 5, 6, 100, 1000) for kind in ("callback", "posting", "interrupt")),
    *(("callback", 8, 4, 100, sleep) for sleep in (700, 1100)),
    *((kind, 5, 6, 100, 0) for kind in ("post", "condition", "yield", "pieces")),
    *((kind, 31, 10, 1000, 0) for kind in ("post", "condition", "yield", "pieces")),
)  # fmt: skip
_INPUT_MS = 200
_BOUND_MIN = 2
_BINDS = 0.98  # the network used at least this part of its budget
_INPUT_DATAGRAM = bytes(1448)
_DECISION, _ENTRY = "decision", "entry"  # parts of an interrupt's work
_DECISION_FOLDERS = {("kernel", "sched"), ("kernel", "time"), ("kernel", "include")}
# In these folders, but what the scheduler does for interrupts and for the trace.
_ENTRY_FILES = {"critical_section.c", "deferral.c", "thread_trace.c", "thread_trace.h"}
_KERNEL_FOLDERS = ("arch", "devices", "kernel")
_SPINNING_FUNCTION = "spin_on_vcpu"  # of the threads of a set
_MARK = 0xD29618BF  # bench/cost/mark.h
_WORD = struct.Struct("=Q")

Run = dict[str, Number | str]


@dataclass(frozen=True)
class Lateness:
    """The lateness of a periodic thread, in nanoseconds after its intended wake-ups."""

    scheduling: str
    load: str  # "quiet" or "flood"
    periods: int
    least: int
    mean: int
    most: int
    missed: int
    frames: int  # received meanwhile

    def run(self, system: str) -> Run:
        """Return an entry of the table of runs."""
        return {
            "system": system,
            "scheduling": self.scheduling,
            "load": self.load,
            "late_min": self.least,
            "late_avg": self.mean,
            "late_max": self.most,
            "missed": self.missed,
            "frames": self.frames,
        }


@dataclass(frozen=True)
class Share:
    """The processor time that a reservation got under overload."""

    group: str  # the set's name
    budget: int  # nanoseconds, as all times
    period: int
    received: int
    window: int

    @property
    def excess(self) -> float:
        """The received share over the guaranteed one, minus 1: below 0 it is too little."""
        return self.received / self.window * self.period / self.budget - 1


@dataclass(frozen=True)
class Switch:
    """The instructions from the last one of a thread to the first one of the next."""

    cause: str
    least: int
    mean: int
    most: int


@dataclass(frozen=True)
class Attack:
    """The work of the victim and of the background beside an attack, in turns of a loop."""

    kind: str
    neighbours: int
    budget: int  # microseconds, as the period
    period: int
    sleep: int  # nanoseconds
    turns: int
    background: int
    lost: float  # the part of the victim's turns that it did not make


@dataclass(frozen=True)
class Input:
    """The frames that a flooded network handled on the budget of its I/O VCPU."""

    percent: int
    frames: int
    received: int  # nanoseconds, as the next and the window
    background: int
    window: int
    exhaustions: int

    @property
    def binds(self) -> bool:
        """Return True if the network would have used more."""
        return self.received >= _BINDS * self.percent / 100 * self.window

    @property
    def megabits(self) -> float:
        """Return the data of the datagrams in Mb/s."""
        return 8e3 * self.frames * len(_INPUT_DATAGRAM) / self.window


@dataclass(frozen=True)
class Decisions:
    """The instructions of a set's interrupts, each of which ends or begins a budget."""

    group: str
    interrupts: int
    decision: int  # instructions of scheduling and timers
    entry: int  # instructions of entry, dispatch and exit


@dataclass(frozen=True)
class Measured:
    """The measurements of a system."""

    lateness: Sequence[Lateness]
    shares: Sequence[Share]

    def runs(self, system: str) -> list[Run]:
        """Return the entries of the table of runs."""
        rows = [each.run(system) for each in self.lateness]
        for name in dict.fromkeys(each.group for each in self.shares):
            excess = [each.excess for each in self.shares if each.group == name]
            rows.append(
                {
                    "system": system,
                    "set": name,
                    "reservations": len(excess),
                    "excess_min": min(excess),
                    "excess_max": max(excess),
                }
            )
        return rows


def run(context: BenchContext) -> BenchResult:
    """Measure our guest and each other system, or the case that the context names."""
    if context.case in OWN_CASES:
        return run_own(context)
    result = BenchResult({}) if context.case else run_own(context)
    for name in _PEERS:
        if context.case in (None, name):
            _add(result, _run_peer(context, name))
    return result


def run_own(context: BenchContext) -> BenchResult:
    """Boot our guest for each case, or for the one that the context names."""
    context.require("run", "bench", "host")
    folder = context.build(Variant("arm64"))
    result = BenchResult({})
    for name, measure in OWN_CASES.items():
        if context.case in (None, name):
            context.say(name)
            _add(result, measure(context, folder))
    return result


def _add(result: BenchResult, further: BenchResult) -> None:
    result.summary |= further.summary
    result.runs += further.runs


def _run_peer(context: BenchContext, name: str) -> BenchResult:
    machine = _rtems_machine(context) if name == _RTEMS else _linux_machine(context, name)
    if machine is None:
        return BenchResult({})
    context.say(name)
    measured = parse(_console(context, name, machine))
    return BenchResult(summarise(f"{name}_", measured), measured.runs(name))


def _run_wake_ups(context: BenchContext, folder: Path) -> BenchResult:
    arguments = (f"periods={_periods(context)}", "net_deferred=1", "interrupt_budget=1")
    machine = _our_machine(folder, "wake_ups", *arguments)
    measured = parse(_console(context, "wake_ups", machine))
    return BenchResult(summarise("", measured), measured.runs(_US))


def _run_shares(context: BenchContext, folder: Path) -> BenchResult:
    sets = argument_of(sets_of_reservations())
    machine = _our_machine(folder, "shares", f"sets={sets}", f"milliseconds={_SHARE_MS}")
    measured = parse(_console(context, "shares", machine))
    return BenchResult(summarise("", measured), measured.runs(_US))


def _run_switches(context: BenchContext, folder: Path) -> BenchResult:
    console = _console(context, "switches", _our_machine(folder, "switches"))
    switches = parse_switches(console)
    return BenchResult(summarise_switches(switches), _our_runs(switches))


def _run_attacks(context: BenchContext, folder: Path) -> BenchResult:
    arguments = (f"attacks={argument_of_attacks()}", f"milliseconds={_ATTACK_MS}")
    machine = _our_machine(folder, "attacks", *arguments)
    attacks = parse_attacks(_console(context, "attacks", machine))
    return BenchResult(summarise_attacks(attacks), _our_runs(attacks))


def argument_of_attacks() -> str:
    """Return the attacks as the guest expects them."""
    return ",".join("/".join(map(str, each)) for each in _ATTACKS)


def parse_attacks(console: str) -> list[Attack]:
    """Parse the lines of the case `attacks`. The first is that of the victim alone."""
    lines = _ATTACK.findall(console)
    alone = int(lines[0][1])
    attacks = ((_NO_ATTACK, 0, 0, 0, 0), *_ATTACKS)
    return [
        Attack(*each, int(turns), int(background), 1 - int(turns) / alone)
        for each, (_, turns, background) in zip(attacks, lines, strict=True)
    ]


def summarise_attacks(attacks: Sequence[Attack]) -> dict[str, Number]:
    """Return the summary of the case `attacks`."""
    return {"work_lost_max": max(each.lost for each in attacks)}


def _run_input(context: BenchContext, folder: Path) -> BenchResult:
    inputs: list[Input] = []
    for percent in _PERCENTS:
        arguments = (f"percent={percent}", f"milliseconds={_INPUT_MS}", "rx_buffers=256")
        machine = _our_machine(folder, "input", *arguments)
        # The emulator is slowed down, so that more frames arrive in the same number of
        # instructions.
        machine = replace(machine, extra=["-accel", "tcg,one-insn-per-tb=on"])
        inputs += parse_inputs(_console(context, f"input-{percent}", machine, _INPUT_DATAGRAM))
    plot.lines(
        context.folder / "input.svg",
        "Datagrams handled over the budget of the I/O VCPU",
        "QEMU's icount, one instruction takes a nanosecond; flood of UDP, 1448 bytes",
        "utilization of the I/O VCPU (%)",
        "handled (Mb/s)",
        {"Bulkhead": [(each.percent, each.megabits) for each in inputs]},
        logarithmic=False,
    )
    return BenchResult(summarise_inputs(inputs), _our_runs(inputs))


def _our_runs(measured: Sequence[Switch | Input | Decisions | Attack]) -> list[Run]:
    return [{"system": _US, **vars(each)} for each in measured]


def _our_machine(folder: Path, case: str, *arguments: str) -> Machine:
    return replace(
        _BOARD,
        image=guest_image(_GUEST_NAME, folder=folder),
        boot_arguments=["exit=semihosting", f"ip={_GUEST.address}/24", f"case={case}", *arguments],
        semihosting=True,
    )


def _run_decisions(context: BenchContext, folder: Path) -> BenchResult:
    """Count the kernel's instructions between the marks of each set (bench/cost/counter.c)."""
    sets = {name: sets_of_reservations()[name] for name in (_FEW, _MANY)}
    plugin = context.plugin("bench/cost/counter.so")
    arguments = (f"sets={argument_of(sets)}", f"milliseconds={_DECISION_MS}")
    machine = _our_machine(folder, "decisions", *arguments)
    counts: list[dict[int, int]] = []
    with (
        tempfile.TemporaryDirectory(prefix="bulkhead-") as name,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
    ):
        path = Path(name) / "counter"
        listener.bind(str(path))
        listener.listen(1)
        listener.settimeout(_BOOT_TIMEOUT_S)
        machine = replace(machine, extra=["-plugin", f"{plugin},socket={path}"])
        with GuestProcess(machine, context.folder / "decisions.log") as guest:
            connection, _ = listener.accept()
            connection.settimeout(_BOOT_TIMEOUT_S)
            with connection:
                for _ in sets:
                    _word(connection)
                    connection.sendall(b"zg")
                    mark = _word(connection)
                    connection.sendall(b"d")
                    counts.append(
                        {_word(connection): _word(connection) for _ in range(_word(connection))}
                    )
                    connection.sendall(b"g")
                guest.wait_for_match("vcpu: (end|failed)", _BOOT_TIMEOUT_S)
            console = guest.console()
    code = ImageCode(folder / f"images/{_GUEST_NAME}.elf", part_of_decision)
    offset = code.load_offset(_MARK, mark)
    functions = [code.count_by_function(each, offset) for each in counts]
    for group, each in zip(sets, functions, strict=True):
        lines = [f"{count:10} {of.part:10} {of.name}" for of, count in each.most_common()]
        (context.folder / f"decisions-{group}.txt").write_text("\n".join(lines) + "\n")
    decisions = parse_decisions(console, [sums_by_part(each) for each in functions])
    return BenchResult(summarise_decisions(decisions), _our_runs(decisions))


OWN_CASES = {
    "wake_ups": _run_wake_ups,
    "shares": _run_shares,
    "switches": _run_switches,
    "decisions": _run_decisions,
    "attacks": _run_attacks,
    "input": _run_input,
}
CASES = (*OWN_CASES, *_PEERS)


def _word(connection: socket.socket) -> int:
    data = connection.recv(_WORD.size, socket.MSG_WAITALL)
    if len(data) < _WORD.size:
        raise GuestError("QEMU has ended")
    return int(_WORD.unpack(data)[0])


def part_of_decision(source: Path) -> str:
    """Return the part of an interrupt's work that a source file belongs to, "" if to none."""
    if not source.is_relative_to(ROOT):
        return ""
    folders = source.relative_to(ROOT).parts
    is_scheduling = folders[0] == "schedule" or folders[:2] in _DECISION_FOLDERS
    if is_scheduling and source.name not in _ENTRY_FILES:
        return _DECISION
    return _ENTRY if folders[0] in _KERNEL_FOLDERS else ""


def sums_by_part(counts: Mapping[Function, int]) -> Counter[str]:
    """Return the sums by part, without the threads' own reading of the counter."""
    sums: Counter[str] = Counter()
    for function, count in counts.items():
        name, _, _ = function.name.partition(".")  # the compiler may add a suffix
        if name != _SPINNING_FUNCTION:
            sums[function.part] += count
    return sums


def parse_switches(console: str) -> list[Switch]:
    """Parse the lines of the case `switches`."""
    return [Switch(cause, *map(int, rest)) for cause, *rest in _SWITCH.findall(console)]


def parse_inputs(console: str) -> list[Input]:
    """Parse the lines of the case `input`."""
    return [Input(*map(int, numbers)) for numbers in _INPUT.findall(console)]


def parse_decisions(console: str, sums: Sequence[Counter[str]]) -> list[Decisions]:
    """Parse the lines of the case `decisions`. `sums`: instructions by part, for each line."""
    return [
        Decisions(
            group,
            int(interrupts),
            each[_DECISION],
            each[_ENTRY],
        )
        for (group, interrupts, _), each in zip(_DECISIONS.findall(console), sums, strict=True)
    ]


def summarise_switches(switches: Sequence[Switch]) -> dict[str, Number]:
    """Return the summary of the case `switches`."""
    mean = {each.cause: each.mean for each in switches}
    return {
        "context_switch_instructions": mean["yield"],
        "wake_switch_instructions": mean["wake"],
        "block_switch_instructions": mean["block"],
    }


def summarise_decisions(decisions: Sequence[Decisions]) -> dict[str, Number]:
    """Return the summary of the case `decisions`."""
    each_decision = {each.group: each.decision / each.interrupts for each in decisions}
    return {
        "decision_instructions": max(each_decision.values()),
        "decision_32_vs_4": each_decision[_MANY] / each_decision[_FEW],
        "decision_entry_instructions": max(each.entry / each.interrupts for each in decisions),
    }


def summarise_inputs(inputs: Sequence[Input]) -> dict[str, Number]:
    """Return the summary of the case `input`. The error is 1 if fewer than two budgets bind."""
    bound = [each for each in inputs if each.binds]
    if len(bound) < _BOUND_MIN:
        return {"io_follows_budget_error": 1.0}
    rate = sum(each.megabits for each in bound) / sum(each.percent for each in bound)
    return {
        "io_follows_budget_error": max(
            abs(each.megabits / each.percent / rate - 1) for each in bound
        )
    }


def _rtems_machine(context: BenchContext) -> Machine | None:
    """Return the machine of an RTEMS, or None if the environment names none."""
    installed = rtems.find()
    if installed is None:
        context.say(f"{rtems.PREFIX} names no folder, so there is no rtems")
        return None
    sample = Sample(
        application=_FOLDER / "rtems_loop.c", flags=(f"-DVCPU_PERIODS={_periods(context)}",)
    )
    return replace(_BOARD, image=rtems.build(installed, sample))


def _linux_image(context: BenchContext, name: str) -> LinuxImage | None:
    image = linux_guest.prepare_real_time() if name == _LINUX_RT else linux_guest.prepare()
    if image is None:
        context.say("this distribution has no real-time kernel, so there is no linux_rt")
        return None
    return linux_guest.with_program(
        linux_guest.with_cyclictest(image), "linux_loop", [_FOLDER / "linux_loop.c"], [_FOLDER]
    )


def _linux_machine(context: BenchContext, name: str) -> Machine | None:
    """Return the machine of a Linux, or None if the distribution does not have its kernel."""
    image = _linux_image(context, name)
    if image is None:
        return None
    sets = argument_of(sets_of_reservations())
    return replace(
        _BOARD,
        image=image.kernel,
        boot_arguments=[
            *_LINUX_ARGUMENTS,
            *([_ONE_FRAME] if name == _LINUX else []),
            f"address={_GUEST.address}",
            f"run=/bin/linux_loop,{_periods(context)},{_SHARE_MS},{sets}",
        ],
        memory_mib=_LINUX_MIB,
        initrd=image.initrd,
    )


def _periods(context: BenchContext) -> int:
    return max(1, round(context.seconds * _PERIODS_A_SECOND))


def _console(
    context: BenchContext, name: str, machine: Machine, datagram: bytes = _DATAGRAM
) -> str:
    """Boot a system, and flood it if it wants that. Returns what it printed."""
    timeout = _BOOT_TIMEOUT_S + 60 * context.seconds
    with Flood([udp_frame(_HOST, _GUEST, datagram)]) as flood:
        connected = replace(machine, cards=[NetworkCard(flood.network, "mmio")])
        with GuestProcess(connected, context.folder / f"{name}.log") as guest:
            line = guest.wait_for_match(rf"{_READY}|vcpu: (failed|end)", timeout)
            if _READY in line:
                flood.start()
            guest.wait_for_match(r"vcpu: (end|failed)", timeout)
            if "vcpu: failed" in guest.console():
                raise GuestError(guest.last_words())
            return guest.console()


def sets_of_reservations() -> dict[str, list[tuple[int, int]]]:
    """Return sets of budgets and periods in microseconds, by name. They are the same each time.

    With harmonic periods, fixed priorities reach the utilization of 0.9, too.
    """
    generator = random.Random(2026)
    sets = {
        "four": [(1000, 5000), (2500, 10_000), (5000, 20_000), (8000, 40_000)],
        "thirty_two": [(28 * ms, 1000 * ms) for ms in (25, 50, 100, 200) for _ in range(8)],
    }
    for number in range(1, _RANDOM_SETS + 1):
        sets[f"random{number}"] = _random_set(generator)
    return sets


def _random_set(generator: random.Random) -> list[tuple[int, int]]:
    """Return 3 to 8 reservations whose utilizations are uniform among those with the same sum."""
    left, drawn = _RANDOM_UTILIZATION, []
    count = generator.randint(3, 8)
    for remaining in range(count - 1, -1, -1):
        rest = left * generator.random() ** (1 / remaining) if remaining else 0.0
        period = 1000 * generator.choice(_RANDOM_PERIODS_MS)
        drawn.append((max(_BUDGET_MIN_US, int((left - rest) * period)), period))
        left = rest
    return drawn


def argument(name: str, reservations: Sequence[tuple[int, int]]) -> str:
    """Return a set as the guests' programs expect it."""
    return f"{name}:" + "+".join(f"{budget}/{period}" for budget, period in reservations)


def argument_of(sets: Mapping[str, Sequence[tuple[int, int]]]) -> str:
    """Return sets as the guests' programs expect them."""
    return ",".join(argument(name, reservations) for name, reservations in sets.items())


def parse(console: str) -> Measured:
    """Parse the lines of a guest's program, and cyclictest's among them."""
    lateness = [
        Lateness(scheduling, load, *map(int, numbers))
        for scheduling, load, *numbers in _LOOP.findall(console)
    ]
    lateness += [_parse_cyclictest(found) for found in _CYCLIC.finditer(console)]
    shares = [Share(group, *map(int, numbers)) for group, _, *numbers in _SHARE.findall(console)]
    return Measured(lateness, shares)


def _parse_cyclictest(found: re.Match[str]) -> Lateness:
    periods, least, mean, most, frames = (
        int(found[name]) for name in ("periods", "min", "avg", "max", "frames")
    )
    return Lateness(_CYCLICTEST, found["load"], periods, least, mean, most, 0, frames)


def summarise(prefix: str, measured: Measured) -> dict[str, Number]:
    """Return a system's summary: maxima, their ratio, missed deadlines, and errors of shares.

    Each name starts with `prefix`.
    """
    summary: dict[str, Number] = {}
    by_case = {(each.scheduling, each.load): each for each in measured.lateness}
    for scheduling in dict.fromkeys(each.scheduling for each in measured.lateness):
        name = prefix if scheduling == _OURS else f"{prefix}{scheduling}_"
        quiet, flood = by_case[scheduling, _QUIET], by_case[scheduling, _FLOOD]
        summary[f"{name}jitter_ratio"] = flood.most / quiet.most
        summary[f"{name}late_max_quiet"] = quiet.most
        summary[f"{name}late_max_flood"] = flood.most
        if scheduling != _CYCLICTEST:
            summary[f"{name}missed_deadlines"] = quiet.missed + flood.missed
    for group in dict.fromkeys(each.group for each in measured.shares):
        errors = [each.excess for each in measured.shares if each.group == group]
        summary[f"{prefix}share_error_{group}"] = max(map(abs, errors))
    if measured.shares:
        summary[f"{prefix}share_error_max"] = max(abs(each.excess) for each in measured.shares)
        summary[f"{prefix}share_shortfall_max"] = max(
            0.0, *(-each.excess for each in measured.shares)
        )
    return summary
