# SPDX-License-Identifier: BSD-2-Clause
"""The hypervisor executes a bounded number of instructions before it takes its interrupts again.

The rogue attacks, restarts and stops; large images are loaded; a manager gives orders.

A plugin of QEMU (stretches.c) counts them, from outside.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.bare_guest import build_guest
from support.failover_system import NET, READY, STANDBY, FailoverRun
from support.managed_system import DEDICATED, WORK, ManagedRun
from support.rogue_system import StartGuest, Way, id_of, start
from support.stretches import plugin_option
from support.written_system import boot

from bulkhead.building.build import guest_image
from bulkhead.managing.partitions import Command
from bulkhead.running.network import Namespace

# These attacks make the hypervisor execute most of its code: they access the registers of every
# device, make calls, and print.
_ATTACKS = (
    "distributor",
    "redistributor 0",
    "sgi",
    "ecam 0",
    "power",
    "calls 10000",
    "registers",
    "cache",
    "storm",
    "console",
)

# docs/architecture.md states these numbers, for an exit of a guest and for a step of a partition's
# start or stop.
_EXIT_MAX = 5_000
_STEP_MAX = 25_000
_SHARED_STEP_MAX = 5_000


def _hypervisor(way: Way) -> str:
    """Return the name of the image."""
    names = {Way.DIRECT: "hypervisor", Way.SHARED: "hypervisor-shared"}
    return names.get(way, "hypervisor-listed")


def _longest(log: Path, only_core: int | None = None) -> dict[str, int]:
    """Return the longest stretch so far, of all cores or of one, by how it ended."""
    whole, _, _ = log.read_text().rpartition("\n")
    longest = {"return": 0, "wait": 0}
    for line in whole.splitlines():
        end, core, instructions, _ = line.split()
        if only_core in (None, int(core)):
            longest[end] = max(longest[end], int(instructions))
    return longest


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "way",
    [
        *(pytest.param(each, marks=pytest.mark.long) for each in (Way.DIRECT, Way.LISTED)),
        Way.SHARED,
    ],
    ids=id_of,
)
@pytest.mark.parametrize(
    "form", ["sample ", pytest.param("", marks=pytest.mark.long)], ids=["sample", "whole"]
)
def test_hypervisor_takes_its_interrupts_within_a_bound(
    start_guest: StartGuest, tmp_path: Path, way: Way, form: str
) -> None:
    """More than 10 s: the plugin looks at each instruction of the hypervisor."""
    log = tmp_path / "stretches.log"
    run = start(start_guest, extra=("-plugin", plugin_option(log, _hypervisor(way))), way=way)
    for attack in _ATTACKS:
        run.restart()
        assert "survived" in run.attack(f"{form}{attack}", 600), run.guest.console()
    run.stop()
    longest = _longest(log)
    assert 0 < longest["return"] <= _EXIT_MAX
    assert 0 < longest["wait"] <= (_SHARED_STEP_MAX if way == Way.SHARED else _STEP_MAX)


# The RAM disk is larger than any step.
_DISK_BYTES = 1 << 20
_LOADING = """board = "qemu-virt"
[[partition]]
name = "guest"
cores = [0]
memory = "16 MiB"
image = "beat"
initrd = "./disk"
console = "interactive"
"""
_BUDGET = 'budget = "4 ms"\nperiod = "10 ms"\n'
_NEIGHBOUR = """[[partition]]
name = "neighbour"
cores = [0]
memory = "4 MiB"
image = "beat"
"""
_BEGINNING = r"(?m)^guest\| beat: begins"


@pytest.mark.parametrize(
    ("hypervisor", "text", "step_max"),
    [
        ("hypervisor", _LOADING, _STEP_MAX),
        ("hypervisor-shared", _LOADING + _BUDGET + _NEIGHBOUR + _BUDGET, _SHARED_STEP_MAX),
    ],
    ids=["dedicated", "shared"],
)
def test_loading_of_a_large_image_keeps_the_bound(
    start_guest: StartGuest, tmp_path: Path, hypervisor: str, text: str, step_max: int
) -> None:
    (tmp_path / "disk").write_bytes(bytes(range(256)) * (_DISK_BYTES // 256))
    log = tmp_path / "stretches.log"
    plugin = ("-plugin", plugin_option(log, hypervisor))
    guest, _ = boot(start_guest, tmp_path, text, extra=plugin)
    guest.wait_for_match(_BEGINNING, 60)
    guest.type_text("\x1er")
    guest.wait_for_next_match(_BEGINNING, 60)
    longest = _longest(log)
    assert 0 < longest["return"] <= _EXIT_MAX
    assert 0 < longest["wait"] <= step_max


def test_orders_of_a_manager_keep_the_bound(start_guest: StartGuest, tmp_path: Path) -> None:
    log = tmp_path / "stretches.log"
    plugin = ("-plugin", plugin_option(log, "hypervisor-managed"))
    run = ManagedRun(start_guest, tmp_path, DEDICATED, extra=plugin)
    image = guest_image("beat").read_bytes()
    for command in (Command.REPLACE, Command.STOP, Command.START, Command.DESTROY, Command.CREATE):
        order = run.order(command, WORK, image if command is Command.REPLACE else b"")
        assert order.result == 0, command
    longest = _longest(log)
    assert 0 < longest["return"] <= _EXIT_MAX
    assert 0 < longest["wait"] <= _STEP_MAX


# As many VCPUs as a core can have sleep until the same instants.
_ALARMS = Path(__file__).parent / "alarms.c"
_ALARM = """[[partition]]
name = "part{0}"
cores = [0, 0, 0, 0]
budget = "200 us"
period = "{1} ms"
memory = "4 MiB"
image = "./alarms"
"""


@pytest.mark.parametrize("by_weight", [False, pytest.param(True, marks=pytest.mark.long)])
def test_timers_that_expire_at_once_keep_the_bound(
    start_guest: StartGuest, tmp_path: Path, by_weight: bool
) -> None:
    build_guest(tmp_path / "alarms", [_ALARMS])
    log = tmp_path / "stretches.log"
    text = "".join(_ALARM.format(each, 10 + each) for each in range(8))
    cores = ""
    if by_weight:
        text = re.sub("(?m)^(budget|period) = .*\n", "", text)
        cores = '[[core]]\nnumbers = [0]\nscheduler = "credit"\n'
    plugin = ("-plugin", plugin_option(log, _hypervisor(Way.SHARED)))
    guest, _ = boot(start_guest, tmp_path, f'board = "qemu-virt"\n{cores}{text}', extra=plugin)
    for each in range(8):
        guest.wait_for_match(rf"(?m)^part{each}\| end", 120)
    longest = _longest(log)
    assert 0 < longest["return"] <= _EXIT_MAX
    assert 0 < longest["wait"] <= _SHARED_STEP_MAX


# A partition with all channels that a system can have, as PCI functions, with as many devices as a
# partition can have, and with two PCI functions, shares its core with the channels' other end.
_CONNECTED = """board = "qemu-virt"
[[partition]]
name = "guest"
cores = [0]
memory = "16 MiB"
image = "beat"
console = "interactive"
devices = [{devices}]
pci = ["00:02.0", "00:03.0"]
dma = "trusted"
restart = "without-reset"
"""
_CHANNEL = """[[channel]]
name = "channel{0}"
from = "guest"
to = "neighbour"
size = "4 KiB"
pci = ["guest"]
"""
_CHANNELS, _DEVICES_MAX = 16, 16


def test_restart_of_the_largest_partition_keeps_the_bound(
    start_guest: StartGuest, tmp_path: Path
) -> None:
    """Its SPIs, its channels and its functions are reset in steps."""
    log = tmp_path / "stretches.log"
    devices = ", ".join(f'"virtio_mmio{each}"' for each in range(_DEVICES_MAX))
    text = _CONNECTED.format(devices=devices) + _BUDGET + _NEIGHBOUR + _BUDGET
    text += "".join(_CHANNEL.format(each) for each in range(_CHANNELS))
    plugin = ("-plugin", plugin_option(log, "hypervisor-shared-connected"))
    guest, _ = boot(start_guest, tmp_path, text, extra=plugin)
    guest.wait_for_match(_BEGINNING, 60)
    guest.type_text("\x1er")
    guest.wait_for_next_match(_BEGINNING, 60)
    longest = _longest(log)
    assert 0 < longest["return"] <= _EXIT_MAX
    assert 0 < longest["wait"] <= _SHARED_STEP_MAX


# As many partitions as a system can have share two cores, with one VCPU or four on each: then as
# many VCPUs as a core can have. Four of them have eight devices each.
_WINDOWS_S = 1.5
_SHARING = """[[partition]]
name = "part{0}"
cores = {4}
budget = "{5} us"
period = "{1} ms"
memory = "16 MiB"
image = "share"
arguments = "role=wake begin=0 end={2} period={1}000 work=200"
{3}"""
_DEVICES = """devices = [{0}]
dma = "trusted"
restart = "never"
"""


@pytest.mark.parametrize("on_a_core", [1, pytest.param(4, marks=pytest.mark.long)])
def test_windows_of_many_interrupts_keep_the_bound(
    start_guest: StartGuest, tmp_path: Path, on_a_core: int
) -> None:
    log = tmp_path / "stretches.log"
    end = int(_WINDOWS_S * 1000)
    devices = [f'"virtio_mmio{each}"' for each in range(32)]
    groups = [_DEVICES.format(", ".join(devices[at : at + 8])) for at in range(0, 32, 8)]
    partitions = (
        _SHARING.format(each, 10 + each, end, keys, [0, 1] * on_a_core, 1000 // on_a_core)
        for each, keys in enumerate([*groups, "", "", "", ""])
    )
    text = 'board = "qemu-virt"\n' + "".join(partitions)
    plugin = ("-plugin", plugin_option(log, _hypervisor(Way.SHARED)))
    guest, _ = boot(start_guest, tmp_path, text, extra=plugin)
    for each in range(8):
        guest.wait_for_match(rf"(?m)^part{each}\| share: end", 200)
    longest = _longest(log)
    assert 0 < longest["return"] <= _EXIT_MAX
    assert 0 < longest["wait"] <= _SHARED_STEP_MAX


@pytest.mark.parametrize(
    "way", [Way.DIRECT, pytest.param(Way.SHARED, marks=pytest.mark.long)], ids=id_of
)
def test_functions_that_move_keep_the_bound(
    start_guest: StartGuest, tmp_path: Path, namespace: Namespace, way: Way
) -> None:
    """By orders, and after an error of their owner."""
    log = tmp_path / "stretches.log"
    plugin = ("-plugin", plugin_option(log, f"{_hypervisor(way)}-managed-health-moving"))
    run = FailoverRun(start_guest, tmp_path, namespace, way, plugin)
    for owner, name in ((STANDBY, "net2"), (NET, "net")):
        assert run.give(owner).result == 0
        run.says(rf"{name}\| {READY}")
    run.wait_for_count("net2| standby: waits", 2)
    assert run.order(Command.CRASH, NET).result == 0
    run.says(rf"net2\| {READY}")
    longest = _longest(log, only_core=1)  # that of `net`, which it may share with `net2`
    assert 0 < longest["return"] <= _EXIT_MAX
    assert 0 < longest["wait"] <= (_SHARED_STEP_MAX if way == Way.SHARED else _STEP_MAX)
