# SPDX-License-Identifier: BSD-2-Clause
"""bulkhead-channel in Linux, with a kernel at the other end of the channel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.written_system import StartGuest, boot, reports

from bulkhead.paths import ROOT
from bulkhead.peers import linux_guest

_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "kernel"
cores = [0]
memory = "16 MiB"
image = "channel-echo"

[[partition]]
name = "linux"
cores = [1, 2]
memory = "256 MiB"
image = "linux"
initrd = "{initrd}"
arguments = "run=/bin/use"

[[channel]]
name = "commands"
from = "kernel"
to = "linux"
size = "64 KiB"
pci = ["linux"]
"""
# A life for each line: the kernel connects with each, and drops what is no measurement.
_SCRIPT = """
bulkhead-channel send commands early
echo 110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id
bulkhead-channel send none word
bulkhead-channel bench commands -n 100000 -s 8 -t 60 && echo "script: bench 8 done"
bulkhead-channel bench 0000:00:00.0 -n 500 -s 16000 -t 60 && echo "script: bench 16000 done"
bulkhead-channel send commands -t 60 one two three && echo "script: sent"
seq 20000 | bulkhead-channel send commands -t 60 && echo "script: sent lines"
bulkhead-channel receive commands -t 1 -n 1; echo "script: receive ended with $?"
bulkhead-channel stat commands
echo "script: the end"
"""
_PROGRAM = ("*.c", "linux/*.c", "linux/command/*.c")
_INCLUDES = ("include", "linux/include", "linux", "linux/command")
_BOOT_S, _PATIENCE_S = 300, 120


def counters(console: str) -> dict[str, list[int]]:
    """Returns the last table of `stat`: the counters of both ends by name."""
    rows = re.findall(r"(?m)^linux\| ([a-z ]{16}) +(\d+) +(\d+)\s*$", console)
    return {name.strip(): [int(first), int(second)] for name, first, second in rows}


@pytest.mark.timeout(600)
def test_linux_and_a_kernel(start_guest: StartGuest, tmp_path: Path) -> None:
    folder = ROOT / "channel"
    sources = [path for pattern in _PROGRAM for path in sorted(folder.glob(pattern))]
    image = linux_guest.with_modules(linux_guest.prepare(), ["uio_pci_generic"])
    image = linux_guest.with_program(
        image, "bulkhead-channel", sources, [folder / name for name in _INCLUDES]
    )
    image = linux_guest.with_script(image, "use", _SCRIPT)
    guest, layout = boot(start_guest, tmp_path, _SYSTEM.format(initrd=image.initrd))
    guest.wait_for_match(r"(?m)^linux\| script: the end", _BOOT_S)
    console = guest.console()
    for line in (
        "bulkhead-channel: 0000:00:00.0 is not bound to uio_pci_generic: ",
        "bulkhead-channel: there is no PCI function or channel 'none'",
        "throughput: 100000 messages of 8 bytes in ",
        "script: bench 8 done",
        "throughput: 500 messages of 16000 bytes in ",
        "script: bench 16000 done",
        "script: sent",
        "script: sent lines",
        "script: receive ended with 1",
    ):
        assert f"linux| {line}" in console
    found = counters(console)
    round_trips = 10_000
    sent = 100_000 + 500 + 2 * round_trips + 3 + 20_000
    assert found["messages sent"] == [2 * round_trips + 2, sent]
    # All that Linux sent before its last life ended has been received.
    assert found["received"] == [sent, 2 * round_trips + 2]
    assert found["errors"] == [0, 0]
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))
