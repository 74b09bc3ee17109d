# SPDX-License-Identifier: BSD-2-Clause
"""Channels of RTEMS in a partition, with the RTEMS that RTEMS_PREFIX names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.written_system import StartGuest, boot, reports

from bulkhead.paths import TESTS
from bulkhead.peers import linux_channels, linux_guest, rtems
from bulkhead.running.guest import GuestProcess

pytestmark = pytest.mark.skipif(
    rtems.find() is None, reason=f"no RTEMS: {rtems.PREFIX} names no folder"
)

_RESTART, _STOP = "\x1er", "\x1es"  # Ctrl-^ r, Ctrl-^ s
_BOARD = 'board = "qemu-virt"\n'
_EXCHANGE = TESTS / "rtems/channel/exchange.c"
_NUMBERED = TESTS / "guests/numbered_exchange.c"
_KINDS = TESTS / "rtems/channel/kinds.c"
_LISTED = 'interrupts = "listed"'
_BUDGET = ('budget = "3 ms"', 'period = "8 ms"')
_INTERACTIVE = 'console = "interactive"'
_SEND = 'arguments = "send=3000"'
_ENDLESS = 'arguments = "send=1000000000000"'
# RTEMS has to wait for a kernel that rests.
_SEND_AND_REST = 'arguments = "send=3000 rest=1"'
_ENDLESS_WITH_RESTS = 'arguments = "send=1000000000000 rest=1"'
_PATIENCE_S, _BOOT_S = 60, 300


def rtems_partition(name: str, core: int, program: str | Path, *keys: str) -> str:
    """Return the text of a partition with RTEMS, whose board support package uses 128 MiB."""
    installed = rtems.find()
    assert installed is not None
    others = (_NUMBERED,) if program == _EXCHANGE else ()
    image = rtems.build_with_channels(installed, program, *others)
    lines = ("[[partition]]", f'name = "{name}"', f"cores = [{core}]", 'memory = "130 MiB"')
    return "\n".join([*lines, f'image = "{image}"', *keys]) + "\n"


def kernel_partition(name: str, core: int, *keys: str, image: str = "channel") -> str:
    """Return the text of a partition with our kernel."""
    lines = ("[[partition]]", f'name = "{name}"', f"cores = [{core}]", 'memory = "16 MiB"')
    return "\n".join([*lines, f'image = "{image}"', *keys]) + "\n"


def channel(name: str, first: str, second: str | list[str], *keys: str) -> str:
    """Return the text of a channel. `second`: the other end, or the receivers."""
    to = json.dumps(second)
    lines = ("[[channel]]", f'name = "{name}"', f'from = "{first}"', f"to = {to}")
    return "\n".join([*lines, 'size = "16 KiB"', *keys]) + "\n"


def pair(
    rtems_keys: tuple[str, ...], kernel_keys: tuple[str, ...], is_first: bool, kernel_core: int = 1
) -> str:
    """Return the text of a system with RTEMS and our kernel. `is_first`: RTEMS is end 0."""
    ends = ("rtems", "kernel") if is_first else ("kernel", "rtems")
    return (
        _BOARD
        + rtems_partition("rtems", 0, _EXCHANGE, *rtems_keys)
        + kernel_partition("kernel", kernel_core, *kernel_keys)
        + channel("pair", *ends)
    )


def said(guest: GuestProcess, who: str, text: str) -> None:
    """Wait for a line after the line that was matched last."""
    guest.wait_for_next_match(rf"(?m)^{who}\| {text}", _PATIENCE_S)


def assert_right(guest: GuestProcess) -> None:
    """Check that all messages were right, and that doorbells ended the waits."""
    console = guest.console()
    assert "WRONG" not in console
    assert "FAILED" not in console
    assert set(re.findall(r"missed (\d+)", console)) == {"0"}
    wakes = re.findall(r"(?m)^rtems\| exchange: .* wakes (\d+),", console)
    assert any(int(each) > 0 for each in wakes)


@pytest.mark.parametrize(
    ("rtems_keys", "kernel_keys", "is_first", "kernel_core"),
    [
        ((_SEND,), (_SEND_AND_REST,), True, 1),
        ((_SEND, _LISTED), (_SEND_AND_REST,), False, 1),
        ((_SEND, *_BUDGET), (_SEND_AND_REST, *_BUDGET), True, 0),
    ],
    ids=["direct", "listed", "same-core"],
)
def test_messages_go_both_ways(
    start_guest: StartGuest,
    tmp_path: Path,
    rtems_keys: tuple[str, ...],
    kernel_keys: tuple[str, ...],
    is_first: bool,
    kernel_core: int,
) -> None:
    text = pair(rtems_keys, kernel_keys, is_first, kernel_core)
    guest, layout = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^rtems\| exchange: received 3000,", _PATIENCE_S)
    guest.wait_for_match(r"(?m)^kernel\| channel: received 3000,", _PATIENCE_S)
    assert_right(guest)
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))


def test_the_other_end_restarts_and_stops(start_guest: StartGuest, tmp_path: Path) -> None:
    text = pair((_ENDLESS,), (_ENDLESS_WITH_RESTS, _INTERACTIVE), is_first=True)
    guest, _ = boot(start_guest, tmp_path, text)
    said(guest, "rtems", "exchange: received 1000,")
    guest.type_text(_RESTART)
    said(guest, "rtems", r"exchange: ended after \d+, the other end is ")
    said(guest, "rtems", "exchange: connected by pair, end 0")
    said(guest, "rtems", "exchange: received 1000,")
    guest.type_text(_STOP)
    said(guest, "bulkhead", "kernel is stopped")
    said(guest, "rtems", r"exchange: ended after \d+, the other end is absent")
    guest.type_text(_RESTART)
    said(guest, "rtems", "exchange: connected by pair, end 0")
    said(guest, "rtems", "exchange: received 1000,")
    assert_right(guest)


def test_rtems_restarts(start_guest: StartGuest, tmp_path: Path) -> None:
    text = pair((_ENDLESS, _INTERACTIVE), (_ENDLESS_WITH_RESTS,), is_first=False)
    guest, _ = boot(start_guest, tmp_path, text)
    said(guest, "kernel", "channel: received 1000,")
    for _ in range(2):
        guest.type_text(_RESTART)
        said(guest, "kernel", r"channel: ended after \d+, the other end is ")
        said(guest, "kernel", "channel: connected by pair, end 0")
        said(guest, "kernel", "channel: received 1000,")
    assert_right(guest)


def test_values_and_one_way_channels(start_guest: StartGuest, tmp_path: Path) -> None:
    """RTEMS is the second of two receivers of a channel; the first one does not use it."""
    text = (
        _BOARD
        + rtems_partition("rtems", 0, _KINDS)
        + kernel_partition("kernel", 1, image="channel-kinds")
        + kernel_partition("other", 2, image="beat")
        + channel("position", "rtems", "kernel", 'kind = "value"')
        + channel("log", "kernel", ["other", "rtems"], "one_way = true")
        + channel("report", "rtems", "kernel", "one_way = true")
    )
    guest, layout = boot(start_guest, tmp_path, text)
    for line in (
        r"rtems\| kinds: value number \d+",
        r"rtems\| kinds: message number \d+",
        r"kernel\| channel-kinds: value RTEMS \d+",
        r"kernel\| channel-kinds: message RTEMS \d+",
    ):
        guest.wait_for_match(rf"(?m)^{line}\s*$", _PATIENCE_S)
    assert "FAIL" not in guest.console()
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))


def test_the_samples_talk_to_each_other(start_guest: StartGuest, tmp_path: Path) -> None:
    text = (
        _BOARD
        + rtems_partition("sender", 0, "send")
        + rtems_partition("echo", 1, "echo")
        + channel("talk", "sender", "echo")
    )
    guest, _ = boot(start_guest, tmp_path, text)
    for number in range(20):
        said(guest, "sender", rf"send: received: message {number}\s*$")


# A second life of Linux's end, which does not read what comes back.
_SCRIPT = """
echo 110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id
seq 200000 > sent
bulkhead-channel cat commands -t 60 < sent > received
echo "script: cat ended with $?"
cmp sent received && echo "script: all came back"
bulkhead-channel send commands -t 60 one two three
echo "script: send ended with $?"
bulkhead-channel stat commands
echo "script: the end"
"""


@pytest.mark.timeout(600)
def test_rtems_echoes_to_linux_and_to_a_kernel(start_guest: StartGuest, tmp_path: Path) -> None:
    """One task of RTEMS waits for two channels, one of them with a PCI function at its other end.
    What the kernel sends is what it expects to receive."""
    image = linux_guest.with_script(linux_channels.prepare_command("pci"), "use", _SCRIPT)
    linux = f"""[[partition]]
name = "linux"
cores = [1, 2]
memory = "256 MiB"
image = "linux"
initrd = "{image.initrd}"
arguments = "run=/bin/use"
"""
    text = (
        _BOARD
        + rtems_partition("rtems", 0, "echo", 'arguments = "commands numbers"')
        + linux
        + kernel_partition("kernel", 3, _SEND)
        + channel("numbers", "rtems", "kernel")
        + channel("commands", "rtems", "linux", 'pci = ["linux"]')
    )
    guest, layout = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^kernel\| channel: received 3000, wakes \d+, missed 0", _BOOT_S)
    guest.wait_for_match(r"(?m)^linux\| script: the end", _BOOT_S)
    guest.wait_for_match(r"(?m)^rtems\| echo: commands ended after 3\s*$", _PATIENCE_S)
    console = guest.console()
    for line in (
        "rtems| echo: waits at commands",
        "rtems| echo: waits at numbers",
        "linux| script: cat ended with 0",
        "linux| script: all came back",
        "linux| script: send ended with 0",
    ):
        assert line in console
    assert re.search(r"(?m)^linux\| errors +0 +0\s*$", console)
    assert "WRONG" not in console
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))
