# SPDX-License-Identifier: BSD-2-Clause
"""Build what the tests need, and run pytest on them: ./bulkhead test."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bulkhead import changed, console
from bulkhead.building import build
from bulkhead.building.unit_programs import default_programs
from bulkhead.errors import UserError
from bulkhead.paths import BUILD, TESTS
from bulkhead.running.ending import Ended
from bulkhead.settings import Settings
from bulkhead.setup import packages

_END_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class _Suite:
    """The requirements of the tests in a folder: builds, and further groups of packages."""

    builds: tuple[build.Variant, ...] = ()
    groups: frozenset[str] = frozenset()
    # For tests of --long, which are skipped if these cannot be installed.
    long_groups: frozenset[str] = frozenset()


_HOST_GCC, _ARM64_GCC, _HOST_CLANG, _ARM64_CLANG = build.variants("all", "all")
_LONG = "--long"
# Clang's programs that tests in Python run by default.
_FUZZERS = (
    "tests/channel/fuzz_channel",
    "tests/hostile/client/fuzz_network",
    "tests/hostile/client/fuzz_storage",
    "tests/hostile/fuzz_block",
    "tests/hostile/fuzz_block_pool",
    "tests/hostile/fuzz_driver",
    "tests/hostile/fuzz_driver_pool",
    "tests/hostile/fuzz_polled",
    "tests/hostile/fuzz_polled_pool",
)
_BROWSER = frozenset({"browser"})
_SUITES = {
    "unit": _Suite((_HOST_GCC, _HOST_CLANG, build.ARM32)),
    "memory_order": _Suite((_HOST_GCC, _HOST_CLANG), frozenset({"model"})),
    "channel": _Suite((_HOST_GCC, _HOST_CLANG), frozenset({"python"})),
    "device": _Suite((_HOST_GCC,), frozenset({"run", "device"})),
    "hostile": _Suite((_HOST_GCC, _HOST_CLANG)),
    "vhost_user": _Suite((_HOST_GCC, _HOST_CLANG)),
    "vm": _Suite((_ARM64_GCC, _ARM64_CLANG), frozenset({"run", "tap", "bench"})),
    "firmware": _Suite((_ARM64_GCC,), frozenset({"run", "bench", "firmware"})),
    "guests": _Suite((_ARM64_GCC,), frozenset({"run", "bench", "firmware"})),
    "isolation": _Suite((_ARM64_GCC,), frozenset({"run", "bench"})),
    "pages": _Suite((_ARM64_GCC,), frozenset({"run", "bench", "python"}), _BROWSER),
    "rtems": _Suite((), frozenset({"run", "tap"})),
    "style": _Suite((_HOST_CLANG, _ARM64_CLANG)),
    "systems": _Suite((_ARM64_GCC,)),
    "tools": _Suite((_ARM64_GCC,), frozenset({"run", "tap", "bench"})),
}
# For a suite that is not listed above, and for a run of all suites.
_EVERYTHING = _Suite(
    (_HOST_GCC, _ARM64_GCC, _HOST_CLANG, _ARM64_CLANG, build.ARM32),
    frozenset({"run", "device", "model", "tap", "bench", "python", "firmware"}),
    _BROWSER,
)


def check_part(part: str | None, *, is_long: bool) -> None:
    """Refuse a --part that names no part, or that stands without --long."""
    if part is None:
        return
    number, _, count = part.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise UserError(f"--part {part} names no part", "write K/N, such as --part 3/8")
    if not is_long:
        raise UserError("--part divides the tests of --long", "add --long")


def test_changed(
    base: str, names: Sequence[str], arguments: Sequence[str], settings: Settings
) -> int:
    """Run the tests of the named suites, or of all suites, that the changes since `base` reach."""
    files = changed.changed_files(base)
    if not files:
        console.say(f"nothing differs from {base}")
        return 0
    # The dependencies in the build folders are complete only after an up-to-date build.
    build.build_all(changed.builds(), settings)
    reached = changed.reach().tests(files)
    arguments = [*arguments, "--list-long"]
    if reached == {"."}:
        return test(names, arguments, settings)
    chosen = sorted(each for each in reached if is_named(each, names))
    if not chosen:
        console.say(f"what differs from {base} reaches no test of {', '.join(names)}")
        return 0
    return test(chosen, arguments, settings)


def is_named(reached: str, names: Sequence[str]) -> bool:
    """Return True if a test, file or suite belongs to one of `names`, or if `names` is empty."""
    return not names or any(reached == name or reached.startswith(f"{name}/") for name in names)


def test(names: Sequence[str], arguments: Sequence[str], settings: Settings) -> int:
    """Build what the tests need, and run them. Returns pytest's exit status."""
    paths = [_path(name) for name in names] or [str(TESTS)]
    suites = [_SUITES.get(name.split("/")[0], _EVERYTHING) for name in names] or [_EVERYTHING]
    variants = {variant.folder: variant for suite in suites for variant in suite.builds}.values()
    needed = [*(suite.groups for suite in suites), *(variant.groups for variant in variants)]
    packages.ensure(set().union(*needed), settings)
    if _LONG in arguments:
        ensure_if_possible(set().union(*(suite.long_groups for suite in suites)), settings)
    for variant in variants:
        if variant == _HOST_CLANG and _LONG not in arguments:
            _build_programs_of_clang()
        else:
            build.build(variant)
    return _pytest(paths, arguments)


def ensure_if_possible(groups: set[str], settings: Settings) -> None:
    """Install what some groups need, or say that tests are skipped.

    Ubuntu has no package of Chromium, for example.
    """
    try:
        packages.ensure(groups, settings)
    except UserError as error:
        names = ", ".join(sorted(groups))
        console.say(f"the tests that need the group {names} are skipped: {error}")


def _build_programs_of_clang() -> None:
    """Build Clang's programs of the default run. They are a small part of its build."""
    folder = build.configure(_HOST_CLANG)
    programs = {each.program for each in default_programs(_HOST_CLANG)}
    names = sorted(str(program.relative_to(folder)) for program in programs)
    build.build(_HOST_CLANG, [*names, *_FUZZERS])


def _path(name: str) -> str:
    place, _, inside = name.partition("::")
    for candidate in (TESTS / place, TESTS / f"{place}.py"):
        if candidate.exists() and TESTS in candidate.resolve().parents:
            return str(candidate) + (f"::{inside}" if inside else "")
    raise UserError(
        f"there is no test suite '{name}'", f"the suites are: {', '.join(_suite_names())}"
    )


def _suite_names() -> list[str]:
    return sorted(folder.name for folder in TESTS.iterdir() if any(folder.glob("**/test_*")))


# Arguments by which the user controls the distribution of tests, or follows a single test.
_NOT_DISTRIBUTED = (
    "-n", "--numprocesses", "--dist", "--tx", "--pdb", "--trace", "-s", "--capture=no",
    "--collect-only", "--co", "--fixtures", "--markers", "--setup-plan", "-h", "--help",
)  # fmt: skip
_WORKERS_MAX = 8


def workers(arguments: Sequence[str], paths: Sequence[str], cores: int) -> int:
    """Return the number of worker processes, 0 if pytest shall run the tests itself.

    `arguments` are the user's arguments for pytest, `paths` the files and tests to run, `cores` the
    number of processors that this process may use. There are half as many workers more than these,
    because a test waits for its machine's timers, devices and clients in a fourth of its time.
    """
    chosen = any(
        word == name
        or (name.startswith("--") and word.startswith(f"{name}="))
        or (name == "-n" and re.fullmatch(r"-n(\d+|auto|logical)", word) is not None)
        for word in arguments
        for name in _NOT_DISTRIBUTED
    )
    single = len(paths) == 1 and "::" in paths[0]
    return 0 if chosen or single or cores < 2 else min(cores + cores // 2, _WORKERS_MAX)


def _pytest(paths: Sequence[str], arguments: Sequence[str]) -> int:
    # Of the shell script that started this process, too: it may have made the Python environment.
    arguments = [*arguments, f"--seconds-before={_seconds_since_start():.1f}"]
    python = [sys.executable, "-I", "-X", f"pycache_prefix={BUILD / 'pycache'}"]
    configuration = str(TESTS.parent / "pyproject.toml")
    command = [*python, "-m", "pytest", "-c", configuration, *arguments, *paths]
    if count := workers(arguments, paths, len(os.sched_getaffinity(0))):
        command += ["-n", str(count)]
    if not console.is_interactive():
        command += ["-o", "console_output_style=classic"]
    sys.stdout.flush()
    with subprocess.Popen(command, cwd=TESTS.parent, env=_environment()) as process:
        try:
            return process.wait()
        except Ended as ended:
            # pytest ends its workers at this signal, and prints a summary. The terminal sends it to
            # all of its processes.
            if ended.number != signal.SIGINT:
                process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_TIMEOUT_S)
            process.kill()
            raise


def _seconds_since_start() -> float:
    """Return the age of this process."""
    start_ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    uptime_s = float(Path("/proc/uptime").read_text().split()[0])
    return uptime_s - start_ticks / os.sysconf("SC_CLK_TCK")


def _environment() -> dict[str, str]:
    """Return the environment of pytest. It has the effect of -I and -X on pytest's workers."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {
        **variables,
        "PYTHONPYCACHEPREFIX": str(BUILD / "pycache"),
        "PYTHONSAFEPATH": "1",
        "PYTHONNOUSERSITE": "1",
    }
