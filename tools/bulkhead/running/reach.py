# SPDX-License-Identifier: BSD-2-Clause
"""Show the networks of a run: the services of each guest, and the commands to reach them."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bulkhead.errors import UserError
from bulkhead.running import network
from bulkhead.running.qemu import Forward, Network, TapNetwork, UserNetwork
from bulkhead.setup import packages
from bulkhead.system.images import (
    LINUX,
    LINUX_BACKEND,
    LINUX_CHANNELS,
    LINUX_FLEET,
    LINUX_MEDIA,
    RTEMS,
)

_Row = tuple[str, str, str]  # partition, service, command to type on this machine


@dataclass(frozen=True)
class Service:
    """A service of a guest, and how to use it from a shell."""

    name: str
    guest_port: int
    host_port: int
    usage: str

    def command(self, address: str, port: int, prefix: str) -> str:
        """Return the command to type, or the URL if a browser can reach it."""
        web_port = "" if port == 80 else f":{port}"
        text = self.usage.format(address=address, port=port, web_port=web_port)
        if not prefix:
            return text
        return f"{prefix} curl {text}" if text.startswith("http") else f"{prefix} {text}"


STATUS_PAGE = Service("status page", 80, 8080, "http://{address}{web_port}/")
STATUS_JSON = Service("status as JSON", 80, 8080, "curl http://{address}{web_port}/status.json")
PLOT = Service("live plot", 80, 8080, "http://{address}{web_port}/")
BRIDGE = Service("bridge", 7447, 7447, "bulkhead-channel bridge -c tcp/{address}:{port}")
ECHO = Service("echo", 7, 7007, "nc {address} {port}")
DISCARD = Service("discard", 9, 9009, "nc {address} {port} < FILE")
IPERF = Service("iperf 2", 5001, 5001, "iperf -c {address} -p {port}")
SERVICES = (STATUS_PAGE, STATUS_JSON, ECHO, DISCARD, IPERF)
_CLIENTS = ("curl", "nc", "iperf")  # all in packages.GROUPS["tap"]
DEFAULT_FORWARDS = {service.guest_port: service.host_port for service in SERVICES}
# By image: what it offers. Other images of ours offer nothing, and those of others are not known.
_OFFERS: dict[str, Sequence[Service]] = {
    "demo": SERVICES,
    LINUX: (IPERF,),
    LINUX_MEDIA: (IPERF,),
    LINUX_CHANNELS: (PLOT, IPERF),
    LINUX_FLEET: (PLOT, BRIDGE, IPERF),
    LINUX_BACKEND: (IPERF,),
    RTEMS: (ECHO, IPERF),
}


def offers(image: str) -> Sequence[Service]:
    """Return the services of an image, or of a program."""
    return _OFFERS.get(image, ())


@dataclass(frozen=True)
class ChosenForward:
    """An option --forward. Without a partition it applies to the first network."""

    partition: str
    guest_port: int
    host_port: int


@dataclass(frozen=True)
class Guest:
    """A guest with a network card, or behind that of another partition.

    `partition` is "" on a bare machine. `ports` maps its TCP ports to host ports in user
    networking. It offers `services`, as far as it has their ports.
    """

    partition: str
    mac: str
    ports: dict[int, int]
    services: Sequence[Service] = SERVICES
    card: int = 0  # number of the card
    is_client: bool = False  # the card is another partition's
    address: str = ""  # of a client on QEMU's own network; "": not known

    @property
    def is_forwarded(self) -> bool:
        """Return True if QEMU's own network can forward ports to it."""
        return bool(self.address) or not self.is_client


@dataclass(frozen=True)
class Card:
    """A network card of the machine, and the partition that owns it; "" on a bare machine."""

    partition: str
    mac: str


@dataclass(frozen=True)
class Connection:
    """A network for each card, and the words that stand before QEMU's command."""

    networks: Sequence[Network]
    prefix: Sequence[str] = ()


def parse_forward(text: str) -> ChosenForward:
    """Parse the value of --forward, such as "linux:22=2222" or "80=8081"."""
    found = re.fullmatch(r"(?:([\w-]+):)?([0-9]{1,5})=([0-9]{1,5})", text)
    if found and 0 < int(found[2]) < 65536 and 0 < int(found[3]) < 65536:
        return ChosenForward(found[1] or "", int(found[2]), int(found[3]))
    raise UserError(
        f"'{text}' is not a GUEST=HOST pair of ports",
        "write for example --forward 80=8081, or with a partition --forward linux:22=2222",
    )


def check(guests: Sequence[Guest], chosen: Sequence[ChosenForward], *, tap: bool) -> None:
    """Refuse impossible options, before anything is built."""
    if not guests and (tap or chosen):
        option = "--net tap" if tap else "--forward"
        raise UserError(f"{option} has no meaning for a system without network", "remove it")
    if tap:
        network.check_tap_right()
        if chosen:
            raise UserError(
                "--forward has no meaning with --net tap", "remove it: every port is reachable"
            )
    else:
        _check_addresses(guests, chosen)
        _check_ports([guest for guest in guests if guest.is_forwarded])


def _check_addresses(guests: Sequence[Guest], chosen: Sequence[ChosenForward]) -> None:
    """Refuse forwards to guests whose address on QEMU's network is not known."""
    for guest in guests:
        if not guest.is_forwarded and any(each.partition == guest.partition for each in chosen):
            raise UserError(
                f"no port can be forwarded to partition '{guest.partition}', which is behind a "
                "shared card and has its address by DHCP",
                "call with --net tap, or remove --forward",
            )


def _check_ports(guests: Sequence[Guest]) -> None:
    """Refuse host ports that are used twice, or by other processes."""
    seen: dict[int, str] = {}
    for guest in guests:
        for port, host in guest.ports.items():
            name = f"{guest.partition}:{port}" if guest.partition else str(port)
            if host in seen:
                raise UserError(
                    f"host port {host} is forwarded to both guest ports {seen[host]} and {name}",
                    f"choose another with --forward {name}=HOST",
                )
            seen[host] = name
    for host, name in seen.items():
        network.check_port_is_free(host, name)


@contextmanager
def connect(guests: Sequence[Guest], cards: Sequence[Card], *, tap: bool) -> Iterator[Connection]:
    """Make the networks of the cards, and print how to reach the guests on them."""
    if not tap:
        yield _on_forwards(guests, cards)
        return
    with network.Namespace() as namespace:
        yield _on_taps(guests, cards, namespace)


def _on_forwards(guests: Sequence[Guest], cards: Sequence[Card]) -> Connection:
    forwarded = [guest for guest in guests if guest.is_forwarded]
    rows = [row for guest in forwarded for row in _rows(guest, "127.0.0.1", guest.ports, "")]
    _print_rows(rows)
    for guest in guests:
        if not guest.is_forwarded:
            print(f"({guest.partition} has its address by DHCP: --net tap reaches it)", flush=True)
        elif guest.partition and not guest.ports:
            print(
                f"(no port is forwarded to {guest.partition}; "
                f"--forward {guest.partition}:22=2222 forwards port 22)",
                flush=True,
            )
    if rows:
        print("(ping needs --net tap: user networking forwards TCP only)", flush=True)
        _name_missing_programs(rows)
    return Connection(
        [
            UserNetwork(
                [each for guest in forwarded if guest.card == number for each in _to(guest)]
            )
            for number, _ in enumerate(cards)
        ]
    )


def _to(guest: Guest) -> list[Forward]:
    return [Forward(port, host, guest.address) for port, host in guest.ports.items()]


def _on_taps(
    guests: Sequence[Guest], cards: Sequence[Card], namespace: network.Namespace
) -> Connection:
    taps = [namespace.add_tap(card.mac) for card in cards]
    stations: list[network.Station] = [
        namespace.add_station(guest.mac) if guest.is_client else taps[guest.card]
        for guest in guests
    ]
    namespace.serve_addresses()
    prefix = f"ip netns exec {namespace.name}"
    rows: list[_Row] = []
    for guest, station in zip(guests, stations, strict=True):
        rows.append((guest.partition, "ping", f"{prefix} ping {station.address}"))
        rows += _rows(guest, station.address, {port: port for port in guest.ports}, prefix)
    _print_rows(rows)
    addresses = ", ".join(
        f"{guest.partition} {station.address_6}".strip()
        for guest, station in zip(guests, stations, strict=True)
    )
    print(
        f"(IPv6: {addresses}; the network namespace {namespace.name} is removed at the end)",
        flush=True,
    )
    return Connection([TapNetwork(tap.interface) for tap in taps], namespace.prefix)


def _rows(guest: Guest, address: str, ports: dict[int, int], prefix: str) -> Iterator[_Row]:
    """Return the services of a guest; with a prefix, from inside the network namespace."""
    for service in guest.services:
        if port := ports.get(service.guest_port):
            yield guest.partition, service.name, service.command(address, port, prefix)
    for port, host in ports.items():
        if port not in {service.guest_port for service in guest.services}:
            yield guest.partition, f"port {port}", f"{address} port {host}"


def _name_missing_programs(rows: Sequence[_Row]) -> None:
    """Say how to install the programs in the printed commands that this machine lacks."""
    words = {word for _, _, command in rows for word in command.split()[:1]}
    lacking = [name for name in _CLIENTS if name in words and packages.program(name) is None]
    if lacking:
        verb, them = ("is", "it") if len(lacking) == 1 else ("are", "them")
        names = ", ".join(lacking)
        print(f"({names} {verb} not installed; './bulkhead setup tap' installs {them})", flush=True)


def _print_rows(rows: Sequence[_Row]) -> None:
    """Print the rows in columns. The last column is never cut, so that it can be copied."""
    if not rows:
        return
    table = [("partition", "service", "from this machine"), *rows]
    named = any(partition for partition, _, _ in rows)
    first, second = (max(len(row[column]) for row in table) + 3 for column in (0, 1))
    for partition, service, command in table:
        print(f"{partition if named else '':{first if named else 0}}{service:{second}}{command}")
    sys.stdout.flush()
