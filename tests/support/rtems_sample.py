# SPDX-License-Identifier: BSD-2-Clause
"""Run a sample of virtio/ports/rtems, with either stack, in a machine with one card on a tap."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import Dot1Q, Ether

from bulkhead.measuring import side_by_side
from bulkhead.measuring.bench import BenchContext
from bulkhead.running.guest import GuestProcess
from bulkhead.running.network import HOST_ADDRESS, Namespace, Tap, in_namespace
from bulkhead.running.qemu import MAC, Machine, NetworkCard, TapNetwork
from bulkhead.settings import Settings
from support.demo_client import ECHO, DemoClient
from support.device_monitor import DeviceMonitor, wait_until

StartGuest = Callable[..., GuestProcess]
_ECHO_WORKERS = 8
_BETWEEN_KEYS_S = 0.05
_ALL_FRAMES = 3  # ETH_P_ALL
_STATION = "02:00:00:00:00:01"


def iperf_both_ways(guest: GuestProcess, namespace: Namespace, tap: Tap) -> None:
    """Check that iperf transfers data in both directions."""
    context = BenchContext("rtems", Settings(), 1, 2.0)
    rtems = side_by_side.rtems_guest(Path("unused"), {})
    running = side_by_side.Running(context, rtems, guest, namespace, tap)
    assert running.receive() > 0
    assert running.send() > 0


class RtemsSample:
    """A sample that has reported that it is ready. Its counters depend on the stack."""

    def __init__(
        self,
        program: Path,
        start: StartGuest,
        namespace: Namespace,
        monitor: DeviceMonitor,
        card: tuple[str, dict[str, str]],
        ready: str,
        qemu_machine: str = Machine.machine,
    ) -> None:
        transport, options = card
        self.namespace = namespace
        self.monitor = monitor
        self.tap: Tap = namespace.add_tap(MAC)
        namespace.serve_addresses()
        network = TapNetwork(self.tap.interface)
        machine = Machine(
            program,
            cards=[NetworkCard(network, transport, self.tap.mac, options)],
            machine=qemu_machine,
            semihosting=False,
            extra=monitor.arguments,
        )
        self.guest: GuestProcess = start(machine, namespace.prefix)
        self.guest.wait_for(ready, 60)
        self.client = DemoClient(self.tap.address, namespace=namespace.name)
        monitor.attach(self.guest)

    def type_command(self, command: str) -> None:
        """Type a command on the console, slowly: RTEMS 6 loses characters that arrive together."""
        for character in f"{command}\n":
            self.guest.type_text(character)
            time.sleep(_BETWEEN_KEYS_S)

    def reset_in_a_transfer(self, transport: str, data: bytes) -> None:
        """Reset the device without the driver's knowledge during a transfer (VIRTIO 1.3,
        2.1.2), and check that all data arrive."""
        with ThreadPoolExecutor(1) as pool:
            transfer = pool.submit(self.client.echo_in_parts, data)
            wait_until(lambda: self.client.echoed >= len(data) // 2, "data flow", 120)
            self.monitor.reset_device(transport)
            self.guest.wait_for("the device was restarted", 60)
            assert transfer.result(timeout=120) == data

    def connections_wait_for_a_worker(self) -> None:
        """Open one connection more than the echo service has tasks; it is served when another
        ends."""
        with ExitStack() as stack:
            served = [stack.enter_context(self.client.connect(ECHO)) for _ in range(_ECHO_WORKERS)]
            for connection in served:
                connection.sendall(b"a")
                assert connection.recv(1) == b"a"
            waiting = stack.enter_context(self.client.connect(ECHO, timeout=1))
            waiting.sendall(b"b")
            with pytest.raises(TimeoutError):
                waiting.recv(1)
            served[0].close()
            waiting.settimeout(20)
            assert waiting.recv(1) == b"b"

    def enlarge(self, mtu: int) -> None:
        """Let the host send and receive frames of this MTU."""
        for interface in (self.tap.interface, "bridge0"):
            done = self.namespace.run(["ip", "link", "set", interface, "mtu", str(mtu)])
            assert done.returncode == 0, done.stderr

    def first_answered(self, *vlans: int) -> int:
        """Send an echo request with a tag of each VLAN, and return the VLAN of the first answer."""

        def open_raw() -> socket.socket:
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_FRAMES))
            raw.bind((self.tap.interface, _ALL_FRAMES))
            raw.settimeout(20)
            return raw

        ether = Ether(dst=self.tap.mac, src=_STATION)
        ip = IP(src=HOST_ADDRESS, dst=self.tap.address)
        with in_namespace(self.namespace.name, open_raw) as raw:
            for vlan in vlans:
                raw.send(bytes(ether / Dot1Q(prio=5, vlan=vlan) / ip / ICMP(seq=vlan)))
            frames = (Ether(raw.recv(2048)) for _ in iter(int, 1))
            answer = next(each for each in frames if ICMP in each and each[ICMP].type == 0)
            return int(answer[ICMP].seq)
