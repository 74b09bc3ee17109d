# SPDX-License-Identifier: BSD-2-Clause
"""kvm-unit-tests as guests: which programs run in a partition, and which checks may fail.

They are built in the tree that KVM_UNIT_TESTS names (tests/vm/README.md).
"""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest

from bulkhead.running.guest import GuestProcess

_VARIABLE = "KVM_UNIT_TESTS"
_CORES = 4
_MEMORY_MIB = 256
TIMEOUT_S = 300

# Of the arm64 Image (Linux: Documentation/arch/arm64/booting.rst): a branch over the header, the
# offset of the image from a multiple of 2 MiB, its size with zeroed data, flags, the magic number.
_HEADER = "<I4xQQQ24x4s"
_BRANCH = 0x1400_0000
_FLAGS = 0b1010  # little-endian, pages of 4 KiB, anywhere in memory
_MAGIC = b"ARM\x64"
_ALIGNMENT = 64 << 10  # the first stack is found by rounding its pointer down
_ROOM_BYTES = 2 << 20  # for zeroed data and the first stack, which the file does not contain

# Checks that races in old versions of KVM made unsafe are skipped unless the environment, which is
# the initial RAM disk, enables them.
_ENVIRONMENT = b"ERRATA_FORCE=y\n"


@dataclass(frozen=True)
class Program:
    """A program with its arguments, and the least number of checks that it makes.

    `unsupported` is part of the lines of checks that it skips, because the board's processor lacks
    what they need.
    """

    name: str
    arguments: str
    checks: int
    cores: int = _CORES
    unsupported: str = ""

    def __str__(self) -> str:
        first, _, _ = self.arguments.partition(" ")
        return f"{self.name}-{first}" if first else self.name


# The other arguments of `pmu` need events that QEMU counts only under -icount, or never.
PROGRAMS = (
    Program("selftest", f"setup smp={_CORES} mem={_MEMORY_MIB}", 2),
    Program("selftest", "vectors-kernel", 3),
    Program("selftest", "vectors-user", 2),
    Program("selftest", "smp", 1),
    Program("gic", "ipi", 3),
    Program("gic", "active", 1),
    Program("gic", "its-introspection", 0, unsupported="No ITS"),  # partitions have none
    Program("timer", "", 18, cores=1),
    Program("psci", "", 5),
    Program("pmu", "cycle-counter 0", 2, cores=1),
    Program("pmu", "pmu-event-counter-config", 3, cores=1),
    Program("pmu", "pmu-sw-incr", 4, cores=1, unsupported="need FEAT_PMUv3p5"),
)
# The host decides when an emulated processor executes.
_DURATION = "latency within 10 ms"
# A core is called by several others at once. The program wants ALREADY_ON for all but one of them.
# ON_PENDING (-5) is right too while the core is starting (DEN0022, CPU_ON).
_CALLED_AT_ONCE = "psci: cpu-on"
_CALL_FAILED = re.compile(r"INFO: psci: (unexpected|got|CPU\d+ failed).*")
_ON_PENDING = re.compile(r"INFO: psci: unexpected cpu_on return value: caller=CPU\d+, ret=-5")

# Keys of a partition that shares its cores with the loops of system().
SHARED = 'budget = "5 ms"\nperiod = "10 ms"'


def built_tree() -> Path:
    """Return the folder of the built programs. Skips the test if there is none."""
    named = os.environ.get(_VARIABLE)
    if not named:
        pytest.skip(f"{_VARIABLE} names no built tree of kvm-unit-tests")
    folder = Path(named).expanduser() / "arm"
    if not (folder / "selftest.flat").is_file():
        pytest.skip(f"{_VARIABLE}={named} is not built for arm64: there is no arm/selftest.flat")
    return folder


def _write_image(flat: Path, target: Path) -> None:
    """Write an arm64 Image with this program, which itself has no header."""
    code = flat.read_bytes()
    size = _ALIGNMENT + len(code) + _ROOM_BYTES
    header = struct.pack(_HEADER, _BRANCH | _ALIGNMENT // 4, 0, size, _FLAGS, _MAGIC)
    target.write_bytes(header.ljust(_ALIGNMENT, b"\0") + code)


def _loops(cores: int) -> str:
    """Return the partitions that share the guest's cores: one on each, which preempts it."""
    return "".join(
        f"""
[[partition]]
name = "loop{core}"
cores = [{core}]
budget = "200 us"
period = "1 ms"
memory = "16 MiB"
image = "control"
arguments = "quiet"
"""
        for core in range(cores)
    )


def system(folder: Path, tree: Path, board: str, keys: str, program: Program) -> str:
    """Return the text of a system with the program. Writes its files to `folder`.

    `keys`: of the partition.
    """
    _write_image(tree / f"{program.name}.flat", folder / "Image")
    (folder / "environment").write_bytes(_ENVIRONMENT)
    return f"""board = "{board}"

[[partition]]
name = "guest"
cores = {list(range(program.cores))}
memory = "{_MEMORY_MIB} MiB"
image = "./Image"
initrd = "environment"
arguments = "{program.arguments}"
unmapped = "abort"
{keys}
{_loops(program.cores) if keys == SHARED else ""}"""


def _is_expected(line: str, lines: list[str]) -> bool:
    """Return True if a check may fail, False if it is an error. `lines` are the program's."""
    if _CALLED_AT_ONCE in line:
        found = [each for each in lines if _CALL_FAILED.fullmatch(each)]
        return bool(found) and all(_ON_PENDING.fullmatch(each) for each in found)
    return _DURATION in line


def assert_checks_pass(guest: GuestProcess, program: Program) -> None:
    """Wait until the program has powered off. Its checks must have passed."""
    guest.wait_for_match(r"(?m)^bulkhead\| guest (is|can't|waits)", timeout=TIMEOUT_S)
    console = guest.console().splitlines()
    assert "bulkhead| guest is off" in console, console
    lines = [line.removeprefix("guest| ") for line in console if line.startswith("guest| ")]
    made = [line for line in lines if re.match("PASS|FAIL", line)]
    failed = [line for line in made if line.startswith("FAIL") and not _is_expected(line, lines)]
    skipped = [line for line in lines if line.startswith("SKIP")]
    assert failed == []
    assert len(made) >= program.checks
    assert all(program.unsupported and program.unsupported in line for line in skipped), skipped
    assert bool(skipped) == bool(program.unsupported)
    assert any(line.startswith("SUMMARY: ") for line in lines)
