# SPDX-License-Identifier: BSD-2-Clause
"""Boot a system, with a network for each network card of a partition: ./bulkhead run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bulkhead import console
from bulkhead.errors import UserError
from bulkhead.output_path import check_output_path
from bulkhead.running import attach, reach
from bulkhead.running.clients import clients_of, has_address, with_addresses
from bulkhead.running.qemu_devices import check_devices
from bulkhead.running.reach import Card, ChosenForward, Guest, Service
from bulkhead.running.run import RunOptions, boot
from bulkhead.settings import Settings
from bulkhead.setup import packages
from bulkhead.system.address_names import explain
from bulkhead.system.assemble import assemble, package_groups, read
from bulkhead.system.images import programs
from bulkhead.system.machine import functions, mac, machine, sound_functions
from bulkhead.system.model import Console, Partition, System
from bulkhead.system.parse import is_system
from bulkhead.system.problems import show
from bulkhead.system.shared_cores import show_shared_cores

_PORTS_APART = 10_000  # distance between the host ports of one network and the next


def run_system(options: RunOptions, settings: Settings) -> int:
    """Build and boot a system, and wait for its end. Returns QEMU's exit status."""
    _check_options(options)
    system, board = read(options.name, settings)
    _check_wav(options, system)
    guests = guests_of(system, options.forwards)
    reach.check(guests, options.forwards, tap=options.tap)
    groups = {"run"} | ({"tap"} if options.tap else set())
    packages.ensure(groups | package_groups(system, options.compiler), settings)
    check_devices(system)
    if not options.tap:
        system = with_addresses(system, guests)
    assembled = assemble(system, board, settings, options.compiler)
    with attach.serve(assembled.layout) as served:
        extra = [*served.arguments, *options.extra]
        _print_partitions(system)
        show_shared_cores(system, board, console.results())
        print(flush=True)
        with reach.connect(guests, cards_of(system), tap=options.tap) as connection:
            made = machine(
                system, board, assembled.image, lambda n: connection.networks[n], extra, options.wav
            )
            return boot(
                made,
                connection.prefix,
                _keys(system),
                served.descriptors,
                partial(explain, layout=assembled.layout),
            )


def _check_options(options: RunOptions) -> None:
    name = options.name
    if not is_system(name) and name in programs():
        raise UserError(
            f"{show(name)} is a program, not a system", f"call ./bulkhead run --bare {name}"
        )
    for option, value, usual in (
        ("--transport", options.transport, "pci"),
        ("--rx-buffers", options.rx_buffers, None),
    ):
        if value != usual:
            raise UserError(
                f"{option} is for a program on a bare machine", "remove it, or add --bare"
            )


def _check_wav(options: RunOptions, system: System) -> None:
    check_output_path(options.wav, "--wav")
    if options.wav is not None and not sound_functions(system):
        raise UserError(f"no partition of {show(system.name)} has sound", "remove --wav")


def cards_of(system: System) -> list[Card]:
    """Return the network cards, in the order of the PCI functions."""
    return [Card(owner.name, mac(number)) for number, (owner, _) in enumerate(functions(system))]


def guests_of(system: System, chosen: Sequence[ChosenForward]) -> list[Guest]:
    """Return the guests with a network: those with a card, then those behind another one's.

    A chosen forward applies to the first guest of its partition, or to the first of the system.
    """
    guests = [
        Guest(owner.name, mac(number), {}, _services(owner), number)
        for number, (owner, _) in enumerate(functions(system))
        if has_address(owner)
    ]
    guests += [
        Guest(
            each.partition.name,
            each.device.mac.hex(":"),
            {},
            _services(each.partition),
            each.card,
            is_client=True,
            address=each.address,
        )
        for each in clients_of(system)
    ]
    for number, guest in enumerate(guests):
        for service in guest.services:
            guest.ports[service.guest_port] = service.host_port + number * _PORTS_APART
    for each in chosen if guests else ():
        of = [guest for guest in guests if each.partition in ("", guest.partition)]
        if not of:
            names = ", ".join(dict.fromkeys(guest.partition for guest in guests))
            raise UserError(
                f"there is no partition {show(each.partition)} with a network",
                f"those with one are: {names}",
            )
        of[0].ports[each.guest_port] = each.host_port
    return guests


def _services(partition: Partition) -> Sequence[Service]:
    """Return the services of a partition. With an initrd of others, Linux is not ours any more."""
    return () if partition.initrd else reach.offers(partition.image)


def _print_partitions(system: System) -> None:
    """Print the cores of each partition. The console's lines start with the partitions' names."""
    parts = []
    for each in system.partitions:
        named = sorted(set(each.cores))
        cores = ", ".join(map(str, named))
        parts.append(f"{each.name} on core{'s' if len(named) > 1 else ''} {cores}")
    print(f"System {system.name}: {'; '.join(parts)}.", flush=True)


def _keys(system: System) -> str:
    """Return the text that says which partition has the keyboard, and how to switch."""
    talking = [each for each in system.partitions if each.console is not Console.NONE]
    first = next((each for each in talking if each.console is Console.INTERACTIVE), None)
    if not talking:
        return ""
    text = f"The keyboard is {(first or talking[0]).name}'s"
    return f"{text}; Ctrl-] gives it to the next partition. " if talking[1:] else f"{text}. "
