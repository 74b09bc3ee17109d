# SPDX-License-Identifier: BSD-2-Clause
"""The library of channels for programs outside: C++, and what `meson install` installs."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from bulkhead.paths import ROOT

PROGRAM = ROOT / "tests/channel/outside/program.cc"
HEADERS = ROOT / "channel/include/channel"
STRICT = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_headers_are_cplusplus_too(compiler: str, tmp_path: Path) -> None:
    text = PROGRAM.read_text()
    names = {f"channel/{path.name}" for path in HEADERS.glob("*.h")} | {"channel/linux.h"}
    assert {
        line.split('"')[1] for line in text.splitlines() if line.startswith('#include "')
    } == names
    # The header of guests needs types of a system: those of a test.
    guest = tmp_path / "guest.cc"
    guest.write_text('#include "channel/guest.h"\n')
    folders = ["include", "linux/include", "guest/include"]
    includes = [f"-I{ROOT / 'channel' / folder}" for folder in folders]
    includes.append(f"-I{ROOT / 'tests/unit/channel/guest/fake'}")
    subprocess.run([compiler, *STRICT, *includes, "-fsyntax-only", PROGRAM, guest], check=True)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which `meson install` has installed the library."""
    folder = tmp_path_factory.mktemp("installed")
    setup: list[str | Path] = [
        "meson",
        "setup",
        folder / "build",
        ROOT,
        "-Dchannel_alone=true",
        "--libdir=lib",
    ]
    setup += ["--buildtype=release", f"--prefix={folder / 'prefix'}"]
    install: list[str | Path] = ["meson", "install", "-C", folder / "build"]
    for command in (setup, install):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "prefix"


def ask_pkg_config(prefix: Path, *options: str) -> list[str]:
    command = ["pkg-config", *options, "bulkhead-channel"]
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout.split()


@pytest.mark.long
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("link", ["shared", "static"])
def test_a_program_outside_is_built_by_pkg_config_alone(
    prefix: Path, tmp_path: Path, compiler: str, link: str
) -> None:
    options = ask_pkg_config(prefix, "--cflags", "--libs")
    if link == "static":
        options = ["-static", *ask_pkg_config(prefix, "--static", "--cflags", "--libs")]
    program = tmp_path / "program"
    subprocess.run([compiler, *STRICT, PROGRAM, "-o", program, *options], check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib")}
    done = subprocess.run(
        [program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "exchanged\n"


@pytest.mark.long
def test_the_shared_library_shows_what_the_headers_declare(prefix: Path) -> None:
    library = prefix / "lib/libbulkhead-channel.so"
    with library.open("rb") as file:
        elf = ELFFile(file)
        dynamic = elf.get_section_by_name(".dynamic")
        symbols = elf.get_section_by_name(".dynsym")
        assert isinstance(dynamic, DynamicSection)
        assert isinstance(symbols, SymbolTableSection)
        tags: list[Any] = list(dynamic.iter_tags("DT_SONAME"))
        assert [tag.soname for tag in tags] == ["libbulkhead-channel.so.0"]
        shown = {
            symbol.name
            for symbol in symbols.iter_symbols()
            if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["type"] == "STT_FUNC"
        }
    headers = "".join(path.read_text() for path in (prefix / "include/bulkhead").rglob("*.h"))
    assert shown <= set(re.findall(r"(?m)^\w[^\n=]*?\b(\w+)\([^{]*?\);", headers))
    assert {"linux_map_file", "channel_wait_any", "ring_peek_slowly"} <= shown
    assert library.resolve().name == "libbulkhead-channel.so.0.1.0"


@pytest.mark.long
def test_the_installed_command_and_its_manual_page(prefix: Path) -> None:
    command = prefix / "bin/bulkhead-channel"
    version = ask_pkg_config(prefix, "--modversion")
    shown = subprocess.run([command, "-V"], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["bulkhead-channel", *version]
    assert (prefix / "share/man/man1/bulkhead-channel.1").is_file()
    licence = prefix / "share/doc/bulkhead-channel/LICENSE"
    assert licence.read_text() == (ROOT / "LICENSE").read_text()
