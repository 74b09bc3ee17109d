# SPDX-License-Identifier: BSD-2-Clause
"""Boot a program (./bulkhead run --bare). boot() runs QEMU on this terminal for systems, too."""

import contextlib
import os
import select
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bulkhead.building import build
from bulkhead.errors import UserError
from bulkhead.running import attach, reach
from bulkhead.running.console_pipe import ConsolePipe, Explain
from bulkhead.running.guest import die_with_parent
from bulkhead.running.qemu import MAC, Machine, NetworkCard
from bulkhead.running.reach import Card, ChosenForward, Guest
from bulkhead.settings import Settings
from bulkhead.setup import packages
from bulkhead.system.images import programs
from bulkhead.system.parse import is_system
from bulkhead.system.problems import choose, show


@dataclass(frozen=True)
class RunOptions:
    """The options of the command line."""

    name: str = "demo"
    compiler: str = "gcc"
    tap: bool = False
    transport: str = "pci"
    rx_buffers: int | None = None
    forwards: Sequence[ChosenForward] = ()
    extra: Sequence[str] = ()
    wav: Path | None = None


def run(options: RunOptions, settings: Settings) -> int:
    """Build and boot a program, and wait for its end. Returns its exit status."""
    _check_is_program(options.name)
    if options.wav is not None:
        raise UserError("a bare machine has no sound", "remove --wav, or --bare")
    if any(chosen.partition for chosen in options.forwards):
        raise UserError("a bare machine has no partitions", "write --forward GUEST=HOST")
    services = reach.offers(options.name)
    ports = {each.guest_port: each.host_port for each in services}
    ports |= {each.guest_port: each.host_port for each in options.forwards}
    guests = [Guest("", MAC, ports, services)]
    reach.check(guests, options.forwards, tap=options.tap)
    variant = build.Variant("arm64", options.compiler)
    packages.ensure({"run"} | ({"tap"} if options.tap else set()) | variant.groups, settings)
    build.build(variant)
    image = build.guest_image(options.name, options.compiler)
    with (
        attach.serve_bare(options.name) as served,
        reach.connect(guests, [Card("", MAC)], tap=options.tap) as connection,
    ):
        cards = [NetworkCard(each, options.transport) for each in connection.networks]
        machine = _machine(image, cards, options, served.arguments)
        return boot(machine, connection.prefix, descriptors=served.descriptors)


def _check_is_program(name: str) -> None:
    known = programs()
    if name in known:
        return
    if is_system(name):
        raise UserError(f"{show(name)} is a system, not a program", "remove --bare")
    raise UserError(f"there is no program {show(name)}", choose(name, known, "programs"))


def _machine(
    image: Path, cards: Sequence[NetworkCard], options: RunOptions, extra: Sequence[str]
) -> Machine:
    arguments = ["exit=semihosting"]
    if options.rx_buffers is not None:
        arguments.append(f"rx_buffers={options.rx_buffers}")
    extra = [*extra, *options.extra]
    return Machine(image, boot_arguments=arguments, cards=cards, extra=extra)


def boot(
    machine: Machine,
    prefix: Sequence[str] = (),
    keys: str = "",
    descriptors: Sequence[int] = (),
    explain: Explain | None = None,
) -> int:
    """Run QEMU on this terminal until it ends. Returns the guest's exit status.

    `keys` is a text about keys, printed before QEMU's. QEMU inherits `descriptors`. `explain` gets
    each line of the console, and returns the line to print after it, if there is one.
    """
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
        print(f"\n{keys}Press Ctrl-A X to quit. The console:\n", flush=True)
    else:
        serial = ["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
    command = [*prefix, *machine.arguments(serial)]
    with _terminal_restored(terminal):
        process = subprocess.Popen(
            command,
            stdin=None if terminal else subprocess.DEVNULL,
            stdout=None if explain is None else subprocess.PIPE,
            pass_fds=descriptors,
            preexec_fn=die_with_parent(),
        )
        pipe = None if explain is None else ConsolePipe(process, explain)
        try:
            return _wait(process, pipe)
        finally:
            _end(process)
            if pipe is not None:
                pipe.drain()


def _wait(process: subprocess.Popen[bytes], pipe: ConsolePipe | None) -> int:
    """Wait for the end. Pass on what arrives in the pipe."""
    descriptor = os.pidfd_open(process.pid)
    try:
        while process.poll() is None:
            output = [pipe.fileno()] if pipe is not None else []
            ready, _, _ = select.select([descriptor, *output], [], [])
            if pipe is not None and pipe.fileno() in ready and not pipe.pass_on():
                pipe = None
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


@contextlib.contextmanager
def _terminal_restored(terminal: bool) -> Iterator[None]:
    """Restore the terminal's mode, which QEMU sets to raw, even if QEMU is killed."""
    if not terminal:
        yield
        return
    saved = termios.tcgetattr(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, saved)
