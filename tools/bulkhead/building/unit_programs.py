# SPDX-License-Identifier: BSD-2-Clause
"""List the test programs in C that Meson knows, and those that run by default."""

import json
from dataclasses import dataclass
from pathlib import Path

from bulkhead.building.build import Variant

_LONG = "long"
# Suites whose programs are not the same with Clang: it calls the harness at each access to memory.
_DIFFERENT_WITH_CLANG = ("hostile",)


@dataclass(frozen=True)
class UnitProgram:
    """A test that a meson.build declares: a program with its arguments."""

    name: str
    suites: tuple[str, ...]  # the first is the folder below tests/
    command: tuple[str, ...]
    timeout_s: float

    @property
    def suite(self) -> str:
        """The folder below tests/ that the test belongs to."""
        return self.suites[0]

    @property
    def program(self) -> Path:
        """The executable file."""
        return Path(self.command[0])


def unit_programs(variant: Variant) -> list[UnitProgram]:
    """Return the test programs of a build, an empty list if it was never configured."""
    listing = variant.folder / "meson-info" / "intro-tests.json"
    if not listing.is_file():
        return []
    return [
        UnitProgram(
            test["name"],
            tuple(suite.partition(":")[2] for suite in test["suite"]),
            (*variant.runner, *test["cmd"]),
            test["timeout"],
        )
        for test in json.loads(listing.read_text())
    ]


def default_programs(variant: Variant) -> list[UnitProgram]:
    """Return the test programs of a build that run without --long.

    The sanitized programs run with one compiler by default. Clang's are those that GCC's build does
    not have: the fuzzers, and the malicious device that sees each access to memory.
    """
    programs = [each for each in unit_programs(variant) if _LONG not in each.suites]
    if variant.compiler != "clang":
        return programs
    others = {each.name for each in unit_programs(Variant(variant.target, "gcc"))}
    return [
        each for each in programs if each.name not in others or each.suite in _DIFFERENT_WITH_CLANG
    ]
