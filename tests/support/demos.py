# SPDX-License-Identifier: BSD-2-Clause
"""Start demo guests, and return clients that reach them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from bulkhead.running.guest import GuestProcess
from bulkhead.running.network import Namespace
from bulkhead.running.ports import free_ports
from bulkhead.running.qemu import (
    MAC,
    Forward,
    Machine,
    Network,
    NetworkCard,
    PortNetwork,
    TapNetwork,
    UserNetwork,
)
from support.demo_client import DISCARD, ECHO, HTTP, IPERF, DemoClient

StartGuest = Callable[..., GuestProcess]
FindImage = Callable[[str], Path]
READY = "demo: http on 80"
# PCI with MSI-X through the interrupt translation service, PCI with INTx, MMIO.
BUSES = {"msix": ("pci", ()), "intx": ("pci", ("-machine", "its=off")), "mmio": ("mmio", ())}


class Demos:
    """Starts demo guests for one test."""

    def __init__(self, start_guest: StartGuest, image: FindImage) -> None:
        self._start = start_guest
        self._image = image("demo")
        self.guest: GuestProcess

    def _boot(
        self,
        card: NetworkCard,
        arguments: tuple[str, ...],
        extra: tuple[str, ...],
        prefix: list[str],
    ) -> None:
        machine = Machine(self._image, ("exit=semihosting", *arguments), [card], extra=extra)
        self.guest = self._start(machine, prefix)
        self.guest.wait_for(READY, 60)

    def user(
        self,
        bus: str = "msix",
        options: dict[str, str] | None = None,
        arguments: tuple[str, ...] = (),
        *,
        transport: str = "",
        extra: tuple[str, ...] = (),
    ) -> DemoClient:
        """Start a guest on QEMU's user network; `transport` and `extra` replace those of the
        bus."""
        if not transport:
            transport, extra = BUSES[bus]
        ports = dict(zip((ECHO, DISCARD, HTTP, IPERF), free_ports(4), strict=True))
        network = UserNetwork([Forward(inside, outside) for inside, outside in ports.items()])
        self._boot(NetworkCard(network, transport, options=options or {}), arguments, extra, [])
        return DemoClient(ports=ports)

    def tap(
        self,
        namespace: Namespace,
        bus: str = "msix",
        options: dict[str, str] | None = None,
        arguments: tuple[str, ...] = (),
        *,
        extra: tuple[str, ...] = (),
        port: str = "",
    ) -> DemoClient:
        """Start a guest on a tap in a namespace. `extra` is added to the arguments of the bus.
        `port` names a root port in front of the card."""
        transport, machine = BUSES[bus]
        tap = namespace.add_tap(MAC)
        namespace.serve_addresses()
        wire = TapNetwork(tap.interface)
        network: Network = PortNetwork(wire, port) if port else wire
        if port:
            options = {**(options or {}), "bus": port}
        card = NetworkCard(network, transport, tap.mac, options or {})
        self._boot(card, arguments, (*machine, *extra), namespace.prefix)
        return DemoClient(tap.address, namespace=namespace.name)


def pattern(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)
