# SPDX-License-Identifier: BSD-2-Clause
"""A name in an include means one header, whatever the compiler finds first."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support import tidy
from support.project_files import project_files

from bulkhead.paths import BUILD, ROOT

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include(?:_next)?[ \t]+(["<])([^">]+)[">]', re.MULTILINE)
_INCLUDE_FLAG = re.compile(r"-(?:I|isystem)(.*)")
# Folders of headers in several places, and the beginnings of these places. <arch/...> has headers
# of each processor, headers of one, headers that tests have in place of those, and the headers
# that lwIP includes by this name. <channel/...> has those of the library, those of a port, and
# those that tests have in place of a port's.
_PARTS = {
    "arch": (
        "arch/",
        "kernel/machine/host/",
        "kernel/net/lwip/",
        "virtio/ports/rtems/lwip/",
        "tests/",
    ),
    "channel": ("channel/", "kernel/channel/", "kernel/include/channel/", "tests/"),
}


@cache
def includes(path: Path) -> tuple[tuple[str, str], ...]:
    """Return the opening mark and the name of each include of a file."""
    return tuple(_INCLUDE.findall(path.read_text()))


def include_path(entry: tidy.Entry) -> tuple[Path, ...]:
    """Return the project's folders in which the compiler looks for headers, in its order."""
    words = iter(entry.words)
    folders = []
    for word in words:
        match = _INCLUDE_FLAG.match(word)
        if match is not None:
            name = match.group(1) or next(words)
            folders.append(Path(os.path.normpath(entry.folder / name)))
    return tuple(dict.fromkeys(each for each in folders if _is_own(each)))


def _is_own(folder: Path) -> bool:
    return folder.is_relative_to(ROOT) and not folder.is_relative_to(BUILD)


@cache
def headers(folder: Path) -> frozenset[str]:
    return frozenset(path.name for path in folder.glob("*.h"))


def replaces(double: Path, folders: list[Path]) -> bool:
    """Return true if a folder of a test has other versions of headers, and no header of its own."""
    others = [headers(each) for each in folders if each != double]
    return double.is_relative_to(ROOT / "tests") and headers(double) <= frozenset().union(*others)


def folders_named(name: str, includer: Path, path: tuple[Path, ...]) -> list[Path]:
    """Return the folders of that name in which the compiler could look for a header."""
    found = [each / name for each in (includer.parent, *path) if headers(each / name)]
    found = [each for each in dict.fromkeys(found) if not replaces(each, found)]
    beginnings = tuple(str(ROOT / each) for each in _PARTS.get(name, ()))
    is_one_part = all(str(each).startswith(beginnings) for each in found)
    return found[:1] if is_one_part else found


def reached(unit: Path, path: tuple[Path, ...]) -> Iterator[Path]:
    """Yield a unit and the project's headers that it includes, directly or not."""
    left, seen = [unit], {unit}
    while left:
        file = left.pop()
        yield file
        for mark, name in includes(file):
            places = (file.parent, *path) if mark == '"' else path
            for folder in places:
                header = Path(os.path.normpath(folder / name))
                if header.is_file():
                    if header not in seen:
                        seen.add(header)
                        left.append(header)
                    break


def ambiguous(unit: Path, path: tuple[Path, ...]) -> Iterator[str]:
    """Yield the includes of a unit and its headers whose folder is in several places."""
    for file in reached(unit, path):
        for _, name in includes(file):
            folder, slash, _ = name.rpartition("/")
            if not slash or folder.startswith(".."):
                continue
            found = folders_named(folder, file, path)
            if len(found) > 1:
                yield f"{file}: {name} may be in " + " or ".join(map(str, found))


def test_no_include_climbs() -> None:
    """A path that begins with .. names a place, not a header; tests compile sources so."""
    wrong = [
        f"{path} includes {name}"
        for path in project_files("*.c", "*.h", "*.S", "*.inc")
        for _, name in includes(ROOT / path)
        if ".." in Path(name).parts
        and not (path.parts[0] == "tests" and name.endswith((".c", ".S")))
    ]
    assert wrong == []


def test_headers_of_the_processor_are_in_angle_brackets() -> None:
    wrong = [
        f"{path} includes {name}"
        for path in project_files("*.c", "*.h", "*.S")
        for mark, name in includes(ROOT / path)
        if mark == '"' and name.startswith("arch/")
    ]
    assert wrong == []


def test_a_folder_has_one_place_on_each_include_path() -> None:
    wrong = {
        problem
        for unit, entries in tidy.units().items()
        if _is_own(unit.parent)
        for path in {include_path(each) for each in entries}
        for problem in ambiguous(unit, path)
    }
    assert sorted(wrong) == []


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with a unit, its folder of headers, and another of the same name."""
    for name in ("own/gic/setup.h", "other/gic/registers.h", "tests/fake/gic/setup.h"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("")
    (tmp_path / "unit.c").write_text('#include "gic/setup.h"\n')
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    return tmp_path


def test_two_folders_of_one_name_are_found(tree: Path) -> None:
    assert list(ambiguous(tree / "unit.c", (tree / "own",))) == []
    (problem,) = ambiguous(tree / "unit.c", (tree / "own", tree / "other"))
    assert problem == (f"{tree}/unit.c: gic/setup.h may be in {tree}/own/gic or {tree}/other/gic")


def test_a_test_may_replace_headers(tree: Path) -> None:
    path = (tree / "tests/fake", tree / "own")
    assert list(ambiguous(tree / "unit.c", path)) == []
    (tree / "tests/fake/gic/more.h").write_text("")
    headers.cache_clear()
    assert len(list(ambiguous(tree / "unit.c", path))) == 1
