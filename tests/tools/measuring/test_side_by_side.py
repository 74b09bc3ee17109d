# SPDX-License-Identifier: BSD-2-Clause
"""Processes that work at the same time do not use each other's ports, builds and files."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bulkhead import lock
from bulkhead.paths import BUILD, OUTPUT, ROOT
from bulkhead.running import ports


def python(code: str) -> subprocess.CompletedProcess[str]:
    """Run a piece of Python with our package."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )


def test_ports_are_different_and_stay_reserved() -> None:
    ours = [port for _ in range(8) for port in ports.free_ports(4)]
    assert len(set(ours)) == 32
    printed = python("from bulkhead.running.ports import free_ports; print(*free_ports(60))").stdout
    theirs = [int(port) for port in printed.split()]
    assert len(set(theirs)) == 60
    assert not set(ours) & set(theirs)


def test_two_blocks_have_no_port_in_common() -> None:
    one, other = ports.PortBlock(), ports.PortBlock()
    assert not set(one.take(60)) & set(other.take(60))


def test_a_port_in_use_is_passed_over() -> None:
    block = ports.PortBlock()
    (port,) = block.take(1)
    with socket.create_server(("127.0.0.1", port)):
        assert port not in block.take(60)
    with pytest.raises(ports.NoPortsError):
        block.take(65)


def test_no_port_is_of_those_for_outgoing_connections() -> None:
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    assert all(not first <= port <= last for port in ports.free_ports(60))


def test_a_lock_is_held_by_one_process_at_a_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = f"""
import os, time
from pathlib import Path
from bulkhead import lock
for _ in range(20):
    with lock.held(Path({str(tmp_path / "thing")!r})), open({str(log)!r}, "a") as file:
        for word in ("begin", "end"):
            print(os.getpid(), word, file=file, flush=True)
            time.sleep(0.001)
"""
    children = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [child.wait(60) for child in children] == [0] * 3
    lines = [line.split() for line in log.read_text().splitlines()]
    assert len(lines) == 2 * 20 * 3
    for begin, end in zip(lines[::2], lines[1::2], strict=True):
        assert (begin[0], begin[1], end[1]) == (end[0], "begin", "end")


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    lock.write_whole(path, b"old")
    with path.open("rb") as reader:
        lock.write_whole(path, b"newer")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"newer"
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask
    assert list(tmp_path.iterdir()) == [path]


def test_each_worker_has_an_output_folder_of_its_own() -> None:
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    assert OUTPUT.name == worker if worker else OUTPUT == BUILD
