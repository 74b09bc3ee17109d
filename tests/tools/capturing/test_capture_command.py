# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead capture`: which frames it writes, when it ends, and its errors."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scapy.utils import RawPcapReader
from support.backend_guest import RING, BackEndMemory, record, report
from support.traced_guest import PHYSICAL, START

from bulkhead.capturing import capture_command
from bulkhead.capturing.capture_command import (
    Capture,
    CaptureOptions,
    capture_system,
    find_readers,
)
from bulkhead.capturing.machine_file import MachineFile
from bulkhead.capturing.mirror import MirrorReader
from bulkhead.errors import UserError
from bulkhead.inspecting.reports import UnreadableMachine
from bulkhead.layouts.backend import FrameMirrorRing
from bulkhead.running import attach
from bulkhead.running.attach import Running

COUNTERS = report(
    record(), record("lan-a", "a"), record("lan-b", "b"), record("second-a", "a"), record("b", "c")
)


class Machine:
    """A machine with a back-end, whose memory is in a file."""

    def __init__(self, folder: Path) -> None:
        self.back_end = BackEndMemory(COUNTERS)
        self.path = folder / "memory"
        self.path.write_bytes(self.back_end.content)
        self.running = Running(
            "system",
            guests=[self.back_end.guest().memory],
            backends=["net"],
            memory=str(self.path),
            memory_start=PHYSICAL,
        )
        self.memory = MachineFile(self.path, PHYSICAL)

    @property
    def ring(self) -> FrameMirrorRing:
        """The mirror's header, with the request of the command."""
        place = RING - START
        return FrameMirrorRing.from_buffer_copy(self.path.read_bytes(), place)

    def mirror(self, *frames: bytes) -> None:
        """Write frames into the mirror, and keep the request."""
        request = self.ring
        for name in ("beat", "ports", "bytes_limit"):
            setattr(self.back_end.ring, name, getattr(request, name))
        for frame in frames:
            self.back_end.mirror_frame(frame)
        with self.path.open("r+b") as file:
            file.write(self.back_end.content)

    def readers(self, client: str, snap: int = 0) -> list[MirrorReader]:
        return find_readers(self.running, self.memory, CaptureOptions("system", client, snap=snap))


@pytest.fixture
def system(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    made.memory.close()


def read(system: Machine, output: io.BytesIO) -> list[tuple[tuple[int, int], bytes]]:
    """Return the frames of a pcap file, with seconds and nanoseconds."""
    file = system.path.with_name("read.pcap")
    file.write_bytes(output.getvalue())
    return [((found.sec, found.usec), content) for content, found in RawPcapReader(str(file))]


def captured(
    system: Machine, options: CaptureOptions, meanwhile: Callable[[], None] = lambda: None
) -> tuple[Capture, list[bytes]]:
    """Capture until the options end it. `meanwhile` is called once the request is there."""
    readers = system.readers(options.client)
    for reader in readers:
        reader.poll()
    meanwhile()
    capture = Capture(readers, system.memory, options)
    output = io.BytesIO()
    thread = threading.Thread(target=capture.write_to, args=(output,), daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    return capture, [content for _, content in read(system, output)]


@pytest.mark.parametrize(
    ("client", "ports"), [("a", 0b1010), ("lan-a", 0b10), ("b", 0b10100), ("c", 0b10000)]
)
def test_ports_of_a_client(system: Machine, client: str, ports: int) -> None:
    """A name is that of a partition, of a device, or of both."""
    (reader,) = system.readers(client, snap=96)
    reader.poll()
    assert system.ring.ports == ports
    assert system.ring.bytes_limit == 96


def test_count_ends_the_capture(system: Machine) -> None:
    frames = [bytes([number]) * 60 for number in range(5)]
    options = CaptureOptions("system", "a", count=3)
    capture, written = captured(system, options, lambda: system.mirror(*frames))
    assert written == frames[:3]
    assert (capture.frames, capture.lost) == (3, 0)


def test_time_ends_the_capture(system: Machine) -> None:
    options = CaptureOptions("system", "a", seconds=0.05)
    capture, written = captured(system, options, lambda: system.mirror(b"frame"))
    assert written == [b"frame"]
    assert capture.frames == 1


def test_end_of_the_machine_ends_the_capture(
    system: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    captured(system, CaptureOptions("system", "a"), system.path.unlink)
    assert "system 'system' has ended" in capsys.readouterr().err


def test_times_are_those_of_this_machine(system: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest frame of the first reading has the time of the reading."""
    monkeypatch.setattr("time.time_ns", lambda: 5_000_000_000)
    (reader,) = system.readers("a")
    reader.poll()
    system.mirror(b"first", b"second")
    capture = Capture([reader], system.memory, CaptureOptions("system", "a", count=2))
    output = io.BytesIO()
    capture.write_to(output)
    assert [time for time, _ in read(system, output)] == [(4, 999_999_000), (5, 0)]


def test_damage_that_stays_ends_the_capture(
    system: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory of a back-end that restarts is damaged for a moment only."""
    monkeypatch.setattr(capture_command, "_RESTART_S", 0.05)
    readers = system.readers("a")
    readers[0].poll()
    system.back_end.ring.slot_count = 0
    system.mirror()
    with pytest.raises(UserError, match="the reports of partition 'net' are damaged: 0 slots"):
        Capture(readers, system.memory, CaptureOptions("system", "a")).write_to(io.BytesIO())


def test_unknown_client(system: Machine) -> None:
    with pytest.raises(UserError) as error:
        system.readers("x")
    assert str(error.value) == (
        "no back-end serves a client 'x'; the clients are: a, b, c, lan-a, lan-b, second-a"
    )


def test_back_end_without_a_mirror(system: Machine) -> None:
    system.back_end.directory.count = 1
    system.mirror()
    with pytest.raises(UserError, match="partition 'net' has no mirror; remove mirror=0 from its"):
        system.readers("a")


def test_memory_that_ends_early(system: Machine) -> None:
    with pytest.raises(UnreadableMachine):
        system.memory.read(PHYSICAL + (1 << 20) - 8, 16)
    with pytest.raises(UserError, match="the machine's memory can't be opened: No such file"):
        MachineFile(system.path.with_name("absent"), PHYSICAL)


@pytest.fixture
def attached(system: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Let the command find this machine."""
    monkeypatch.setattr(capture_command, "attach_memory", lambda _: system.running)
    return system


def test_command(attached: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "made.pcap"
    capture_system(CaptureOptions("shared-card", "a", str(file), seconds=0.01))
    assert list(RawPcapReader(str(file))) == []
    assert attached.ring.ports == 0
    assert "captured 0 frames of 'a'" in capsys.readouterr().err


def test_system_without_shared_devices(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="system 'demo' has no shared network devices; name a system"
    ):
        capture_system(CaptureOptions("demo", "linux", str(tmp_path / "made.pcap")))


def test_system_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "OUTPUT", tmp_path)
    line = "system 'shared-card' is not running; start it: ./bulkhead run shared-card"
    with pytest.raises(UserError, match=line):
        capture_system(CaptureOptions("shared-card", "linux", str(tmp_path / "made.pcap")))


def test_back_end_that_has_not_started(system: Machine) -> None:
    system.back_end.directory.count = 0
    system.mirror()
    with pytest.raises(
        UserError, match="the back-end in partition 'net' has not started yet; call"
    ):
        system.readers("a")


def test_back_end_in_linux(system: Machine) -> None:
    """No process of it has published reports."""
    system.back_end.content[:] = bytes(len(system.back_end.content))
    system.mirror()
    with pytest.raises(UserError, match="'net' executes neither the program backend"):
        system.readers("a")


def test_lost_frames_are_reported(
    attached: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (reader,) = attached.readers("a")
    reader.poll()
    attached.mirror(*[bytes([number]) for number in range(20)])
    capture = Capture([reader], attached.memory, CaptureOptions("system", "a", seconds=0.01))
    capture.write_to(io.BytesIO())
    capture_command._summary(capture)
    lines = capsys.readouterr().err
    assert "up to 13 frames were lost, because the mirror of 16 KiB was overwritten" in lines
    assert "mirror=64" in lines
    assert list(tmp_path.glob("*.pcap")) == []


@pytest.mark.parametrize("output", ["/", "/no-such-folder/file"])
def test_bad_output(output: str) -> None:
    with pytest.raises(UserError, match=f"--output {output}"):
        capture_system(CaptureOptions("shared-card", "a", output))
