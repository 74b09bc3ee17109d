# SPDX-License-Identifier: BSD-2-Clause
"""Run a system with a manager, two network guests of which one is the other's standby, and a
control loop that nothing may disturb."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from bulkhead.managing.partitions import Answer, Command, Requests
from bulkhead.running import machine_memory
from bulkhead.running.guest import GuestProcess
from bulkhead.running.network import Namespace
from bulkhead.running.qemu import MAC, TapNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.layout import Layout
from bulkhead.system.machine import machine
from bulkhead.system.model import PciAddress
from support.rogue_system import Way
from support.written_system import StartGuest, reports

NET, STANDBY, LOOP = 1, 2, 3  # partitions
CARD = PciAddress(0, 2, 0)
READY = "demo: http on 80"
_PATIENCE_S = 60

# The manager, and a guest whose keys follow.
MANAGER = """board = "qemu-virt"
[[partition]]
name = "manager"
cores = [0]
memory = "16 MiB"
image = "manager"
manager = true
staging = "1 MiB"
console = "interactive"
"""
GUEST = """[[partition]]
name = "{name}"
cores = [{core}]
memory = "32 MiB"
kept = "1 MiB"
image = "{image}"
dma = "smmu"
arguments = "ip={address}/24"
{keys}
[partition.health]
{table}
restarts = "16 in 1 s"
"""
_LOOP = """[[partition]]
name = "loop"
cores = [3]
memory = "16 MiB"
image = "control"
arguments = "report=0"
console = "none"
"""
_ERRORS = ("memory_violation", "panic")
_NEXT_PARTITION = "\x1d"
_BUDGET = 'budget = "4 ms"\nperiod = "10 ms"'
# The core of the standby, and keys of both guests.
_WAYS = {
    Way.DIRECT: (2, ""),
    Way.LISTED: (2, 'interrupts = "listed"'),
    Way.SHARED: (1, _BUDGET),
}


def requests_to(layout: Layout, memory: Path) -> Requests:
    """Return the requests to the manager of a running machine. `memory`: the machine's."""
    staging = layout.places[0].staging
    assert staging is not None
    start = layout.places[0].staging_physical - layout.board.memory
    mapped = machine_memory.map_range(memory, start, staging.bytes)
    return Requests(mapped, len(layout.places))


class FailoverRun:
    """A running system."""

    def __init__(
        self,
        start_guest: StartGuest,
        folder: Path,
        namespace: Namespace,
        way: Way = Way.DIRECT,
        extra: Sequence[str] = (),
        image: str = "demo",
        guest_keys: str = "",
        errors: Sequence[str] = _ERRORS,
    ) -> None:
        """Boots the system. `image`, `guest_keys`: of both guests. `errors`: those that let the
        standby take over."""
        tap = namespace.add_tap(MAC)
        core, keys = _WAYS[way]
        keys = f"{keys}\n{guest_keys}"
        owner = f'pci = ["{CARD}"]\nstandby = "net2"\n{keys}'
        table = "\n".join(f'{error} = "failover"' for error in errors)
        guests = [("net", 1, owner), ("net2", core, keys)]
        file = folder / "system.toml"
        file.write_text(
            MANAGER
            + "".join(
                GUEST.format(
                    name=name, core=core, address=tap.address, image=image, keys=own, table=table
                )
                for name, core, own in guests
            )
            + _LOOP
        )
        system, board = read(str(file))
        assembled = assemble(system, board, Settings())
        memory = folder / "memory"
        made = machine(
            system,
            board,
            assembled.image,
            lambda _: TapNetwork(tap.interface),
            (*machine_memory.options(memory, board.memory_bytes), *extra),
        )
        self.address = tap.address
        self.layout = assembled.layout
        self.guest: GuestProcess = start_guest(made, namespace.prefix)
        self.guest.wait_for_match(r"(?m)^manager\| manager: listens", _PATIENCE_S)
        self.guest.wait_for_match(rf"(?m)^net\| {READY}", _PATIENCE_S)
        self.guest.wait_for_match(r"(?m)^net2\| standby: waits", _PATIENCE_S)
        self._requests = requests_to(self.layout, memory)

    def give(self, partition: int) -> Answer:
        """Move the card to a partition."""
        return self._requests.give(CARD.number, partition)

    def order(self, command: Command, partition: int) -> Answer:
        return self._requests.order(command, partition)

    def type_to(self, name: str, line: str) -> None:
        """Type a line on the console of a partition."""
        for _ in self.layout.places:
            self.guest.type_text(_NEXT_PARTITION)
            if self.says(r"bulkhead\| the input is for ").endswith(f" {name}"):
                break
        self.guest.type_text(f"{line}\n")

    def says(self, text: str) -> str:
        """Wait for a line after the line that was matched last. Return the line."""
        return self.guest.wait_for_next_match(rf"(?m)^{text}", _PATIENCE_S)

    def count(self, line: str) -> int:
        """Return how often a line was printed."""
        return self.guest.console().count(line)

    def wait_for_count(self, line: str, count: int) -> None:
        """Wait until a line was printed so often."""
        end = time.monotonic() + _PATIENCE_S
        while self.count(line) < count:
            assert time.monotonic() < end, f"{line!r} was not printed {count} times"
            time.sleep(0.01)

    def exits_of_loop(self) -> dict[str, int]:
        """Return the exits of the control loop's core."""
        return reports(self.guest, self.layout)[LOOP].exits
