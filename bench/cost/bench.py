# SPDX-License-Identifier: BSD-2-Clause
"""Count the instructions of a UDP packet of 64 and 1448 bytes, beside a Linux guest.

./bulkhead bench cost runs the same rounds of datagrams (bench/cost/rounds.c) in our guests and in
Linux, on the same QEMU machine. A plugin (bench/cost/counter.c) counts the executed instructions
and holds the guest between two rounds, so that the device has taken or delivered all packets of a
round before the next round starts.
"""

from __future__ import annotations

import selectors
import socket
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bulkhead.building.build import Variant, guest_image
from bulkhead.measuring.bench import BenchContext, BenchResult, Number
from bulkhead.measuring.instructions import PARTS, ImageCode
from bulkhead.measuring.wire import Endpoint, Wire
from bulkhead.paths import BENCHES
from bulkhead.peers import linux_guest
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qemu import MAC, DatagramNetwork, Machine, NetworkCard

_HOST = Endpoint("52:54:00:00:00:01", "10.77.0.1", 9000)
_GUEST = Endpoint(MAC, "10.77.0.10", 9001)
_SIZES = (64, 1448)
_BURST = 32
_ROUND_SIZES = (1, 8, _BURST)
_SUMMARY_COLUMNS = {
    "instructions_vs_linux": "ratio",
    "instructions": "bulkhead",
    "linux_instructions": "linux",
    "driver_instructions": "driver",
    "sockets_vs_linux": "sockets_ratio",
    "sockets_instructions": "sockets",
}
_WARM_UP_PACKETS = 1024
_PACKETS = 4096
_SEND, _RECEIVE = 1, 2
_DIRECTIONS = {"tx": _SEND, "rx": _RECEIVE}
_ORDER = struct.Struct("!HHHH")
_WORD = struct.Struct("=Q")
_READY_TIMEOUT_S = 120
_ROUND_TIMEOUT_S = 30
_STALLED_S = 0.02
_MARK = 0xD29618BF  # bench/cost/mark.h

Counts = dict[int, int]


@dataclass(frozen=True)
class Case:
    """A case: direction, bytes per datagram, datagrams per round."""

    direction: str
    bytes: int
    round: int

    @property
    def kind(self) -> str:
        """Direction and size, as in the summary's keys."""
        return f"{self.direction}_{self.bytes}"

    @property
    def name(self) -> str:
        """The kind, and the size of a round."""
        return f"{self.kind}_by_{self.round}"


@dataclass(frozen=True)
class Cost:
    """Counts by address for all packets of a case, and the address of the mark."""

    counts: Counts
    mark: int
    packets: int

    @property
    def instructions(self) -> float:
        """Instructions per packet."""
        return sum(self.counts.values()) / self.packets


_CASES = [Case(d, b, r) for d in _DIRECTIONS for b in _SIZES for r in _ROUND_SIZES]


def run(context: BenchContext) -> BenchResult:
    """Measure each guest in each case, --pairs times."""
    context.require("run", "bench", "host")
    folder = context.build(Variant("arm64"))
    plugin = context.plugin("bench/cost/counter.so")
    ours = _measure(context, plugin, "bulkhead", _our_machine(guest_image("cost", folder=folder)))
    sockets = _measure(
        context, plugin, "sockets", _our_machine(guest_image("cost-sockets", folder=folder))
    )
    linux = _measure(context, plugin, "linux", _linux_machine())
    code = ImageCode(folder / "images/cost.elf")
    runs: list[dict[str, Number | str]] = [
        {
            "direction": case.direction,
            "bytes": case.bytes,
            "round": case.round,
            "ratio": _median(ours[case]).instructions / _median(linux[case]).instructions,
            "sockets_ratio": _median(sockets[case]).instructions
            / _median(linux[case]).instructions,
            "bulkhead": round(_median(ours[case]).instructions, 1),
            "sockets": round(_median(sockets[case]).instructions, 1),
            "linux": round(_median(linux[case]).instructions, 1),
            **_range(linux[case]),
            **_parts(context, code, case, _median(ours[case])),
        }
        for case in _CASES
    ]
    return BenchResult(_summary(runs), runs)


def _median(costs: list[Cost]) -> Cost:
    return sorted(costs, key=lambda cost: cost.instructions)[(len(costs) - 1) // 2]


def _range(costs: list[Cost]) -> dict[str, Number]:
    each = [round(cost.instructions, 1) for cost in costs]
    return {"linux_min": min(each), "linux_max": max(each)}


def _our_machine(image: Path) -> Machine:
    return Machine(image, boot_arguments=[f"ip={_GUEST.address}/24", "exit=semihosting"])


def _linux_machine() -> Machine:
    folder = BENCHES / "cost"
    image = linux_guest.with_program(
        linux_guest.prepare(),
        "cost",
        [folder / "linux/main.c", folder / "rounds.c"],
        [folder, folder / "linux"],
    )
    return Machine(
        image.kernel,
        initrd=image.initrd,
        boot_arguments=[
            "console=ttyAMA0", "quiet", "panic=-1", f"address={_GUEST.address}",
            f"run=/bin/cost,{_HOST.address},{_HOST.mac}",
        ],
        semihosting=False,
    )  # fmt: skip


def _measure(
    context: BenchContext, plugin: Path, name: str, machine: Machine
) -> dict[Case, list[Cost]]:
    with _booted(context, plugin, name, machine) as rounds:
        costs: dict[Case, list[Cost]] = {case: [] for case in _CASES}
        for number in range(1, context.pairs + 1):
            context.say(f"{name}: {number} of {context.pairs}")
            for case in _CASES:
                costs[case].append(rounds.measure(case))
        return costs


@contextmanager
def _booted(context: BenchContext, plugin: Path, name: str, machine: Machine) -> Iterator[_Rounds]:
    # The path of a socket has a maximum length, which a path in build/ may exceed.
    with (
        tempfile.TemporaryDirectory(prefix="bulkhead-") as folder,
        Wire(Path(folder), _HOST, _GUEST) as wire,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
    ):
        path = Path(folder) / "counter"
        listener.bind(str(path))
        listener.listen(1)
        listener.settimeout(_READY_TIMEOUT_S)
        card = NetworkCard(DatagramNetwork(wire.theirs, wire.ours), "mmio")
        machine = Machine(
            machine.image,
            boot_arguments=machine.boot_arguments,
            cards=[card],
            initrd=machine.initrd,
            memory_mib=256,
            icount=True,
            semihosting=machine.semihosting,
            extra=["-plugin", f"{plugin},socket={path}"],
        )
        with GuestProcess(machine, context.folder / f"{name}.log") as guest:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                raise GuestError(f"QEMU did not load the plugin\n{guest.last_words()}") from None
            with connection:
                rounds = _Rounds(guest, wire, connection)
                rounds.wait_ready()
                yield rounds


class _Rounds:
    """A guest that runs rounds of packets."""

    def __init__(self, guest: GuestProcess, wire: Wire, counter: socket.socket) -> None:
        self._guest = guest
        self._wire = wire
        self._counter = counter
        self._selector = selectors.DefaultSelector()
        self._selector.register(wire, selectors.EVENT_READ)
        self._selector.register(counter, selectors.EVENT_READ)

    def wait_ready(self) -> None:
        """Wait for the guest's first datagram, which it sends when its socket is open."""
        deadline = time.monotonic() + _READY_TIMEOUT_S
        while b"\0" not in self._wire.received():
            self._check(deadline, "first datagram")
            self._selector.select(0.1)

    def measure(self, case: Case) -> Cost:
        """Count the instructions of _PACKETS packets, after _WARM_UP_PACKETS that do not count."""
        warm_up, rounds = _WARM_UP_PACKETS // case.round, _PACKETS // case.round
        data = bytes(range(256)) * 8
        waiting: list[bytes] = []
        self._wire.send(
            _ORDER.pack(_DIRECTIONS[case.direction], case.bytes, case.round, warm_up + rounds)
        )
        for number in range(warm_up + rounds + 1):
            mark = self._wait_for_mark(case, waiting, first=number == 0)
            if number == warm_up:
                self._counter.sendall(b"z")
            if number == warm_up + rounds:
                counts = self._fetch_counts()
            elif case.direction == "rx":
                waiting = self._offer([data[: case.bytes]] * case.round)
            # QEMU answers when the device has finished its work.
            self._guest.qmp().execute("query-status")
            self._counter.sendall(b"g")
        return Cost(counts, mark, rounds * case.round)

    def _wait_for_mark(self, case: Case, waiting: list[bytes], first: bool) -> int:
        """Wait until a guest is at the mark, and all datagrams of the round have arrived."""
        deadline = time.monotonic() + _ROUND_TIMEOUT_S
        missing = case.round if case.direction == "tx" and not first else 0
        mark = None
        while mark is None or missing > 0:
            self._check(deadline, f"end of a round of {case.name}")
            for key, _ in self._selector.select(0.001 if waiting else 0.1):
                if key.fileobj is self._wire:
                    missing -= sum(len(data) == case.bytes for data in self._wire.received())
                else:
                    mark = self._receive_word()
            while waiting and self._wire.send(waiting[0]):
                waiting.pop(0)
        if missing < 0 or waiting:
            raise GuestError(f"a round of {case.name} has a wrong number of packets")
        return mark

    def _offer(self, datagrams: list[bytes]) -> list[bytes]:
        """Send as many datagrams as the card takes while the guest is held. Returns the others."""
        rest = list(datagrams)
        progress = time.monotonic()
        while rest and time.monotonic() - progress < _STALLED_S:
            if self._wire.send(rest[0]):
                rest.pop(0)
                progress = time.monotonic()
        self._wire.wait_until_taken(_STALLED_S)
        return rest

    def _fetch_counts(self) -> Counts:
        self._counter.sendall(b"d")
        number = self._receive_word()
        return {self._receive_word(): self._receive_word() for _ in range(number)}

    def _receive_word(self) -> int:
        data = self._counter.recv(_WORD.size, socket.MSG_WAITALL)
        if len(data) < _WORD.size:
            raise GuestError(f"QEMU has ended\n{self._guest.last_words()}")
        return int(_WORD.unpack(data)[0])

    def _check(self, deadline: float, wanted: str) -> None:
        if self._guest.process.poll() is not None or time.monotonic() > deadline:
            raise GuestError(f"no {wanted}\n{self._guest.last_words()}")


def _parts(
    context: BenchContext, code: ImageCode, case: Case, cost: Cost
) -> dict[str, Number | str]:
    """Return our instructions per packet in each part. Writes those per function to a file."""
    offset = code.load_offset(_MARK, cost.mark)
    functions = code.count_by_function(cost.counts, offset)
    parts = Counter[str](dict.fromkeys(PARTS, 0))
    lines = []
    for function, count in functions.most_common():
        parts[function.part] += count
        lines.append(f"{count / cost.packets:10.2f}  {function.part:8} {function.name}")
    (context.folder / f"{case.name}.txt").write_text("\n".join(lines) + "\n")
    return {part: round(count / cost.packets, 1) for part, count in parts.items()}


def _summary(runs: list[dict[str, Number | str]]) -> dict[str, Number]:
    """Return the ratios with goals, those of single packets, and the counts behind them."""
    summary: dict[str, Number] = {}
    for suffix, size in (("", _BURST), ("_single", 1)):
        chosen = [run for run in runs if run["round"] == size]
        for key, column in _SUMMARY_COLUMNS.items():
            for run in chosen:
                value = run[column]
                assert not isinstance(value, str)
                summary[f"{key}_{run['direction']}_{run['bytes']}{suffix}"] = value
    return summary
