# SPDX-License-Identifier: BSD-2-Clause
"""Describe guest machines, and make the QEMU command lines for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bulkhead.setup import qemu_program

TRANSPORTS = ("mmio", "pci")
MAC = "52:54:00:12:34:56"

# With these off, neither the device nor the host's network code touches checksums and segments.
_OFFLOADS = (
    "csum", "guest_csum", "gso", "guest_tso4", "guest_tso6", "guest_ecn", "guest_ufo",
    "guest_uso4", "guest_uso6", "host_tso4", "host_tso6", "host_ecn", "host_ufo", "host_uso",
    "mrg_rxbuf",
)  # fmt: skip
NO_OFFLOADS = dict.fromkeys(_OFFLOADS, "off")


def escape(value: object) -> str:
    """Return a value for use inside an option of QEMU, where commas are doubled."""
    return str(value).replace(",", ",,")


@dataclass(frozen=True)
class Forward:
    """A port of 127.0.0.1 that is forwarded to a port of a guest.

    Without an address it is the guest to which QEMU's DHCP server gives its first one.
    """

    guest_port: int
    host_port: int
    address: str = ""


@dataclass(frozen=True)
class UserNetwork:
    """QEMU's own network stack, with DHCP and forwarded ports; it needs no privileges."""

    forwards: Sequence[Forward] = ()
    further: Mapping[str, str] = field(default_factory=dict)  # options of QEMU

    def options(self, identity: str) -> list[str]:
        """Return the -netdev options."""
        further = "".join(f",{name}={escape(value)}" for name, value in self.further.items())
        forwards = "".join(
            f",hostfwd=tcp:127.0.0.1:{each.host_port}-{each.address}:{each.guest_port}"
            for each in self.forwards
        )
        return ["-netdev", f"user,id={identity}{forwards}{further}"]


@dataclass(frozen=True)
class TapNetwork:
    """An existing tap device."""

    interface: str
    vnet_header: bool = True

    def options(self, identity: str) -> list[str]:
        """Return the -netdev options."""
        header = "" if self.vnet_header else ",vnet_hdr=off"
        return [
            "-netdev",
            f"tap,id={identity},ifname={self.interface},script=no,downscript=no,vhost=off{header}",
        ]


@dataclass(frozen=True)
class DatagramNetwork:
    """A pair of Unix sockets on which each datagram is a frame, for a test to read and write."""

    local: Path
    remote: Path

    def options(self, identity: str) -> list[str]:
        """Return the -netdev options."""
        return [
            "-netdev",
            f"dgram,id={identity},local.type=unix,local.path={escape(self.local)},"
            f"remote.type=unix,remote.path={escape(self.remote)}",
        ]


@dataclass(frozen=True)
class HubNetwork:
    """Several networks on one wire, such as user networking and a test's datagram socket."""

    parts: Sequence[UserNetwork | DatagramNetwork | TapNetwork]

    def options(self, identity: str) -> list[str]:
        """Return the -netdev options."""
        result: list[str] = []
        for number, part in enumerate(self.parts):
            result += part.options(f"{identity}part{number}")
            result += [
                "-netdev",
                f"hubport,id={identity}port{number},hubid=0,netdev={identity}part{number}",
            ]
        return [*result, "-netdev", f"hubport,id={identity},hubid=0"]


@dataclass(frozen=True)
class PortNetwork:
    """A network, and a PCI Express root port for its card, whose option `bus` names the port."""

    inner: TapNetwork
    port: str

    def options(self, identity: str) -> list[str]:
        """Return the -netdev options, and the port, which must stand before its card."""
        port = ["-device", f"pcie-root-port,id={self.port},chassis=1"]
        return [*self.inner.options(identity), *port]


Network = UserNetwork | TapNetwork | DatagramNetwork | HubNetwork | PortNetwork


@dataclass(frozen=True)
class NetworkCard:
    """A virtio network device."""

    network: Network
    transport: str = "pci"
    mac: str = MAC
    options: dict[str, str] = field(default_factory=dict)

    def arguments(self, number: int) -> list[str]:
        """Return its options on the command line."""
        if self.transport == "mmio":
            device = "virtio-net-device"
        else:
            # Without romfile= QEMU needs a network boot ROM, which is in another package.
            device = "virtio-net-pci,disable-legacy=on,romfile="
        options = "".join(f",{name}={escape(value)}" for name, value in self.options.items())
        return [
            *self.network.options(f"net{number}"),
            "-device",
            f"{device},id=nic{number},netdev=net{number},mac={self.mac}{options}",
        ]


@dataclass(frozen=True)
class Machine:
    """A guest machine."""

    image: Path
    boot_arguments: Sequence[str] = ()
    cards: Sequence[NetworkCard] = ()
    machine: str = "virt,gic-version=3"
    cpu: str = "cortex-a53"
    cpus: int = 1
    memory_mib: int = 128
    initrd: Path | None = None
    icount: bool = False
    icount_shift: int = 0  # with icount an instruction takes 2 to this power nanoseconds
    semihosting: bool = True
    extra: Sequence[str] = ()
    # The content of the flash, which executes at EL3 and finds the image where `extra` has it.
    firmware: Path | None = None

    def arguments(self, console: Sequence[str], qmp: int | None = None) -> list[str]:
        """Return QEMU's path and its arguments.

        `console` holds the options for the serial line. `qmp` is a connected socket for the machine
        protocol.
        """
        command = [
            str(qemu_program.path()),
            "-M", self.machine,
            "-cpu", self.cpu,
            "-smp", str(self.cpus),
            "-m", f"{self.memory_mib}M",
            "-nodefaults",
            "-display", "none",
            "-no-reboot",
            "-global", "virtio-mmio.force-legacy=false",
            *(["-bios", str(self.firmware)] if self.firmware else ["-kernel", str(self.image)]),
        ]  # fmt: skip
        if self.initrd:
            command += ["-initrd", str(self.initrd)]
        if self.boot_arguments:
            command += ["-append", " ".join(self.boot_arguments)]
        if self.semihosting:
            command += ["-semihosting-config", "enable=on,target=native"]
        if self.icount:
            command += ["-icount", f"shift={self.icount_shift},sleep=off"]
        for number, card in enumerate(self.cards):
            command += card.arguments(number)
        command += console
        if qmp is not None:
            command += ["-chardev", f"socket,id=qmp,fd={qmp}", "-mon", "chardev=qmp,mode=control"]
        return [*command, *self.extra]
