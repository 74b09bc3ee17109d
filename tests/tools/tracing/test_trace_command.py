# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead trace` beside a running system, and beside a program on a bare machine."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema
from support.traced_guest import BYTES, KERNEL, START, TracedGuest
from support.vcpu_table import Record, memory_with_vcpus

from bulkhead.errors import UserError
from bulkhead.paths import ROOT
from bulkhead.running.attach import GuestMemory, Running
from bulkhead.running.ports import free_ports
from bulkhead.running.reach import DEFAULT_FORWARDS
from bulkhead.tracing.trace_command import choose_guest

_TIMEOUT_S = 90
_ATTEMPTS = 5
_SYSTEM = """
board = "qemu-virt"
[[partition]]
name = "first"
cores = [0]
memory = "16 MiB"
image = "boot"
[[partition]]
name = "second"
cores = [1]
memory = "16 MiB"
image = "trace"
arguments = "trace=2048 periods=15"
[[partition]]
name = "third"
cores = [2]
memory = "16 MiB"
image = "trace"
arguments = "trace=1024"
"""
_PAIR = """
board = "qemu-virt"
[[partition]]
name = "left"
cores = [0]
memory = "32 MiB"
image = "channel"
arguments = "trace=65536 send=1000"
[[partition]]
name = "right"
cores = [1]
memory = "16 MiB"
image = "channel"
arguments = "send=1000"
[[channel]]
name = "samples"
from = "left"
to = "right"
size = "16 KiB"
"""


@contextmanager
def running(output: Path, *arguments: str) -> Iterator[None]:
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [ROOT / "bulkhead", "run", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            finally:
                process.kill()


def wait_for(output: Path, text: str) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while text not in output.read_text(errors="replace"):
        assert time.monotonic() < deadline, output.read_text(errors="replace")
        time.sleep(0.1)


def trace(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "bulkhead", "trace", *arguments],
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def read_running(*arguments: str) -> None:
    """Read the trace of a partition that goes on. The read fails if the machine is so slow that
    events are overwritten meanwhile."""
    for _ in range(_ATTEMPTS):
        done = trace(*arguments)
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stderr


def refused(*arguments: str) -> str:
    done = trace(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


def free_forwards() -> list[str]:
    options = []
    for guest, host in zip(DEFAULT_FORWARDS, free_ports(len(DEFAULT_FORWARDS)), strict=True):
        options += ["--forward", f"{guest}={host}"]
    return options


def test_partitions(tmp_path: Path) -> None:
    file = tmp_path / "traced.toml"
    file.write_text(_SYSTEM)
    output = tmp_path / "output"
    with running(output, str(file)):
        wait_for(output, "second| trace: stopped")
        files = {name: tmp_path / f"trace.{name}" for name in ("svg", "perfetto", "json")}
        options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
        done = trace(str(file), "--partition", "second", *options)
        assert done.returncode == 0, done.stderr
        assert re.search(r"loop +│ control +│", done.stdout), done.stdout
        assert re.search(r"control +│ +2,000.0 │ +10,000.0 │", done.stdout), done.stdout
        record = json.loads(files["json"].read_text())
        assert record["guest"] == "second"
        assert record["capacity"] == 2048
        assert {"loop", "waiter", "init"} <= {each["name"] for each in record["threads"]}
        names = {event["event"] for event in record["events"]}
        assert {"switch", "preempt", "ready", "block", "create", "vcpu_replenished"} <= names
        times = [event["time_ns"] for event in record["events"]]
        assert times == sorted(times)
        message = schema.Trace()
        message.ParseFromString(files["perfetto"].read_bytes())
        tracks = {packet.track_descriptor.name for packet in message.packet}
        assert {"second", "VCPU control", "loop"} <= tracks
        root = ElementTree.parse(files["svg"]).getroot()
        assert any("Schedule of second" in (each.text or "") for each in root.iter())

        # The last part of the same trace, which has stopped.
        short = tmp_path / "short.json"
        done = trace(str(file), "--partition", "second", "--last", "20ms", "--json", str(short))
        assert done.returncode == 0, done.stderr
        part = json.loads(short.read_text())["events"]
        assert part == record["events"][-len(part) :]
        assert 0 < part[-1]["time_ns"] - part[0]["time_ns"] <= 20_000_000

        # The third goes on.
        counts = []
        for _ in range(2):
            read_running(str(file), "--partition", "third", "--json", str(short))
            counts.append(json.loads(short.read_text())["written"])
            time.sleep(0.2)
        assert counts[1] > counts[0]

        line = refused(str(file))
        assert "several partitions have a trace; choose one with --partition: second, third" in line
        line = refused(str(file), "--partition", "first")
        assert "the trace of partition 'first' is off; add trace=4096 to its boot" in line
        assert "there is no partition 'fourth'" in refused(str(file), "--partition", "fourth")


def test_channels(tmp_path: Path) -> None:
    file, output, path = tmp_path / "pair.toml", tmp_path / "output", tmp_path / "trace.json"
    file.write_text(_PAIR)
    with running(output, str(file)):
        wait_for(output, "left| channel: received 1000")
        wait_for(output, "right| channel: received 1000")
        done = trace(str(file), "--json", str(path))
        assert done.returncode == 0, done.stderr
    # Life, messages sent and received, bytes, notifications, sleeps, errors.
    (counters,) = re.findall(r"│ samples +│ left +│((?: +[\d,]+ │){7})", done.stdout)
    record = json.loads(path.read_text())
    (end,) = record["channel_ends"]
    names = ("generation", "sent", "received", "bytes", "notifications", "sleeps", "errors")
    assert counters.replace(",", "").replace("│", "").split() == [str(end[name]) for name in names]
    assert (end["channel"], end["sent"], end["received"]) == ("samples", 1000, 1000)
    assert end["sleeps"] > 0
    events = [event for event in record["events"] if event["event"] == "channel_connection"]
    assert [event["connection"] for event in events] == ["connecting", "connected"]
    assert {(event["channel"], event["violation"], event["generation"]) for event in events} == {
        (0, None, end["generation"])
    }
    assert any(event["event"] == "channel_sleep" for event in record["events"])
    # Notified, was notified, waited, connected, violations, changes of the state.
    assert re.search(r"│ samples +│(?: +[\d,]+ │){3} +1 │ +0 │ +1 │\n", done.stdout), done.stdout


def test_bare_program(tmp_path: Path) -> None:
    output, second = tmp_path / "output", tmp_path / "second"
    append = ["--", "-append", "exit=semihosting trace=16384"]
    path = tmp_path / "trace.json"
    with running(output, "--bare", *free_forwards(), "trace", *append):
        wait_for(output, "trace: begins")
        # The command finds the first of two.
        with running(second, "--bare", *free_forwards(), "trace", *append[:2], "trace=64"):
            wait_for(second, "trace: begins")
            done = trace("--bare", "trace", "--json", str(path))
            assert done.returncode == 0, done.stderr
            assert json.loads(path.read_text())["capacity"] == 16384
    assert "is not running" in refused("--bare", "trace")


def test_bare_program_on_taps(tmp_path: Path) -> None:
    """QEMU is in another network namespace than the command."""
    if os.geteuid() != 0:
        pytest.skip("a tap needs root")
    output = tmp_path / "output"
    append = ["--", "-append", "exit=semihosting trace=16384"]
    with running(output, "--bare", "--net", "tap", "trace", *append):
        wait_for(output, "trace: begins")
        done = trace("--bare", "trace")
        assert done.returncode == 0, done.stderr
        assert "loop" in done.stdout


def test_a_partition_with_vcpus_alone_has_no_trace() -> None:
    contents = {0x9000_0000: memory_with_vcpus([Record()]), 0xA000_0000: TracedGuest().memory()}
    guests = [
        GuestMemory(name, START, BYTES, physical, KERNEL)
        for name, physical in zip(("counted", "traced"), contents, strict=True)
    ]

    def read(address: int, size: int) -> bytes:
        place = address & 0xF000_0000
        return bytes(contents[place][address - place : address - place + size])

    assert choose_guest(Running("two", 0, 2, guests), None, read).memory.partition == "traced"
    with pytest.raises(UserError, match="no partition has a trace"):
        choose_guest(Running("two", 0, 2, guests[:1] * 2), None, read)
