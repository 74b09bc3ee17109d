# SPDX-License-Identifier: BSD-2-Clause
"""A kernel sends on a one-way channel to two receivers, Linux and another kernel.

Each of the three restarts, while the others go on. A receiver that goes on misses nothing, and
knows when the sender begins again.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.printed_lines import count, wait_for
from support.written_system import StartGuest, boot, reports

from bulkhead.peers import linux_channels, linux_guest
from bulkhead.running.guest import GuestProcess

_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "sensor"
cores = [0]
memory = "16 MiB"
image = "channel-one-way"
arguments = "period=10"
console = "interactive"
{key}

[[partition]]
name = "plot"
cores = [{plot}]
memory = "16 MiB"
image = "channel-one-way"
arguments = "follow=1"
{key}

[[partition]]
name = "linux"
cores = [2, 3]
memory = "256 MiB"
image = "{kernel}"
initrd = "{initrd}"
arguments = "run=/bin/follow"

[[channel]]
name = "samples"
from = "sensor"
to = {receivers}
size = "64 KiB"
one_way = true
{way} = ["linux"]
"""
# Prints the same lines as the kernel's receiver.
_SCRIPT = r"""
dmesg -n 1
echo 110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id
bulkhead-channel receive samples | awk '
last && $2 <= last { print "follow: begins again after " last; last = 0 }
last && $2 != last + 1 { print "follow: FAIL: " $2 " after " last }
int($2 / 100) != int(last / 100) { print "follow: received up to " $2; fflush() }
{ last = $2 }'
echo "follow: FAIL: the end"
"""
_BUDGET = 'budget = "3 ms"\nperiod = "8 ms"'
_BOOT_S, _PATIENCE_S = 300, 60
_NEXT, _RESTART, _STOP = "\x1d", "\x1er", "\x1es"  # Ctrl-], Ctrl-^ r, Ctrl-^ s
_RECEIVERS = ("plot", "linux")
_RECEIVED, _AGAIN = r"received up to \d+.*", r"begins again after \d+"


def goes_on(guest: GuestProcess, who: str, seconds: int = _PATIENCE_S) -> None:
    """Wait until a receiver has received a hundred messages more."""
    wait_for(guest, who, _RECEIVED, count(guest, who, _RECEIVED) + 2, seconds)


def all_begin_again(guest: GuestProcess, keys: str) -> None:
    """Type keys that restart the sender. Both receivers notice it, and go on."""
    before = [count(guest, each, _AGAIN) for each in _RECEIVERS]
    guest.type_text(keys)
    for each, times in zip(_RECEIVERS, before, strict=True):
        wait_for(guest, each, _AGAIN, times + 1, _PATIENCE_S)
        goes_on(guest, each)
        assert count(guest, each, _AGAIN) == times + 1


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("way", "order", "plot", "key"),
    [
        ("pci", _RECEIVERS, 1, ""),
        ("pci", ("linux", "plot"), 1, 'interrupts = "listed"'),
        ("dax", ("linux", "plot"), 0, _BUDGET),
    ],
    ids=["pci-direct", "pci-listed", "dax-shared"],
)
def test_receivers_and_sender_restart(
    start_guest: StartGuest, tmp_path: Path, way: str, order: tuple[str, ...], plot: int, key: str
) -> None:
    """`order`: of the receivers, the first of which is end 1 of the channel, and the other end 2.

    More than 10 s: Linux boots twice.
    """
    image = linux_guest.with_script(linux_channels.prepare_command(way), "follow", _SCRIPT)
    receivers = str(list(order)).replace("'", '"')
    text = _SYSTEM.format(
        kernel=image.kernel, initrd=image.initrd, way=way, receivers=receivers, plot=plot, key=key
    )
    guest, layout = boot(start_guest, tmp_path, text)
    goes_on(guest, "linux", _BOOT_S)
    goes_on(guest, "plot")
    all_begin_again(guest, _RESTART)
    guest.type_text(_STOP)
    guest.wait_for_match(r"(?m)^bulkhead\| sensor is stopped", _PATIENCE_S)
    all_begin_again(guest, _RESTART)
    again = [count(guest, each, _AGAIN) for each in _RECEIVERS]
    guest.type_text(_NEXT + _RESTART)
    for each in _RECEIVERS:
        goes_on(guest, each)
    guest.type_text(_NEXT + _RESTART)
    goes_on(guest, "plot")
    goes_on(guest, "linux", _BOOT_S)
    assert again == [count(guest, each, _AGAIN) for each in _RECEIVERS]
    guest.type_text(_NEXT)
    all_begin_again(guest, _RESTART)
    console = guest.console()
    assert "FAIL" not in console
    assert "missed" not in console
    assert set(re.findall(r"lost (\d+)", console)) == {"0"}
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))
