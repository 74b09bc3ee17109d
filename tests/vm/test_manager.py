# SPDX-License-Identifier: BSD-2-Clause
"""The manager of a system decides which partitions live, and disturbs none of the others."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.written_system import TWO_STATES, StartGuest, reports

from bulkhead.building.build import guest_image
from bulkhead.running import machine_memory
from bulkhead.running.guest import GuestProcess
from bulkhead.running.partitions import Answer, Command, Requests, State
from bulkhead.running.qemu import UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.layout import Layout
from bulkhead.system.machine import machine
from bulkhead.system.reports import VcpuReport

_BOARD = 'board = "qemu-virt"\n'
_MANAGER = """[[partition]]
name = "manager"
cores = [0]
memory = "16 MiB"
image = "manager"
manager = true
staging = "8 MiB"
console = "interactive"
"""
_WORK, _SPARE = 2, 3  # the third and the fourth partition
_BUSY, _WRONG_STATE, _NEVER, _BAD_IMAGE, _TOO_LARGE, _DAMAGED, _CHANGED = range(-3, -10, -1)
_LISTS_MAX = 1000
_MANAGER_ITSELF, _INVALID = 0, -2
_TO_SPARE, _RESTART = "\x1d" * 3, "\x1er"  # Ctrl-] thrice, from the manager; Ctrl-^ r


def _partition(name: str, core: int, *keys: str) -> str:
    lines = ("[[partition]]", f'name = "{name}"', f"cores = [{core}]", 'memory = "16 MiB"')
    return "\n".join([*lines, 'image = "control"', *keys]) + "\n"


_QUIET = 'arguments = "report=0"'
_ENDLESS = 'arguments = "beats=0"'  # of the image that replaces
_DEDICATED = (
    _BOARD
    + _MANAGER
    + _partition("loop", 1, _QUIET)
    + _partition("work", 2, _ENDLESS)
    + _partition("spare", 3, "autostart = false")
)
_SHARED = (
    _BOARD
    + _MANAGER
    + _partition("loop", 1, _QUIET)
    + _partition("work", 2, _ENDLESS, 'budget = "3 ms"', 'period = "10 ms"')
    + _partition("spare", 2, 'budget = "2 ms"', 'period = "8 ms"', "autostart = false")
)


class _Run:
    """A running system with a manager."""

    def __init__(
        self, start_guest: StartGuest, folder: Path, text: str, machine_options: str = ""
    ) -> None:
        file = folder / "system.toml"
        file.write_text(text)
        system, board = read(str(file))
        assembled = assemble(system, board, Settings())
        memory = folder / "memory"
        made = machine(
            system,
            board,
            assembled.image,
            lambda _: UserNetwork(),
            machine_memory.options(memory, board.memory_bytes),
        )
        self.layout: Layout = assembled.layout
        self.guest: GuestProcess = start_guest(
            replace(made, machine=made.machine + machine_options)
        )
        self.guest.wait_for_match(r"(?m)^manager\| manager: listens", timeout=60)
        place = self.layout.places[0]
        assert place.staging is not None
        start = board.memory
        self.staging = machine_memory.map_range(
            memory, place.staging_physical - start, place.staging.bytes
        )
        self.requests = Requests(self.staging, len(self.layout.places))
        work = self.layout.places[_WORK]
        self.work_memory = machine_memory.map_range(
            memory, work.physical - start, work.memory.bytes
        )
        self.guest.wait_for_match(r"(?m)^work\| control: a period", timeout=60)
        self.guest.wait_for_match(r"(?m)^loop\| control: a period", timeout=60)

    def order(self, command: Command, partition: int, image: bytes = b"") -> Answer:
        return self.requests.order(command, partition, image)

    def states(self) -> list[State]:
        """Returns the states of all partitions, when none starts or stops."""
        states = [State.BUSY]
        for _ in range(_LISTS_MAX):
            states = self._list()
            if State.BUSY not in states:
                break
        return states

    def _list(self) -> list[State]:
        return [State(each) for each in self.requests.list().states[: len(self.layout.places)]]

    def is_work_zeroed(self) -> bool:
        """Returns True if all of the partition's memory is 0."""
        return self.work_memory[:].count(0) == len(self.work_memory)

    def report(self, partition: int) -> VcpuReport:
        found = reports(self.guest, self.layout)
        return next(each for each in found if each.partition == partition)


@pytest.fixture
def make_run(start_guest: StartGuest, tmp_path: Path) -> Callable[..., _Run]:
    return lambda text, options="": _Run(start_guest, tmp_path, text, options)


@pytest.mark.parametrize(
    ("text", "options"),
    [(_DEDICATED, ""), (_SHARED, ""), (_DEDICATED, TWO_STATES)],
    ids=["dedicated", "shared", "two-states"],
)
def test_a_partition_lives_and_ends_beside_a_control_loop(
    make_run: Callable[..., _Run], text: str, options: str
) -> None:
    run = make_run(text, options)
    assert run.states() == [State.RUNNING, State.RUNNING, State.RUNNING, State.ABSENT]
    loop = run.report(1)
    assert not run.is_work_zeroed()
    steps = (
        (Command.STOP, _WORK, State.STOPPED),
        (Command.START, _WORK, State.RUNNING),
        (Command.REPLACE, _WORK, State.RUNNING),
        (Command.REPLACE, _WORK, State.RUNNING),
        (Command.DESTROY, _WORK, State.ABSENT),
    )
    image = guest_image("beat").read_bytes()
    for command, partition, state in steps:
        answer = run.order(command, partition, image if command is Command.REPLACE else b"")
        assert (answer.result, answer.states[partition]) == (0, state), command
    run.guest.wait_for_match(r"(?m)^work\| beat: begins", timeout=60)
    assert run.is_work_zeroed()
    assert len(set(run.requests.list().images)) == 1  # the replaced image is forgotten
    for command, partition, state in (
        (Command.CREATE, _WORK, State.STOPPED),
        (Command.CREATE, _SPARE, State.STOPPED),
        (Command.START, _SPARE, State.RUNNING),
        (Command.START, _WORK, State.RUNNING),
    ):
        answer = run.order(command, partition)
        assert (answer.result, answer.states[partition]) == (0, state), command
    assert run.report(_WORK).starts == 5
    now = run.report(1)
    changed = {cause for cause, count in now.exits.items() if count != loop.exits[cause]}
    # With two states, interrupts are listed: the loop's own timer exits.
    assert changed <= ({"listed"} if options else set())
    assert now.starts == 1
    run.guest.wait_for_match(r"(?m)^spare\| control: a period", timeout=60)


def test_a_damaged_image_leaves_what_runs(make_run: Callable[..., _Run]) -> None:
    run = make_run(_DEDICATED)
    before = run.report(_WORK)
    image = guest_image("boot").read_bytes()
    larger = bytearray(image)
    struct.pack_into("<Q", larger, 16, 32 << 20)  # its size in memory
    elsewhere = bytearray(image)
    struct.pack_into("<Q", elsewhere, 8, 0x1000)  # its distance from a multiple of 2 MiB
    for content, result in (
        (b"\x7fELF".ljust(4096, b"\0"), _BAD_IMAGE),
        (image[:40], _BAD_IMAGE),
        (bytes(elsewhere), _BAD_IMAGE),
        (bytes(larger), _TOO_LARGE),
    ):
        assert run.order(Command.REPLACE, _WORK, content).result == result
    damaged = bytearray(image)
    damaged[len(image) // 2] ^= 1
    run.staging[: len(image)] = bytes(damaged)
    checked_for_another = run.requests._make(Command.REPLACE, _WORK, image, 0)
    assert checked_for_another.result == _DAMAGED
    outside = run.requests._make(Command.REPLACE, _WORK, image, len(run.staging))
    assert outside.result == _TOO_LARGE
    after = run.report(_WORK)
    assert (after.state, after.starts) == (before.state, before.starts)
    assert after.exits == before.exits | {"console": after.exits["console"]}
    assert run.states()[_WORK] is State.RUNNING


def test_an_image_that_is_changed_after_its_check_does_not_start(
    make_run: Callable[..., _Run],
) -> None:
    run = make_run(_DEDICATED)
    image = guest_image("control").read_bytes()
    assert run.order(Command.REPLACE, _WORK, image).result == 0
    assert run.order(Command.STOP, _WORK).result == 0
    offset = run.requests.list().images[_WORK] - 1
    assert zlib.crc32(run.staging[offset : offset + len(image)]) == zlib.crc32(image)
    run.staging[offset + len(image) - 1] ^= 1
    answer = run.order(Command.START, _WORK)
    assert (answer.result, answer.states[_WORK]) == (_CHANGED, State.STOPPED)
    assert run.order(Command.REPLACE, _WORK, image).result == 0


def test_an_order_in_the_wrong_state_is_refused(make_run: Callable[..., _Run]) -> None:
    run = make_run(_DEDICATED.replace('name = "work"\n', 'name = "work"\nrestart = "never"\n'))
    for command, partition, result in (
        (Command.START, _WORK, _WRONG_STATE),
        (Command.CREATE, _WORK, _WRONG_STATE),
        (Command.START, _SPARE, _WRONG_STATE),
        (Command.STOP, _SPARE, _WRONG_STATE),
        (Command.DESTROY, _SPARE, _WRONG_STATE),
        (Command.STOP, _MANAGER_ITSELF, _INVALID),
        (Command.STOP, 7, _INVALID),
        (Command.STOP, _WORK, 0),
        (Command.START, _WORK, _NEVER),
    ):
        assert run.order(command, partition).result == result, (command, partition)
    assert run.order(Command.REPLACE, _WORK, guest_image("boot").read_bytes()).result == _NEVER
    run.guest.type_text("list\nstop 9\n")
    run.guest.wait_for_match(r"(?m)^manager\| manager: partition 2 is stopped", timeout=30)
    run.guest.wait_for_match(r"(?m)^manager\| manager: stop 9: -2", timeout=30)
    # A typed restart does not bring back what is not created.
    run.guest.type_text(_TO_SPARE + _RESTART)
    run.guest.wait_for_next_match(r"(?m)^bulkhead\| spare restarts", 30)
    run.guest.wait_for_next_match(r"(?m)^bulkhead\| spare is not created", 30)
    assert run.states()[_SPARE] is State.ABSENT
    assert run.report(_SPARE).starts == 0
