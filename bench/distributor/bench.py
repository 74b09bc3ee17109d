# SPDX-License-Identifier: BSD-2-Clause
"""Measure a network beside a media player on the same cores, beside irqbalance and Xen.

./bulkhead bench distributor boots all systems once: with distributed interrupts, and without. One
runs at a time: it plays and receives for some seconds, and is held until its next turn. With
--case table or --case sweep, only the systems of these points are booted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from bench.distributor import points
from bench.distributor.devices_first import before_other_sessions, put_devices_first
from bench.distributor.media_and_net import DOM0_TERMINAL, MediaAndNet, SharedCores
from bench.distributor.points import (
    BUDGET_LOADS,
    DISTRIBUTOR,
    FIXED,
    FOUR_CORES,
    LOADS,
    XEN,
    Load,
    Point,
    Run,
)

from bulkhead.building.build import Variant
from bulkhead.measuring import real_time
from bulkhead.measuring.bench import BenchContext, BenchResult, environment
from bulkhead.measuring.side_by_side import IPERF_REPORT, Guest, booted, wait_for_text
from bulkhead.paths import BENCHES
from bulkhead.peers import linux_guest, xen_linux_guests
from bulkhead.peers.linux_guest import LinuxImage
from bulkhead.peers.xen_linux_guests import LinuxGuest
from bulkhead.running import network
from bulkhead.running.guest import GuestProcess
from bulkhead.running.network import Namespace, Tap
from bulkhead.running.qemu import NO_OFFLOADS, Machine, NetworkCard, TapNetwork, UserNetwork
from bulkhead.system import board_tree
from bulkhead.system import machine as system_machine
from bulkhead.system.assemble import assemble, read
from bulkhead.system.check import check
from bulkhead.system.model import Dma, System

SYSTEM = BENCHES / "distributor" / "system.toml"
_READY = r"(?m)^{}.*linux: ready$"
_START_TIMEOUT_S = 240
# Mitigations and KASLR are off as in bench linux.
_ARGUMENTS = "panic=-1 nokaslr norandmaps mitigations=off"
_NET_ADDRESS = "address=10.77.0.10"
# TCP's receive window, in bytes: the least one, the first one and the largest one. The first one,
# unlike Linux's default, covers the time for which a player keeps the receiver from its core.
_WINDOW = '"sysctl.net.ipv4.tcp_rmem=4096 1048576 6291456"'
_NET_ARGUMENTS = f"{_NET_ADDRESS} {_WINDOW}"
_ALL_CORES = (0, 1, 2, 3)
# While the systems boot and the link is calibrated. The network, with its card and its peer, needs
# two processors then. With the parts of this rate enough time is left for the player, and for what
# varies, on a host that has two.
_UNLIMITED_MBIT = 10_000
_PART, _LOADED_PART = 1 / 3, 1 / 2
_CALIBRATION_S = 4.0
_MEDIA_PERIOD_NS, _NET_PERIOD_NS = 10_000_000, 20_000_000
# Percent of a core: the player's budget beside its load, its least budget (Linux needs more time
# for the sound on a core that is often idle), and both budgets' sum.
_MARGIN, _LEAST, _SHARED = 3, 30, 99
# Before the first round: QEMU translates the guests' instructions when they execute first.
_WARM_UP, _WARM_UP_S = Point("warm_up", "", Load(LOADS[0])), 1.0


CASES = ("table", "sweep")


def run(context: BenchContext) -> BenchResult:
    """Boot all systems, measure them in turn, and draw."""
    context.require("run", "tap", "bench")
    network.check_tap_right()
    context.build(Variant("arm64"))
    measured_points = _points(context.case)
    wanted = {each.system for each in measured_points} | {each.system for each in points.bases()}
    runs: list[Run] = []
    with real_time.no_limit(), before_other_sessions(), ExitStack() as stack:
        guests = dict(_booted_systems(context, stack, wanted))
        link = _calibrate(context, guests)
        for number in range(1, context.pairs + 1):
            for point in measured_points:
                run = _measure(context, point, guests[point.system])
                runs.append({"round": number, **run})
                context.say(f"round {number} of {context.pairs}: {point.title}: {_told(run)}")
    facts = environment()
    conditions = (
        f"{facts['cores']} x {facts['cpu']}, QEMU {facts['qemu']}, link of {link} Mb/s; "
        f"medians of {context.pairs} rounds of {context.seconds / context.pairs:g} s"
    )
    points.draw(context.folder, conditions, runs)
    return BenchResult(points.summarise(runs) | {"link_mbit_s": link}, runs)


def _points(case: str | None) -> list[Point]:
    table, sweep = list(points.table()), list(points.sweep())
    return {"table": table, "sweep": sweep, None: table + sweep}[case]


def _booted_systems(
    context: BenchContext, stack: ExitStack, wanted: Set[str]
) -> Iterator[tuple[str, MediaAndNet]]:
    """Boot the wanted systems, and hold them."""
    image = linux_guest.prepare()
    if XEN in wanted:  # the sweep, in which irqbalance is a rival
        image = linux_guest.with_irqbalance(image)
    ours = {name: system for name, system in systems().items() if name in wanted}
    for number, (name, system) in enumerate(ours.items()):
        context.say(f"booting {name}")
        yield name, stack.enter_context(_booted(context, image, system, number))
    if XEN in wanted:
        context.say(f"booting {XEN}")
        yield XEN, stack.enter_context(_booted_under_xen(context, image, len(ours)))


def _calibrate(context: BenchContext, guests: dict[str, MediaAndNet]) -> int:
    """Limit all links to a rate that the host carries at each point of the table.

    That is a part of what it carries in case 1, and of what it carries beside the players with the
    interrupt on a core without sound, on two cores or on four. Returns the limit in Mb/s.
    """

    def least(some: Sequence[Point]) -> float:
        return min(guests[each.system].measure(each, _CALIBRATION_S).mbit_s for each in some)

    alone, loaded = least(points.bases()), least(points.loaded())
    link = max(1, int(min(_PART * alone, _LOADED_PART * loaded)))
    context.say(f"the link gets {link} Mb/s; without a limit {alone:.0f}, {loaded:.0f} if loaded")
    for each in guests.values():
        each.limit_link(link)
    return link


def _measure(context: BenchContext, point: Point, guests: MediaAndNet) -> Run:
    seen = context.undisturbed(partial(guests.measure, point, context.seconds / context.pairs))
    return {
        "point": point.name,
        "system": point.system,
        "audio": point.load.audio,
        "video": point.load.video,
        "mbit_s": seen.mbit_s,
        "played": seen.played,
        "lost": seen.lost,
        "media_share": seen.media_share,
        "places": " ".join(map(str, seen.places)),
        "settled": seen.settled,
        "moves": seen.moves,
        "measured_s": context.seconds / context.pairs,
    }


def _told(run: Run) -> str:
    """Return a run's rate, and the timeline of the places of the interrupt."""
    text = f"{run['mbit_s']:.0f} Mb/s"
    return f"{text}, on core {run['places']}" if run["places"] else text


def systems() -> dict[str, System]:
    """Return our systems, by their names."""
    system, _ = read(str(SYSTEM))
    cores = system.cores[0]
    four = [replace(each, cores=_ALL_CORES) for each in system.partitions]
    return {
        DISTRIBUTOR: system,
        FIXED: _without_distributor(system),
        FOUR_CORES: replace(
            system, partitions=tuple(four), cores=(replace(cores, numbers=_ALL_CORES),)
        ),
        **{points.budgets(audio): by_budgets(system, audio) for audio in BUDGET_LOADS},
    }


def _without_distributor(system: System) -> System:
    return replace(
        system, partitions=tuple(replace(each, distribute=False) for each in system.partitions)
    )


def by_budgets(system: System, audio: int) -> System:
    """Return the system with budgets: the player's for this load, the rest for the network."""
    media, net = _without_distributor(system).partitions
    percent = max(audio + _MARGIN, _LEAST)
    return replace(
        system,
        cores=(),
        partitions=(
            replace(
                media,
                period=_MEDIA_PERIOD_NS,
                budget=_MEDIA_PERIOD_NS * percent // 100,
                weight=None,
            ),
            replace(
                net,
                period=_NET_PERIOD_NS,
                budget=_NET_PERIOD_NS * (_SHARED - percent) // 100,
                weight=None,
            ),
        ),
    )


@contextmanager
def _booted(
    context: BenchContext, image: LinuxImage, system: System, number: int
) -> Iterator[MediaAndNet]:
    """Boot a system, and hold it."""
    board = check(system, board_tree.load)
    media, net = system.partitions
    system = replace(
        system,
        name=f"bench-distributor-{number}",
        partitions=(
            replace(media, arguments=f"{media.arguments} {_ARGUMENTS}"),
            replace(
                net,
                initrd=image.initrd,
                arguments=f"{net.arguments} {_ARGUMENTS} {_NET_ARGUMENTS}",
            ),
        ),
    )
    assembled = assemble(system, board, context.settings)

    def machine(tap: Tap) -> Machine:
        made = system_machine.machine(
            system, board, assembled.image, lambda _: TapNetwork(tap.interface)
        )
        (card,) = made.cards
        return replace(made, cards=[replace(card, options={**card.options, **NO_OFFLOADS})])

    def wait_ready(guest: GuestProcess, _namespace: Namespace, _tap: Tap) -> None:
        put_devices_first(guest, len(media.cores))
        for each in system.partitions:
            guest.wait_for_match(_READY.format(rf"{each.name}\|"), _START_TIMEOUT_S)

    guest = Guest(f"system-{number}", machine, wait_ready, IPERF_REPORT)
    with booted(context, guest, _UNLIMITED_MBIT, number) as running:
        cores = SharedCores(running.process.qmp(), assembled.layout)
        yield _warmed_up(MediaAndNet(running, cores=cores))


@contextmanager
def _booted_under_xen(
    context: BenchContext, image: LinuxImage, number: int
) -> Iterator[MediaAndNet]:
    """Boot the same guests under Xen, and hold them."""
    system, board = read(str(SYSTEM))
    media, net = system.partitions
    alone = replace(system, partitions=(replace(media, dma=Dma.TRUSTED),))
    weights = xen_linux_guests.weights(media.share_weight, net.share_weight)
    put = xen_linux_guests.under_xen(
        system_machine.machine(alone, board, image.kernel, lambda _: UserNetwork()),
        system.board,
        LinuxGuest(
            xen_linux_guests.dom0_image(),
            f"{media.arguments} {_ARGUMENTS} {weights}",
            media.memory_bytes >> 20,
        ),
        LinuxGuest(image, f"quiet {_ARGUMENTS} {_NET_ARGUMENTS}", net.memory_bytes >> 20),
        len(media.cores),
        context.folder / XEN,
    )

    def machine(tap: Tap) -> Machine:
        options = {**xen_linux_guests.CARD_OPTIONS, **NO_OFFLOADS}
        card = NetworkCard(TapNetwork(tap.interface), xen_linux_guests.TRANSPORT, tap.mac, options)
        return replace(put.machine, cards=[card])

    def wait_ready(guest: GuestProcess, _namespace: Namespace, _tap: Tap) -> None:
        put_devices_first(guest, len(media.cores))
        guest.wait_for_match(_READY.format(""), _START_TIMEOUT_S)
        guest.wait_for_match(xen_linux_guests.WEIGHTS_ARE_SET, _START_TIMEOUT_S)
        xen_linux_guests.check_memory(guest.qmp(), image.kernel)
        wait_for_text(put.second_console, "linux: ready", _START_TIMEOUT_S)

    guest = Guest(XEN, machine, wait_ready, IPERF_REPORT)
    with booted(context, guest, _UNLIMITED_MBIT, number) as running:
        yield _warmed_up(MediaAndNet(running, DOM0_TERMINAL))


def _warmed_up(guests: MediaAndNet) -> MediaAndNet:
    guests.measure(_WARM_UP, _WARM_UP_S)
    return guests
