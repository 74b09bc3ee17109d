# SPDX-License-Identifier: BSD-2-Clause
"""A controlled guest: its console is read, its status is returned, and no QEMU stays.

The guest is a few instructions made here, so that these tests say nothing about our kernel.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from support.core_states import core_states

from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qemu import Machine
from bulkhead.running.qmp import QmpError

# Writes to the PL011 of QEMU's virt machine, then ends with a status by semihosting, or never.
_SOURCE = """
    .global _start
_start:
    b begin
    .word 0
    .quad 0x80000, 0x1000, 0xa
    .quad 0, 0, 0
    .ascii "ARM\\x64"
    .word 0
begin:
    adr x1, message
    ldr x2, =0x09000000
next:
    ldrb w0, [x1], #1
    cbz w0, end
    str w0, [x2]
    b next
end:
    {ending}
    wfi
    b end
message: .asciz "one\\r\\ntwo\\r\\nthree\\r\\nunfinished"
    .balign 8
parameters: .quad 0x20026, 42
"""
_EXIT = "mov w0, #0x18; adr x1, parameters; hlt #0xf000"


@pytest.fixture(scope="module")
def make_image(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    def make(ending: str) -> Path:
        folder = tmp_path_factory.mktemp("guest")
        (folder / "guest.S").write_text(_SOURCE.format(ending=ending))
        compiler = shutil.which("aarch64-linux-gnu-gcc")
        assert compiler, "the tests' setup brings the cross compiler"
        command = [compiler, "-nostdlib", "-static", "-Wl,--build-id=none", "guest.S", "-o", "elf"]
        subprocess.run(command, cwd=folder, check=True)
        copy = ["aarch64-linux-gnu-objcopy", "-O", "binary", "elf", "guest.image"]
        subprocess.run(copy, cwd=folder, check=True)
        return folder / "guest.image"

    return make


def is_running(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_status_and_console(make_image: Callable[[str], Path], tmp_path: Path) -> None:
    with GuestProcess(Machine(make_image(_EXIT)), tmp_path / "console.log") as guest:
        assert guest.wait_for("t") == "two"
        assert guest.wait_for("t") == "three"
        assert guest.wait_for_match("^on") == "one"
        assert guest.wait(30) == 42
        with pytest.raises(GuestError, match=r"ended .42. before 'one'"):
            guest.wait_for("one")


def test_waiting_ends(make_image: Callable[[str], Path], tmp_path: Path) -> None:
    with GuestProcess(Machine(make_image("")), tmp_path / "console.log") as guest:
        guest.wait_for("three")
        with pytest.raises(GuestError, match=r"no 'four' within 0\.2 s"):
            guest.wait_for("four", 0.2)
        with pytest.raises(GuestError, match="still runs"):
            guest.wait(0.2)
        process = guest.process.pid
    assert not is_running(process)


def test_unfinished_line_is_not_a_line(make_image: Callable[[str], Path], tmp_path: Path) -> None:
    with GuestProcess(Machine(make_image("")), tmp_path / "console.log") as guest:
        guest.wait_for("three")
        with pytest.raises(GuestError):
            guest.wait_for("unfinished", 0.5)


def test_machine_protocol(make_image: Callable[[str], Path], tmp_path: Path) -> None:
    with GuestProcess(Machine(make_image("")), tmp_path / "console.log") as guest:
        assert guest.qmp().execute("query-status")["status"] == "running"
        with pytest.raises(QmpError, match="no-such-command"):
            guest.qmp().execute("no-such-command")
        guest.qmp().execute("quit")
        assert guest.wait(10) == 0
        with pytest.raises(QmpError):
            guest.qmp().execute("query-status")


def test_crash_is_reported(make_image: Callable[[str], Path], tmp_path: Path) -> None:
    """A test that reads the console until a line comes does not wait for QEMU any more."""
    with GuestProcess(Machine(make_image("")), tmp_path / "console.log") as guest:
        guest.wait_for("three")
        guest.error_path.write_text("qemu: an assertion failed")
        guest.process.send_signal(signal.SIGABRT)
        guest.process.wait()
        with pytest.raises(GuestError, match=r"(?s)QEMU has crashed.*three.*an assertion failed"):
            guest.console()


def test_end_by_order_is_no_crash(make_image: Callable[[str], Path], tmp_path: Path) -> None:
    with GuestProcess(Machine(make_image("")), tmp_path / "console.log") as guest:
        guest.wait_for("three")
    assert "three" in guest.console()


def test_states_of_cores(make_image: Callable[[str], Path], tmp_path: Path) -> None:
    machine = Machine(make_image(""), cpus=2)
    with GuestProcess(machine, tmp_path / "console.log") as guest:
        guest.wait_for("three")
        first, second = core_states(guest).splitlines()
        assert re.fullmatch(r"core 0: EL1h, pc 0x\w{16}, lr 0x\w{16}", first)
        assert second.startswith("core 1: ")
    assert core_states(guest) == ""


def test_bad_arguments_are_reported(make_image: Callable[[str], Path], tmp_path: Path) -> None:
    machine = Machine(make_image(""), extra=["-no-such-option"])
    with (
        GuestProcess(machine, tmp_path / "console.log") as guest,
        pytest.raises(GuestError, match="no-such-option"),
    ):
        guest.wait_for("one")


def test_killed_parent_leaves_no_qemu(make_image: Callable[[str], Path], tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path;"
        "from bulkhead.running.guest import GuestProcess;"
        "from bulkhead.running.qemu import Machine;"
        "guest = GuestProcess(Machine(Path(sys.argv[1])), Path(sys.argv[2])).start();"
        "print(guest.process.pid, flush=True); time.sleep(60)"
    )
    arguments = [str(make_image("")), str(tmp_path / "console.log")]
    parent = subprocess.Popen(
        [sys.executable, "-I", "-c", script, *arguments], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    qemu = int(parent.stdout.readline())
    assert is_running(qemu)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 10
    while is_running(qemu) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(qemu)
