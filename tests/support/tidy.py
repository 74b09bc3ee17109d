# SPDX-License-Identifier: BSD-2-Clause
"""Run clang-tidy once for each way in which a unit's lines are compiled; keep the results.

The builds compile a file of a library into many programs. The flags differ only in include folders,
and most of these contain the same headers. clang-tidy alone would analyse a file once for each
entry of a build's compile_commands.json, 1,133 times in all for 335 files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bulkhead.paths import BUILD, ROOT

BUILDS = ("host-clang", "arm64-clang")
_STORE = BUILD / "clang-tidy"
_PROGRAM = Path(sys.executable).parent / "clang-tidy"
_LINE_MARK = re.compile(r'^# (\d+) "((?:[^"\\]|\\.)*)"', re.MULTILINE)
# Flags that name output files, or only optimise, instrument or warn. They change neither the text
# nor its meaning.
_WITH_ARGUMENT = ("-o", "-MF", "-MQ", "-MT")
_WITHOUT_MEANING = re.compile(
    r"-c|-M.*|-g.*|-O.*|-W.*|-f(no-)?sanitize.*|-fdiagnostics.*|-fcolor.*"
)
# States of a function after which the analyzer stops: one with which the slowest units take a fifth
# of the time, and its own limit.
NODES = 40_000
NODES_LONG = 225_000
_MACRO = re.compile(r"-[DU]")
_NAME = re.compile(rb"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Entry:
    """An entry of a compile_commands.json."""

    folder: Path
    words: tuple[str, ...]
    unit: Path

    @property
    def meaning(self) -> tuple[str, ...]:
        """Return the words of the command that affect the meaning of the source."""
        kept = []
        words = iter(self.words[1:])
        for word in words:
            if word in _WITH_ARGUMENT:
                next(words)
            elif not _WITHOUT_MEANING.fullmatch(word):
                kept.append(word)
        return tuple(kept)

    def macros(self, files: Iterable[Path]) -> list[str]:
        """Return the macros that the command defines and that occur in some of the files."""
        defined = {word for word in self.words if _MACRO.match(word)}
        named = {name for path in files for name in _names(path)}
        return sorted(word for word in defined if word[2:].partition("=")[0] in named)


@dataclass(frozen=True)
class Variant:
    """A unit as compiled by one command."""

    entry: Entry
    lines: str  # digest of the project's lines in effect, and of the command's macros
    files: tuple[Path, ...]  # the unit and all headers


def entries(database: Path) -> Iterator[Entry]:
    """Yield the entries of a compile_commands.json."""
    for each in json.loads(database.read_text()):
        folder = Path(each["directory"])
        unit = Path(os.path.normpath(folder / each["file"]))
        yield Entry(folder, tuple(shlex.split(each["command"])), unit)


def units(builds: Iterable[str] = BUILDS) -> dict[Path, list[Entry]]:
    """Return the entries of all builds by unit, without entries of equal meaning."""
    found: dict[Path, dict[tuple[str, ...], Entry]] = {}
    for build in builds:
        for entry in entries(BUILD / build / "compile_commands.json"):
            found.setdefault(entry.unit, {}).setdefault((build, *entry.meaning), entry)
    return {unit: list(by_meaning.values()) for unit, by_meaning in found.items()}


def preprocess(entry: Entry) -> Variant:
    """Preprocesses an entry. Raises CalledProcessError if that fails."""
    command = [entry.words[0], *entry.meaning, "-E", "-dD", "-o", "-"]
    done = subprocess.run(command, cwd=entry.folder, capture_output=True, check=True)
    text = done.stdout.decode(errors="surrogateescape")
    in_effect = hashlib.sha256()
    files: dict[Path, None] = {}
    marks = list(_LINE_MARK.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        name = mark.group(2)
        if name.startswith("<"):
            continue
        path = _normal(entry.folder, name)
        files[path] = None
        if _is_own(path):
            lines = text[mark.end() : end].split("\n")[1:]
            first = int(mark.group(1))
            numbers = [first + index for index, line in enumerate(lines) if line.strip()]
            in_effect.update(json.dumps([str(path), numbers]).encode())
    macros = entry.macros(path for path in files if _is_own(path))
    in_effect.update(json.dumps(macros).encode())
    return Variant(entry, in_effect.hexdigest(), tuple(sorted(files)))


@cache
def _normal(folder: Path, name: str) -> Path:
    return Path(os.path.normpath(folder / name.replace('\\"', '"').replace("\\\\", "\\")))


@cache
def _is_own(path: Path) -> bool:
    """Return true if a file's lines count: it is neither the system's nor fetched into build/.

    Headers of a processor and of our C library do not count either, because other builds use others
    in their place. They are analysed with the units that only one build compiles.
    """
    if ROOT not in path.parents or BUILD / "sources" in path.parents:
        return False
    parts = path.relative_to(ROOT).parts
    return parts[:2] != ("libc", "include") and (parts[0], parts[2:3]) != ("arch", ("include",))


def variants(alternatives: Sequence[Entry]) -> list[Variant]:
    """Return the variants of a unit that differ in the project's lines, the first entry of each.

    Two builds for different processors that compile the same lines with the headers of different C
    libraries are one variant.
    """
    found: dict[str, Variant] = {}
    for entry in alternatives:
        variant = preprocess(entry)
        found.setdefault(variant.lines, variant)
    return list(found.values())


def key(variant: Variant, version: str, configuration: str, nodes: int) -> str:
    """Return the name under which a variant's result is stored. It depends on everything that
    affects the result."""
    digest = hashlib.sha256()
    parts = [version, configuration, str(nodes), *variant.entry.meaning]
    for path in variant.files:
        parts += [str(path), _content_digest(path)]
    digest.update(json.dumps(parts).encode())
    return digest.hexdigest()


@cache
def _names(path: Path) -> frozenset[str]:
    """Return the identifiers in a file."""
    return frozenset(name.decode() for name in _NAME.findall(path.read_bytes()))


@cache
def _content_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _version() -> str:
    return subprocess.run(
        [_PROGRAM, "--version"], check=True, capture_output=True, text=True
    ).stdout


@cache
def _configuration(unit: Path) -> str:
    """Return the settings for a unit, from its folder and the folders above."""
    found = [folder / ".clang-tidy" for folder in unit.parents if folder.is_relative_to(ROOT)]
    return "\0".join(path.read_text() for path in found if path.is_file())


def check(alternatives: Sequence[Entry], nodes: int, store: Path = _STORE) -> str:
    """Run clang-tidy on a unit, once for each variant. Return its findings, "" if none.

    The analyzer stops in a function after `nodes` states. A variant without findings is recorded in
    `store` and not analysed again.
    """
    findings = []
    for variant in variants(alternatives):
        kept = store / key(variant, _version(), _configuration(variant.entry.unit), nodes)
        if kept.is_file():
            continue
        found = _analyse(variant.entry, nodes)
        if found:
            findings.append(found)
        else:
            store.mkdir(parents=True, exist_ok=True)
            kept.touch()
    return "\n".join(findings)


def _analyse(entry: Entry, nodes: int) -> str:
    database: Mapping[str, object] = {
        "directory": str(entry.folder),
        "file": str(entry.unit),
        "arguments": list(entry.words),
    }
    with tempfile.TemporaryDirectory(prefix="bulkhead-tidy-") as folder:
        Path(folder, "compile_commands.json").write_text(json.dumps([database]))
        limit = ("-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={nodes}")
        command = [str(_PROGRAM), "--quiet", "-p", folder, str(entry.unit)]
        command += [f"--extra-arg={word}" for word in limit]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout or done.stderr
