# SPDX-License-Identifier: BSD-2-Clause
"""Faults in machines: those of the campaign are contained, known ones are judged as they are.

After each change of an image, a plan of 39 runs for each system comes first. The other tests of
this folder judge invented runs.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from bulkhead.campaign import injection, plan, results
from bulkhead.campaign.fault import Fault, Kind, Place
from bulkhead.campaign.injection import Injection
from bulkhead.campaign.results import Outcome
from bulkhead.campaign.runner import SYSTEMS, Prepared, draw_all, prepare, run_fault
from bulkhead.campaign.scene import PC, WORD, Scene
from bulkhead.campaign.verdict import Verdict
from bulkhead.paths import ROOT
from bulkhead.settings import Settings

pytestmark = pytest.mark.timeout(1200)

SEED = 1
PART, ALL = 20, 200  # faults of a test, and all of them
PATIENCE_S = 200
SAME_ORDER_TRIES = 12
DIRECT = ROOT / "systems" / "campaign" / "direct"


@pytest.fixture
def prepared() -> list[Prepared]:
    """Return the systems. The first test makes their plans, which are kept in a file."""
    return prepare(SYSTEMS, Settings())


@pytest.fixture
def direct() -> Prepared:
    return prepare(SYSTEMS[:1], Settings())[0]


@pytest.fixture
def shared() -> Prepared:
    return prepare(SYSTEMS[1:], Settings())[0]


def check(prepared: list[Prepared], numbers: range, folder: Path) -> None:
    systems = {each.name: each for each in prepared}
    for fault in draw_all(prepared, SEED, numbers):
        outcome, _ = run_fault(systems[fault.system], fault, folder / "console")
        assert outcome.contained, f"{fault.title}: {outcome.what}: {outcome.leaks}"
        assert outcome.verdict != Verdict.LOST.value, f"{fault.title}: {outcome.what}"


@pytest.mark.parametrize("first", range(0, ALL, PART))
def test_faults_are_contained(prepared: list[Prepared], log_folder: Path, first: int) -> None:
    check(prepared, range(first, first + PART), log_folder)


def fault_of(system: Prepared, place: Place, kind: Kind, choice: int = 1) -> Fault:
    window = system.plan.window
    return Fault(0, system.name, place, kind, window.start + len(window) // 2, choice)


def run(system: Prepared, fault: Fault, folder: Path) -> Outcome:
    return run_fault(system, fault, folder / "console")[0]


@pytest.mark.long
def test_fault_is_the_same_in_each_run(direct: Prepared, log_folder: Path) -> None:
    """The lines of the terminal have the same times, to the instruction, if the processors take
    turns in the same order after the halt. They have one of two orders.
    """
    fault = fault_of(direct, Place.RINGS, Kind.STUCK, 3)
    first, record = run_fault(direct, fault, log_folder / "first")
    assert first.injected
    for _ in range(SAME_ORDER_TRIES):
        second, again = run_fault(direct, fault, log_folder / "second")
        assert (again.injected_at, second.what) == (record.injected_at, first.what)
        if (again.turns, again.blocks) == (record.turns, record.blocks):
            break
    assert first.same_as(second)
    until = record.restarted_at or record.ended_at  # keys are typed by another thread
    assert [each for each in record.lines if each.time < until] == [
        each for each in again.lines if each.time < until
    ]
    assert record.read_at == again.read_at


@pytest.mark.long
def test_undefined_instruction_is_a_panic(
    direct: Prepared, log_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def undefine(_: Fault, scene: Scene, __: random.Random) -> Injection:
        pc = scene.stub.register(PC)
        return Injection("UDF", {scene.physical(pc): bytes(4)}, watched_code=(pc, 0))

    monkeypatch.setitem(injection._INJECTORS, Place.CODE, undefine)
    outcome = run(direct, fault_of(direct, Place.CODE, Kind.FLIP), log_folder)
    assert (outcome.verdict, outcome.detector) == (Verdict.RECOVERED.value, "panic")
    assert outcome.activated
    assert outcome.contained
    assert 0 < outcome.detection < outcome.recovery


@pytest.mark.long
def test_unused_memory_is_not_used(
    direct: Prepared, log_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(_: Fault, scene: Scene, __: random.Random) -> Injection:
        address = scene.physical(scene.victim.memory.end - WORD)
        return Injection("unused", {address: b"\1"}, watched=(address, 1))

    monkeypatch.setitem(injection._INJECTORS, Place.HEAP, change)
    outcome = run(direct, fault_of(direct, Place.HEAP, Kind.FLIP), log_folder)
    assert outcome.verdict == Verdict.INACTIVE.value


@pytest.mark.long
def test_read_without_an_effect_is_seen(
    direct: Prepared, log_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(_: Fault, scene: Scene, __: random.Random) -> Injection:
        address = scene.physical(scene.symbol("table").start)
        return Injection("nothing", {address: scene.stub.read(address, 1)}, watched=(address, 1))

    monkeypatch.setitem(injection._INJECTORS, Place.CONSTANTS, change)
    outcome = run(direct, fault_of(direct, Place.CONSTANTS, Kind.FLIP), log_folder)
    assert outcome.verdict == Verdict.MASKED.value


@pytest.mark.long
@pytest.mark.parametrize("place", [Place.CODE, Place.CONSTANTS])
def test_scrubber_finds_what_nobody_uses(
    direct: Prepared, log_folder: Path, monkeypatch: pytest.MonkeyPatch, place: Place
) -> None:
    """The last word of the code and of the constants is never used."""
    section = {Place.CODE: ".text", Place.CONSTANTS: ".symbol_table"}[place]

    def change(_: Fault, scene: Scene, __: random.Random) -> Injection:
        address = scene.physical(scene.section(section).end - 1)
        before = scene.stub.read(address, 1)[0]
        return Injection("unused", {address: bytes([before ^ 1])}, watched=(address, 1))

    monkeypatch.setitem(injection._INJECTORS, place, change)
    outcome = run(direct, fault_of(direct, place, Kind.FLIP), log_folder)
    assert (outcome.verdict, outcome.detector) == (Verdict.RECOVERED.value, "scrubber")


@pytest.mark.long
def test_endless_exceptions_are_noticed(
    shared: Prepared, log_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the root of its translation tables the victim executes no instruction."""

    def change(_: Fault, scene: Scene, __: random.Random) -> Injection:
        root = next(scene.descriptors())[0]
        return Injection("root", {scene.physical(root): bytes(WORD)})

    monkeypatch.setitem(injection._INJECTORS, Place.TABLES, change)
    outcome = run(shared, fault_of(shared, Place.TABLES, Kind.STUCK), log_folder)
    assert (outcome.verdict, outcome.detector) == (Verdict.RECOVERED.value, "heartbeat")


@pytest.mark.long
def test_hypervisors_memory_is_compared(
    direct: Prepared, log_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault that a campaign must not inject: it stands for one that the hypervisor let pass."""

    def change(_: Fault, scene: Scene, __: random.Random) -> Injection:
        address = scene.layout.hypervisor.end - 0x300000
        before = scene.stub.read(address, 1)[0]
        return Injection("of the hypervisor", {address: bytes([before ^ 1])})

    monkeypatch.setitem(injection._INJECTORS, Place.HEAP, change)
    outcome = run(direct, fault_of(direct, Place.HEAP, Kind.FLIP), log_folder)
    assert outcome.verdict == Verdict.LEAKED.value
    assert outcome.leaks[0].startswith("memory of the hypervisor: 1 pages")


@pytest.mark.long
def test_leaking_system_is_found(
    tmp_path: Path, log_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The peer's result depends on what the victim writes to their channel."""
    monkeypatch.setattr(plan, "_REFERENCES", ())  # the output is enough here
    folder = tmp_path / "leaking"
    folder.mkdir()
    text = (DIRECT / "system.toml").read_text()
    (folder / "system.toml").write_text(text.replace('"follow=1"', '"leak=1"'))
    (leaking,) = prepare([str(folder)], Settings())
    outcome = run(leaking, fault_of(leaking, Place.CODE, Kind.HANG), log_folder)
    assert outcome.verdict == Verdict.LEAKED.value
    assert outcome.silent_neighbour
    assert any(each.startswith("output of peer") for each in outcome.leaks)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["int", "term"])
def test_signal_ends_machines_and_leaves_results(tmp_path: Path, number: int) -> None:
    path = tmp_path / "results"
    command = [str(ROOT / "bulkhead"), "campaign", "--system", str(DIRECT), "--results", str(path)]
    process = subprocess.Popen([*command, "--faults", "1000"], stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + PATIENCE_S
    while not path.is_file() or len(path.read_text().splitlines()) < 3:
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.1)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    _, messages = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number
    assert "--resume runs the others" in messages
    _, left = psutil.wait_procs(children, timeout=PATIENCE_S)  # machines end with their worker
    assert not left
    done = len(path.read_text().splitlines()) - 1
    resumed = [*command, "--resume", "--faults", str(done + 2)]
    assert subprocess.run(resumed, capture_output=True, check=False).returncode == 0
    assert len(results.read(path)[1]) == done + 2
