# SPDX-License-Identifier: BSD-2-Clause
"""The manager of a system decides which partitions live, and disturbs none of the others.

Every order is given beside a control loop whose exits stay the same, on dedicated and shared cores
and with two security states. Images are damaged, or changed after their check; orders come in the
wrong state, and from partitions that are not the manager. Linux is replaced, with its initial RAM
disk and a network card.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from support.managed_system import (
    BOARD,
    DEDICATED,
    ENDLESS,
    MANAGER,
    QUIET,
    SPARE,
    WORK,
    ManagedRun,
    partition,
)
from support.written_system import TWO_STATES, StartGuest

from bulkhead.building.build import guest_image
from bulkhead.managing.partitions import Command, State
from bulkhead.peers import linux_guest
from bulkhead.system.layout import DEVICETREE_BYTES

_BUSY, _WRONG_STATE, _NEVER, _BAD_IMAGE, _TOO_LARGE, _DAMAGED, _CHANGED = range(-3, -10, -1)
_MANAGER_ITSELF, _INVALID = 0, -2
_TO_SPARE, _RESTART = "\x1d" * 3, "\x1er"  # Ctrl-] thrice, from the manager; Ctrl-^ r


_SHARED = (
    BOARD
    + MANAGER
    + partition("loop", 1, QUIET)
    + partition("work", 2, ENDLESS, 'budget = "3 ms"', 'period = "10 ms"')
    + partition("spare", 2, 'budget = "2 ms"', 'period = "8 ms"', "autostart = false")
)
_LINUX = (
    BOARD
    + MANAGER.replace('"16 MiB"', '"288 MiB"').replace('"8 MiB"', '"272 MiB"')
    + partition("loop", 1, QUIET)
    + partition("work", 2, ENDLESS)
    + """[[partition]]
name = "spare"
cores = [3]
memory = "256 MiB"
image = "linux"
pci = ["00:02.0"]
dma = "smmu"
"""
)
# Linux has two VCPUs on the core that it shares with `work`. By weights it gets all the time that
# `work` does not need: to zero its memory takes long.
_TWO_VCPUS = (
    BOARD
    + '[[core]]\nnumbers = [2]\nscheduler = "credit"\n'
    + MANAGER
    + partition("loop", 1, QUIET)
    + partition("work", 2, ENDLESS)
    + """[[partition]]
name = "spare"
cores = [2, 2]
memory = "256 MiB"
image = "linux"
arguments = "quiet"
"""
)
# Of a small image: B to the instruction itself (Arm ARM), and the magic number of an arm64 Image.
_BRANCH_TO_ITSELF, _MAGIC = 0x14000000, 0x644D5241
# In the kernel's banner: one shows which image runs.
_BANNER, _OTHER_BANNER = b"Linux version 6", b"Other version 6"
_ORDERS = 'image = "rogue"\narguments = "attack=orders"'
_ORDERS_REFUSED = r"(?m)^spare\| (\d+) of \1 orders refused$"


@pytest.fixture
def make_run(start_guest: StartGuest, tmp_path: Path) -> Callable[..., ManagedRun]:
    return lambda text, options="": ManagedRun(start_guest, tmp_path, text, options)


@pytest.mark.parametrize(
    ("text", "options"),
    [(DEDICATED, ""), (_SHARED, ""), (DEDICATED, TWO_STATES)],
    ids=["dedicated", "shared", "two-states"],
)
def test_a_partition_lives_and_ends_beside_a_control_loop(
    make_run: Callable[..., ManagedRun], text: str, options: str
) -> None:
    run = make_run(text, options)
    assert run.states() == [State.RUNNING, State.RUNNING, State.RUNNING, State.ABSENT]
    loop = run.report(1)
    assert not run.is_work_zeroed()
    steps = (
        (Command.STOP, WORK, State.STOPPED),
        (Command.START, WORK, State.RUNNING),
        (Command.REPLACE, WORK, State.RUNNING),
        (Command.REPLACE, WORK, State.RUNNING),
        (Command.DESTROY, WORK, State.ABSENT),
    )
    image = guest_image("beat").read_bytes()
    slots = set()
    for command, target, state in steps:
        kept = b"k" * len(run.work_kept)
        run.work_kept[:] = kept
        answer = run.order(command, target, image if command is Command.REPLACE else b"")
        assert (answer.result, answer.states[target]) == (0, state), command
        if command in (Command.REPLACE, Command.DESTROY):
            kept = bytes(len(kept))
        assert run.work_kept[:] == kept, command
        if command is Command.REPLACE:
            run.guest.wait_for_next_match(r"(?m)^work\| beat: begins", 60)
            # The hypervisor knows the image, if the manager does not.
            run.forget_images()
            slots.add(run.requests.list().images[target])
    assert run.is_work_zeroed()
    assert len(slots) == 2
    assert 0 not in slots
    assert len(set(run.requests.list().images)) == 1  # the replaced image is forgotten
    for command, target, state in (
        (Command.CREATE, WORK, State.STOPPED),
        (Command.CREATE, SPARE, State.STOPPED),
        (Command.START, SPARE, State.RUNNING),
        (Command.START, WORK, State.RUNNING),
    ):
        answer = run.order(command, target)
        assert (answer.result, answer.states[target]) == (0, state), command
    run.guest.wait_for_next_match(r"(?m)^work\| control: a period", timeout=60)
    assert run.report(WORK).starts == 5
    now = run.report(1)
    changed = {cause for cause, count in now.exits.items() if count != loop.exits[cause]}
    # With two states, interrupts are listed: the loop's own timer exits.
    assert changed <= ({"listed"} if options else set())
    assert now.starts == 1
    run.guest.wait_for_match(r"(?m)^spare\| control: a period", timeout=60)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_partition_with_several_vcpus_on_a_core_lives_and_ends(
    make_run: Callable[..., ManagedRun],
) -> None:
    run = make_run(_TWO_VCPUS)
    loop, work = run.report(1), run.report(WORK)

    def wait_until_ready() -> None:
        run.guest.wait_for_next_match(r"(?m)^spare\| .*linux: ready", 300)

    wait_until_ready()
    for commands in (
        (Command.STOP, Command.START),
        (Command.DESTROY, Command.CREATE, Command.START),
    ):
        for command in commands:
            assert run.complete(command, SPARE).result == 0, command
        wait_until_ready()
    assert run.complete(Command.DESTROY, SPARE).states[SPARE] == State.ABSENT
    assert run.report(SPARE).starts == 3
    for before in (loop, work):
        now = run.report(before.partition)
        assert (now.starts, now.exits["fault"]) == (1, 0)
    assert run.report(1).exits == loop.exits


def test_a_damaged_image_leaves_what_runs(make_run: Callable[..., ManagedRun]) -> None:
    run = make_run(DEDICATED)
    before = run.report(WORK)
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
        assert run.order(Command.REPLACE, WORK, content).result == result
    damaged = bytearray(image)
    damaged[len(image) // 2] ^= 1
    run.staging[: len(image)] = bytes(damaged)
    checked_for_another = run.requests._make(Command.REPLACE, WORK, image, 0)
    assert checked_for_another.result == _DAMAGED
    outside = run.requests._make(Command.REPLACE, WORK, image, len(run.staging))
    assert outside.result == _TOO_LARGE
    after = run.report(WORK)
    assert (after.state, after.starts) == (before.state, before.starts)
    assert after.exits == before.exits | {"console": after.exits["console"]}
    assert run.states()[WORK] is State.RUNNING


def test_an_image_that_is_changed_after_its_check_does_not_start(
    make_run: Callable[..., ManagedRun],
) -> None:
    run = make_run(DEDICATED)
    image = guest_image("control").read_bytes()
    assert run.order(Command.REPLACE, WORK, image).result == 0
    assert run.order(Command.STOP, WORK).result == 0
    offset = run.requests.list().images[WORK] - 1
    assert zlib.crc32(run.staging[offset : offset + len(image)]) == zlib.crc32(image)
    run.staging[offset + len(image) - 1] ^= 1
    answer = run.order(Command.START, WORK)
    assert (answer.result, answer.states[WORK]) == (_CHANGED, State.STOPPED)
    assert run.order(Command.REPLACE, WORK, image).result == 0


def test_memory_behind_a_smaller_image_is_zeroed(make_run: Callable[..., ManagedRun]) -> None:
    """The image is a loop of one instruction, which leaves all memory as it was loaded."""
    run = make_run(DEDICATED)
    place = run.layout.places[WORK]
    entry = place.entry - place.memory.start
    size = guest_image("control").stat().st_size // 3 | 1
    head = struct.pack("<IIQQ32xII", _BRANCH_TO_ITSELF, 0, place.entry % (2 << 20), size, _MAGIC, 0)
    image = head.ljust(size, b"\x5a")
    assert run.order(Command.REPLACE, WORK, image).result == 0
    memory = run.work_memory[:]
    tree = place.devicetree - place.memory.start
    assert memory[entry : entry + size] == image
    assert not any(memory[:entry])
    assert not any(memory[entry + size : tree])
    assert not any(memory[tree + DEVICETREE_BYTES :])


def test_an_order_in_the_wrong_state_is_refused(make_run: Callable[..., ManagedRun]) -> None:
    run = make_run(DEDICATED.replace('name = "work"\n', 'name = "work"\nrestart = "never"\n'))
    for command, target, result in (
        (Command.START, WORK, _WRONG_STATE),
        (Command.CREATE, WORK, _WRONG_STATE),
        (Command.START, SPARE, _WRONG_STATE),
        (Command.STOP, SPARE, _WRONG_STATE),
        (Command.DESTROY, SPARE, _WRONG_STATE),
        (Command.STOP, _MANAGER_ITSELF, _INVALID),
        (Command.STOP, 7, _INVALID),
        (Command.STOP, WORK, 0),
        (Command.START, WORK, _NEVER),
    ):
        assert run.order(command, target).result == result, (command, target)
    assert run.order(Command.REPLACE, WORK, guest_image("boot").read_bytes()).result == _NEVER
    run.guest.type_text("list\nstop 9\n")
    run.guest.wait_for_match(r"(?m)^manager\| manager: partition 2 is stopped", timeout=30)
    run.guest.wait_for_match(r"(?m)^manager\| manager: stop 9: -2", timeout=30)
    # A typed restart does not bring back what is not created.
    run.guest.type_text(_TO_SPARE + _RESTART)
    run.guest.wait_for_next_match(r"(?m)^bulkhead\| spare restarts", 30)
    run.guest.wait_for_next_match(r"(?m)^bulkhead\| spare is not created", 30)
    assert run.states()[SPARE] is State.ABSENT
    assert run.report(SPARE).starts == 0


@pytest.mark.long
@pytest.mark.timeout(900)
def test_linux_is_replaced_with_its_initrd_and_its_network_card(
    make_run: Callable[..., ManagedRun],
) -> None:
    """The other kernel gets the initial RAM disk of the system file, and its device works, which is
    reset. Destroying the partition forgets the kernel.

    More than 10 s: Linux boots, and again as its replacement.
    """

    def wait_for_network(banner: bytes) -> None:
        run.guest.wait_for_next_match(rf"(?m)^spare\| .*{banner.decode()}", 300)
        run.guest.wait_for_next_match(r"(?m)^spare\| .*linux: network up at 10\.0\.2\.", 300)

    run = make_run(_LINUX)
    wait_for_network(_BANNER)
    kernel = linux_guest.prepare().kernel.read_bytes()
    other = kernel.replace(_BANNER, _OTHER_BANNER)
    assert other != kernel
    assert run.complete(Command.REPLACE, SPARE, other).result == 0
    wait_for_network(_OTHER_BANNER)
    assert run.complete(Command.STOP, SPARE).result == 0
    assert run.complete(Command.START, SPARE).result == 0
    wait_for_network(_OTHER_BANNER)
    assert run.complete(Command.DESTROY, SPARE).result == 0
    assert run.complete(Command.CREATE, SPARE).result == 0
    assert run.complete(Command.START, SPARE).result == 0
    wait_for_network(_BANNER)
    report = run.report(SPARE)
    assert (report.starts, report.exits["fault"]) == (4, 0)


@pytest.mark.parametrize("text", [DEDICATED, _SHARED], ids=["dedicated", "shared"])
def test_orders_of_another_partition_are_refused(
    make_run: Callable[..., ManagedRun], text: str
) -> None:
    """The partition `spare` makes all calls of the manager, for every partition."""
    before, _, spare = text.rpartition('image = "control"')
    run = make_run(before + _ORDERS + spare.replace("autostart = false\n", ""))
    run.guest.wait_for_match(_ORDERS_REFUSED, timeout=60)
    run.guest.wait_for_match(r"(?m)^bulkhead\| spare is off", timeout=60)
    assert run.states() == [State.RUNNING, State.RUNNING, State.RUNNING, State.STOPPED]
    assert [run.report(each).starts for each in range(4)] == [1] * 4
    assert run.order(Command.STOP, WORK).result == 0  # of the manager
    assert run.states()[WORK] is State.STOPPED
