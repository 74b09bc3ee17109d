# SPDX-License-Identifier: BSD-2-Clause
"""Run systems whose partitions share a network card."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from scapy.packet import Packet

from bulkhead.inspecting.network_report import PortCounters
from bulkhead.managing.partitions import Answer, Command
from bulkhead.running import machine_memory
from bulkhead.running.attach import facts_of
from bulkhead.running.network import Namespace
from bulkhead.running.qemu import MAC, TapNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine
from support.failover_system import MANAGER, requests_to
from support.seen_back_end import SeenBackEnd
from support.written_system import StartGuest

BACK_END = 1  # number of the partition
DEMO, LINUX = "10.77.0.20", "10.77.0.21"
DEMO_MAC, LINUX_MAC = "02:00:00:00:00:20", "02:00:00:00:00:21"
# The name by which the machine's monitor knows the card.
CARD = "nic0"
PATIENCE_S = 120
_SYSTEM = (
    MANAGER.replace('console = "interactive"\n', "")
    + f"""
[[partition]]
name = "net"
cores = [1]
memory = "32 MiB"
image = "backend"
pci = ["00:02.0"]
dma = "smmu"
[partition.health]
panic = "restart"
memory_violation = "restart"
restarts = "16 in 1 s"

[[partition]]
name = "demo"
cores = [2]
memory = "32 MiB"
image = "demo"
arguments = "ip={DEMO}/24"

[[partition]]
name = "linux"
cores = [3]
memory = "256 MiB"
image = "linux"
arguments = "shell address={LINUX}"
console = "interactive"

[[shared_device]]
name = "lan-demo"
kind = "net"
client = "demo"
backend = "net"
access = "all"
mac = "{DEMO_MAC}"

[[shared_device]]
name = "lan-linux"
kind = "net"
client = "linux"
backend = "net"
access = "all"
mac = "{LINUX_MAC}"
"""
)


class CardSystem:
    """A running system whose card is on a tap of the namespace."""

    def __init__(
        self,
        start_guest: StartGuest,
        folder: Path,
        namespace: Namespace,
        text: str,
        backend: int,
    ) -> None:
        """Boot the system of this text. `backend`: number of the partition."""
        tap = namespace.add_tap(MAC)
        file = folder / "system.toml"
        file.write_text(text)
        system, board = read(str(file))
        assembled = assemble(system, board, Settings())
        self.layout = assembled.layout
        self.memory = folder / "memory"
        options = machine_memory.options(self.memory, board.memory_bytes)
        made = machine(system, board, assembled.image, lambda _: TapNetwork(tap.interface), options)
        self.running = replace(
            facts_of(self.layout), memory=str(self.memory), memory_start=board.memory
        )
        self._seen = SeenBackEnd(self.running, backend, folder)
        self.guest = start_guest(made, namespace.prefix)

    def says(self, text: str) -> str:
        """Wait for a line after the line that was matched last. Return the line."""
        return self.guest.wait_for_next_match(rf"(?m)^{text}", PATIENCE_S)

    def count(self, text: str) -> int:
        """Return the number of lines that begin with this."""
        return len(re.findall(rf"(?m)^{text}", self.guest.console()))

    def ports(self) -> dict[str, PortCounters]:
        """Return what the back-end has counted, by device."""
        return self._seen.ports()

    def captured(self, client: str, meanwhile: Callable[[], None]) -> list[Packet]:
        """Capture the frames of a client, while something happens."""
        return self._seen.captured(client, meanwhile)


class SharedCard(CardSystem):
    """A running system of the demo and Linux, beside a manager."""

    def __init__(self, start_guest: StartGuest, folder: Path, namespace: Namespace) -> None:
        """Boots the system, until both clients have their addresses."""
        super().__init__(start_guest, folder, namespace, _SYSTEM, BACK_END)
        self.guest.wait_for_match(r"(?m)^manager\| manager: listens", PATIENCE_S)
        self.guest.wait_for_match(r"(?m)^demo\| demo: http on 80", PATIENCE_S)
        self.guest.wait_for_match(r"(?m)^linux\| linux: ready", PATIENCE_S)
        self._requests = requests_to(self.layout, self.memory)

    def order(self, command: Command) -> Answer:
        """Order the manager to do something with the back-end."""
        return self._requests.order(command, BACK_END)

    def wait_for_carrier(self, state: int) -> None:
        """Ask Linux until its interface has a carrier, or has none."""
        self.guest.type_text(
            f"until [ $(cat /sys/class/net/eth0/carrier) = {state} ]; do sleep 0.1; done; "
            f"echo carrier is $(cat /sys/class/net/eth0/carrier)\n"
        )
        self.says(rf"linux\| carrier is {state}")
