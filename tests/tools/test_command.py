# SPDX-License-Identifier: BSD-2-Clause
"""Bad input to ./bulkhead: one line that names the error and the remedy, exit 2, no traceback."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bulkhead.paths import ROOT
from bulkhead.running.ports import free_ports
from bulkhead.running.reach import DEFAULT_FORWARDS

COMMAND = ROOT / "bulkhead"


def call(
    *arguments: str,
    cwd: Path | None = None,
    command: Path = COMMAND,
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(command), *arguments],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def refused(*arguments: str, **environment: str) -> str:
    """Return the one line of a refused call."""
    done = call(*arguments, environment=environment)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("bulkhead: ")
    assert "; " in line, "a line names what is wrong, and then what to do"
    return line


def path_without(tmp_path: Path, *names: str) -> str:
    """Return a PATH without some programs: a folder of links to all others."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).glob("*"):
            link = folder / program.name
            if program.name not in names and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


def free_forwards() -> list[str]:
    """Return options for `run` that forward from free ports."""
    options = []
    for guest, host in zip(DEFAULT_FORWARDS, free_ports(len(DEFAULT_FORWARDS)), strict=True):
        options += ["--forward", f"{guest}={host}"]
    return options


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.mark.parametrize("name", ["setup", "build", "run", "check", "test", "bench"])
def test_help_everywhere(name: str) -> None:
    done = call(name, "--help")
    assert done.returncode == 0
    assert f"Usage: ./bulkhead {name}" in done.stdout
    assert "--no-install" in done.stdout


def test_no_arguments_show_the_commands() -> None:
    done = call()
    assert done.returncode == 0
    assert "Commands:" in done.stdout


def test_unknown_command_lists_the_commands() -> None:
    line = refused("lunch")
    names = "setup, build, run, check, stat, top, log, partition, trace, capture, test, bench"
    assert f"no command 'lunch'; the commands are: {names}" in line


def test_unknown_option() -> None:
    line = refused("run", "--fast")
    assert "--fast" in line
    assert "./bulkhead run --help" in line


def test_value_out_of_range() -> None:
    assert "--rx-buffers" in refused("run", "--rx-buffers", "0")


def test_arguments_after_dashes_are_for_run_and_test() -> None:
    assert "after --" in refused("build", "--", "-x")


def test_missing_qemu_without_installing(tmp_path: Path) -> None:
    path = path_without(tmp_path, "qemu-system-aarch64")
    line = refused("run", "--bare", "--no-install", *free_forwards(), PATH=path, BULKHEAD_QEMU="")
    assert "qemu-system-aarch64 is missing" in line
    assert "apt-get" in line
    assert "install -y --no-install-recommends" in line
    assert "qemu-system-arm" in line


def test_no_install_is_taken_before_the_command_too(tmp_path: Path) -> None:
    path = path_without(tmp_path, "qemu-system-aarch64")
    assert "qemu-system-arm" in refused("--no-install", "setup", "run", PATH=path, BULKHEAD_QEMU="")


def test_without_the_right_to_install(tmp_path: Path) -> None:
    """Without root and sudo the command acts as with --no-install."""
    if os.geteuid() != 0:
        pytest.skip("needs root to drop its rights")
    path = path_without(tmp_path, "qemu-system-aarch64", "sudo")
    script = (
        "import os, sys; os.geteuid = lambda: 1000; from bulkhead.cli import main; "
        "sys.exit(main(['setup', 'run']))"
    )
    done = subprocess.run(
        [str(ROOT / "build/venv/bin/python"), "-I", "-c", script],
        env={**os.environ, "PATH": path, "BULKHEAD_QEMU": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert "sudo apt-get" in line


def test_qemu_that_is_not_a_program() -> None:
    line = refused("run", "--bare", *free_forwards(), BULKHEAD_QEMU="/nowhere/qemu")
    assert "BULKHEAD_QEMU=/nowhere/qemu is not a program" in line
    assert "8.2" in line


def test_qemu_that_is_too_old(tmp_path: Path) -> None:
    program = tmp_path / "qemu-system-aarch64"
    program.write_text("#!/bin/sh\necho 'QEMU emulator version 7.2.19 (Debian 1:7.2)'\n")
    program.chmod(0o755)
    line = refused("run", "--bare", *free_forwards(), BULKHEAD_QEMU=str(program))
    assert f"QEMU 7.2.19 at {program} is too old, 8.2 or newer is needed" in line


def test_qemu_that_reports_no_version(tmp_path: Path) -> None:
    program = tmp_path / "qemu-system-aarch64"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    assert "does not report its version" in refused(
        "run", "--bare", *free_forwards(), BULKHEAD_QEMU=str(program)
    )


def test_port_in_use_names_port_and_owner(busy_port: int) -> None:
    line = refused("run", "--bare", "--forward", f"80={busy_port}")
    assert f"port {busy_port} on 127.0.0.1 is in use" in line
    assert f"(process {os.getpid()})" in line
    assert line.endswith("choose another port with --forward 80=HOST")


def test_port_in_use_of_a_partition(busy_port: int) -> None:
    line = refused("run", *free_forwards(), "--forward", f"linux:5001={busy_port}")
    assert f"port {busy_port} on 127.0.0.1 is in use" in line
    assert line.endswith("choose another port with --forward linux:5001=HOST")


def test_one_host_port_for_two_guest_ports() -> None:
    assert "both" in refused("run", "--bare", "--forward", "80=18080", "--forward", "7=18080")


@pytest.mark.parametrize(
    "pair", ["80", "80=", "=80", "a=b", "80=99999", "0=8080", "80:8080", ":80=81", "a b:80=81"]
)
def test_forward_that_is_no_pair(pair: str) -> None:
    assert f"'{pair}'" in refused("run", "--bare", "--forward", pair)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["threads"], "'threads' is a program, not a system; call ./bulkhead run --bare threads"),
        (["lunch"], "there is no system 'lunch'; the systems are: "),
        (["x" * 5000], f"there is no system '{'x' * 36}...; the systems are: "),
        (["no/file"], "no/file does not exist; name a system file"),
        (["--bare", "minimal"], "'minimal' is a system, not a program; remove --bare"),
        (["--bare", "thread"], "there is no program 'thread'; write 'threads'"),
        (["--bare", "no/file"], "there is no program 'no/file'; the programs are: "),
        (["--transport", "mmio"], "--transport is for a program on a bare machine; remove it"),
        (["--rx-buffers", "4"], "--rx-buffers is for a program on a bare machine; remove it"),
        (["--forward", "x:80=81"], "there is no partition 'x' with a network; those with one are"),
        (["--bare", "--forward", "net:80=81"], "a bare machine has no partitions; write --forward"),
        (["minimal", "--forward", "80=81"], "--forward has no meaning for a system without net"),
        (["minimal", "--net", "tap"], "--net tap has no meaning for a system without network; "),
    ],
)  # fmt: skip
def test_run_refuses(arguments: list[str], line: str) -> None:
    assert refused("run", *arguments).startswith(f"bulkhead: {line}")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["minimal"], "system 'minimal' is not running, or another stat, top or trace is connected "
         "to it; start it: ./bulkhead run minimal"),
        (["lunch"], "there is no system 'lunch'; the systems are: "),
        (["--bare", "boot"], "program 'boot' is not running, or another stat, top or trace is "
         "connected to it; start it: ./bulkhead run --bare boot"),
        (["--bare", "boo"], "there is no program 'boo'; write 'boot'"),
        (["--bare", "boot", "--partition", "net"], "a bare machine has no partitions; remove "),
        (["--last", "20"], "--last '20' is not a time; write for example --last 20ms"),
        (["--last", "0ms"], "--last '0ms' is not a time"),
        (["--svg", "/"], "--svg / is a folder; name a file"),
        (["--perfetto", "/no/file"], "--perfetto /no/file: there is no folder /no"),
        (["--json", "/no/file"], "--json /no/file: there is no folder /no"),
    ],
)  # fmt: skip
def test_trace_refuses(tmp_path: Path, arguments: list[str], line: str) -> None:
    refusal = refused("trace", *arguments, BULKHEAD_OUTPUT=str(tmp_path))
    assert refusal.startswith(f"bulkhead: {line}")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["lunch"], "there is no action 'lunch'; the actions are: crash, create, "),
        (["list", "work"], "list has no argument 'work'; leave it out"),
        (["stop", "work", "net2"], "stop has no argument 'net2'; leave it out"),
        (["crash"], "crash needs a partition; write ./bulkhead partition crash NAME"),
        (["give", "00:02.0"], "give needs a PCI function and a partition; write for example "),
        (["give", "net2", "00:02.0"], "'net2' is no PCI function; write bus:device.function, "),
        (["give", "00:02.0", "net2"], "system 'managed' is not running, or another "),
        (["stop"], "stop needs a partition; write ./bulkhead partition stop NAME"),
        (["replace", "work"], "replace needs an image; add --image FILE"),
        (["stop", "work", "--image", "x"], "stop has no option --image; leave it out"),
        (["replace", "work", "--image", "/no/file"], "/no/file can't be read (No such file"),
        (["replace", "work", "--image", "/dev/null"], "/dev/null is no arm64 Image; name one"),
        (["list"], "system 'managed' is not running, or another stat, top or trace is connected "
         "to it; start it: ./bulkhead run managed"),
        (["list", "--system", "lunch"], "there is no system 'lunch'; the systems are: "),
    ],
)  # fmt: skip
def test_partition_refuses(tmp_path: Path, arguments: list[str], line: str) -> None:
    refusal = refused("partition", *arguments, BULKHEAD_OUTPUT=str(tmp_path))
    assert refusal.startswith(f"bulkhead: {line}")


def test_tap_without_the_right(tmp_path: Path) -> None:
    script = (
        "import os, sys; os.geteuid = lambda: 1000; from bulkhead.cli import main; "
        "sys.exit(main(['run', '--net', 'tap']))"
    )
    done = subprocess.run(
        [str(ROOT / "build/venv/bin/python"), "-I", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line == "bulkhead: a tap device needs root; call with sudo, or use --net user"


def test_folder_that_is_not_lwip(tmp_path: Path) -> None:
    line = refused("build", "--target", "arm64", LWIP_DIR=str(tmp_path))
    assert f"LWIP_DIR={tmp_path} has no src/include/lwip/init.h" in line


def make_lwip(folder: Path, major: int, minor: int, revision: int) -> str:
    header = folder / "src/include/lwip/init.h"
    header.parent.mkdir(parents=True)
    parts = {"MAJOR": major, "MINOR": minor, "REVISION": revision}
    header.write_text("".join(f"#define LWIP_VERSION_{k} {v}\n" for k, v in parts.items()))
    return str(folder)


def test_lwip_that_is_too_old(tmp_path: Path) -> None:
    line = refused("build", "--target", "arm64", LWIP_DIR=make_lwip(tmp_path, 2, 1, 2))
    assert "it is lwIP 2.1.2, and 2.1.3 or newer is needed" in line


def test_folder_that_is_not_libfdt(tmp_path: Path) -> None:
    lwip = make_lwip(tmp_path / "lwip", 2, 2, 0)
    line = refused("build", "--target", "arm64", LWIP_DIR=lwip, DTC_DIR=str(tmp_path))
    assert f"DTC_DIR={tmp_path} has no libfdt/libfdt.h" in line


def test_unknown_bench_lists_the_benches() -> None:
    line = refused("bench", "lunch")
    names = (
        "backend, bandwidth, boot, cache, channel, cost, distributor, exits, irq-latency, linux, "
        "paper, recovery, ring, share, switch, tcp"
    )
    assert f"no bench 'lunch'; the benches are: {names}" in line


def test_unknown_suite() -> None:
    assert "no test suite 'lunch'; the suites are:" in refused("test", "lunch")
    assert "no test suite" in refused("test", "../tools")


def test_unknown_setup_group() -> None:
    assert "no group 'lunch'" in refused("setup", "lunch")


def test_json_path_is_checked_before_the_bench_runs(tmp_path: Path) -> None:
    assert "is a folder" in refused("bench", "boot", "--json", str(tmp_path))
    assert "there is no folder" in refused("bench", "boot", "--json", str(tmp_path / "no" / "f"))


def test_definition_without_a_value() -> None:
    assert "NAME=VALUE" in refused("build", "-D", "optimization")


def test_called_from_elsewhere_and_through_a_link(tmp_path: Path) -> None:
    link = tmp_path / "a link"
    link.symlink_to(COMMAND)
    done = call("--help", cwd=tmp_path, command=link)
    assert done.returncode == 0, done.stderr
    assert "Commands:" in done.stdout
