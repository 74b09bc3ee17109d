# SPDX-License-Identifier: BSD-2-Clause
"""The driver and the polled one as vhost-user front-ends against DPDK's back-end: frames there and
back on each queue pair, twice."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bulkhead.building.build import COMPILERS, Variant
from bulkhead.setup.packages import program

_TESTPMD = "dpdk-testpmd"
_FRAMES = 20_000
_FRAMES_POLLED = 5_000
_START_TIMEOUT_S = 60
_RUN_TIMEOUT_S = 120


@contextmanager
def _testpmd(socket: Path, log: Path, client: bool, pairs: int) -> Iterator[None]:
    """Yield a testpmd without huge pages that sends each frame back on its queue pair. End it with
    the context."""
    testpmd = program(_TESTPMD)
    if testpmd is None:
        pytest.skip(f"{_TESTPMD} is not installed: ./bulkhead setup vhost-user")
    # fmt: off
    command = [
        testpmd, "--lcores", "0,1@0", "--no-pci", "--no-huge", "-m", "256", "--no-shconf",
        "--vdev", f"net_vhost0,iface={socket},queues={pairs},client={int(client)}",
        "--", "-i", "--forward-mode=io", "--auto-start", "--total-num-mbufs=8192",
        f"--rxq={pairs}", f"--txq={pairs}",
    ]
    # fmt: on
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            _wait_for_prompt(process, log)
            yield
        finally:
            process.kill()


def _wait_for_prompt(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while "testpmd>" not in log.read_text(errors="replace"):
        assert process.poll() is None, f"testpmd ended\n{log.read_text(errors='replace')}"
        assert time.monotonic() < deadline, f"testpmd does not start: see {log}"
        time.sleep(0.05)


@pytest.mark.parametrize(
    "compiler", [COMPILERS[0], pytest.param(COMPILERS[1], marks=pytest.mark.long)]
)
@pytest.mark.parametrize("pairs", [1, 2])
@pytest.mark.parametrize("server", [False, True], ids=["client", "server"])
def test_frames_come_back_from_dpdk(
    compiler: str, pairs: int, server: bool, tmp_path: Path, log_folder: Path
) -> None:
    front_end = Variant("host", compiler).folder / "tests" / "vhost_user" / "round_trip"
    socket = tmp_path / "socket"
    command = [str(front_end), str(socket), str(_FRAMES), str(pairs)]
    with _testpmd(socket, log_folder / "testpmd.log", client=server, pairs=pairs):
        done = subprocess.run(
            [*command, *(["server"] if server else [])],
            capture_output=True,
            text=True,
            timeout=_RUN_TIMEOUT_S,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    for pair in range(pairs):
        assert done.stdout.count(f"pair {pair}: {_FRAMES} frames") == 2


@pytest.mark.parametrize(
    "compiler", [COMPILERS[0], pytest.param(COMPILERS[1], marks=pytest.mark.long)]
)
def test_frames_come_back_to_the_polled_driver(
    compiler: str, tmp_path: Path, log_folder: Path
) -> None:
    front_end = Variant("host", compiler).folder / "tests" / "vhost_user" / "polled"
    socket = tmp_path / "socket"
    with _testpmd(socket, log_folder / "testpmd.log", client=False, pairs=1):
        done = subprocess.run(
            [str(front_end), str(socket), str(_FRAMES_POLLED)],
            capture_output=True,
            text=True,
            timeout=_RUN_TIMEOUT_S,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(f"polled: {_FRAMES_POLLED} frames, 0 interrupts") == 2
