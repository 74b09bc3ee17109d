# SPDX-License-Identifier: BSD-2-Clause
"""Linux sees a channel as a PCI function, which its own generic driver drives.

Its resources are where the system has them. uio_pci_generic drives it: states, doorbells both ways,
an end that stops and restarts.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from support.written_system import StartGuest, boot, reports

from bulkhead.paths import ROOT
from bulkhead.peers import linux_guest
from bulkhead.running.guest import GuestProcess
from bulkhead.system.description import HOST_WINDOW_BYTES
from bulkhead.system.layout import ChannelEnd, Layout

_FOLDER = ROOT / "tests" / "vm" / "linux_channel"
_RESTART, _STOP = "\x1er", "\x1es"  # Ctrl-^ r, Ctrl-^ s
_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "kernel"
cores = [0]
memory = "16 MiB"
image = "channel"
console = "interactive"

[[partition]]
name = "linux"
cores = [1, 2]
memory = "256 MiB"
image = "linux"
initrd = "{initrd}"
arguments = "run=/bin/function{argument}"
{key}

[[partition]]
name = "third"
{third}
memory = "16 MiB"
image = "control"

[[channel]]
name = "other"
from = "linux"
to = "third"
size = "4 KiB"
one_way = true
pci = ["linux"]

[[channel]]
name = "function"
from = "{source}"
to = "{target}"
size = "64 KiB"
pci = ["linux"]
"""
_ALONE = "cores = [3]"
_BOOT_S = 300
_PATIENCE_S = 60
_MEMORY, _PREFETCHABLE = 0x200, 0x2000  # Linux: IORESOURCE_MEM, IORESOURCE_PREFETCH
_PRESENT = 1  # the state that the kernel's program sets
_RINGS = 100_000


def start(
    start_guest: StartGuest,
    folder: Path,
    argument: str = "",
    key: str = "",
    end: int = 1,
    third: str = _ALONE,
) -> tuple[GuestProcess, Layout]:
    """Boots a system in which Linux is this end of the channel. `key`: of Linux' partition,
    `third`: of another one, which executes a loop."""
    image = linux_guest.with_modules(linux_guest.prepare(), ["uio_pci_generic"])
    includes = [ROOT / "channel" / "include"]
    sources = [_FOLDER / "function.c", _FOLDER / "wild.c"]
    image = linux_guest.with_program(image, "function", sources, includes)
    source, target = ("kernel", "linux") if end == 1 else ("linux", "kernel")
    text = _SYSTEM.format(
        initrd=image.initrd,
        argument=argument,
        key=key,
        source=source,
        target=target,
        third=third,
    )
    return boot(start_guest, folder, text)


def said(guest: GuestProcess, who: str, text: str) -> tuple[str, ...]:
    """Wait for a line after the line that was matched last, and return its groups."""
    line = guest.wait_for_next_match(rf"(?m)^{who}\| .*{text}", _PATIENCE_S)
    match = re.search(text, line)
    assert match
    return match.groups()


def resource(guest: GuestProcess, number: int) -> tuple[int, int, int]:
    """Return start, bytes and flags of a resource of the function."""
    groups = said(guest, "linux", rf"resource {number} is (\w+) to (\w+), flags (\w+)")
    start, last, flags = (int(text, 16) for text in groups)
    return start, last + 1 - start, flags


def wakes(guest: GuestProcess) -> int:
    """Return how many doorbells have ended waits of the kernel."""
    guest.type_text("s")
    return int(said(guest, "kernel", r"wakes (\d+)")[0])


def end_of(layout: Layout) -> ChannelEnd:
    """Return Linux' end of the channel."""
    return layout.places[1].channels[1]


@pytest.mark.timeout(500)
@pytest.mark.parametrize(
    ("end", "key"),
    [
        pytest.param(1, "", id="direct"),
        pytest.param(0, 'interrupts = "listed"', id="listed", marks=pytest.mark.long),
    ],
)
def test_linux_drives_a_channel(
    start_guest: StartGuest, tmp_path: Path, end: int, key: str
) -> None:
    guest, layout = start(start_guest, tmp_path, key=key, end=end)
    place, host = end_of(layout), layout.places[1].channel_host
    assert host is not None
    guest.wait_for_match(r"(?m)^linux\| function: .* has vendor", _BOOT_S)
    for device in range(2):
        name = rf"function: 0000:00:0{device}\.0 has vendor 110a, device 4106, class ff0000"
        guest.wait_for_match(rf"(?m)^linux\| {name}, revision 0", _PATIENCE_S)
    said(guest, "linux", "function: is channel 'function'")
    start_of_registers, registers_bytes, flags = resource(guest, 0)
    assert host.end - HOST_WINDOW_BYTES <= start_of_registers < host.end
    assert (registers_bytes, flags & (_MEMORY | _PREFETCHABLE)) == (4096, _MEMORY)
    assert resource(guest, 1)[:2] == (0, 1)
    region_start, region_bytes, flags = resource(guest, 2)
    assert (region_start, region_bytes) == (place.region.start, place.region.bytes)
    assert flags & (_MEMORY | _PREFETCHABLE) == _MEMORY | _PREFETCHABLE
    said(guest, "linux", rf"function: ID {end} of 2, sections of {68 << 10} bytes")
    before, after = [0, 0], [0, 0]
    before[1 - end] = after[1 - end] = _PRESENT
    after[end] = 3
    said(guest, "linux", f"function: states before are {before[0]} and {before[1]}")
    said(guest, "linux", f"function: states are {after[0]} and {after[1]}, the register 3")
    said(guest, "linux", "function: waits")
    # The other end has found its peer present, and what it wrote.
    guest.wait_for_match(r"(?m)^kernel\| channel: FAILED: .*\(0x4d\)", _PATIENCE_S)
    before_rings = wakes(guest)
    guest.type_text("n")
    said(guest, "kernel", "channel: rang")
    deadline = time.monotonic() + _PATIENCE_S
    # By Linux' answers, once the kernel waits again. On a busy machine the last answer may come
    # before that, and the kernel's doorbell is then still masked.
    while wakes(guest) == before_rings:
        assert time.monotonic() < deadline
        guest.type_text("n")
        said(guest, "kernel", "channel: rang")
    woke = re.findall(
        r"(?m)^linux\| function: woke, the state of the other end is (\d+)$", guest.console()
    )
    assert woke[-1] == str(_PRESENT)
    guest.type_text(_STOP)
    said(guest, "linux", "function: woke, the state of the other end is 0")
    guest.type_text(_RESTART)
    said(guest, "linux", f"function: woke, the state of the other end is {_PRESENT}")
    console = guest.console()
    assert "WRONG" not in console
    assert "nobody cared" not in console
    assert console.count("function: woke") < _RINGS // 10  # most rings found Linux awake
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))


_SIGBUS = 7
_WILD = (
    "store to states",
    "store to section",
    "pair to section",
    "load of pair of registers",
    "store of pair to registers",
    "exclusive load of register",
)


@pytest.mark.timeout(500)
@pytest.mark.parametrize(
    ("key", "third"),
    [
        ("", _ALONE),
        pytest.param('interrupts = "listed"', _ALONE, marks=pytest.mark.long),
        pytest.param(
            'budget = "16 ms"\nperiod = "20 ms"',
            'cores = [2]\nbudget = "2 ms"\nperiod = "20 ms"',
            marks=pytest.mark.long,
        ),
        pytest.param('unmapped = "abort"', _ALONE, marks=pytest.mark.long),
    ],
    ids=["direct", "listed", "shared", "abort"],
)
def test_a_wild_access_ends_its_process_alone(
    start_guest: StartGuest, tmp_path: Path, key: str, third: str
) -> None:
    """A process stores to the parts of a channel that its partition can only read, and
    accesses registers with instructions that can't be emulated. Linux goes on.

    More than 10 s: Linux boots.
    """
    guest, layout = start(start_guest, tmp_path, argument=",wild", key=key, third=third)
    guest.wait_for_match(r"(?m)^linux\| function: states are", _BOOT_S)
    for access in _WILD:
        said(guest, "linux", f"function: {access} ended by signal {_SIGBUS}$")
    said(guest, "linux", "function: waits")
    guest.wait_for_match(r"(?m)^kernel\| channel: FAILED: .*\(0x4d\)", _PATIENCE_S)
    guest.type_text("n")
    said(guest, "linux", f"function: woke, the state of the other end is {_PRESENT}")
    assert " is stopped" not in guest.console()
    assert "WRONG" not in guest.console()
    linux = [each for each in reports(guest, layout) if each.partition == 1]
    assert sum(each.exits["fault"] for each in linux) == len(_WILD)
