# SPDX-License-Identifier: BSD-2-Clause
"""Instructions from entry to the first thread and to an address from DHCP; size of image and RAM.

The machine counts instructions (QEMU's icount, one instruction a virtual nanosecond), so the
numbers are the same on every run and every host.
"""

from __future__ import annotations

import re

from bulkhead.bench import BenchContext, BenchResult, Number
from bulkhead.build import Variant, guest_image
from bulkhead.guest import GuestProcess
from bulkhead.qemu import TRANSPORTS, Machine, NetworkCard, UserNetwork

_LINES = {
    "instructions_to_first_thread": r"boot: first thread after (\d+) ns",
    "instructions_to_dhcp": r"boot: dhcp after (\d+) ns",
    "ram_bytes": r"boot: ram (\d+) bytes in use",
}
_BOOT_TIMEOUT_S = 120


def run(context: BenchContext) -> BenchResult:
    """Boot the demo once with each transport; the summary is that of PCI, what `run` uses."""
    context.require("run")
    folder = context.build(Variant("arm64"))
    image = guest_image("demo", folder=folder)
    runs: list[dict[str, Number | str]] = []
    for transport in TRANSPORTS:
        context.say(f"booting with {transport}")
        machine = Machine(
            image,
            boot_arguments=["exit=semihosting"],
            cards=[NetworkCard(UserNetwork(), transport)],
            icount=True,
        )
        with GuestProcess(machine, context.folder / f"{transport}.log") as guest:
            numbers = {name: _number(guest, pattern) for name, pattern in _LINES.items()}
        runs.append({"transport": transport, **numbers, "image_bytes": image.stat().st_size})
    chosen = next(each for each in runs if each["transport"] == "pci")
    summary = {name: value for name, value in chosen.items() if not isinstance(value, str)}
    return BenchResult(summary, runs)


def _number(guest: GuestProcess, pattern: str) -> int:
    """The number in a line of the console; lines may come in any order."""
    text = guest.wait_for_match(pattern, _BOOT_TIMEOUT_S)
    found = re.search(pattern, text)
    assert found is not None
    return int(found.group(1))
