# SPDX-License-Identifier: BSD-2-Clause
"""`./bulkhead run` on a terminal: input goes to one partition, until it is off."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bulkhead.building.build import guest_image
from bulkhead.paths import ROOT

_TIMEOUT_S = 120
_OTHER_PARTITION = "\x1d"  # Ctrl-]
_STOP, _BEGIN_ANEW = "\x1es", "\x1er"  # Ctrl-^ and a letter
_LEAVE = "\x01x"

_SYSTEM = """
board = "qemu-virt"
[[partition]]
name = "linux"
cores = [0, 1]
memory = "256 MiB"
image = "linux"
arguments = "quiet shell"
console = "interactive"
[[partition]]
name = "boot"
cores = [2]
memory = "64 MiB"
image = "boot"
"""

_ONE = """
board = "qemu-virt"
[[partition]]
name = "one"
cores = [0]
memory = "16 MiB"
image = "control"
"""

_VCPUS = """
board = "qemu-virt"
[[partition]]
name = "control"
cores = [0]
memory = "16 MiB"
image = "control"
arguments = "report=1"
console = "interactive"
[[partition.vcpu]]
name = "loop"
budget = "100 us"
period = "1 ms"
threads = ["init"]
[[partition]]
name = "boot"
cores = [1]
memory = "16 MiB"
image = "boot"
"""

_SHARED = """board = "qemu-virt"
[[partition]]
name = "net"
cores = [0]
memory = "16 MiB"
image = "backend"
[[partition]]
name = "demo"
cores = [1]
memory = "32 MiB"
image = "demo"
[[shared_device]]
name = "lan"
kind = "net"
client = "demo"
backend = "net"
access = "all"
"""


class Terminal:
    """The command on a pseudo-terminal."""

    def __init__(self, *arguments: str) -> None:
        self.process, self._terminal = pty.fork()
        if self.process == 0:
            os.execv(ROOT / "bulkhead", ["./bulkhead", *arguments])
        self._text = ""
        self.status: int | None = None

    def type(self, text: str) -> None:
        """Type text."""
        os.write(self._terminal, text.encode())

    def _read(self) -> str:
        try:
            return os.read(self._terminal, 4096).decode(errors="replace")
        except OSError:  # the other end of the terminal is closed
            raise AssertionError(f"the command ended after:\n{self._text}") from None

    def expect(self, wanted: str) -> None:
        """Wait for a text after the last one that was waited for."""
        deadline = time.monotonic() + _TIMEOUT_S
        while wanted not in self._text:
            assert time.monotonic() < deadline, f"no {wanted!r} in:\n{self._text}"
            if select.select([self._terminal], [], [], 1)[0]:
                self._text += self._read()
        self._text = self._text.partition(wanted)[2]

    def wait(self) -> int:
        """Return the command's exit status."""
        deadline = time.monotonic() + _TIMEOUT_S
        while time.monotonic() < deadline:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                self.status = os.waitstatus_to_exitcode(status)
                return self.status
            time.sleep(0.1)
        raise AssertionError("the command does not end")

    def end(self) -> None:
        """End the command if it still runs."""
        if self.status is None:
            os.kill(self.process, signal.SIGTERM)
            os.waitpid(self.process, 0)
        os.close(self._terminal)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "bulkhead", *arguments],
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def terminal(*arguments: str) -> Iterator[Terminal]:
    opened = Terminal(*arguments)
    try:
        yield opened
    finally:
        opened.end()


def test_a_system_that_is_not_running_has_no_counters() -> None:
    for name in ("stat", "top"):
        done = command(name, "minimal")
        assert done.returncode == 2
        assert done.stderr.endswith(
            "system 'minimal' is not running, or another stat, top or trace is connected to it; "
            "start it: ./bulkhead run minimal\n"
        )


def test_partitions_share_a_terminal(tmp_path: Path) -> None:
    file = tmp_path / "terminal.toml"
    file.write_text(_SYSTEM)
    with terminal("run", str(file)) as screen:
        screen.expect("linux: ready")
        screen.expect("# ")
        counted = command("stat", str(file)).stdout
        assert re.search(r"core +┃ +0 linux ┃ +1 linux ┃ +2 boot ┃", counted), counted
        assert re.search(r"state +│ +running │ +running │ +stopped │", counted), counted
        assert re.search(r"fault +│ +0 │ +0 │ +0 │", counted), counted
        screen.type("echo $((6 * 7))\r")
        screen.expect("linux| 42")
        screen.type(_OTHER_PARTITION)
        screen.expect("the input is for boot")
        screen.type(_OTHER_PARTITION)
        screen.expect("the input is for linux")
        screen.type("reboot -f\r")
        screen.expect("linux: ready")
        screen.expect("# ")
        screen.type("poweroff -f\r")
        screen.expect("linux is off")
        screen.type(_LEAVE)
        assert screen.wait() == 0


def test_counters_of_vcpus(tmp_path: Path) -> None:
    """The counters of a running partition's VCPU grow, and a partition without VCPUs has none."""
    file = tmp_path / "vcpus.toml"
    file.write_text(_VCPUS)
    written = tmp_path / "stat.json"

    def count() -> dict[str, Any]:
        done = command("stat", str(file), "--json", str(written))
        assert done.returncode == 0, done.stderr
        title = "control: VCPUs, and their shares since they were created"
        assert title in done.stdout, done.stdout
        row = r"│ loop +│ +main │ +100 us │ +1 ms │ +10\.0% │ +\d+\.\d% │"
        assert re.search(row, done.stdout), done.stdout
        assert "boot: VCPUs" not in done.stdout
        cores = json.loads(written.read_text())
        assert [each["partition"] for each in cores] == ["control", "boot"]
        assert cores[1]["vcpus"] == []
        (vcpu,) = cores[0]["vcpus"]
        return dict(vcpu)

    with terminal("run", str(file)) as screen:
        screen.expect("control: ")
        before = count()
        screen.expect("periods")
        time.sleep(1)
        after = count()
        grown = {name: after[name] - before[name] for name in before if name.endswith("_ns")}
        assert grown["age_ns"] > 1_000_000_000
        assert grown["budget_ns"] == grown["period_ns"] == 0
        assert 0 < grown["received_ns"] <= grown["age_ns"]
        assert after["response_max_ns"] > 0
        screen.type(_LEAVE)
        assert screen.wait() == 0


def test_a_client_of_a_shared_card_is_seen(tmp_path: Path) -> None:
    """`stat` counts its frames, and `capture` writes them for a pipe.

    There is no card: the frames are those by which the demo looks for an address.
    """
    file = tmp_path / "shared.toml"
    file.write_text(_SHARED)
    with terminal("run", str(file)) as screen:
        screen.expect("demo: http on 80")
        counted = command("stat", str(file)).stdout
        assert "net: shared devices, and their rates since it began" in counted
        assert re.search(r"lan +│ demo +│ up +│", counted), counted
        done = subprocess.run(
            [ROOT / "bulkhead", "capture", str(file), "demo", "--count", "1", "--seconds", "60"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert b"captured 1 frame of 'demo'" in done.stderr
        assert done.stdout.startswith(bytes.fromhex("4d3cb2a1"))  # pcap with nanoseconds
        assert len(done.stdout) >= 24 + 16 + 60
        screen.type(_LEAVE)
        assert screen.wait() == 0


def test_response_times_of_budgets(tmp_path: Path) -> None:
    """They are printed before the start, and while the system runs."""
    file = tmp_path / "budgets.toml"
    members = (("slow", "3 ms", "10 ms"), ("fast", "100 us", "1 ms"))
    file.write_text(
        'board = "qemu-virt"\n'
        + "".join(
            f'[[partition]]\nname = "{name}"\ncores = [0]\nmemory = "16 MiB"\n'
            f'image = "control"\nbudget = "{budget}"\nperiod = "{period}"\n'
            for name, budget, period in members
        )
    )
    with terminal("run", str(file)) as screen:
        screen.expect("worst response")
        screen.expect("3.415744 ms")
        screen.expect("fast| ")
        counted = command("stat", str(file)).stdout
        assert re.search(r"worst response +│ +3\.415744 ms │ +110\.72 us │", counted), counted
        screen.type(_LEAVE)
        assert screen.wait() == 0


def test_the_device_that_a_partition_does_not_own_is_named(tmp_path: Path) -> None:
    file = tmp_path / "fault.toml"
    file.write_text(
        'board = "qemu-virt"\n[[partition]]\nname = "rogue"\ncores = [0]\nmemory = "16 MiB"\n'
        'image = "rogue"\narguments = "attack=read address=0x4000004"\n'
    )
    with terminal("run", str(file)) as screen:
        screen.expect("bulkhead| rogue is stopped: core 0, address 0x4000004")
        screen.expect("bulkhead| 0x4000004 is in device 'flash' that no partition owns")
        screen.type(_LEAVE)
        assert screen.wait() == 0


@pytest.mark.parametrize("attack", ["spin", "priority address=1"])
def test_a_busy_partition_is_stopped_and_restarted(tmp_path: Path, attack: str) -> None:
    """It masks all interrupts, or never ends an interrupt of the highest priority."""
    file = tmp_path / "busy.toml"
    text = (ROOT / "systems" / "isolation" / "system.toml").read_text()
    file.write_text(re.sub(r'(?m)^arguments = ".*"$', f'arguments = "attack={attack}"', text))
    name = attack.partition(" ")[0]
    with terminal("run", str(file)) as screen:
        screen.expect(f"rogue: {name}")
        screen.expect("victim is off")
        screen.type(_OTHER_PARTITION)
        screen.expect("the input is for rogue")
        screen.type(_STOP)
        screen.expect("rogue is stopped")
        screen.type(_BEGIN_ANEW)
        screen.expect("rogue restarts")
        screen.expect(f"rogue: {name}")
        screen.type(_BEGIN_ANEW)
        screen.expect("rogue restarts")
        screen.expect(f"rogue: {name}")
        screen.type(_LEAVE)
        assert screen.wait() == 0


def _partition_command(file: Path, *arguments: str) -> str:
    """Return what the command prints: its result, or its error."""
    done = command("partition", *arguments, "--system", str(file))
    assert done.returncode == (2 if done.stderr else 0)
    return done.stderr or done.stdout


def _states(file: Path) -> list[str]:
    """Return the states of all partitions, when none starts or stops."""
    printed = _partition_command(file, "list")
    while "busy" in printed:
        printed = _partition_command(file, "list")
    return [" ".join(line.split()) for line in printed.splitlines()]


def test_partitions_change_from_outside(tmp_path: Path) -> None:
    file = tmp_path / "changing.toml"
    text = (ROOT / "systems" / "managed" / "system.toml").read_text()
    file.write_text(text.replace('name = "work"', 'name = "work"\narguments = "beats=0"'))
    image = guest_image("beat")
    damaged = tmp_path / "damaged.image"
    header = bytearray(image.read_bytes())
    header[16:24] = bytes(8)  # image_size
    damaged.write_bytes(header)
    with terminal("run", str(file)) as screen:
        screen.expect("manager: listens")
        states = ["manager running", "loop running", "work running", "spare absent"]
        assert _states(file) == states
        for arguments, printed in (
            (("stop", "work"), "work stopped"),
            (("start", "work"), "work running"),
            (("replace", "work", "--image", str(image)), "work running"),
            (("create", "spare"), "spare stopped"),
            (("destroy", "spare"), "spare absent"),
        ):
            assert " ".join(_partition_command(file, *arguments).split()) == printed
        screen.expect("work| beat: begins")
        refusals: tuple[tuple[tuple[str, ...], str], ...] = (
            (("start", "work"), "start of partition 'work': its state does not allow that; "),
            (("stop", "manager"), "stop of partition 'manager': the manager decides about other "),
            (("stop", "wrok"), "there is no partition 'wrok'; write 'work'"),
            (("crash", "spare"), "crash of partition 'spare': its state does not allow that; "),
            (("give", "00:02.0", "wrok"), "there is no partition 'wrok'; write 'work'"),
            (
                ("give", "00:02.0", "work"),
                "PCI function 00:02.0 to partition 'work': it does not move there; ",
            ),
            (
                ("replace", "work", "--image", str(damaged)),
                "replace of partition 'work': the file is no arm64 Image for it; build an Image",
            ),
        )
        for refused, line in refusals:
            assert _partition_command(file, *refused).startswith(f"bulkhead: {line}")
        assert _states(file) == states


def test_a_system_without_a_manager_does_not_change(tmp_path: Path) -> None:
    file = tmp_path / "fixed.toml"
    file.write_text(_ONE)
    with terminal("run", str(file)) as screen:
        screen.expect("control: a period")
        line = "bulkhead: system 'fixed' has no manager; write manager = true in a partition of "
        assert _partition_command(file, "stop", "one").startswith(line)
