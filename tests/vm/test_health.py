# SPDX-License-Identifier: BSD-2-Clause
"""A partition with a table of errors restarts by itself, and its log says why.

Each error has each of its actions, on dedicated and shared cores. Restarts are used up, wait, and
are ended by a stop. The log outlives the partition, and the manager reads it. The other partition
notices nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.managed_system import BOARD, MANAGER, QUIET, SPARE, ManagedRun, partition
from support.rogue_system import ROGUE, Run, StartGuest, Way, id_of, parse_stopped, start, ways
from support.written_system import boot, reports

from bulkhead.inspecting.health_log import HealthLog, read_logs
from bulkhead.inspecting.reports import physical_memory
from bulkhead.layouts.hypervisor import HealthAction as Action
from bulkhead.layouts.hypervisor import HealthError as Error
from bulkhead.layouts.manager import ManagerResult
from bulkhead.managing.partition_command import describe
from bulkhead.managing.partitions import Command
from bulkhead.managing.partitions import State as PartitionState
from bulkhead.running.attach import facts_of
from bulkhead.running.guest import GuestProcess
from bulkhead.system.description import PAGE_BYTES
from bulkhead.system.layout import Layout
from bulkhead.system.model import Health, HealthAction, HealthError, RestartLimit
from bulkhead.system.reports import State

_PATIENCE_S = 60
_STOP, _RESTART = "\x1es", "\x1er"
_HERE = Path(__file__).parent
_USED_UP = "stays stopped: it has used up its restarts"
_CARD = 0x10  # PCI function 00:02.0


def _table(actions: Mapping[HealthError, HealthAction], most: int = 2) -> Health:
    every = {error: actions.get(error, HealthAction.STOP) for error in HealthError}
    limit = RestartLimit(most, 60_000) if HealthAction.RESTART in every.values() else None
    return Health(every, limit, line=0)


def _logs(guest: GuestProcess, layout: Layout) -> list[HealthLog]:
    return read_logs(facts_of(layout), physical_memory(guest.qmp()))


def _log(guest: GuestProcess, layout: Layout) -> HealthLog:
    """Return the only log of the system."""
    (log,) = _logs(guest, layout)
    return log


def _steps(log: HealthLog) -> list[tuple[Error, Action]]:
    return [(record.error, record.action) for record in log.records]


def _foreign(run: Run) -> int:
    """Return an address behind the rogue's memory, and behind the page with its VCPUs' times."""
    return run.layout.places[ROGUE].memory.end + 2 * PAGE_BYTES


_RESTARTED = (Error.MEMORY_VIOLATION, Action.RESTART)
_ENDED = (Error.RESTARTS, Action.STOP)


@ways(Way.DIRECT, Way.SHARED, long=(Way.LISTED, Way.WEIGHTS))
def test_a_violation_restarts_the_partition(start_guest: StartGuest, way: Way) -> None:
    table = _table({HealthError.MEMORY_VIOLATION: HealthAction.RESTART})
    run = start(start_guest, way=way, health=table)
    address = _foreign(run)
    for expected in ("restarts", "restarts", _USED_UP):
        run.order(f"write {address:#x}")
        stopped = parse_stopped(run.wait_for(r"(?m)^bulkhead\| rogue is stopped.*"))
        assert stopped.address == address
        run.wait_for(rf"(?m)^bulkhead\| rogue {expected}\r?$")
        if expected == "restarts":
            run.wait_for(r"(?m)^rogue\| rogue: listens")
    run.stopped()
    log = _log(run.guest, run.layout)
    assert _steps(log) == [_RESTARTED, _RESTARTED, _RESTARTED, _ENDED]
    assert (log.errors, log.lost) == (4, 0)
    last = log.records[2]
    assert (last.source, last.address) == (run.rogue_core, address)
    assert (last.syndrome, last.pc) == (stopped.syndrome, stopped.pc)
    times = [record.time_ns for record in log.records]
    assert times == sorted(times)
    _starts_again(run, log)
    run.victim_is_unharmed()


def _starts_again(run: Run, log: HealthLog) -> None:
    """Check that an order starts the partition, and another account of restarts."""
    run.restart()
    run.wait_for(r"(?m)^rogue\| rogue: listens")
    assert _log(run.guest, run.layout) == log
    run.order(f"write {_foreign(run):#x}")
    run.wait_for(r"(?m)^bulkhead\| rogue restarts\r?$")
    run.wait_for(r"(?m)^rogue\| rogue: listens")
    assert run.reports()[ROGUE].starts == 5


@pytest.mark.parametrize(
    "action",
    [
        HealthAction.LOG,
        HealthAction.RESTART,
        pytest.param(HealthAction.IGNORE, marks=pytest.mark.long),
        pytest.param(HealthAction.STOP, marks=pytest.mark.long),
    ],
    ids=id_of,
)
@ways(Way.DIRECT, long=(Way.SHARED,))
def test_refused_dma(start_guest: StartGuest, way: Way, action: HealthAction) -> None:
    run = start(start_guest, way=way, health=_table({HealthError.REFUSED_DMA: action}))
    address = _foreign(run)
    end = run.attack(f"dma-transmit {address:#x}")
    goes_on = action in (HealthAction.LOG, HealthAction.IGNORE)
    assert ("survived" in end) is goes_on, end
    if action is HealthAction.RESTART:
        run.wait_for(r"(?m)^bulkhead\| rogue restarts\r?$")
        run.wait_for(r"(?m)^rogue\| rogue: listens")
    log = _log(run.guest, run.layout)
    assert log.errors >= 1
    assert (log.written == 0) is (action is HealthAction.IGNORE)
    for record in log.records:
        assert (record.error, record.action.name) == (Error.REFUSED_DMA, action.name)
        assert record.source == _CARD
        assert record.address is not None
        assert address <= record.address < address + PAGE_BYTES
    if goes_on:  # and restarts as usual: its DMA was not blocked
        assert "survived" in run.attack("dma-none")
        assert run.reports()[ROGUE].starts == 1
    if way is Way.DIRECT:
        run.victim_is_unharmed()


@pytest.mark.long
def test_a_storm_of_refused_dma_that_is_recorded(start_guest: StartGuest) -> None:
    """An event in a second is recorded, however many there are."""
    run = start(start_guest, health=_table({HealthError.REFUSED_DMA: HealthAction.LOG}))
    assert "survived" in run.attack(f"dma-storm {_foreign(run):#x}")
    log = _log(run.guest, run.layout)
    assert log.written >= 1
    gaps = [
        later.time_ns - earlier.time_ns
        for earlier, later in zip(log.records, log.records[1:], strict=False)
    ]
    assert all(gap >= 900_000_000 for gap in gaps), gaps
    run.no_exits_of_others()
    run.victim_runs()  # the SMMU says that its queue was full, in a register


_BROKEN = """board = "qemu-virt"
[[partition]]
name = "broken"
cores = [1]
memory = "4 MiB"
image = "fault"
arguments = "fault=panic"
console = "interactive"
"""
_SHARED = """budget = "4 ms"
period = "10 ms"
"""
_OTHER = """[[partition]]
name = "other"
cores = [1]
memory = "4 MiB"
image = "boot"
"""


def _panicking(keys: str, *, shared: bool = False) -> str:
    text = _BROKEN + (_SHARED if shared else "") + f"[partition.health]\n{keys}\n"
    return text + (_OTHER + _SHARED if shared else "")


@pytest.mark.parametrize(
    "shared", [False, pytest.param(True, marks=pytest.mark.long)], ids=["dedicated", "shared"]
)
def test_a_panic_restarts_the_partition(
    start_guest: StartGuest, log_folder: Path, shared: bool
) -> None:
    text = _panicking('panic = "restart"\nrestarts = "3 in 60 s"', shared=shared)
    guest, layout = boot(start_guest, log_folder, text)
    guest.wait_for_match(rf"(?m)^bulkhead\| broken {_USED_UP}\r?$", _PATIENCE_S)
    log = _log(guest, layout)
    assert _steps(log) == 4 * [(Error.PANIC, Action.RESTART)] + [_ENDED]
    assert len(re.findall(r"(?m)^broken\| panic: number 42", guest.console())) == 4
    assert guest.console().count("bulkhead| broken is stopped: core 1, panic with value 0x0") == 4
    # The second restart waits for 10 ms, the third one for 20 ms.
    times = [record.time_ns for record in log.records[:4]]
    assert times[2] - times[1] >= 10_000_000
    assert times[3] - times[2] >= 20_000_000


@pytest.mark.parametrize("action", ["log", pytest.param("ignore", marks=pytest.mark.long)])
def test_a_guest_goes_on_after_its_panic(
    start_guest: StartGuest, log_folder: Path, action: str
) -> None:
    """Our kernel then turns its machine off."""
    guest, layout = boot(start_guest, log_folder, _panicking(f'panic = "{action}"'))
    guest.wait_for_match(r"(?m)^bulkhead\| broken is off\r?$", _PATIENCE_S)
    log = _log(guest, layout)
    assert log.errors == 1
    assert _steps(log) == ([(Error.PANIC, Action.LOG)] if action == "log" else [])


def test_a_partition_without_a_table_powers_off_after_a_panic(
    start_guest: StartGuest, log_folder: Path
) -> None:
    guest, layout = boot(start_guest, log_folder, _BROKEN)
    guest.wait_for_match(r"(?m)^bulkhead\| broken is off\r?$", _PATIENCE_S)
    assert _logs(guest, layout) == []


def test_a_stop_ends_restarts(start_guest: StartGuest, log_folder: Path) -> None:
    """Also while one waits: here nearly all of the time."""
    text = _panicking('panic = "restart"\nrestarts = "16 in 60 s"')
    guest, layout = boot(start_guest, log_folder, text)
    for _ in range(7):
        guest.wait_for_next_match(r"(?m)^bulkhead\| broken restarts\r?$", _PATIENCE_S)
    guest.type_text(_STOP)
    guest.wait_for_next_match(r"(?m)^bulkhead\| broken is stopped\r?$", _PATIENCE_S)
    starts = reports(guest, layout)[0].starts
    guest.type_text(_RESTART)
    guest.wait_for_next_match(r"(?m)^bulkhead\| broken restarts\r?$", _PATIENCE_S)
    guest.wait_for_next_match(r"(?m)^broken\| panic: number 42", _PATIENCE_S)
    before = guest.console().partition("broken is stopped\r\n")[2].partition("broken restarts")[0]
    assert "broken|" not in before
    assert starts in (7, 8)


@pytest.mark.parametrize(
    "cores", ["[1, 2]", pytest.param("[1, 1]", marks=pytest.mark.long)], ids=["two", "shared"]
)
def test_an_error_of_the_second_core_while_the_first_one_is_off(
    start_guest: StartGuest, log_folder: Path, cores: str
) -> None:
    build_guest(log_folder / "second.exe", [_HERE / "health" / "second.c"])
    text = f'board = "qemu-virt"\n[[partition]]\nname = "pair"\ncores = {cores}\n'
    text += 'memory = "4 MiB"\nimage = "./second.exe"\n'
    text += _SHARED if cores == "[1, 1]" else ""
    text += '[partition.health]\nmemory_violation = "restart"\nrestarts = "2 in 60 s"\n'
    guest, layout = boot(start_guest, log_folder, text)
    guest.wait_for_match(rf"(?m)^bulkhead\| pair {_USED_UP}\r?$", _PATIENCE_S)
    assert _steps(_log(guest, layout)) == 3 * [_RESTARTED] + [_ENDED]
    assert guest.console().count("pair| second core writes") == 3
    assert "FAIL" not in guest.console()
    assert [each.starts for each in reports(guest, layout)] == [3, 3]


_MANAGED = (
    BOARD
    + MANAGER
    + partition("loop", 1, QUIET)
    + partition("work", 2, 'arguments = "beats=0"')
    + partition("spare", 3).replace('"control"', '"fault"')
    + 'arguments = "fault=panic"\n[partition.health]\npanic = "restart"\nrestarts = "2 in 60 s"\n'
)


@pytest.fixture
def make_run(start_guest: StartGuest, tmp_path: Path) -> Callable[[str], ManagedRun]:
    return lambda text: ManagedRun(start_guest, tmp_path, text)


def test_the_manager_is_told(make_run: Callable[[str], ManagedRun]) -> None:
    """Its list has the errors, and its log the records, also when the partition is destroyed."""
    run = make_run(_MANAGED)
    run.guest.wait_for_match(rf"(?m)^bulkhead\| spare {_USED_UP}\r?$", _PATIENCE_S)
    assert run.states()[SPARE] is PartitionState.STOPPED
    answer = run.requests.list()
    assert answer.results[SPARE] == ManagerResult.RESTARTS_USED_UP
    assert describe(answer, SPARE) == "stopped, 4 errors, has used up its restarts"
    assert describe(answer, 1) == "running"
    loop = run.report(1)
    answer = run.complete(Command.DESTROY, SPARE)
    assert (answer.result, describe(answer, SPARE)) == (0, "absent, 4 errors")
    log = _log(run.guest, run.layout)
    assert _steps(log) == 3 * [(Error.PANIC, Action.RESTART)] + [_ENDED]
    run.guest.type_text(f"log {SPARE}\n")
    line = run.guest.wait_for_match(r"(?m)^manager\| manager: error 4 of 3.*$", _PATIENCE_S)
    assert "restarts used up: stop" in line
    found = re.findall(
        r"(?m)^manager\| manager: error (\d) of 3 at \d+: panic: restart, address 0x0, "
        r"syndrome 0x0, pc (0x[0-9a-f]+)\r?$",
        run.guest.console(),
    )
    assert found == [(str(each.number), f"{each.pc:#x}") for each in log.records[:3]]
    assert run.report(1).exits == loop.exits
    assert run.report(1).state is State.RUNNING
