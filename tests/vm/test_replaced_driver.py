# SPDX-License-Identifier: BSD-2-Clause
"""The polled driver takes the place of one that fails in a partition, as its system file says.

The card of the partition fails again and again with the ordinary driver. Clients that ask for pages
meanwhile notice pauses: the partition does not restart, and no connection is reset. A control loop
beside it has no exit.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.demo_client import DemoClient, assert_buffers_balance
from support.device_monitor import DeviceMonitor, defective, wait_until
from support.http_clients import ask_meanwhile
from support.written_system import StartGuest, reports

from bulkhead.running.network import Namespace
from bulkhead.running.qemu import MAC, TapNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_PATIENCE_S = 60
_POLLED = "net: the device was restarted with the polled driver, every 500 us"
_NET, _LOOP = 0, 1  # partitions
_SYSTEM = """board = "qemu-virt"
[[partition]]
name = "net"
cores = [0]
memory = "32 MiB"
image = "demo"
arguments = "ip={address}/24"
pci = ["00:02.0"]
dma = "smmu"
{keys}
[partition.driver]
alternative = "polled"
failures = "2 in 60 s"
period = "500 us"
budget = "100 us"
retry = "never"
[[partition]]
name = "loop"
cores = [1]
memory = "16 MiB"
image = "control"
arguments = "report=0"
"""


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param("", id="direct"),
        pytest.param('interrupts = "listed"', id="listed", marks=pytest.mark.long),
    ],
)
def test_polled_driver_takes_over_in_a_partition(
    start_guest: StartGuest,
    tmp_path: Path,
    namespace: Namespace,
    monitor: DeviceMonitor,
    keys: str,
) -> None:
    tap = namespace.add_tap(MAC)
    file = tmp_path / "system.toml"
    file.write_text(_SYSTEM.format(address=tap.address, keys=keys))
    system, board = read(str(file))
    assembled = assemble(system, board, Settings())
    network = TapNetwork(tap.interface)
    made = machine(system, board, assembled.image, lambda _: network, monitor.arguments)
    guest = start_guest(made, namespace.prefix)
    guest.wait_for_match(r"(?m)^net\| demo: http on 80", _PATIENCE_S)
    monitor.attach(guest)
    place = assembled.layout.places[_NET]
    monitor.memory_offset = place.physical - place.memory.start
    before = reports(guest, assembled.layout)[_LOOP].exits

    def fail() -> None:
        with defective(monitor, both=False):
            wait_until(lambda: _POLLED in guest.console(), "the polled driver", _PATIENCE_S)

    counts = ask_meanwhile(namespace, tap.address, [fail])
    assert counts.failed == []
    assert "net is stopped" not in guest.console()
    status = DemoClient(tap.address, namespace=namespace.name).quiet_status()
    assert_buffers_balance(status)
    assert status["network"]["driver_name"] == "virtio-net polled"
    assert status["network"]["replacements"] == 1
    assert any(each["name"] == "net-polled" for each in status["vcpus"])
    net, loop = reports(guest, assembled.layout)
    assert net.starts == 1
    assert loop.exits == before
