# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead run` as a user calls it: the demo answers at the printed addresses, and quitting
cleans up."""

from __future__ import annotations

import os
import pty
import random
import re
import select
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from bulkhead.paths import ROOT
from bulkhead.running.ports import free_ports
from bulkhead.running.reach import DEFAULT_FORWARDS

_TIMEOUT_S = 90

_TWO_NETWORKS = """
board = "qemu-virt"
[[partition]]
name = "one"
cores = [0]
memory = "64 MiB"
image = "demo"
pci = ["00:02.0"]
dma = "smmu"
[[partition]]
name = "two"
cores = [3]
memory = "64 MiB"
image = "demo"
pci = ["00:03.0"]
dma = "smmu"
"""


@contextmanager
def running(output: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [ROOT / "bulkhead", "run", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def wait_for(output: Path, pattern: str) -> re.Match[str]:
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        text = output.read_text(errors="replace")
        if found := re.search(pattern, text):
            return found
        assert time.monotonic() < deadline, f"no {pattern!r} in:\n{text}"
        time.sleep(0.1)


def children(process: int) -> list[int]:
    return [child.pid for child in psutil.Process(process).children()]


def forward_options() -> tuple[list[str], dict[int, int]]:
    forwards = dict(zip(DEFAULT_FORWARDS, free_ports(len(DEFAULT_FORWARDS)), strict=True))
    options = []
    for guest, host in forwards.items():
        options += ["--forward", f"{guest}={host}"]
    return options, forwards


def status_page(url: str) -> str:
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, OSError):
            assert time.monotonic() < deadline, f"{url} does not answer"
            time.sleep(0.2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_forwarded_ports_answer_until_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    options, forwards = forward_options()
    output = tmp_path / "output"
    with running(output, "--bare", *options) as process:
        url = wait_for(output, r"status page +(http://127\.0\.0\.1:(\d+)/)")
        assert int(url.group(2)) == forwards[80]
        assert "<html" in status_page(url.group(1))
        (qemu,) = children(process.pid)
        process.send_signal(number)
        assert process.wait(30) == 128 + number
        assert not psutil.pid_exists(qemu)


def test_the_namespace_of_taps_is_removed(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a tap needs root")
    output = tmp_path / "output"
    with running(output, "--bare", "--net", "tap") as process:
        found = wait_for(output, r"ip netns exec (bulkhead-\d+) ping (\S+)")
        name, address = found.groups()
        wait_for(output, rf"address {re.escape(address)}\b")
        inside = ["ip", "netns", "exec", name]
        subprocess.run([*inside, "ping", "-c", "3", "-W", "5", address], check=True)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 128 + signal.SIGINT
    assert not Path("/run/netns", name).exists()


def test_each_card_of_a_system_is_on_a_tap(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a tap needs root")
    file = tmp_path / "two.toml"
    file.write_text(_TWO_NETWORKS)
    output = tmp_path / "output"
    with running(output, "--net", "tap", str(file)) as process:
        for partition, address in (("one", "10.77.0.10"), ("two", "10.77.0.11")):
            inside = wait_for(output, rf"(?m)^{partition} +ping +(.*) ping {address}$").group(1)
            wait_for(output, rf"(?m)^{partition}\| .*address {re.escape(address)}\b")
            ping = [*inside.split(), "ping", "-c", "3", "-W", "5", address]
            subprocess.run(ping, check=True)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 128 + signal.SIGINT
    assert not Path("/run/netns", f"bulkhead-{process.pid}").exists()


def test_namespace_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a tap needs root")
    names = []
    for ending in (signal.SIGKILL, signal.SIGINT):
        output = tmp_path / ending.name
        with running(output, "--bare", "--net", "tap") as process:
            names.append(wait_for(output, r"namespace (bulkhead-\d+) is removed").group(1))
            process.send_signal(ending)
            process.wait(30)
    for name in names:
        assert not Path("/run/netns", name).exists()


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--bare", "--net", "tap"),
        ("run", "--net", "tap", "{system}"),
        ("bench", "distributor", "--case", "table"),
        ("bench", "irq-latency"),
    ],
    ids=" ".join,
)
def test_a_signal_at_any_instant_leaves_nothing(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    if os.geteuid() != 0:
        pytest.skip("a tap needs root")
    file = tmp_path / "two.toml"
    file.write_text(_TWO_NETWORKS)
    command = [str(ROOT / "bulkhead"), *(each.format(system=file) for each in arguments)]
    generator = random.Random(39)
    for _ in range(15):
        number = generator.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        with (tmp_path / "output").open("wb") as stream:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
            )
        time.sleep(generator.uniform(1, 30 if arguments[0] == "bench" else 4))
        started = [
            child
            for child in psutil.Process(process.pid).children(recursive=True)
            if child.name() != "python"
        ]
        process.send_signal(number)
        assert process.wait(_TIMEOUT_S) in (128 + number, -number)  # it may not have begun
        assert not any(child.is_running() for child in started)
        for folder in (Path("/run/netns"), Path(tempfile.gettempdir())):
            assert list(folder.glob(f"bulkhead-{process.pid}*")) == []


def test_control_a_x_quits() -> None:
    options, _ = forward_options()
    process, terminal = pty.fork()
    if process == 0:
        os.execv(ROOT / "bulkhead", ["./bulkhead", "run", "--bare", *options])
    text = ""
    deadline = time.monotonic() + _TIMEOUT_S
    left = False
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            text += os.read(terminal, 4096).decode(errors="replace")
        except OSError:
            break
        if not left and "Press Ctrl-A X" in text and "iperf" in text.split("Ctrl-A X")[1]:
            os.write(terminal, b"\x01x")
            left = True
    else:
        os.kill(process, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os.close(terminal)
    assert left, text
    assert status == 0, text
