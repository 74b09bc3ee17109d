# SPDX-License-Identifier: BSD-2-Clause
"""Capture the frames from and to a client of shared devices: ./bulkhead capture."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from bulkhead import console
from bulkhead.capturing import pcap
from bulkhead.capturing.machine_file import MachineFile
from bulkhead.capturing.mirror import Frame, MirrorReader
from bulkhead.errors import UserError
from bulkhead.inspecting.network_report import PortCounters, read_network
from bulkhead.inspecting.reports import DamagedReport, Guest, list_reports
from bulkhead.output_path import check_output_path
from bulkhead.running.attach import Running, attach_memory
from bulkhead.system.model import SharedKind
from bulkhead.system.parse import find, parse
from bulkhead.system.problems import choose, show

_PAUSE_S = 0.002  # between two readings, if the first had no frames
_CHECK_S = 0.5  # whether the machine runs
_RESTART_S = 5.0  # in which the memory of a back-end that restarts may be damaged
_TO_STDOUT = "-"


@dataclass(frozen=True)
class CaptureOptions:
    """The options of the command line."""

    system: str
    client: str
    output: str = _TO_STDOUT
    count: int | None = None
    seconds: float | None = None
    snap: int = 0  # bytes of a frame; 0: all


@dataclass
class Capture:
    """What was captured, and the ends of the capture."""

    readers: list[MirrorReader]
    memory: MachineFile
    options: CaptureOptions
    frames: int = 0
    _is_stopped: bool = False
    _starts: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """The largest number of frames that may have been overwritten before they were read."""
        return sum(reader.lost for reader in self.readers)

    def stop(self) -> None:
        """End the capture once all frames until now are written. From any thread."""
        self._is_stopped = True

    def write_to(self, output: BinaryIO) -> None:
        """Write frames until the capture ends."""
        output.write(pcap.file_header())
        output.flush()
        begin = checked = good = time.monotonic()
        while self.options.count is None or self.frames < self.options.count:
            is_last = self._is_stopped
            try:
                records = [each for reader in self.readers for each in self._records(reader)]
                good = time.monotonic()
            except DamagedReport:
                if time.monotonic() - good > _RESTART_S:
                    raise
                records = []
            self._write(output, sorted(records, key=lambda each: each[0]))
            now = time.monotonic()
            if is_last:
                return
            if self.options.seconds is not None and now - begin >= self.options.seconds:
                return
            if now - checked >= _CHECK_S:
                checked = now
                if not self.memory.is_running():
                    console.say(f"system {show(self.options.system)} has ended")
                    return
            if not records:
                time.sleep(_PAUSE_S)

    def _records(self, reader: MirrorReader) -> Iterator[tuple[int, Frame]]:
        """Yield the frames since the last call, with their times of this machine's clock."""
        frames = reader.poll()
        life = (id(reader), reader.lives)
        if frames and life not in self._starts:
            self._starts[life] = time.time_ns() - frames[-1].time_ns
        for frame in frames:
            yield self._starts[life] + frame.time_ns, frame

    def _write(self, output: BinaryIO, records: list[tuple[int, Frame]]) -> None:
        if self.options.count is not None:
            records = records[: self.options.count - self.frames]
        for when, frame in records:
            output.write(pcap.packet(when, frame.content, frame.length))
        if records:
            self.frames += len(records)
            output.flush()


def capture_system(options: CaptureOptions) -> None:
    """Write the frames from and to a client as a pcap file."""
    _check_output(options.output)
    system = parse(find(options.system))
    if not any(each.kind is SharedKind.NET for each in system.shared_devices):
        raise UserError(
            f"system {show(system.name)} has no shared network devices",
            "name a system that has some, such as shared-card (docs/shared-devices.md)",
        )
    running = attach_memory(options.system)
    with contextlib.closing(MachineFile(running.memory, running.memory_start)) as memory:
        readers = find_readers(running, memory, options)
        capture = Capture(readers, memory, options)
        console.say(f"captures frames of {show(options.client)}; Ctrl-C ends")
        try:
            with _opened(options.output) as output:
                capture.write_to(output)
        except (KeyboardInterrupt, BrokenPipeError):
            pass
        finally:
            _end(readers)
        _summary(capture)


def find_readers(
    running: Running, memory: MachineFile, options: CaptureOptions
) -> list[MirrorReader]:
    """Return a reader for each back-end of the client, which is a partition or a device."""
    known: set[str] = set()
    readers = []
    for place in running.guests:
        if place.partition not in running.backends:
            continue
        guest = Guest(running.backend_memory(place), "", memory.read)
        clients = _clients_of(guest)
        known |= {each.client for each in clients} | {each.device for each in clients}
        ports = [each.port for each in clients if options.client in (each.client, each.device)]
        if ports:
            mask = sum(1 << port for port in ports)
            readers.append(MirrorReader(guest, memory.write, mask, options.snap))
    if not readers:
        raise UserError(
            f"no back-end serves a client {show(options.client)}",
            choose(options.client, known, "clients"),
        )
    for reader in readers:
        _check_reader(reader)
    return readers


def _clients_of(guest: Guest) -> list[PortCounters]:
    if list_reports(guest) is None:
        raise UserError(
            f"{guest.title} executes neither the program backend of our kernel, nor a "
            "bulkhead-backend that serves its first device",
            "start it, or capture in that partition: in Linux for example by tcpdump",
        )
    counters = read_network(guest)
    if counters is None:
        raise UserError(f"the back-end in {guest.title} has not started yet", "call again")
    return [port for port in counters.ports if port.device]


def _check_reader(reader: MirrorReader) -> None:
    title = reader.guest.title
    if not reader.has_ring():
        raise UserError(
            f"{title} has no mirror", "remove mirror=0 from its arguments, or give it more memory"
        )
    if reader.is_used(lambda: time.sleep(0.1)):
        raise UserError(f"another capture reads the mirror of {title}", "end that one first")


def _check_output(output: str) -> None:
    if output != _TO_STDOUT:
        check_output_path(Path(output), "--output")
    elif sys.stdout.isatty():
        raise UserError(
            "a capture is not readable on a terminal",
            "write --output FILE.pcap, or | tcpdump -r - behind the command",
        )


@contextlib.contextmanager
def _opened(output: str) -> Iterator[BinaryIO]:
    if output == _TO_STDOUT:
        try:
            yield sys.stdout.buffer
        except BrokenPipeError:
            # Nothing is left to be written when Python ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    with Path(output).open("wb") as file:
        yield file


def _end(readers: list[MirrorReader]) -> None:
    for reader in readers:
        with contextlib.suppress(UserError):  # it restarts: its mirror is off
            reader.end()


def _summary(capture: Capture) -> None:
    frames = "1 frame" if capture.frames == 1 else f"{capture.frames:,} frames"
    console.say(f"captured {frames} of {show(capture.options.client)}")
    if capture.lost:
        kib = max(reader.bytes for reader in capture.readers) >> 10
        console.say(
            f"up to {capture.lost:,} frames were lost, because the mirror of {kib} KiB was "
            "overwritten before they were read: give the back-end the argument mirror="
            f"{4 * kib}, or capture less of each frame with --snap"
        )
