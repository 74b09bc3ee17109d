# SPDX-License-Identifier: BSD-2-Clause
"""Make network namespaces with taps for guests. The host's own network does not change."""

import contextlib
import ctypes
import errno
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import psutil

from bulkhead.errors import UserError
from bulkhead.running.guest import die_with_parent
from bulkhead.setup import packages

HOST_ADDRESS = "10.77.0.1"
HOST_ADDRESS_6 = "fd77::1"
_PREFIX_6 = "fd77::"
_CLONE_NEWNET = 0x40000000
_C_LIBRARY = ctypes.CDLL(None, use_errno=True)
_T = TypeVar("_T")
_NAME = re.compile(r"bulkhead-(\d+)(?:-\d+)?")


def check_tap_right() -> None:
    """Raise UserError if namespaces and taps can't be made."""
    if os.geteuid() != 0:
        raise UserError("a tap device needs root", "call with sudo, or use --net user")
    if not Path("/dev/net/tun").exists():
        raise UserError(
            "this machine has no /dev/net/tun", "load the module tun, or use --net user"
        )


def stable_address_6(mac: str) -> str:
    """Return the IPv6 address that a guest makes of our prefix and its MAC (RFC 4291, A)."""
    octets = [int(part, 16) for part in mac.split(":")]
    octets = [octets[0] ^ 2, *octets[1:3], 0xFF, 0xFE, *octets[3:]]
    groups = [f"{octets[i] << 8 | octets[i + 1]:x}" for i in range(0, 8, 2)]
    return _PREFIX_6 + ":".join(groups)


@dataclass(frozen=True)
class Station:
    """A guest on a namespace's network: its MAC, and the addresses that it gets."""

    mac: str
    address: str
    address_6: str


@dataclass(frozen=True)
class Tap(Station):
    """A tap device in a namespace, and the guest that owns its card."""

    interface: str


class Namespace:
    """A network namespace with a bridge of taps at 10.77.0.1/24 and fd77::1/64; a context manager.

    `megabits` limits the link between the taps and the host, in Mb/s each way, by a token bucket
    that queues up to 20 ms. The name contains our process id, so that remove_stale() can find the
    namespaces of killed processes.
    """

    def __init__(self, number: int = 0, megabits: int | None = None) -> None:
        self.name = f"bulkhead-{os.getpid()}" + (f"-{number}" if number else "")
        self.taps: list[Tap] = []
        self.stations: list[Station] = []  # guests without a tap of their own
        self._megabits = megabits
        self._host = "bridge0" if megabits is None else "host0"
        self._folder = Path(tempfile.mkdtemp(prefix="bulkhead-net-"))
        self._children: list[subprocess.Popen[bytes]] = []

    @property
    def prefix(self) -> list[str]:
        """The words before a command that run it inside the namespace."""
        return [_ip(), "netns", "exec", self.name]

    def __enter__(self) -> Self:
        remove_stale()
        try:
            _run(_ip(), "netns", "add", self.name)
            self._ip("link", "set", "lo", "up")
            self._ip(
                "link", "add", "bridge0", "type", "bridge", "forward_delay", "0", "stp_state", "0"
            )
            self._ip("link", "set", "bridge0", "up")
            if self._megabits is not None:
                self._add_shaped_link(self._megabits)
            self._ip("addr", "add", f"{HOST_ADDRESS}/24", "dev", self._host)
            self._ip("addr", "add", f"{HOST_ADDRESS_6}/64", "dev", self._host, "nodad")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _add_shaped_link(self, megabits: int) -> None:
        """Put a veth pair between the host and the bridge. Each end shapes the frames it sends."""
        self._ip("link", "add", self._host, "type", "veth", "peer", "name", "port0")
        self._ip("link", "set", "port0", "master", "bridge0")
        for interface in (self._host, "port0"):
            self._ip("link", "set", interface, "up")
        self.shape(megabits, "add")

    def shape(self, megabits: int, action: str = "change") -> None:
        """Change the limit of the link, which must have one."""
        for interface in (self._host, "port0"):
            done = self.run(
                [
                    _program("tc"), "qdisc", action, "dev", interface, "root", "tbf",
                    "rate", f"{megabits}mbit", "burst", "64kb", "latency", "20ms",
                ]
            )  # fmt: skip
            if done.returncode != 0:
                raise UserError(
                    f"tc can't shape a link: {done.stderr.strip()}",
                    "this needs a kernel with sch_tbf and veth",
                )

    def add_tap(self, mac: str) -> Tap:
        """Make a tap device for a guest with this MAC."""
        number = len(self.taps)
        address = f"10.77.0.{10 + number}"
        tap = Tap(mac, address, stable_address_6(mac), f"tap{number}")
        self._ip("tuntap", "add", "dev", tap.interface, "mode", "tap")
        self._ip("link", "set", tap.interface, "master", "bridge0")
        self._ip("link", "set", tap.interface, "up")
        self.taps.append(tap)
        return tap

    def add_station(self, mac: str) -> Station:
        """Keep addresses for a guest that is behind another one's tap."""
        address = f"10.77.0.{50 + len(self.stations)}"
        station = Station(mac, address, stable_address_6(mac))
        self.stations.append(station)
        return station

    def serve_addresses(self) -> None:
        """Start DHCP, with a fixed address for each guest, and IPv6 router advertisements."""
        stations = [*self.taps, *self.stations]
        reservations = [f"--dhcp-host={each.mac},{each.address}" for each in stations]
        program = packages.program("dnsmasq")
        if program is None:
            raise UserError("dnsmasq is missing", "call ./bulkhead setup tap")
        log = self._folder / "dnsmasq.log"
        self.start(
            [
                program, "--keep-in-foreground", "--conf-file=/dev/null", "--no-hosts",
                "--no-resolv", "--port=0", "--user=root", f"--interface={self._host}",
                "--bind-interfaces", "--dhcp-authoritative",
                "--dhcp-range=10.77.0.100,10.77.0.199,255.255.255.0,1h", *reservations,
                "--enable-ra", f"--dhcp-range={_PREFIX_6},ra-only",
                f"--dhcp-leasefile={self.lease_file}", "--pid-file",
                f"--log-facility={log}", "--log-dhcp",
            ]
        )  # fmt: skip

    @property
    def lease_file(self) -> Path:
        """The file in which dnsmasq records the leases."""
        return self._folder / "leases"

    def run(
        self, command: Sequence[str], timeout: float = 60.0
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside. Returns its status and output."""
        return subprocess.run(
            [*self.prefix, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )

    def start(self, command: Sequence[str], output: Path | None = None) -> subprocess.Popen[bytes]:
        """Start a command inside. It runs until it ends or the namespace is closed."""
        with (output or self._folder / "output").open("wb") as stream:
            child = subprocess.Popen(
                [*self.prefix, *command],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent(),
            )
        self._children.append(child)
        return child

    def close(self) -> None:
        """End all processes inside, and remove the namespace."""
        for child in self._children:
            if child.poll() is None:
                child.terminate()
        for child in self._children:
            try:
                child.wait(3)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        _remove(self.name)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _ip(self, *arguments: str) -> None:
        _run(_ip(), "-n", self.name, *arguments)


def in_namespace(name: str, function: Callable[[], _T]) -> _T:
    """Call a function in a thread in a network namespace. Sockets that it opens stay there."""

    def call() -> _T:
        descriptor = os.open(Path("/run/netns", name), os.O_RDONLY)
        try:
            if _C_LIBRARY.setns(descriptor, _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"setns to {name}")
        finally:
            os.close(descriptor)
        return function()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


def remove_stale() -> None:
    """Remove the namespaces of processes that have ended."""
    for name, process in _namespaces():
        if not psutil.pid_exists(process):
            _remove(name)


def remove_namespaces_of(process: int) -> None:
    """Remove the namespaces of a process."""
    for name, owner in _namespaces():
        if owner == process:
            _remove(name)


def _namespaces() -> list[tuple[str, int]]:
    """Return the names of our namespaces, and the processes that have made them."""
    names = (_NAME.fullmatch(path.name) for path in Path("/run/netns").glob("bulkhead-*"))
    return [(found.group(), int(found.group(1))) for found in names if found]


def _remove(name: str) -> None:
    if not Path("/run/netns", name).exists():
        return
    inside = subprocess.run(
        [_ip(), "netns", "pids", name], capture_output=True, text=True, check=False
    )
    for process in inside.stdout.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGKILL)
    subprocess.run([_ip(), "netns", "del", name], capture_output=True, check=False)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(
            f"'{' '.join(command)}' failed: {done.stderr.strip()}",
            "a tap in a namespace needs root and a kernel with tun and bridge; or use --net user",
        )


def _ip() -> str:
    return _program("ip")


def _program(name: str) -> str:
    found = packages.program(name)
    if found is None:
        raise UserError(f"{name} is missing", "call ./bulkhead setup tap")
    return found


def check_port_is_free(port: int, guest: str) -> None:
    """Raise UserError if QEMU can't listen on a port of 127.0.0.1; it names the port's owner.

    `guest` is the name of the guest's port in --forward.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno == errno.EACCES:
                raise UserError(
                    f"port {port} on 127.0.0.1 is reserved for root",
                    f"choose a port above 1023 with --forward {guest}=HOST",
                ) from None
            owner = _port_owner(port)
            by = f" by {owner}" if owner else ""
            raise UserError(
                f"port {port} on 127.0.0.1 is in use{by}",
                f"choose another port with --forward {guest}=HOST",
            ) from None


def _port_owner(port: int) -> str | None:
    """Return name and id of the process that listens on a TCP port, or None if they are unknown.

    Without root only the caller's own processes are known.
    """
    with contextlib.suppress(psutil.Error):
        for connection in psutil.net_connections("tcp"):
            if connection.status != psutil.CONN_LISTEN or not connection.laddr:
                continue
            if connection.laddr.port == port and connection.pid:
                return f"{psutil.Process(connection.pid).name()} (process {connection.pid})"
    return None
