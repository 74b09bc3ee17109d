# SPDX-License-Identifier: BSD-2-Clause
"""Judge what followed from a fault."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from bulkhead.campaign.fault import Place
from bulkhead.campaign.plan import Plan, digests_of, texts
from bulkhead.campaign.trial import HYPERVISOR, Line, Record, is_working

_LEAKS_MAX = 8  # places that are named


class Verdict(Enum):
    """The outcome of a fault, the worst first."""

    LEAKED = "leaked"  # a neighbour or the hypervisor was affected
    SILENT = "silent"  # wrong output of the victim, and nobody noticed
    HUNG = "hung"  # the victim stands still, and nobody noticed
    LOST = "not recovered"  # noticed, and a restart did not help
    RECOVERED = "recovered"
    LATENT = "latent"  # the victim did something else, its output is right, and nobody noticed
    MASKED = "masked"  # the faulty place was used, and the victim did the same as without the fault
    INACTIVE = "not used"
    NOT_INJECTED = "not injected"


@dataclass(frozen=True)
class Sign:
    """A line by which a fault is noticed. `owner`: "" is the victim."""

    detector: str
    owner: str
    pattern: str  # of the whole line; {victim} is the partition's name


# The lines by which a detector reports a fault, the most specific first. A new detector needs a
# line here, and nothing else.
SIGNS = (
    Sign("heartbeat", HYPERVISOR, r"{victim} is stopped: .* heartbeat stands still,.*"),
    Sign("watchdog", HYPERVISOR, r"{victim} is stopped: .* watchdog was not refreshed,.*"),
    Sign("stop", HYPERVISOR, r"{victim} is stopped.*"),
    Sign("stop", HYPERVISOR, r"{victim} (waits|can't start|executes no more|can't use).*"),
    Sign("scrubber", "", r"panic: scrubber: .*"),
    Sign("comparison", "", r"panic: turn \d+: .*"),
    Sign("panic", "", r"panic: .*"),
    Sign("driver", "", r"virtio: .*(device stopped|cannot be|queue \d+ was reset).*"),
    Sign("program", "", r"network: (no answer|\w+ instead of \w+)"),
    Sign("program", "", r"FAIL: .*|no endpoint"),
    Sign("kept memory", "", r"kept: .*"),
    Sign("end", HYPERVISOR, r"{victim} is off.*"),
)


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reasons. Times are in instructions; 0: it has not happened."""

    verdict: Verdict
    injected: bool
    used: bool = False  # the victim read or executed the faulty place before it was overwritten
    activated: bool = False
    deviation: str = ""  # of an undetected fault: the first part of the behaviour that differs
    detector: str = ""
    detection: int = 0  # from the fault
    contained: bool = True
    leaks: Sequence[str] = ()
    recovered: bool | None = None  # None: nothing was noticed, or nothing had to be recovered
    recovery: int = 0  # from the request to restart, or from the detection by the driver
    silent: bool = False  # corruption of the victim's output that nobody noticed
    silent_neighbour: bool = False  # corruption of a neighbour's
    lines: Sequence[str] = field(default_factory=tuple)


# The accesses of the device, of the table walker and of registers are not seen.
_UNSEEN = (
    Place.TABLES, Place.REGISTERS, Place.RINGS, Place.CHANNEL, Place.DEVICE, Place.CONFIGURATION,
)  # fmt: skip


def needs_twin(judgement: Judgement, place: Place) -> bool:
    """Return True if a run without the fault tells whether it had an effect."""
    is_open = judgement.verdict in (Verdict.MASKED, Verdict.INACTIVE)
    return is_open and (judgement.used or place in _UNSEEN)


def judge(record: Record, plan: Plan, victim: str, twin: Record | None = None) -> Judgement:
    """Return the judgement of a run with a fault. `twin`: the same run without the fault."""
    if record.injection is None:
        return Judgement(Verdict.NOT_INJECTED, False, lines=(record.reason or record.error,))
    until = record.restarted_at or record.ended_at or 1 << 63
    during = [line for line in record.lines if record.injected_at <= line.time < until]
    detector, noticed_at = _detection(during, victim)
    leaks, silent_neighbour = _leaks(record, plan)
    is_wrong = _has_wrong_output(during, plan, victim)
    failed = bool(record.restarted_at)
    recovered, recovery = _recovery(record, plan, victim, noticed_at)
    has_effect = bool(detector or is_wrong or failed or leaks)
    deviation = _deviation(record, twin) if twin is not None and not has_effect else ""
    # All instructions after a skipped one are one instruction earlier than in any twin.
    is_active = has_effect or deviation != "" or record.injection.is_certain
    is_used = _is_used(record)
    if leaks:
        verdict = Verdict.LEAKED
    elif detector:
        verdict = Verdict.LOST if recovered is False else Verdict.RECOVERED
    elif is_wrong:
        verdict = Verdict.SILENT
    elif failed:
        verdict = Verdict.HUNG
    elif is_active:
        verdict = Verdict.LATENT
    else:
        verdict = Verdict.MASKED if is_used else Verdict.INACTIVE
    return Judgement(
        verdict,
        injected=True,
        used=is_used,
        activated=is_active,
        deviation=deviation,
        detector=detector,
        detection=noticed_at - record.injected_at if detector else 0,
        contained=not leaks,
        leaks=tuple(leaks[:_LEAKS_MAX]),
        recovered=recovered if detector else None,
        recovery=recovery,
        silent=is_wrong and not detector,
        silent_neighbour=silent_neighbour,
    )


def _detection(lines: Sequence[Line], victim: str) -> tuple[str, int]:
    """Return what noticed the fault first, and when."""
    for line in lines:
        for sign in SIGNS:
            pattern = sign.pattern.format(victim=re.escape(victim))
            if line.owner == (sign.owner or victim) and re.fullmatch(pattern, line.text):
                return sign.detector, line.time
    return "", 0


def _is_used(record: Record) -> bool:
    """Return True if the faulty place was read or executed before it was overwritten."""
    injection = record.injection
    assert injection is not None
    is_first = record.written_at == 0 or record.read_at <= record.written_at
    is_read = record.read_at != 0 and (injection.is_stuck or is_first)
    return injection.is_certain or record.executed_at != 0 or is_read


def has_same_blocks(record: Record, twin: Record) -> bool:
    """Return True if the victim executed the same blocks of code, at the same times."""
    return (record.turns, record.checked_at, record.blocks) == (
        twin.turns,
        twin.checked_at,
        twin.blocks,
    )


def _deviation(record: Record, twin: Record) -> str:
    """Return what the victim did otherwise than in the run without the fault: it executed other
    blocks of code, its stores differ, or its memory does in other bytes than those that the fault
    changed. "turns": the runs can't be compared, because the processors took turns otherwise.
    "": nothing.
    """
    injection = record.injection
    assert injection is not None
    if record.turns != twin.turns:
        return "turns"
    if not has_same_blocks(record, twin):
        return "blocks"
    if record.stores != twin.stores:
        return "stores"
    memory = bytearray(record.victims_memory)
    for address, data in injection.words.items():
        at = address - record.victims_start
        if 0 <= at < len(memory):
            memory[at : at + len(data)] = twin.victims_memory[at : at + len(data)]
    return "memory" if memory != twin.victims_memory else ""


def _has_wrong_output(lines: Sequence[Line], plan: Plan, victim: str) -> bool:
    """Return True if the victim printed a digest that is not that of the golden run."""
    found = digests_of(texts(lines, victim))
    return any(plan.digests.get(turn) != digest for turn, digest in found.items())


def _leaks(record: Record, plan: Plan) -> tuple[list[str], bool]:
    """Return what of others differs from the golden run, and whether it is their output."""
    if not record.checked_at:
        return [record.error or "the machine stands still"], False
    outputs = []
    for name, expected in plan.lines.items():
        printed = texts(record.lines, name)
        if printed != expected:
            differing = next((line for line in printed if line not in expected), "lines missing")
            outputs.append(f"output of {name}: {differing}")
    memories = [
        f"memory of {name}: {len(places)} pages from {places[0]:#x}"
        for memory in (record.memory, record.memory_at_end)
        for name, places in plan.differences(memory)
    ]
    owners = tuple(plan.lines)
    others = [
        f"message: {line.text}"
        for line in record.lines
        if line.owner == HYPERVISOR and line.text.startswith(tuple(f"{each} " for each in owners))
    ]
    return outputs + memories + others, bool(outputs)


def _recovery(record: Record, plan: Plan, victim: str, noticed_at: int) -> tuple[bool | None, int]:
    """Return whether the victim works again at the end, with right results, and after how long."""
    begin = record.restarted_at or noticed_at
    if not begin:
        return None, 0
    # Whatever the victim printed until the hypervisor restarted it belongs to the noticed fault.
    life = max([begin, *_restarts(record.lines, victim)])
    after = [line for line in record.lines if line.time >= life]
    turns = [line.time for line in after if line.owner == victim and line.text.startswith("turn ")]
    if _has_wrong_output(after, plan, victim):
        return False, 0
    if record.restarted_at and not is_working(after, victim, begin):
        return False, 0
    # Without a restart it works at the end, perhaps because the fault was noticed just before.
    return True, turns[1] - begin if len(turns) > 1 else 0


def _restarts(lines: Sequence[Line], victim: str) -> list[int]:
    """Return when the hypervisor restarted the victim."""
    beginning = f"{victim} restarts"
    return [
        line.time for line in lines if line.owner == HYPERVISOR and line.text.startswith(beginning)
    ]
