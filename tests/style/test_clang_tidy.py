# SPDX-License-Identifier: BSD-2-Clause
"""clang-tidy finds nothing in any unit, whatever the builds compile of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from support import tidy

from bulkhead.paths import BUILD, ROOT

# external/ compiles other people's code, which has a style of its own.
_FOREIGN = ("external", "build")


@cache
def compiled() -> dict[str, list[tidy.Entry]]:
    """Return the project's units that any build compiles."""
    lacking = [
        name for name in tidy.BUILDS if not (BUILD / name / "compile_commands.json").is_file()
    ]
    if lacking:
        return {}
    found = {
        str(unit.relative_to(ROOT)): entries
        for unit, entries in tidy.units().items()
        if unit.is_relative_to(ROOT) and unit.suffix == ".c"
    }
    return {name: found[name] for name in sorted(found) if name.split("/")[0] not in _FOREIGN}


def test_both_builds_are_there() -> None:
    assert compiled(), f"{', '.join(tidy.BUILDS)}: call ./bulkhead build --compiler clang"


def of_product(name: str) -> bool:
    """Return true if a unit is part of the product or of an example, not of a test or a bench."""
    return not name.startswith(("tests/", "bench/"))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if of_product(name) else pytest.mark.long) for name in compiled()],
)
def test_clang_tidy(name: str) -> None:
    findings = tidy.check(compiled()[name], tidy.NODES)
    assert not findings, findings


@pytest.mark.long
@pytest.mark.parametrize("name", compiled())
@pytest.mark.timeout(1800)
def test_clang_tidy_in_depth(name: str) -> None:
    """The analyzer gets the number of states that is its own limit."""
    findings = tidy.check(compiled()[name], tidy.NODES_LONG)
    assert not findings, findings


# Of the choice of what is analysed.


def entry(folder: Path, *words: str) -> tidy.Entry:
    return tidy.Entry(folder, ("clang", *words, "unit.c"), folder / "unit.c")


def forget() -> None:
    """Empty the caches of what was read from files."""
    for function in (tidy._is_own, tidy._configuration, tidy._content_digest, tidy._names):
        function.cache_clear()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a unit whose header is one of two, with a finding when LOUD is defined."""
    for name in ("one", "same", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "header.h").write_text(f"int {name.replace('same', 'one')}(void);\n")
    (tmp_path / "unit.c").write_text(
        '#include "header.h"\nint value(int a)\n{\n#ifdef LOUD\n    if (a == a) return 1;\n#endif\n'
        "    return a;\n}\n"
    )
    (tmp_path / ".clang-tidy").write_text("Checks: '-*,misc-redundant-expression'\n"
                                          "WarningsAsErrors: '*'\n")  # fmt: skip
    monkeypatch.setattr(tidy, "ROOT", tmp_path)
    forget()
    yield tmp_path
    forget()


def test_entries_that_mean_the_same_are_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidy, "BUILD", tmp_path)
    (tmp_path / "some").mkdir()
    commands = [
        "clang -Ione -O2 -g -fsanitize=address -MD -MF a.d -o a.o -c ../unit.c",
        "clang -Ione -O0 -Wall -o b.o -c ../unit.c",
        "clang -Iother -o c.o -c ../unit.c",
        "clang -Ione -DLOUD -o d.o -c ../unit.c",
    ]
    lines = [
        {"directory": str(tmp_path / "some"), "file": "../unit.c", "command": command}
        for command in commands
    ]
    (tmp_path / "some" / "compile_commands.json").write_text(json.dumps(lines))
    (found,) = tidy.units(["some"]).items()
    assert found[0] == tmp_path / "unit.c"
    assert [word for each in found[1] for word in each.words if word.endswith(".o")] == [
        "a.o",
        "c.o",
        "d.o",
    ]


def test_the_same_lines_in_another_file_are_another_variant(project: Path) -> None:
    """A finding names the file."""
    assert len(tidy.variants([entry(project, "-Ione"), entry(project, "-Isame")])) == 2


def test_headers_of_the_c_library_make_no_variant(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ours, theirs = project / "libc/include", tmp_path_factory.mktemp("system")
    ours.mkdir(parents=True)
    for folder, value in ((ours, 1), (theirs, 2), (project / "other", 3)):
        (folder / "limit.h").write_text(f"#define LIMIT {value}\n")
    unit = project / "unit.c"
    unit.write_text('#include "header.h"\n#include "limit.h"\nint limit = LIMIT;\n')
    same = [entry(project, "-Ione", f"-I{folder}") for folder in (ours, theirs)]
    assert len(tidy.variants(same)) == 1
    assert len(tidy.variants([*same, entry(project, "-Ione", "-Iother")])) == 2


def test_a_macro_makes_a_variant_where_it_is_named(project: Path) -> None:
    plain, loud = entry(project, "-Ione"), entry(project, "-Ione", "-DLIMIT=3")
    assert len(tidy.variants([plain, loud])) == 1
    (project / "unit.c").write_text('#include "header.h"\nint limit = LIMIT;\n')
    forget()
    other = entry(project, "-Ione", "-DLIMIT=4")
    assert len(tidy.variants([loud, other])) == 2


def test_flags_that_change_no_lines_are_one_variant(project: Path) -> None:
    chosen = tidy.variants([entry(project, "-Ione"), entry(project, "-Ione", "-Iother")])
    assert [each.entry.words[1] for each in chosen] == ["-Ione"]
    assert {path.name for path in chosen[0].files} == {"unit.c", "header.h"}
    assert len(tidy.variants([entry(project, "-Ione"), entry(project, "-Ione", "-DLOUD")])) == 2


def check(project: Path, *alternatives: tidy.Entry) -> tuple[str, int]:
    """Return the findings, and how many results are kept."""
    findings = tidy.check(alternatives, tidy.NODES, project / "store")
    return findings, len(list((project / "store").glob("*")))


def test_a_finding_in_any_variant_is_found_each_time(project: Path) -> None:
    quiet, loud = entry(project, "-Ione"), entry(project, "-Ione", "-DLOUD")
    for _ in range(2):
        findings, kept = check(project, quiet, loud)
        assert "misc-redundant-expression" in findings
        assert kept == 1


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("unit.c", "int value(int a) { return a == a; }\n"),
        ("one/header.h", "static inline int one(int a) { return a == a; }\n"),
        (".clang-tidy", "Checks: 'misc-*'\nWarningsAsErrors: '*'\n"),
    ],
)
def test_a_result_is_kept_until_something_changes(
    project: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str
) -> None:
    analysed: list[Sequence[str]] = []

    def analyse(entry: tidy.Entry, _: int) -> str:
        analysed.append(entry.words)
        return ""

    monkeypatch.setattr(tidy, "_analyse", analyse)
    quiet = entry(project, "-Ione")
    for _ in range(2):
        assert check(project, quiet) == ("", 1)
    assert len(analysed) == 1
    (project / file).write_text(text)
    forget()
    assert check(project, quiet) == ("", 2)
    monkeypatch.setattr(tidy, "_version", lambda: "another")
    assert check(project, quiet) == ("", 3)
    assert len(analysed) == 3
