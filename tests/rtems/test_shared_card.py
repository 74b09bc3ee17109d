# SPDX-License-Identifier: BSD-2-Clause
"""RTEMS behind another partition's network card: a client of a shared device.

RTEMS finds the device in the devicetree of its partition. The back-end, our kernel's or Linux', is
killed while bytes are echoed, and RTEMS is restarted.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.demo_client import DemoClient, ping
from support.echo_stream import assert_pauses
from support.rtems_sample import StartGuest, iperf_both_ways

from bulkhead.paths import ROOT
from bulkhead.peers import rtems
from bulkhead.running.guest import GuestProcess
from bulkhead.running.network import Namespace, Tap
from bulkhead.running.qemu import TapNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import mac, machine

pytestmark = pytest.mark.skipif(
    rtems.find() is None, reason=f"no RTEMS: {rtems.PREFIX} names no folder"
)

_MAC = "02:00:00:00:00:20"
# The owner of the card.
_KERNEL = """cores = [1]
memory = "32 MiB"
image = "backend"
"""
_LINUX = """cores = [1, 2]
memory = "256 MiB"
image = "linux-backend"
arguments = "quiet serve=/bin/backend shell"
"""
_SYSTEM = """board = "qemu-virt"

[[partition]]
name = "net"
{owner}pci = ["00:02.0"]
dma = "smmu"
console = "interactive"

[[partition]]
name = "rtems"
cores = [0]
memory = "130 MiB"
image = "rtems"
{keys}

[[shared_device]]
name = "lan"
kind = "net"
client = "rtems"
backend = "net"
{access}
mac = "{mac}"
dax = {dax}
"""
_ALL = 'access = "all"'
_NEXT_PARTITION, _RESTART, _STOP = "\x1d", "\x1er", "\x1es"  # Ctrl-], Ctrl-^ r, Ctrl-^ s
_PATIENCE_S, _BOOT_S = 120, 300
_KILLS = 5
_DATA = bytes(i * 7 % 251 for i in range(3_000_000))


class _Run:
    """A running system. The terminal has the back-end at first."""

    def __init__(
        self,
        start_guest: StartGuest,
        folder: Path,
        namespace: Namespace,
        owner: str = _KERNEL,
        keys: str = "",
        access: str = _ALL,
    ) -> None:
        """Boots the system, until RTEMS has its address. `keys`: of its partition."""
        dax = "true" if owner == _LINUX else "false"
        file = folder / "system.toml"
        text = _SYSTEM.format(owner=owner, mac=_MAC, keys=keys, dax=dax, access=access)
        file.write_text(text)
        system, board = read(str(file))
        image = assemble(system, board, Settings()).image
        card = namespace.add_tap(mac(0))
        station = namespace.add_station(_MAC)
        namespace.serve_addresses()
        self.namespace = namespace
        # RTEMS's addresses, behind the card's interface.
        self.tap: Tap = replace(card, mac=station.mac, address=station.address)
        self.guest: GuestProcess = start_guest(
            machine(system, board, image, lambda _: TapNetwork(card.interface)), namespace.prefix
        )
        if owner == _LINUX:
            self.guest.wait_for_match(r"(?m)^net\| .*bulkhead-backend: link up", _BOOT_S)
        self.guest.wait_for_match(f"(?m)^{self._address}", _PATIENCE_S)
        self.client = DemoClient(station.address, namespace=namespace.name)

    @property
    def _address(self) -> str:
        """The line by which RTEMS says that it has its address."""
        return rf"rtems\|.* net: address {re.escape(self.tap.address)}"

    def says(self, text: str) -> None:
        """Wait for a line after the line that was matched last."""
        self.guest.wait_for_next_match(f"(?m)^{text}", _PATIENCE_S)

    def restart_rtems(self) -> None:
        """Restart RTEMS, which has the terminal, until it has its address again."""
        self.guest.type_text(_RESTART)
        self.says(self._address)

    def kill(self) -> None:
        """Restart the partition with our kernel's back-end, which has no part in it."""
        self.guest.type_text(_RESTART)
        self.says(r"net\| backend: lan: rtems, .*, link up")

    def pull_the_cable(self) -> None:
        """Stop the partition with our kernel's back-end for good, and start it again."""
        self.guest.type_text(_STOP)
        self.says(r"bulkhead\| net is stopped")
        self.kill()

    def kill_the_process(self) -> None:
        """Kill the process of Linux that is the back-end. It is started again."""
        self.guest.type_text("killall -9 bulkhead-backend\r")
        self.says(r"net\| .*backend: ended with 137")
        self.says(r"net\| .*bulkhead-backend: link up")

    def counter(self, name: str) -> int:
        """Return a number that RTEMS's command prints. The terminal has RTEMS afterwards."""
        self.guest.type_text("vnetstat\n")
        self.says(r"rtems\| +device restarts")
        return int(re.findall(rf"(?m)^rtems\|  *{name} +(\d+)", self.guest.console())[-1])


def assert_no_restart(run: _Run) -> None:
    """Check the driver's counters: to RTEMS, the events were pauses. The terminal has RTEMS
    afterwards."""
    run.guest.type_text(_NEXT_PARTITION)
    for name in ("device restarts", "bad frames", "frames dropped"):
        assert run.counter(name) == 0
    assert run.counter("interrupts") > 0


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("access", "keys"),
    [
        pytest.param(_ALL, "", id="direct"),
        pytest.param(_ALL, 'interrupts = "listed"', id="listed"),
        pytest.param('pool = "4 MiB"', "", id="pool"),
        pytest.param('pool = "256 KiB"', "", id="smallest-pool"),
    ],
)
def test_rtems_behind_a_shared_card(
    start_guest: StartGuest, log_folder: Path, namespace: Namespace, access: str, keys: str
) -> None:
    """More than 10 s: the back-end is killed again and again."""
    run = _Run(start_guest, log_folder, namespace, keys=keys, access=access)
    ping(namespace, run.tap.address, 5)
    assert run.client.echo(_DATA) == _DATA
    iperf_both_ways(run.guest, namespace, run.tap)
    assert_pauses(run.client, [*[run.kill] * _KILLS, run.pull_the_cable])
    assert_no_restart(run)
    run.restart_rtems()
    assert run.client.echo(_DATA) == _DATA
    assert "rtems is stopped: core" not in run.guest.console()


# A kernel may have to be fetched.
@pytest.mark.timeout(1200)
def test_rtems_behind_the_card_of_a_linux(
    start_guest: StartGuest, log_folder: Path, namespace: Namespace
) -> None:
    """More than 10 s: Linux boots, and its process is killed again and again."""
    run = _Run(start_guest, log_folder, namespace, _LINUX)
    ping(namespace, run.tap.address, 5)
    assert run.client.echo(_DATA) == _DATA
    iperf_both_ways(run.guest, namespace, run.tap)
    assert_pauses(run.client, [run.kill_the_process] * _KILLS)
    assert_no_restart(run)


@pytest.mark.timeout(600)
def test_system_of_three_clients(start_guest: StartGuest, namespace: Namespace) -> None:
    """The system `with-rtems` of `shared-card`. More than 10 s: Linux boots."""
    system, board = read(str(ROOT / "systems/shared-card/with-rtems.toml"))
    image = assemble(system, board, Settings()).image
    card = namespace.add_tap(mac(0))
    stations = {
        each.client: namespace.add_station(each.mac.hex(":")) for each in system.shared_devices
    }
    namespace.serve_addresses()
    guest = start_guest(
        machine(system, board, image, lambda _: TapNetwork(card.interface)), namespace.prefix
    )
    address = re.escape(stations["rtems"].address)
    for line in (rf"rtems\|.* net: address {address}", r"services\| demo: http on 80"):
        guest.wait_for_match(f"(?m)^{line}", _PATIENCE_S)
    guest.wait_for_match(r"(?m)^linux\| linux: ready", _BOOT_S)
    for station in stations.values():
        ping(namespace, station.address, 2)
    for client in ("rtems", "services"):
        demo = DemoClient(stations[client].address, namespace=namespace.name)
        assert demo.echo(_DATA) == _DATA
