# SPDX-License-Identifier: BSD-2-Clause
"""Prepare the Linux guest that serves shared network devices: bulkhead-backend, and a bridge."""

from __future__ import annotations

from bulkhead.paths import ROOT
from bulkhead.peers import linux_guest
from bulkhead.peers.linux_guest import LinuxImage

_BACKEND = ROOT / "backend"
_CHANNEL = ROOT / "channel/linux"
_DRIVER = "uio_pci_generic"
_MODULES = [_DRIVER, "of_pmem", "nd_pmem", "device_dax", "dax_pmem", "tun", "bridge"]
# Connects the card with the clients, and starts the program again when it ends: at once after a
# kill (137 is 128 and SIGKILL), else after a pause. The bridge gets the card's address, by which
# the network knows this machine. The processes of iperf have started with an address that is the
# bridge's then.
_SCRIPT = f"""
echo 1af4 10f0 > /sys/bus/pci/drivers/{_DRIVER}/new_id
brctl addbr br0
if [ -e /sys/class/net/eth0 ]; then
    address=$(ip -4 addr show dev eth0 | sed -n 's|.* inet \\([0-9.]*/[0-9]*\\) .*|\\1|p')
    router=$(ip route | sed -n 's|^default via \\([0-9.]*\\) .*|\\1|p')
    ip addr flush dev eth0
    brctl addif br0 eth0
    if [ -n "$address" ]; then ip addr add "$address" dev br0; fi
fi
ip link set br0 up
if [ -n "$router" ]; then ip route add default via "$router"; fi
(
    until [ -e /sys/class/net/tap0 ]; do sleep 0.1; done
    brctl addif br0 tap0
    ip link set tap0 up
    echo "backend: tap0 is in the bridge"
) &
while true; do
    bulkhead-backend --tap tap0 "$@"
    status=$?
    echo "backend: ended with $status"
    if [ $status != 137 ]; then sleep 0.1; fi
done
"""


def prepare() -> LinuxImage:
    """Return a guest with the program. It runs with the argument serve=/bin/backend."""
    image = linux_guest.with_modules(linux_guest.prepare_dax(), _MODULES)
    folders = [_BACKEND / each for each in ("linux", "network", "page", "switch")]
    folders.append(ROOT / "virtio/device")
    sources = [path for folder in folders for path in sorted(folder.glob("*.c"))]
    sources += [_CHANNEL / f"{name}.c" for name in ("dax", "lock", "pci_function")]
    includes = [
        _BACKEND / "include", _BACKEND / "linux", _CHANNEL, ROOT / "virtio/include",
        ROOT / "virtio", ROOT / "arch/include", ROOT / "kernel/include",
    ]  # fmt: skip
    image = linux_guest.with_program(image, "bulkhead-backend", sources, includes)
    return linux_guest.with_script(image, "backend", _SCRIPT)
