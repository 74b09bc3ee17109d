# SPDX-License-Identifier: BSD-2-Clause
"""A kernel attacks a channel of Linux; an honest life of it follows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.written_system import StartGuest, boot, reports

from bulkhead.peers import linux_channels, linux_guest

_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "kernel"
cores = [{kernel_core}]
memory = "16 MiB"
image = "channel"
console = "interactive"
arguments = "send=1000000000000"
{kernel_keys}

[[partition]]
name = "linux"
cores = {linux_cores}
memory = "256 MiB"
image = "{kernel}"
initrd = "{initrd}"
arguments = "run=/bin/use"
{linux_keys}

[[channel]]
name = "commands"
from = "{source}"
to = "{target}"
size = "64 KiB"
{way} = ["linux"]
"""
# A command that does not end in time has the status 143, one that crashes a larger one than 128.
_SCRIPT = """
dmesg -n 1
echo 110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id
echo "script: functions" $(ls /sys/bus/pci/devices)
until bulkhead-channel receive commands -t 20 -n 100 > /dev/null; do sleep 1; done
echo "script: begins"
turn=0
while [ $turn -lt {turns} ]; do
    timeout 20 bulkhead-channel receive commands -t 1 -n 300 > /dev/null
    echo "script: receive ended with $?"
    seq 300 | timeout 20 bulkhead-channel send commands -t 1
    echo "script: send ended with $?"
    timeout 20 bulkhead-channel bench commands -t 1 -n 300 > /dev/null
    echo "script: bench ended with $?"
    turn=$((turn + 1))
done
echo "script: was attacked"
sleep 5
until bulkhead-channel receive commands -t 20 -n 1500 > /dev/null; do sleep 1; done
echo "script: received"
seq 2000 | bulkhead-channel send commands -t 20 && echo "script: sent"
echo "script: doorbells" $(grep uio /proc/interrupts)
echo "script: the end"
sleep 2
"""
_BOOT_S, _PATIENCE_S, _ATTACK_S = 300, 120, 60
_RESTART = "\x1er"  # Ctrl-^ r
_CARD = 'pci = ["00:02.0"]\ndma = "smmu"'


def shared(budget: str) -> str:
    """Return the keys of a partition that shares its core."""
    return f'budget = "{budget}"\nperiod = "20 ms"'


_SHARED = (shared("4 ms"), shared("15 ms"))
_SHARED_WITH_CARD = (shared("4 ms"), shared("15 ms") + "\n" + _CARD)
_LONG = pytest.mark.long


# Kernels may have to be fetched.
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("way", "end", "cores", "keys", "turns"),
    [
        pytest.param("pci", 1, (0, "[1, 2]"), ("", ""), 10, id="direct", marks=_LONG),
        pytest.param("pci", 0, (1, "[1]"), _SHARED, 10, id="shared", marks=_LONG),
        pytest.param("pci", 1, (0, "[1, 2]"), ("", _CARD), 10, id="with-card", marks=_LONG),
        pytest.param("pci", 0, (1, "[1]"), _SHARED_WITH_CARD, 4, id="shared-with-card"),
        pytest.param("pci", 0, (1, "[1]"), _SHARED_WITH_CARD, 10, id="for-long", marks=_LONG),
        pytest.param("dax", 1, (0, "[1, 2]"), ("", ""), 10, id="dax", marks=_LONG),
    ],
)
def test_linux_and_a_malicious_kernel(
    start_guest: StartGuest,
    tmp_path: Path,
    way: str,
    end: int,
    cores: tuple[int, str],
    keys: tuple[str, str],
    turns: int,
) -> None:
    """The commands end, and say what they saw. They work with the kernel's next life. Linux may own
    a function of the board, too.

    More than 10 s: Linux boots on a shared core.
    """
    script = _SCRIPT.replace("{turns}", str(turns))
    image = linux_guest.with_script(linux_channels.prepare_command(way), "use", script)
    source, target = ("kernel", "linux") if end == 1 else ("linux", "kernel")
    text = _SYSTEM.format(
        kernel=image.kernel,
        initrd=image.initrd,
        kernel_core=cores[0],
        linux_cores=cores[1],
        kernel_keys=keys[0],
        linux_keys=keys[1],
        source=source,
        target=target,
        way=way,
    )
    guest, layout = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^linux\| script: begins", _BOOT_S)
    seed = 0
    while "script: was attacked" not in guest.console():
        seed += 1
        guest.type_text(f"{seed}h")
        guest.wait_for_match(rf"(?m)^kernel\| channel: attacked with seed {seed}\b", _ATTACK_S)
    guest.type_text(_RESTART)
    guest.wait_for_match(r"(?m)^linux\| script: the end", _PATIENCE_S)
    console = guest.console()
    ends = re.findall(r"(?m)^linux\| script: (\w+) ended with (\d+)", console)
    assert len(ends) == 3 * turns
    assert {int(status) for _, status in ends} <= {0, 1, 2}
    seen = re.findall(r"(?m)^linux\| bulkhead-channel: (the peer's|the length of) ", console)
    assert seen
    assert "no error" not in console
    for line in ("script: received", "script: sent"):
        assert f"linux| {line}\n" in console.replace("\r", "")
    doorbells = re.search(r"(?m)^linux\| script: doorbells \d+: (\d+)", console)
    assert doorbells is not None
    assert int(doorbells[1]) > 0
    functions = re.search(r"(?m)^linux\| script: functions (.*)$", console)
    assert functions is not None
    if _CARD in keys[1]:
        assert "linux| linux: network up at " in console
        assert len({each[:4] for each in functions[1].split()}) == 2  # domains
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))
