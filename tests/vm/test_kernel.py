# SPDX-License-Identifier: BSD-2-Clause
"""Test the kernel on a machine: boot, threads, faults and their reports, console, exit.

On several processors and memory sizes; each kind of fault; every way to end.
"""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bulkhead.building.build import guest_image
from bulkhead.running.guest import GuestProcess
from bulkhead.running.qemu import Machine

StartGuest = Callable[..., GuestProcess]

SEMIHOSTING = "exit=semihosting"
AT_EL2 = ("-machine", "virtualization=on")
# Exit status of a program that called panic().
PANIC_STATUS = 101


def machine(name: str, *arguments: str, compiler: str = "gcc", **options: object) -> Machine:
    """Return a machine with a test program that ends by semihosting."""
    return Machine(
        guest_image(name, compiler),
        boot_arguments=(SEMIHOSTING, *arguments),
        **options,  # type: ignore[arg-type]
    )


def expect_pass(guest: GuestProcess) -> str:
    """Wait for the program's end and return its console."""
    status = guest.wait(120)
    console = guest.console()
    assert "FAIL" not in console
    assert "panic" not in console
    assert console.splitlines().count("PASS") == 1
    assert status == 0
    return console


def test_memory_functions(start_guest: StartGuest, compiler: str) -> None:
    expect_pass(start_guest(machine("memory", compiler=compiler)))


def backtrace(console: str) -> list[str]:
    """Return the functions of the report's backtrace, innermost first."""
    report = console[console.index("backtrace:") :]
    return re.findall(r"^  [0-9a-f]{16} ([\w.]+)\+0x", report, re.MULTILINE)


def test_boot(start_guest: StartGuest, compiler: str) -> None:
    console = expect_pass(start_guest(machine("boot", compiler=compiler)))
    assert console.startswith("Bulkhead ")
    assert re.search(r"^boot: first thread after \d+ ns$", console, re.MULTILINE)


@pytest.mark.pairwise
@pytest.mark.parametrize("cpu", ["cortex-a53", "cortex-a72", "neoverse-n1", "max"])
@pytest.mark.parametrize("extra", [(), AT_EL2], ids=["el1", "el2"])
def test_processors(
    start_guest: StartGuest, compiler: str, cpu: str, extra: tuple[str, ...]
) -> None:
    expect_pass(start_guest(machine("boot", compiler=compiler, cpu=cpu, extra=extra)))


@pytest.mark.parametrize("memory_mib", [64, 65, 1024, 3072, 8192])
def test_memory_sizes(start_guest: StartGuest, compiler: str, memory_mib: int) -> None:
    console = expect_pass(start_guest(machine("boot", compiler=compiler, memory_mib=memory_mib)))
    assert f"memory: {memory_mib} MiB" in console
    assert ("1 GiB block split" in console) == (memory_mib > 2048)


def test_boot_is_deterministic(start_guest: StartGuest) -> None:
    lines = [
        start_guest(machine("exit", icount=True)).wait_for("boot: first thread after")
        for _ in range(2)
    ]
    assert lines[0] == lines[1]


@pytest.mark.parametrize("extra", [(), AT_EL2], ids=["el1", "el2"])
def test_threads(start_guest: StartGuest, compiler: str, extra: tuple[str, ...]) -> None:
    expect_pass(start_guest(machine("threads", compiler=compiler, extra=extra)))


@pytest.mark.parametrize("extra", [(), AT_EL2], ids=["el1", "el2"])
def test_floating_point(start_guest: StartGuest, compiler: str, extra: tuple[str, ...]) -> None:
    console = expect_pass(start_guest(machine("floating-point", compiler=compiler, extra=extra)))
    assert "a third: 0.333333, 3 times 3.333333e-01" in console.splitlines()


def test_threads_under_icount(start_guest: StartGuest) -> None:
    expect_pass(start_guest(machine("threads", icount=True)))


def test_control_loop_misses_nothing(start_guest: StartGuest, compiler: str) -> None:
    """Under -icount, time counts instructions, so a loaded host delays nothing."""
    guest = start_guest(machine("control", "report=1", compiler=compiler, icount=True))
    guest.wait_for("control: a period of 1000000 ns")
    guest.wait_for("control: 1000 periods, 0 missed, worst ")
    guest.wait_for("control: 2000 periods, 0 missed, worst ")


FAULTS = [
    ("write-text", r"data abort: write at 0x\w+: permission", ["write_text"]),
    ("write-constants", r"data abort: write at 0x\w+: permission", ["write_constants"]),
    ("write-unmapped", r"data abort: write at 0x\w+: translation", ["write_unmapped"]),
    ("exec-data", r"instruction abort: execute at 0x\w+: permission", []),
    ("exec-heap", r"instruction abort: execute at 0x\w+: permission", []),
    (
        "null",
        r"data abort: read at 0x8: translation \(not mapped\) \(NULL pointer\)",
        ["read_null"],
    ),
    ("call-null", r"instruction abort: execute at 0x0: .*\(NULL pointer\)", []),
    ("stack-overflow", r"stack overflow of thread init \(guard page\)", ["recurse"]),
    ("undefined", r"undefined instruction", ["undefined"]),
    ("unaligned", r"data abort: read at 0x\w+: alignment", ["unaligned"]),
    ("panic", r"number 42", ["panic_plainly"]),
    ("free-twice", r"heap: 0x\w+ is not an allocated block", ["heap_free"]),
]


@pytest.mark.parametrize(("fault", "message", "functions"), FAULTS, ids=[row[0] for row in FAULTS])
def test_fault_in_a_thread(
    start_guest: StartGuest, compiler: str, fault: str, message: str, functions: list[str]
) -> None:
    guest = start_guest(machine("fault", f"fault={fault}", compiler=compiler))
    assert guest.wait() == PANIC_STATUS
    console = guest.console()
    assert re.search(rf"^panic: {message}", console, re.MULTILINE)
    assert "thread: init\n" in console
    # A compiler may inline or clone a function, and then appends a suffix.
    names = [name.split(".")[0] for name in backtrace(console)]
    assert names[: len(functions)] == functions
    assert names[-3:] == ["application_main", "run_application", "context_thread_begin"]


HANDLER_FAULTS = [
    ("null-in-interrupt", r"data abort: read at 0x8", "read_null_in_timer"),
    ("panic-in-interrupt", r"in a timer", "panic_in_timer"),
    ("overflow-in-interrupt", r"stack overflow of the interrupt stack \(guard page\)", "recurse"),
]


@pytest.mark.parametrize(
    ("fault", "message", "function"), HANDLER_FAULTS, ids=[row[0] for row in HANDLER_FAULTS]
)
def test_fault_in_a_handler(
    start_guest: StartGuest, compiler: str, fault: str, message: str, function: str
) -> None:
    guest = start_guest(machine("fault", f"fault={fault}", compiler=compiler))
    assert guest.wait() == PANIC_STATUS
    console = guest.console()
    assert re.search(rf"^panic: {message}", console, re.MULTILINE)
    assert "thread: init, interrupted; in an interrupt handler\n" in console
    names = [name.split(".")[0] for name in backtrace(console)]
    # The backtrace leads from the handler through the interrupt to the interrupted function.
    assert names[0] == function
    assert names.index("exception_interrupt") < names.index("interrupt_entry")
    assert names.index("interrupt_entry") < names.index("application_main")
    assert names[-1] == "context_thread_begin"


@pytest.mark.parametrize("fault", ["frames-in-circle", "frames-into-nowhere"])
def test_corrupt_frames_end_the_backtrace(
    start_guest: StartGuest, compiler: str, fault: str
) -> None:
    guest = start_guest(machine("fault", f"fault={fault}", compiler=compiler))
    assert guest.wait() == PANIC_STATUS
    console = guest.console()
    assert "panic: corrupt frames\n" in console
    assert "(the chain of frames ends at " in console
    assert len(backtrace(console)) <= 3
    assert console.count("panic:") == 1


def test_failure_inside_a_report(start_guest: StartGuest, compiler: str) -> None:
    guest = start_guest(machine("fault", "fault=corrupt-thread", compiler=compiler))
    assert guest.wait() == PANIC_STATUS
    assert "another failure while this one was reported" in guest.console()


def test_machine_without_gicv3(start_guest: StartGuest) -> None:
    guest = start_guest(machine("exit", extra=("-machine", "gic-version=2")))
    assert guest.wait() == PANIC_STATUS
    assert "panic: interrupt controller: " in guest.console()
    assert "thread: boot\n" in guest.console()


@pytest.mark.parametrize("status", [0, 7])
def test_exit_status(start_guest: StartGuest, compiler: str, status: int) -> None:
    guest = start_guest(machine("exit", f"status={status}", compiler=compiler))
    assert guest.wait() == status
    assert f"ending with {status}\n" in guest.console()


# The firmware is called by HVC, or by SMC if EL2 belongs to the guest.
@pytest.mark.parametrize("extra", [(), AT_EL2], ids=["hvc", "smc"])
@pytest.mark.parametrize("arguments", [(), ("restart",)], ids=["off", "reset"])
def test_end_by_firmware(
    start_guest: StartGuest, arguments: tuple[str, ...], extra: tuple[str, ...]
) -> None:
    guest = start_guest(
        Machine(guest_image("exit"), boot_arguments=arguments, semihosting=False, extra=extra)
    )
    # QEMU runs with -no-reboot, so it ends at power-off as well as at reset.
    assert guest.wait() == 0
    assert ("restarting\n" if arguments else "ending with 0\n") in guest.console()


def devicetree(folder: Path) -> bytes:
    """Return the devicetree of QEMU's board."""
    path = folder / "virt.dtb"
    image = guest_image("exit")
    command = Machine(image, extra=("-machine", f"dumpdtb={path}")).arguments(["-serial", "none"])
    subprocess.run(command, check=True, timeout=30, capture_output=True)
    blob = path.read_bytes()
    # Removes the free space at the end, which QEMU would double. The strings come last.
    strings = struct.unpack_from(">I", blob, 12)[0]
    bytes_used = strings + struct.unpack_from(">I", blob, 32)[0]
    return blob[:4] + struct.pack(">I", bytes_used) + blob[8:bytes_used]


def test_no_serial_line(start_guest: StartGuest, tmp_path: Path) -> None:
    blob = devicetree(tmp_path)
    changed = blob.replace(b"arm,pl011\0", b"arm,other\0")
    assert changed != blob
    path = tmp_path / "changed.dtb"
    path.write_bytes(changed)
    guest = start_guest(machine("exit", "status=7", extra=("-dtb", str(path))))
    assert guest.wait() == 7
    assert guest.console() == ""


def test_console(compiler: str) -> None:
    command = machine("console", compiler=compiler).arguments(["-serial", "stdio"])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines: list[str] = []
        try:
            while not lines or lines[-1] != "ready":
                raw = process.stdout.readline()
                assert raw.endswith(b"\r\n")
                lines.append(raw.decode().rstrip())
            process.stdin.write(b"one\ntwo three\n\nend\n")
            process.stdin.flush()
            rest = process.stdout.read().decode().split("\r\n")
            assert process.wait(30) == 0
        finally:
            process.kill()
    for name in ("first", "second"):
        expected = [
            f"{name} {i} of 200: the quick brown fox jumps over the lazy dog" for i in range(200)
        ]
        assert [line for line in lines if line.startswith(name)] == expected
    timer = [line for line in lines if line.startswith("timer ")]
    assert timer == [f"timer {left}" for left in range(200, 0, -1)]
    # A message that is too long is truncated, and ends with a mark.
    assert "0" * 251 + "..." in lines
    assert rest == ["read: one", "read: two three", "read: ", "read: end", "PASS", ""]


def test_boot_arguments_keep_their_commas(start_guest: StartGuest) -> None:
    """QEMU doubles commas inside options, and -append is none. The program prints the argument."""
    text = "a:main:1us/1s,net:io:1ms/9ms:b+c-_.+*"
    guest = start_guest(machine("control", f"period={text}"))
    assert f" period={text}: not a number" in guest.wait_for("boot argument period=")
