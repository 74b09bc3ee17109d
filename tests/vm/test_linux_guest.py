# SPDX-License-Identifier: BSD-2-Clause
"""The Linux guest reports the result of its network configuration.

With and without DHCP.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.demos import StartGuest

from bulkhead.peers import linux_guest
from bulkhead.running.qemu import DatagramNetwork, Machine, Network, NetworkCard, UserNetwork


def linux(network: Network) -> Machine:
    image = linux_guest.prepare()
    return Machine(
        image.kernel,
        ["quiet"],
        [NetworkCard(network)],
        memory_mib=256,
        initrd=image.initrd,
        semihosting=False,
    )


def test_address_by_dhcp(start_guest: StartGuest) -> None:
    guest = start_guest(linux(UserNetwork()))
    guest.wait_for("linux: ready", 60)
    assert "linux: network up at 10.0.2.15\n" in guest.console()
    assert "DHCP gave no address" not in guest.console()


@pytest.mark.long
def test_no_dhcp_server(start_guest: StartGuest, tmp_path: Path) -> None:
    """More than 10 s: the client waits for a server."""
    guest = start_guest(linux(DatagramNetwork(tmp_path / "guest", tmp_path / "nobody")))
    guest.wait_for("linux: ready", 60)
    assert "linux: DHCP gave no address\n" in guest.console()
    assert "network up" not in guest.console()
