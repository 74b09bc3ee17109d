# SPDX-License-Identifier: BSD-2-Clause
"""Admission of VCPUs to a core, by the C source that the kernel is built from.

The sources of schedule/ are compiled into a shared library when their content has changed. Its
structures are those of schedule/admission.h, which every processor of 64 bits lays out as AArch64.
"""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path

from bulkhead import lock
from bulkhead.building.build import BuildFailure
from bulkhead.errors import UserError
from bulkhead.layouts.kernel import (
    ADMISSION_LATE_PERIODS,
    SCHEDULE_NEVER,
    AdmissionKind,
    AdmissionResponse,
    AdmissionResult,
    AdmissionVcpu,
    GuestCosts,
    GuestOverheads,
    OverlapVcpu,
    ScheduleError,
)
from bulkhead.layouts.kernel import Supply as SupplyTicks
from bulkhead.paths import BUILD, ROOT
from bulkhead.setup import packages
from bulkhead.system.model import Vcpu, VcpuPolicy
from bulkhead.system.overheads import KernelCosts
from bulkhead.system.problems import duration
from bulkhead.system.supply import Supply

_SCHEDULE = ROOT / "schedule"
# Without the C library, whose headers are a package of their own.
_FLAGS = ("-std=c11", "-O2", "-ffreestanding", "-nostdlib", "-fPIC", "-shared")
_NANOSECONDS_PER_SECOND = 1_000_000_000

Verdict = ScheduleError
_KINDS = {VcpuPolicy.MAIN: AdmissionKind.MAIN, VcpuPolicy.IO: AdmissionKind.IO}


@dataclass(frozen=True)
class Response:
    """The analysis of a VCPU. Times are nanoseconds."""

    worst: int | None  # None: may be later than the deadline
    deadline: int  # 0: an I/O VCPU where no Main VCPU is
    excess: int  # demand in one period beyond the supply, if the deadline may be missed


@dataclass(frozen=True)
class Admission:
    """The result of the test. The VCPUs are admitted only if the verdict is OK."""

    verdict: Verdict
    vcpu: int  # if the verdict is not OK: the number of the VCPU in question
    responses: tuple[Response, ...]  # empty if a parameter is out of range
    # A lower bound of that VCPU's response if the verdict is OVERLOADED. None: more than
    # ADMISSION_LATE_PERIODS periods.
    late_response: int | None


def admit(vcpus: Sequence[Vcpu], counter_hz: int, supply: Supply | None = None) -> Admission:
    """Test whether one core has room for the VCPUs, or what a guest receives of the core.

    As in the kernel, budgets are rounded up and periods down to ticks of the core's counter.
    """
    count = len(vcpus)
    within = None if supply is None else ctypes.byref(_in_ticks(supply, counter_hz))
    given = _vcpus_in_ticks(vcpus, counter_hz)
    responses = (AdmissionResponse * count)()
    result = AdmissionResult()
    verdict = Verdict(
        _library().admission_test_within(within, given, count, responses, ctypes.byref(result))
    )
    analysed = verdict in (Verdict.OK, Verdict.OVERLOADED, Verdict.UNDECIDED)
    late = SCHEDULE_NEVER
    if verdict is Verdict.OVERLOADED:
        late = _library().admission_late_response(within, given, count, result.vcpu)
    return Admission(
        verdict,
        int(result.vcpu),
        tuple(_response(each, counter_hz) for each in responses) if analysed else (),
        _time(late, counter_hz),
    )


def _vcpus_in_ticks(vcpus: Sequence[Vcpu], counter_hz: int) -> ctypes.Array[AdmissionVcpu]:
    given = (AdmissionVcpu * len(vcpus))()
    for each, vcpu in zip(given, vcpus, strict=True):
        each.kind = AdmissionKind.IO_OF_PERIOD if vcpu.is_of_period else _KINDS[vcpu.policy]
        each.budget = _ticks_up(vcpu.budget, counter_hz)
        each.period = vcpu.period * counter_hz // _NANOSECONDS_PER_SECOND
        each.blocking = _ticks_up(vcpu.blocking, counter_hz)
        each.overrun = _ticks_up(vcpu.overrun, counter_hz)
        each.unpaid = _ticks_up(vcpu.unpaid, counter_hz)
        if vcpu.is_aligned:
            each.jitter = max(0, each.period - each.budget)  # of a deferrable server
    return given


def guest_overheads(
    vcpus: Sequence[Vcpu], costs: KernelCosts, counter_hz: int
) -> Iterator[GuestOverheads]:
    """Yield what the kernel takes for each of a guest's VCPUs. Nanoseconds."""
    threads = (ctypes.c_uint32 * len(vcpus))(*(len(each.threads) for each in vcpus))
    given, numbers = _vcpus_in_ticks(vcpus, counter_hz), GuestCosts(*astuple(costs))
    for index in range(len(vcpus)):
        yield _library().guest_overheads_of(
            ctypes.byref(numbers), given, threads, len(vcpus), index
        )


def guest_supply(supply: Supply, costs: KernelCosts) -> Supply:
    """Return the supply without what the kernel takes of it."""
    given, numbers = SupplyTicks(*astuple(supply)), GuestCosts(*astuple(costs))
    less = _library().guest_supply(ctypes.byref(numbers), ctypes.byref(given))
    return Supply(*(int(getattr(less, each.name)) for each in fields(Supply)))


def guest_budget_min(costs: KernelCosts) -> int:
    """Return the shortest budget of a VCPU that is worth its changes. Nanoseconds."""
    return int(_library().guest_budget_min(ctypes.byref(GuestCosts(*astuple(costs)))))


def executed_within(supply: Supply, time: int, counter_hz: int) -> int:
    """Return the least time that a guest receives of an interval in which it has work throughout.

    Nanoseconds.
    """
    ticks = time * counter_hz // _NANOSECONDS_PER_SECOND
    executed = _library().supply_within(ctypes.byref(_in_ticks(supply, counter_hz)), ticks)
    return int(executed) * _NANOSECONDS_PER_SECOND // counter_hz


@dataclass(frozen=True)
class Lag:
    """How late a VCPU executes its budget. Nanoseconds; see schedule/overlap.h."""

    lag: int
    overrun: int


def longest_time_apart(
    vcpu: Vcpu, waiting: int, lags: tuple[Lag, Lag], counter_hz: int
) -> int | None:
    """Return the longest time for which two VCPUs with work do not execute at the same instant.

    Arguments: one of them, whose budget and period both have; the part of a budget that may wait
    for the next one. Nanoseconds. None: there is no bound.
    """
    budget = _ticks_up(vcpu.budget, counter_hz)
    period = vcpu.period * counter_hz // _NANOSECONDS_PER_SECOND
    one, other = (
        ctypes.byref(
            OverlapVcpu(_ticks_up(each.lag, counter_hz), _ticks_up(each.overrun, counter_hz))
        )
        for each in lags
    )
    if vcpu.is_aligned:
        return _time(_library().overlap_of_aligned(budget, period, one, other), counter_hz)
    rest = _ticks_up(waiting, counter_hz)
    return _time(_library().overlap_of_any(budget, period, rest, one, other), counter_hz)


def _in_ticks(supply: Supply, counter_hz: int) -> SupplyTicks:
    given = SupplyTicks(*astuple(supply))
    ticks: SupplyTicks = _library().supply_in_ticks(ctypes.byref(given), counter_hz)
    return ticks


def _ticks_up(nanoseconds: int, counter_hz: int) -> int:
    return -(-nanoseconds * counter_hz // _NANOSECONDS_PER_SECOND)


def _response(found: AdmissionResponse, counter_hz: int) -> Response:
    return Response(
        _time(found.ticks, counter_hz),
        found.deadline * _NANOSECONDS_PER_SECOND // counter_hz,
        _nanoseconds(found.excess, counter_hz),
    )


def _time(ticks: int, counter_hz: int) -> int | None:
    return None if ticks == SCHEDULE_NEVER else _nanoseconds(ticks, counter_hz)


def _nanoseconds(ticks: int, counter_hz: int) -> int:
    return -(-ticks * _NANOSECONDS_PER_SECOND // counter_hz)


def excess_text(found: Admission, vcpu: Vcpu, others: str, including: str = "") -> str:
    """Return how a set is overloaded.

    Arguments: the VCPU that the verdict names, its rivals as a noun in the plural, and a phrase
    that tells what else is counted.
    """
    return (
        f"in its period of {duration(vcpu.period)}, it and the {others} before it may use "
        f"{duration(found.responses[found.vcpu].excess)} more than there is{including}, so its "
        f"response time is {late_text(found, 'at least')}"
    )


def late_text(found: Admission, limit: str) -> str:
    """Return the response time of an overloaded set. `limit`: the text before a known time."""
    if found.late_response is None:
        return f"more than {ADMISSION_LATE_PERIODS} periods"
    return f"{limit} {duration(found.late_response)}"


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(_compiled()))
    library.admission_test_within.restype = ctypes.c_int
    library.admission_test_within.argtypes = (
        ctypes.POINTER(SupplyTicks),
        ctypes.POINTER(AdmissionVcpu),
        ctypes.c_size_t,
        ctypes.POINTER(AdmissionResponse),
        ctypes.POINTER(AdmissionResult),
    )
    library.admission_late_response.restype = ctypes.c_uint64
    library.admission_late_response.argtypes = (
        ctypes.POINTER(SupplyTicks),
        ctypes.POINTER(AdmissionVcpu),
        ctypes.c_size_t,
        ctypes.c_size_t,
    )
    library.overlap_of_aligned.restype = ctypes.c_uint64
    library.overlap_of_aligned.argtypes = (
        *(ctypes.c_uint64,) * 2,
        *(ctypes.POINTER(OverlapVcpu),) * 2,
    )
    library.overlap_of_any.restype = ctypes.c_uint64
    library.overlap_of_any.argtypes = (
        *(ctypes.c_uint64,) * 3,
        *(ctypes.POINTER(OverlapVcpu),) * 2,
    )
    library.guest_overheads_of.restype = GuestOverheads
    library.guest_overheads_of.argtypes = (
        ctypes.POINTER(GuestCosts),
        ctypes.POINTER(AdmissionVcpu),
        ctypes.POINTER(ctypes.c_uint32),
        ctypes.c_size_t,
        ctypes.c_size_t,
    )
    library.guest_supply.restype = SupplyTicks
    library.guest_supply.argtypes = (ctypes.POINTER(GuestCosts), ctypes.POINTER(SupplyTicks))
    library.guest_budget_min.restype = ctypes.c_uint64
    library.guest_budget_min.argtypes = (ctypes.POINTER(GuestCosts),)
    library.supply_in_ticks.restype = SupplyTicks
    library.supply_in_ticks.argtypes = (ctypes.POINTER(SupplyTicks), ctypes.c_uint64)
    library.supply_within.restype = ctypes.c_uint64
    library.supply_within.argtypes = (ctypes.POINTER(SupplyTicks), ctypes.c_uint64)
    return library


def _compiled() -> Path:
    """Return the path of the library for the sources as they are now."""
    digest = hashlib.sha256(repr(_FLAGS).encode())
    for path in sorted(_SCHEDULE.rglob("*.[ch]")):
        digest.update(f"{path.relative_to(_SCHEDULE)}\n".encode() + path.read_bytes())
    library = BUILD / "schedule" / f"{digest.hexdigest()[:16]}.so"
    with lock.held(library):
        if not library.is_file():
            _compile(library)
    return library


def _compile(library: Path) -> None:
    compiler = packages.program("gcc")
    if compiler is None:
        raise UserError("gcc is missing", "call ./bulkhead setup check")
    sources = map(str, sorted(_SCHEDULE.glob("*.c")))
    unfinished = library.with_suffix(".new")
    includes = f"-I{_SCHEDULE / 'include'}"
    command = [compiler, *_FLAGS, includes, *sources, "-o", str(unfinished)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildFailure(done.stderr)
    unfinished.replace(library)
