# SPDX-License-Identifier: BSD-2-Clause
"""Measure packets per second over vhost-user, beside DPDK's virtio-user driver.

./bulkhead bench vhost-user: back-end and front-end have a core each. The front-ends are our driver
(bench/vhost_user/station.c) and dpdk-testpmd on net_virtio_user, in turn. The back-end, another
dpdk-testpmd, counts the packets, and is restarted for each measurement.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bulkhead.building.build import Variant
from bulkhead.errors import UserError
from bulkhead.measuring.bench import BenchContext, BenchResult, Number, median_and_range
from bulkhead.running.guest import die_with_parent
from bulkhead.setup import packages

_FRONT_CORE, _BACK_CORE = 0, 1
_SIZES = (64, 1518)
_RING = 256
_BURST = 32
_PEER_BUFFERS = 16384  # in each testpmd's pool
_WARM_UP_S = 1.0
_START_TIMEOUT_S = 30
_END_TIMEOUT_S = 20

_HUGE_PAGES = Path("/proc/sys/vm/nr_hugepages")
_HUGE_PAGES_FREE = re.compile(r"HugePages_Free:\s+(\d+)")
_HUGE_PAGES_NEEDED = 320  # of 2 MiB: 128 for each testpmd, 16 for our driver, and some spare

# Optimised, with link-time optimisation, and without the unit tests' sanitizers.
_BUILD = Variant(
    "host",
    options={"b_sanitize": "none", "optimization": "3", "b_lto": "true"},
    name="bench-vhost-user",
)

_STATION = "bench/vhost_user/station"


@dataclass(frozen=True)
class Direction:
    """The forwarding modes of both sides, by testpmd's names, and the back-end's counter."""

    suffix: str
    front: str
    back: str
    counted: str


_DIRECTIONS = (
    Direction("", "io", "io", "Rx-pps"),
    Direction("_tx", "txonly", "rxonly", "Rx-pps"),
    Direction("_rx", "rxonly", "txonly", "Tx-pps"),
)

# The fastest settings of DPDK's driver for each ring format and direction: its vector path, and
# buffers used in order. If several may be fastest, all are measured, and the one with the best
# median counts.
_VECTOR = "mrg_rxbuf=0,in_order=0,vectorized=1"
_IN_ORDER = "mrg_rxbuf=0,in_order=1"
_PACKED = "mrg_rxbuf=0,in_order=1,packed_vq=1"
_PACKED_VECTOR = "mrg_rxbuf=0,in_order=1,packed_vq=1,vectorized=1"
_PEER = {
    ("split", "io"): (_VECTOR, _IN_ORDER),
    ("split", "txonly"): (_IN_ORDER,),
    ("split", "rxonly"): (_VECTOR, _IN_ORDER),
    ("packed", "io"): (_PACKED, _PACKED_VECTOR),
    ("packed", "txonly"): (_PACKED, _PACKED_VECTOR),
    ("packed", "rxonly"): (_PACKED, _PACKED_VECTOR),
}
_RINGS = ("split", "packed")


class BenchFailure(Exception):
    """A program of the bench did not do what the bench waited for."""


@dataclass
class Program:
    """One of the two sides: its process, its output, and commands to it."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, pattern: str) -> None:
        """Wait until the output contains a text."""
        deadline = time.monotonic() + _START_TIMEOUT_S
        while re.search(pattern, self.log.read_text(errors="replace")) is None:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise BenchFailure(f"no '{pattern}' in {self.log}:\n{self.last_words()}")
            time.sleep(0.02)

    def command(self, *lines: str) -> None:
        """Send lines to testpmd's prompt."""
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        self.process.stdin.flush()

    def last_words(self) -> str:
        """Return the end of its output."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])


def run(context: BenchContext) -> BenchResult:
    """Measure our driver and DPDK's in turn, for each ring, frame size and direction."""
    _check_machine()
    context.require("vhost-user")
    station = context.build(_BUILD, _STATION) / _STATION
    summary: dict[str, Number] = {}
    runs: list[dict[str, Number | str]] = []
    with _huge_pages():
        for ring in _RINGS:
            for size in _SIZES:
                for direction in _DIRECTIONS:
                    key = f"mpps_vs_dpdk_{ring}_{size}{direction.suffix}"
                    context.say(key)
                    compared = _compare(context, ring, size, direction, station)
                    ratios = [ours / theirs for ours, theirs in compared]
                    summary |= median_and_range(key, ratios)
                    for pair, (ours, theirs) in enumerate(compared, 1):
                        runs.append(
                            {
                                "ring": ring,
                                "bytes": size,
                                "front_end_does": direction.front,
                                "pair": pair,
                                "bulkhead_mpps": round(ours / 1e6, 3),
                                "dpdk_mpps": round(theirs / 1e6, 3),
                            }
                        )
    return BenchResult(summary, runs)


def _compare(
    context: BenchContext, ring: str, size: int, direction: Direction, station: Path
) -> list[tuple[int, int]]:
    """Return the packets per second of our driver and of DPDK's in each pair.

    For DPDK the settings with the best median over the pairs count: the best of each pair would
    select by chance.
    """
    ours: list[int] = []
    theirs: dict[str, list[int]] = {settings: [] for settings in _PEER[ring, direction.front]}
    for _ in range(context.pairs):
        ours.append(_measure(context, direction, size, ring, station))
        for settings, rates in theirs.items():
            rates.append(_measure(context, direction, size, settings))
    return list(zip(ours, max(theirs.values(), key=statistics.median), strict=True))


def _check_machine() -> None:
    if os.geteuid() != 0:
        raise UserError("huge pages need root", "call with sudo")
    if len(os.sched_getaffinity(0)) < 2:
        raise UserError(
            "a core for each side is needed, and this machine has one", "use another machine"
        )


@contextmanager
def _huge_pages() -> Iterator[None]:
    """Reserve the huge pages that the bench needs, and release them afterwards."""
    before = int(_HUGE_PAGES.read_text())
    found = _HUGE_PAGES_FREE.search(Path("/proc/meminfo").read_text())
    free = int(found.group(1)) if found else 0
    lacking = max(0, _HUGE_PAGES_NEEDED - free)
    try:
        try:
            _HUGE_PAGES.write_text(str(before + lacking))
        except OSError as error:
            raise UserError(f"huge pages can't be reserved ({error})", "call as root") from None
        if int(_HUGE_PAGES.read_text()) < before + lacking:
            raise UserError(
                f"{_HUGE_PAGES_NEEDED} huge pages of 2 MiB are not available",
                "free memory, or reserve them at boot",
            )
        yield
    finally:
        _HUGE_PAGES.write_text(str(before))


def _measure(
    context: BenchContext,
    direction: Direction,
    size: int,
    settings: str,
    station: Path | None = None,
) -> int:
    """Return the packets per second that the back-end counts.

    With `station`, our driver is measured, and `settings` is the format of its rings. Without it,
    DPDK's driver is measured with these settings.
    """
    return context.undisturbed(lambda: _count(context, direction, size, settings, station))


def _count(
    context: BenchContext,
    direction: Direction,
    size: int,
    settings: str,
    station: Path | None,
) -> int:
    with tempfile.TemporaryDirectory(prefix="bulkhead-") as folder:
        socket = Path(folder) / "socket"
        back = _testpmd(_BACK_CORE, f"net_vhost0,iface={socket},queues=1,client=0")
        with _started(back, context.folder / "back-end.log") as backend:
            backend.wait_for("testpmd>")
            backend.command(f"set fwd {direction.back}", f"set txpkts {size}")
            name, front = "dpdk.log", _dpdk_front_end(socket, settings)
            if station is not None:
                name = "bulkhead.log"
                front = [str(station), str(socket), direction.front, str(size), str(_FRONT_CORE)]
                front += [settings, str(_RING)]
            with _started(front, context.folder / name) as frontend:
                if station is not None:
                    frontend.wait_for("station: ready")
                else:
                    frontend.wait_for("testpmd>")
                    frontend.command(f"set fwd {direction.front}", f"set txpkts {size}", "start")
                    frontend.wait_for(f"{direction.front} packet forwarding - ports=1")
                _run(backend, direction, context.seconds)
        return _rate(backend, direction)


def _run(backend: Program, direction: Direction, seconds: float) -> None:
    backend.wait_for("link state change event")
    backend.command("start tx_first 32" if direction.back == "io" else "start")
    time.sleep(_WARM_UP_S)
    backend.command("show port stats 0")
    time.sleep(seconds)
    backend.command("show port stats 0")


def _rate(backend: Program, direction: Direction) -> int:
    """Return the packets per second between the two printed values of its counters."""
    text = backend.log.read_text(errors="replace")
    found = re.findall(rf"{direction.counted}:\s+(\d+)", text)
    if len(found) < 2 or int(found[1]) == 0:
        raise BenchFailure(f"nothing was counted in {backend.log}:\n{backend.last_words()}")
    return int(found[1])


def _testpmd(core: int, device: str) -> list[str]:
    """Return the command of a testpmd, with both of its threads on one core.

    The thread that reads commands sleeps. Its output is line-buffered, although it is a file.
    """
    testpmd = packages.program("dpdk-testpmd")
    assert testpmd is not None
    # fmt: off
    return [
        "stdbuf", "-oL",
        testpmd, "--lcores", f"0@{core},1@{core}", "--no-pci", "--in-memory", "-m", "256",
        "--single-file-segments", "--force-max-simd-bitwidth=512", "--vdev", device,
        "--", "-i", "--nb-cores=1", f"--burst={_BURST}", f"--txd={_RING}", f"--rxd={_RING}",
        f"--total-num-mbufs={_PEER_BUFFERS}",
    ]
    # fmt: on


def _dpdk_front_end(socket: Path, settings: str) -> list[str]:
    return _testpmd(
        _FRONT_CORE, f"net_virtio_user0,path={socket},queues=1,queue_size={_RING},{settings}"
    )


@contextmanager
def _started(command: Sequence[str], log: Path) -> Iterator[Program]:
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent(),
        ) as process,
    ):
        program = Program(process, log)
        try:
            yield program
            _end(program)
        finally:
            process.kill()


def _end(program: Program) -> None:
    """Close the input of a program, so that it ends. It must end with status 0."""
    assert program.process.stdin is not None
    program.process.stdin.close()
    try:
        status = program.process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        status = None
    if status != 0:
        raise BenchFailure(f"{program.log}: status {status}, not 0:\n{program.last_words()}")
