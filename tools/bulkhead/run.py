# SPDX-License-Identifier: BSD-2-Clause
"""./bulkhead run: boots a guest with a network and says how to reach it."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType

from bulkhead import build, console, network, packages
from bulkhead.errors import UserError
from bulkhead.guest import die_with_parent
from bulkhead.qemu import MAC, Forward, Machine, NetworkCard, TapNetwork, UserNetwork
from bulkhead.settings import Settings


@dataclass(frozen=True)
class Service:
    """Something the demo offers, and how to use it from a shell."""

    name: str
    guest_port: int
    host_port: int
    usage: str

    def command(self, address: str, port: int, prefix: str) -> str:
        """What to type (a URL too, where a browser can reach it)."""
        web_port = "" if port == 80 else f":{port}"
        text = self.usage.format(address=address, port=port, web_port=web_port)
        if not prefix:
            return text
        return f"{prefix} curl {text}" if text.startswith("http") else f"{prefix} {text}"


SERVICES = (
    Service("status page", 80, 8080, "http://{address}{web_port}/"),
    Service("status as JSON", 80, 8080, "curl http://{address}{web_port}/status.json"),
    Service("echo", 7, 7007, "nc {address} {port}"),
    Service("discard", 9, 9009, "nc {address} {port} < FILE"),
    Service("iperf 2", 5001, 5001, "iperf -c {address} -p {port}"),
)
DEFAULT_FORWARDS = {service.guest_port: service.host_port for service in SERVICES}


@dataclass
class RunOptions:
    """What the command line chose."""

    guest: str = "demo"
    compiler: str = "gcc"
    network: str = "user"
    transport: str = "pci"
    rx_buffers: int | None = None
    forwards: dict[int, int] = field(default_factory=dict)
    extra: Sequence[str] = ()


def parse_forward(text: str) -> tuple[int, int]:
    """ "80=8081" -> (80, 8081)."""
    guest, _, host = text.partition("=")
    if guest.isdecimal() and host.isdecimal() and 0 < int(guest) < 65536 and 0 < int(host) < 65536:
        return int(guest), int(host)
    raise UserError(
        f"'{text}' is no GUEST=HOST pair of ports", "write for example --forward 80=8081"
    )


def run(options: RunOptions, settings: Settings) -> int:
    """Build, boot, wait for the end; the guest's exit status."""
    groups = {"run"} | ({"tap"} if options.network == "tap" else set())
    forwards = DEFAULT_FORWARDS | options.forwards
    if options.network == "tap":
        network.check_tap_right()
        if options.forwards:
            raise UserError(
                "--forward has no meaning with --net tap", "leave it out: every port is reachable"
            )
    else:
        check_ports(forwards.items())
    packages.ensure(groups | build.Variant("arm64", options.compiler).groups, settings)
    build.build(build.Variant("arm64", options.compiler))
    machine = _machine(options)
    with signals_end_the_guest():
        if options.network == "tap":
            return _run_on_tap(machine, options)
        card = NetworkCard(
            UserNetwork([Forward(guest, host) for guest, host in forwards.items()]),
            options.transport,
        )
        _print_services("127.0.0.1", forwards, prefix="")
        return boot(replace(machine, cards=[card]))


def check_ports(forwards: Iterable[tuple[int, int]]) -> None:
    """Refuse host ports that are used twice, or by others."""
    seen: dict[int, int] = {}
    for guest, host in forwards:
        if host in seen:
            raise UserError(
                f"host port {host} is forwarded to both guest ports {seen[host]} and {guest}",
                "choose another with --forward GUEST=HOST",
            )
        seen[host] = guest
    for host in seen:
        network.check_port_is_free(host)


def _machine(options: RunOptions) -> Machine:
    arguments = ["exit=semihosting"]
    if options.rx_buffers is not None:
        arguments.append(f"rx_buffers={options.rx_buffers}")
    return Machine(
        build.guest_image(options.guest, options.compiler),
        boot_arguments=arguments,
        extra=options.extra,
    )


def _run_on_tap(machine: Machine, options: RunOptions) -> int:
    with network.Namespace() as namespace:
        tap = namespace.add_tap(MAC)
        namespace.serve_addresses()
        card = NetworkCard(TapNetwork(tap.interface), options.transport, mac=tap.mac)
        ports = {guest: guest for guest in DEFAULT_FORWARDS}
        _print_services(tap.address, ports, f"ip netns exec {namespace.name}")
        print(
            f"(IPv6: {tap.address_6}; the network namespace {namespace.name} is removed at the end)"
        )
        sys.stdout.flush()
        return boot(replace(machine, cards=[card]), namespace.prefix)


def _print_services(address: str, ports: dict[int, int], prefix: str) -> None:
    """Print what to type on this machine; with a prefix, inside its network namespace."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("service")
    table.add_column("from this machine", no_wrap=True)
    if prefix:
        table.add_row("ping", f"{prefix} ping {address}")
    for service in SERVICES:
        table.add_row(
            service.name, escape(service.command(address, ports[service.guest_port], prefix))
        )
    for guest, host in ports.items():
        if guest not in DEFAULT_FORWARDS:
            table.add_row(f"guest port {guest}", f"{address} port {host}")
    console.results().print(table)
    if not prefix:
        print("(ping needs --net tap: user networking forwards TCP only)")
    sys.stdout.flush()


def boot(machine: Machine, prefix: Sequence[str] = ()) -> int:
    """Run QEMU on this terminal until it ends; the guest's exit status."""
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if terminal:
        serial = [
            "-chardev",
            "stdio,id=console,mux=on,signal=off",
            "-serial",
            "chardev:console",
            "-mon",
            "console",
        ]
        print("Leave with Ctrl-A X. The console:\n", flush=True)
    else:
        serial = ["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
    command = [*prefix, *machine.arguments(serial)]
    with _terminal_restored(terminal):
        process = subprocess.Popen(
            command, stdin=None if terminal else subprocess.DEVNULL, preexec_fn=die_with_parent
        )
        try:
            return _wait(process)
        except _Ended as ended:
            return 128 + ended.number
        finally:
            _end(process)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end, looking up once a second: a signal that comes just before a wait begins
    does not interrupt that wait, and its handler would not run until the end."""
    descriptor = os.pidfd_open(process.pid)
    try:
        while process.poll() is None:
            select.select([descriptor], [], [], 1)
    finally:
        os.close(descriptor)
    return process.returncode


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class _Ended(Exception):
    """A signal asked us to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def signals_end_the_guest() -> Iterator[None]:
    """Turn the first signal into an exception, so that what is set up is taken down again."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(number: int, _frame: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise _Ended(number)

    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    except _Ended as ended:
        raise SystemExit(128 + ended.number) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _terminal_restored(terminal: bool) -> Iterator[None]:
    """QEMU makes the terminal raw; undo that even if it is killed."""
    if not terminal:
        yield
        return
    saved = termios.tcgetattr(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, saved)
