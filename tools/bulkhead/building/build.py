# SPDX-License-Identifier: BSD-2-Clause
"""Drive Meson and Ninja: one build folder for each target, compiler and set of options."""

import json
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bulkhead import console, lock
from bulkhead.building import sources
from bulkhead.errors import UserError
from bulkhead.paths import BUILD, MESON_FILES, ROOT, display
from bulkhead.settings import Settings
from bulkhead.setup import packages

TARGETS = ("host", "arm64")
COMPILERS = ("gcc", "clang")

_BUILD_TYPES = {
    # For unit tests: fast enough, and sanitizer reports have line numbers.
    "host": ("--buildtype=debugoptimized", "-Db_sanitize=address,undefined", "-Db_lundef=false"),
    # For images: fast, with the debug information for backtraces.
    "arm64": ("-Doptimization=2", "-Ddebug=true", "-Db_lto=true"),
    # Unit tests too, without sanitizers: the emulator's processes have no room for their shadows.
    "arm32": ("--buildtype=debugoptimized", "-Db_lundef=false"),
}
# Flags from the user's environment would make a build differ from machine to machine.
_IGNORED_VARIABLES = ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS", "CC_LD", "AR", "STRIP", "PKG_CONFIG")
_OPTIONS_STAMP = "bulkhead-options.json"


@dataclass(frozen=True)
class Variant:
    """A build: its target, its compiler, and Meson options in addition to the default ones."""

    target: str
    compiler: str = "gcc"
    options: dict[str, str] = field(default_factory=dict)
    name: str = ""

    @property
    def folder(self) -> Path:
        """The build folder."""
        return BUILD / (self.name or f"{self.target}-{self.compiler}")

    @property
    def groups(self) -> set[str]:
        """The groups of packages that the build needs."""
        needed = {"host": {"host"}, "arm64": {"guest"}, "arm32": {"host", "arm32"}}[self.target]
        return needed | ({"clang"} if self.compiler == "clang" else set())

    @property
    def runner(self) -> tuple[str, ...]:
        """The command that runs the build's programs on this machine, empty if none is needed."""
        return (packages.arm_emulator() or "qemu-arm",) if self.target == "arm32" else ()


# The driver library and its tests for a processor of 32 bits. Not a target of `./bulkhead build`:
# it is for the tests alone.
ARM32 = Variant("arm32")


class BuildFailure(Exception):
    """The build failed; the text is the output of the tools."""


def variants(target: str, compiler: str, options: dict[str, str] | None = None) -> list[Variant]:
    """Return the builds for --target and --compiler; either may be "all"."""
    targets = TARGETS if target == "all" else (target,)
    compilers = COMPILERS if compiler == "all" else (compiler,)
    return [Variant(t, c, dict(options or {})) for c in compilers for t in targets]


def build_all(wanted: Sequence[Variant], settings: Settings) -> None:
    """Install the packages that the builds need, and build."""
    groups: set[str] = set()
    for variant in wanted:
        groups |= variant.groups
    packages.ensure(groups, settings)
    for variant in wanted:
        build(variant)


def build(variant: Variant, targets: Iterable[str] = ()) -> Path:
    """Configure if necessary, and compile. Returns the build folder.

    The packages of the variant's groups must be installed.
    """
    setup = _setup_arguments(variant)
    stamp = variant.folder / _OPTIONS_STAMP
    wanted = json.dumps(setup)
    # Ninja must not run twice in a folder.
    with lock.held(variant.folder):
        configured = (variant.folder / "build.ninja").is_file()
        if not configured or not stamp.is_file() or stamp.read_text() != wanted:
            _configure(variant, setup)
            stamp.write_text(wanted)
        _compile(variant, list(targets))
    return variant.folder


def configure(variant: Variant) -> Path:
    """Configure if necessary, also after a change of Meson's files. Returns the build folder."""
    return build(variant, ["build.ninja"])


def _setup_arguments(variant: Variant) -> list[str]:
    files = MESON_FILES / f"{variant.target}-{variant.compiler}.ini"
    kind = "--native-file" if variant.target == "host" else "--cross-file"
    options = {
        "lwip_dir": str(sources.locate(sources.LWIP)),
        "libfdt_dir": str(sources.locate(sources.DTC) / "libfdt"),
        **variant.options,
    }
    if variant.target == "arm32":
        options["cmocka_dir"] = str(sources.locate(sources.CMOCKA))
    return [
        f"{kind}={files}",
        *_BUILD_TYPES[variant.target],
        *(f"-D{name}={value}" for name, value in options.items()),
    ]


def _configure(variant: Variant, setup: list[str]) -> None:
    if not (ROOT / "meson.build").is_file():
        raise UserError(f"{ROOT} has no meson.build", "call from a complete copy of Bulkhead")
    shutil.rmtree(variant.folder, ignore_errors=True)
    command = [_tool("meson"), "setup", *setup, str(variant.folder), str(ROOT)]
    with console.progress(f"configuring {display(variant.folder)}") as update:
        status, output = console.run_shown(command, update, environment=environment())
    if status != 0:
        shutil.rmtree(variant.folder, ignore_errors=True)
        if unknown := re.search(r"ERROR: (Unknown option.*|.*is not one of the choices.*)", output):
            raise UserError(unknown.group(1), "meson_options.txt lists the options")
        raise BuildFailure(output)


def _compile(variant: Variant, targets: list[str]) -> None:
    command = [_tool("ninja"), "-C", str(variant.folder), *targets]
    with console.progress(f"building {display(variant.folder)}") as progress:
        status, output = console.run_shown(command, progress, environment=environment())
        if status != 0:
            raise BuildFailure(_without_progress(output))
        steps = re.findall(r"^\[(\d+)/\d+\]", output, re.MULTILINE)
        progress.outcome = f"{steps[-1]} steps" if steps else "up to date"


def _without_progress(output: str) -> str:
    lines = [
        line for line in output.splitlines() if not re.match(r"\[\d+/\d+\] |ninja: Entering", line)
    ]
    return "\n".join(lines)


def _tool(name: str) -> str:
    found = packages.program(name)
    if found is None:
        raise UserError(f"{name} is missing", "call ./bulkhead setup")
    return found


def environment() -> dict[str, str]:
    """Return the environment of build tools: the user's, without variables that change a build."""
    return {name: value for name, value in os.environ.items() if name not in _IGNORED_VARIABLES}


def guest_image(name: str, compiler: str = "gcc", folder: Path | None = None) -> Path:
    """Return the image of a guest program of any folder. It must have been built."""
    base = (folder or Variant("arm64", compiler).folder) / "images"
    path = base / f"{name}.image"
    if path.is_file():
        return path
    known = sorted(each.stem for each in base.glob("*.image"))
    raise UserError(
        f"there is no guest '{name}'",
        f"the guests are: {', '.join(known)}" if known else "call ./bulkhead build first",
    )
