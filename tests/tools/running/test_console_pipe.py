# SPDX-License-Identifier: BSD-2-Clause
"""What QEMU prints reaches the terminal unchanged, with explanations after some lines."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bulkhead.running.console_pipe import ConsolePipe


def passed_on(program: str) -> None:
    """Pass on what a Python program prints. Lines with FAULT are explained."""
    process = subprocess.Popen([sys.executable, "-uc", program], stdout=subprocess.PIPE)
    pipe = ConsolePipe(process, lambda line: f"({line.strip()})" if "FAULT" in line else None)
    while pipe.pass_on():
        pass
    process.wait()


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (r"a\nFAULT 1\nb\n", "a\nFAULT 1\nbulkhead| (FAULT 1)\nb\n"),
        (r"FAULT 2\r\nb\r\n", "FAULT 2\r\nbulkhead| (FAULT 2)\r\nb\r\n"),
        (r"no end: FAULT", "no end: FAULT"),
        (r"\x00\xff\r\r\n\n\x1b[K", "\0\ufffd\r\r\n\n\x1b[K"),
    ],
)
def test_lines(capfd: pytest.CaptureFixture[str], printed: str, shown: str) -> None:
    passed_on(f"import os; os.write(1, b'{printed}')")
    assert capfd.readouterr().out == shown


def test_line_in_parts(capfd: pytest.CaptureFixture[str]) -> None:
    passed_on(
        "import os, time\nfor part in (b'FA', b'ULT\\r', b'\\n', b'x'):\n"
        "    os.write(1, part); time.sleep(0.01)"
    )
    assert capfd.readouterr().out == "FAULT\r\nbulkhead| (FAULT)\r\nx"


def test_a_line_that_never_ends_takes_no_memory(capfd: pytest.CaptureFixture[str]) -> None:
    passed_on("import os; [os.write(1, b'x' * 65536) for _ in range(64)]")
    assert capfd.readouterr().out == "x" * (64 << 16)


def test_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program runs to its end, as if QEMU wrote to the closed pipe itself."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        passed_on("import os; [os.write(1, b'x' * 65536) for _ in range(64)]")
