# SPDX-License-Identifier: BSD-2-Clause
"""Linux sends on a one-way channel to two receivers, and values to each of them.

Linux' processes end and begin again, and each of the three partitions restarts, while the others go
on. A receiver attacks Linux, and stands still: the other one misses nothing.
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
name = "plot"
cores = [0]
memory = "16 MiB"
image = "channel-follow"
arguments = "values=speed-plot"
console = "interactive"
{key}

[[partition]]
name = "log"
cores = [{log}]
{receiver}
{key}

[[partition]]
name = "linux"
cores = [2, 3]
memory = "256 MiB"
image = "{kernel}"
initrd = "{initrd}"
arguments = "run=/bin/count"

[[channel]]
name = "samples"
from = "linux"
to = {receivers}
size = "16 KiB"
one_way = true
{way} = {ends}

[[channel]]
name = "speed-plot"
from = "linux"
to = "plot"
size = "4 KiB"
kind = "value"
{way} = ["linux"]

[[channel]]
name = "speed-log"
from = "log"
to = "linux"
size = "4 KiB"
kind = "value"
{way} = {ends}
"""
_KERNEL_RECEIVER = """memory = "16 MiB"
image = "channel-follow"
arguments = "values=speed-log"
"""
_LINUX_RECEIVER = """memory = "256 MiB"
image = "{kernel}"
initrd = "{initrd}"
arguments = "run=/bin/follow"
"""
# The processes end after each thousand numbers, and others begin with number 1.
_COUNT = r"""
dmesg -n 1
echo 110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id
bulkhead-channel cat samples < /dev/null
echo "count: cat ended with $?"
mkfifo /plot /log
count() {
    number=1
    while [ $number -le 1000 ]; do
        echo "number $number"
        usleep 5000
        number=$((number + 1))
    done
}
while true; do
    bulkhead-channel send speed-plot < /plot &
    plot=$!
    bulkhead-channel send speed-log < /log &
    count | tee /plot /log | bulkhead-channel send samples || echo "count: FAIL: samples"
    wait $plot || echo "count: FAIL: speed-plot"
    wait $! || echo "count: FAIL: speed-log"
done
"""
# Prints the same lines as the kernel's receiver.
_FOLLOW = r"""
dmesg -n 1
echo 110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id
follow() {
    bulkhead-channel receive $1 | awk -v name=$2 '
last && $2 <= last { print "follow: " name " begins again after " last; last = 0 }
last && name == "received" && $2 != last + 1 { print "follow: FAIL: " $2 " after " last }
int($2 / 100) != int(last / 100) { print "follow: " name " up to " $2; fflush() }
{ last = $2 }'
    echo "follow: FAIL: the end of $1"
}
follow speed-log value &
follow samples received
"""
_CAT_REFUSED = "cat is for channels of messages: samples is of the kind one-way"
_BUDGET = 'budget = "3 ms"\nperiod = "8 ms"'
_BOOT_S, _PATIENCE_S = 300, 120
_NEXT, _RESTART, _STOP = "\x1d", "\x1er", "\x1es"  # Ctrl-], Ctrl-^ r, Ctrl-^ s
_RECEIVERS = ("plot", "log")
_KINDS = ("received", "value")
_SEEDS = 5
# More messages than the ring has while a receiver stands still, in hundreds.
_STILL = 8


def go_on(
    guest: GuestProcess, receivers: tuple[str, ...], seconds: int = _PATIENCE_S, *, lines: int = 2
) -> None:
    """Wait until receivers have received some hundred messages and values more."""
    wanted = [(who, rf"{kind} up to \d+.*") for who in receivers for kind in _KINDS]
    before = [count(guest, *each) for each in wanted]
    for each, lines_before in zip(wanted, before, strict=True):
        wait_for(guest, *each, lines_before + lines, seconds)


def begin_again(guest: GuestProcess, seconds: int = _PATIENCE_S) -> None:
    """Wait until all receivers have noticed that the sender has begun again, and go on."""
    wanted = [(who, rf"{kind} begins again after \d+") for who in _RECEIVERS for kind in _KINDS]
    before = [count(guest, *each) for each in wanted]
    for each, lines_before in zip(wanted, before, strict=True):
        wait_for(guest, *each, lines_before + 1, seconds)
    go_on(guest, _RECEIVERS)


def attack(guest: GuestProcess) -> None:
    """Let `plot`, which has the keyboard, attack Linux' values. `log` does not notice it."""
    for seed in range(1, _SEEDS + 1):
        guest.type_text(f"{seed}h")
        attacked = rf"(?m)^plot\| channel: attacked with seed {seed}\b"
        guest.wait_for_match(attacked, _PATIENCE_S)
    go_on(guest, ("log",))
    guest.type_text(_RESTART)
    go_on(guest, _RECEIVERS)


def stand_still(guest: GuestProcess) -> None:
    """Let `plot`, which has the keyboard, receive nothing while its ring overflows."""
    guest.type_text("p")
    guest.wait_for_match(r"(?m)^plot\| channel-follow: stands still", _PATIENCE_S)
    go_on(guest, ("log",), lines=_STILL)
    assert re.findall(r"(?m)^plot\| .* lost ([1-9]\d*)", guest.console()) == []
    guest.type_text("c")
    go_on(guest, _RECEIVERS)
    assert re.findall(r"(?m)^plot\| .* lost ([1-9]\d*)", guest.console())
    assert re.findall(r"(?m)^log\| .* lost ([1-9]\d*)", guest.console()) == []


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    ("way", "order", "log", "key"),
    [
        pytest.param("pci", _RECEIVERS, 1, "", id="pci-direct"),
        pytest.param("pci", ("log", "plot"), 1, 'interrupts = "listed"', id="pci-listed"),
        pytest.param("dax", ("log", "plot"), 0, _BUDGET, id="dax-shared"),
        pytest.param("pci", _RECEIVERS, None, "", id="pci-linux"),
    ],
)
def test_sender_and_receivers_restart(
    start_guest: StartGuest,
    tmp_path: Path,
    way: str,
    order: tuple[str, ...],
    log: int | None,
    key: str,
) -> None:
    """`order`: of the receivers, as the system file names them. `log`: the core of a receiver with
    our kernel; None: it is another Linux.

    More than 10 s: Linux boots twice.
    """
    image = linux_guest.with_script(linux_channels.prepare_command(way), "count", _COUNT)
    image = linux_guest.with_script(image, "follow", _FOLLOW)
    files = {"kernel": image.kernel, "initrd": image.initrd}
    text = _SYSTEM.format(
        **files,
        way=way,
        receivers=str(list(order)).replace("'", '"'),
        ends='["linux"]' if log is not None else '["linux", "log"]',
        log=1 if log is None else log,
        receiver=_LINUX_RECEIVER.format(**files) if log is None else _KERNEL_RECEIVER,
        key=key,
    )
    log_s = _BOOT_S if log is None else _PATIENCE_S
    guest, layout = boot(start_guest, tmp_path, text)
    go_on(guest, _RECEIVERS, _BOOT_S)
    begin_again(guest)
    guest.type_text(_RESTART)
    go_on(guest, _RECEIVERS)
    stand_still(guest)
    attack(guest)
    guest.type_text(_NEXT + _RESTART)
    go_on(guest, ("plot",))
    go_on(guest, _RECEIVERS, log_s)
    guest.type_text(_NEXT + _STOP)
    guest.wait_for_match(r"(?m)^bulkhead\| linux is stopped", _PATIENCE_S)
    guest.type_text(_RESTART)
    begin_again(guest, _BOOT_S)
    console = guest.console()
    assert "FAIL" not in console
    assert "missed" not in console
    problems = re.findall(r"(?m)^\w+\| bulkhead-channel: (.*?)\r?$", console)
    assert problems == [_CAT_REFUSED] * 2
    assert console.count("count: cat ended with 2") == 2
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))
