# SPDX-License-Identifier: BSD-2-Clause
"""Find the tests that a change can affect ("reaches"), for ./bulkhead test --changed.

A C file reaches programs and images by the dependencies of the builds. A Python file reaches the
tests that import it. Any other file reaches its suite, or all tests. In doubt, too many tests are
run rather than too few.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from bulkhead.building import build
from bulkhead.errors import UserError
from bulkhead.paths import ROOT, TESTS

_C_SUFFIXES = (".c", ".h", ".S", ".ld", ".dts", ".build")
_DOCUMENT_SUFFIXES = (".md", ".svg", ".png", ".txt")
# Every build and every test depends on these.
_EVERYTHING = re.compile(
    r"bulkhead|pyproject\.toml|meson\.build|meson_options\.txt|tools/(meson/.*|requirements\.txt)"
    r"|\.ci/.*|tests/conftest\.py|tests/support/(__init__|schedule|times|pairwise)\.py"
)
# Data that tests read when they run, and the suites that read it.
_READERS = (
    (
        re.compile(r"(systems|boards)/"),
        ("systems", "tools", "vm", "isolation", "firmware", "guests", "pages", "rtems"),
    ),
    (re.compile(r"bench/"), ("tools", "vm")),
    (re.compile(r"schedule/"), ("systems",)),
    (re.compile(r"virtio/ports/rtems/"), ("rtems", "unit")),
    (re.compile(r"channel/(guest|rtems)/"), ("rtems",)),
    (re.compile(r"apps/level/plot/"), ("channel", "pages", "vm")),
    (re.compile(r"\.clang-(format|tidy)"), ("style",)),
)
# The suites that boot guests of tests/guests. Its folder `recipes` is the suite `guests`.
_SUITES_WITH_GUESTS = ("firmware", "isolation", "rtems", "systems", "tools", "vm")
_RECIPES = "tests/guests/recipes/"
_ALWAYS = "style/test_style.py"  # formatting, lint, types, licences: seconds
_LAYOUTS = "tools/test_layouts.py"  # compares types of C with what Python knows about them
_LAYOUT_SOURCE = re.compile(
    r"(apps/manager|arch|channel|hypervisor|kernel|schedule)/(.*\.h|layouts\.c)|tools/layouts/.*"
)
_TIDY = "style/test_clang_tidy.py"
_COMMAND = re.compile(r'ROOT / "bulkhead"')
_LOADED_BENCH = re.compile(r'bench\.load\("([\w-]+)"\)')


def changed_files(base: str, root: Path = ROOT) -> set[str]:
    """Return the files changed since the merge base of `base` and HEAD, and untracked files.

    For a renamed file the result contains both names.
    """

    def git(*arguments: str) -> list[str]:
        command = ["git", "-C", str(root), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["git failed"]
            raise UserError(
                f"--changed {base}: {lines[0]}", "name a commit, and write suites before --changed"
            )
        return [line for line in done.stdout.split("\0") if line]

    start = git("merge-base", base, "HEAD")[0].strip()
    differing = git("diff", "--name-only", "--no-renames", "-z", start)
    return {*differing, *git("ls-files", "-z", "--others", "--exclude-standard")}


def _paths(words: Iterable[str]) -> list[str]:
    return [word for word in words if word not in ("", "|")]


@dataclass
class BuildGraph:
    """The dependencies between the files of a build folder, as recorded by Ninja after a build."""

    folder: Path

    @cached_property
    def _users(self) -> dict[str, set[str]]:
        """The files made from each file. Paths are relative to the root of the repository."""
        users: dict[str, set[str]] = {}
        for outputs, inputs in (*self._statements(), *self._dependencies()):
            for each in inputs:
                users.setdefault(self._name(each), set()).update(map(self._name, outputs))
        return users

    def _name(self, path: str) -> str:
        return os.path.relpath(self.folder / path, ROOT)

    def _statements(self) -> Iterator[tuple[list[str], list[str]]]:
        """Yield the statements `build OUTPUT...: RULE INPUT... | IMPLICIT... || ORDER...`."""
        text = (self.folder / "build.ninja").read_text().replace("$\n", "")
        for line in re.findall(r"^build (.*)$", text, re.MULTILINE):
            words = [
                word.replace("$ ", " ").replace("$:", ":").replace("$$", "$")
                for word in re.split(r"(?<!\$) ", line)
            ]
            end = next(index for index, word in enumerate(words) if word.endswith(":"))
            outputs = [*words[:end], words[end][:-1]]
            inputs = words[end + 2 :]
            if "||" in inputs:
                inputs = inputs[: inputs.index("||")]
            yield _paths(outputs), _paths(inputs)

    def _dependencies(self) -> Iterator[tuple[list[str], list[str]]]:
        """Yield the files that the compiler has read for each object."""
        command = ["ninja", "-C", str(self.folder), "-t", "deps"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for block in text.split("\n\n"):
            first, *rest = block.strip().splitlines() or [""]
            if rest:
                yield [first.partition(": #deps")[0]], [line.strip() for line in rest]

    def reached(self, changed: Iterable[str]) -> set[str]:
        """Return some files, and all files that are made from them, directly or not."""
        found = set(changed)
        waiting = list(found)
        while waiting:
            new = self._users.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found

    def knows(self, name: str) -> bool:
        """Return True if another file is made from this file."""
        return name in self._users

    def programs(self) -> list[dict[str, object]]:
        """Return the tests that are declared in Meson."""
        path = self.folder / "meson-info" / "intro-tests.json"
        return list(json.loads(path.read_text())) if path.is_file() else []

    def executables(self) -> list[str]:
        """Return all programs and custom targets, relative to the root of the repository."""
        path = self.folder / "meson-info" / "intro-targets.json"
        kinds = ("executable", "custom")
        return [
            os.path.relpath(name, ROOT)
            for target in json.loads(path.read_text())
            if target["type"] in kinds
            for name in target["filename"]
        ]


@dataclass
class PythonFiles:
    """The Python files of the repository, and their imports."""

    root: Path
    files: frozenset[str]
    _known: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Path) -> PythonFiles:
        """Return all files below tests/, tools/ and bench/."""
        found = {
            str(path.relative_to(root))
            for top in ("tests", "tools", "bench")
            for path in (root / top).rglob("*.py")
        }
        return cls(root, frozenset(found))

    def text(self, name: str) -> str:
        """Return the text of a file."""
        return (self.root / name).read_text()

    def uses(self, name: str) -> frozenset[str]:
        """Return the files that a file needs when it runs, including the file itself."""
        found = {name}
        waiting = [name]
        while waiting:
            new = self._direct(waiting.pop()) - found
            found |= new
            waiting += new
        return frozenset(found)

    def _direct(self, name: str) -> frozenset[str]:
        if name not in self._known:
            self._known[name] = frozenset(self._find_direct(name))
        return self._known[name]

    def _find_direct(self, name: str) -> Iterator[str]:
        text = self.text(name)
        arguments: set[str] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.arg):
                arguments.add(node.arg)
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from self._module(alias.name)
            elif isinstance(node, ast.ImportFrom):
                start = self._package(name, node.level) if node.level else ""
                module = ".".join(part for part in (start, node.module or "") if part)
                yield from self._module(module)
                for alias in node.names:
                    yield from self._module(f"{module}.{alias.name}")
        if not name.startswith("tests/"):
            return
        if _COMMAND.search(text):
            yield from self._module("bulkhead.cli")
        for bench in _LOADED_BENCH.findall(text):
            path = f"bench/{bench.replace('-', '_')}/bench.py"
            if path in self.files:
                yield path
        # Fixtures are defined in the conftest.py of the folder and of the folders above it. A test
        # names them as its arguments or in strings.
        arguments |= set(_quoted(text))
        for folder in Path(name).parents:
            conftest = str(folder / "conftest.py")
            if conftest in self.files and conftest != name and self._fixtures(conftest) & arguments:
                yield conftest

    def _fixtures(self, conftest: str) -> set[str]:
        return set(re.findall(r"@pytest\.fixture.*\n(?:.*\n)??def (\w+)", self.text(conftest)))

    def _package(self, name: str, level: int) -> str:
        parts = Path(name).parts[:-level]
        return ".".join(parts[1:] if parts[0] in ("tests", "tools") else parts)

    def _module(self, module: str) -> Iterator[str]:
        """Yield the file of a module, and those of the packages that contain it."""
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            path = "/".join(parts[:end])
            for top in ("tests", "tools", "."):
                for candidate in (f"{top}/{path}.py", f"{top}/{path}/__init__.py"):
                    name = os.path.normpath(candidate)
                    if name in self.files:
                        yield name


@dataclass
class Reach:
    """Finds the tests that files reach."""

    python: PythonFiles
    graphs: Mapping[str, BuildGraph]  # by the name of the build folder
    is_test: Callable[[str], bool] = lambda name: Path(name).name.startswith("test_")

    def tests(self, changed: Iterable[str]) -> set[str]:
        """Return the tests by their names in pytest, relative to tests/; "." means all tests."""
        files = set(changed)
        if not files:
            return set()
        if any(_EVERYTHING.fullmatch(name) for name in files):
            return {"."}
        found = {_ALWAYS}
        compiled = {name for name in files if name.endswith(_C_SUFFIXES)}
        found |= self._by_builds(compiled)
        for name in files - compiled:
            found |= self._by_content(name)
        if any(_LAYOUT_SOURCE.fullmatch(name) for name in files):
            found.add(_LAYOUTS)
        return _without_parts(found)

    def _by_content(self, name: str) -> set[str]:
        if name in self.python.files or name.endswith(".py"):
            return self._by_imports({name}) | self._by_readers(name)
        if name.startswith("tests/") and name.count("/") > 1:
            return _suites_of(name)
        readers = self._by_readers(name) | self._by_name(Path(name).name)
        if readers or name.endswith(_DOCUMENT_SUFFIXES) or name.startswith(("docs/", "LICENSE")):
            return readers
        return {"."}

    def _by_readers(self, name: str) -> set[str]:
        return {suite for pattern, suites in _READERS if pattern.match(name) for suite in suites}

    def _by_name(self, file: str) -> set[str]:
        """Return the tests that contain the name of a file."""
        return {_test(each) for each in self._test_files() if file in self.python.text(each)}

    def _by_folder(self, name: str) -> set[str]:
        """Return the tests that name the folder of a source, and so compile or read it."""
        top = name.split("/", maxsplit=1)[0]
        if top in ("tests", "tools", "bench", name):
            return set()
        folder = re.compile(rf"""["']{re.escape(top)}[/"']""")
        return {_test(each) for each in self._test_files() if folder.search(self.python.text(each))}

    def _by_imports(self, files: set[str]) -> set[str]:
        return {_test(each) for each in self._test_files() if self.python.uses(each) & files}

    def _test_files(self) -> list[str]:
        return sorted(
            name for name in self.python.files if name.startswith("tests/") and self.is_test(name)
        )

    def _by_builds(self, compiled: set[str]) -> set[str]:
        found: set[str] = set()
        for name in compiled:
            found |= self._by_readers(name) | self._by_folder(name)
            if name.endswith("meson.build") or any(g.knows(name) for g in self.graphs.values()):
                continue
            # No build uses the file: a test may compile it itself, otherwise its use is unknown. A
            # removed file needs no test, because the files that used it have changed too.
            if name.startswith("tests/"):
                found |= _suites_of(name)
            elif (self.python.root / name).exists():
                found.add(".")
        for folder, graph in self.graphs.items():
            reached = graph.reached(self._widened(compiled))
            if folder.startswith("arm64"):
                found |= self._of_images(graph, reached)
            else:
                found |= self._of_programs(folder, graph, reached)
            found |= self._of_tidy(folder, reached)
        return found

    def _widened(self, compiled: set[str]) -> set[str]:
        """Return the files, and for each meson.build all sources of its folder."""
        folders = [str(Path(name).parent) for name in compiled if name.endswith("meson.build")]
        sources = {
            source
            for graph in self.graphs.values()
            for source in graph._users
            if any(source.startswith(f"{folder}/") for folder in folders)
        }
        return compiled | sources

    def _of_programs(self, folder: str, graph: BuildGraph, reached: set[str]) -> set[str]:
        found: set[str] = set()
        programs = set()
        for test in graph.programs():
            command, suites = test["cmd"], test["suite"]
            assert isinstance(command, list)
            assert isinstance(suites, list)
            program = os.path.relpath(command[0], ROOT)
            programs.add(program)
            if program in reached:
                suite = suites[0].partition(":")[2]
                found.add(f"{suite}/meson.build::{folder}/{test['name']}")
        for program in set(graph.executables()) - programs:
            if program in reached:
                parts = Path(program).parts  # build/FOLDER/tests/SUITE/...
                suite = parts[3] if parts[2] == "tests" else "tools"
                # The suite of unit tests is large, and few of them use programs by their names.
                named = self._that_name(parts[-1]) if suite == "unit" else set()
                found |= named or {suite}
        return found

    def _that_name(self, program: str) -> set[str]:
        """Return the tests that name a program, or use a module of the tests that does."""
        return {
            _test(name)
            for name in self._test_files()
            if any(program in self.python.text(each) for each in self._own_modules(name))
        }

    def _own_modules(self, name: str) -> list[str]:
        """Return the modules of tests and benches that a test uses, and the test."""
        return [
            each
            for each in self.python.uses(name)
            if each.startswith(("tests/", "bench/")) and not each.endswith("conftest.py")
        ]

    def _of_images(self, graph: BuildGraph, reached: set[str]) -> set[str]:
        """Return the tests of guests: those that name an image, or assemble systems."""
        images = {
            Path(name).stem
            for name in graph.executables()
            if name in reached and name.endswith((".image", ".bin"))
        }
        if not images:
            return set()
        hypervisors = {each for each in images if each.split("-")[0] == "hypervisor"}
        in_systems = hypervisors | self._images_of_systems()
        found = set()
        for name in self._test_files():
            uses = self.python.uses(name)
            assembles = any(each.endswith("system/assemble.py") for each in uses)
            quoted = {
                word for each in self._own_modules(name) for word in _quoted(self.python.text(each))
            }
            if quoted & images or (assembles and in_systems & images):
                found.add(_test(name))
        return found

    def _images_of_systems(self) -> set[str]:
        return {
            image
            for path in (self.python.root / "systems").glob("*/*.toml")
            for image in re.findall(r'^image = "([\w-]+)"', path.read_text(), re.MULTILINE)
        }

    def _of_tidy(self, folder: str, reached: set[str]) -> set[str]:
        if not folder.endswith("clang"):
            return set()
        database = self.graphs[folder].folder / "compile_commands.json"
        units = {
            os.path.relpath(Path(entry["directory"], entry["file"]), ROOT)
            for entry in json.loads(database.read_text())
            if os.path.relpath(Path(entry["directory"], entry["output"]), ROOT) in reached
        }
        return {
            f"{_TIDY}::test_clang_tidy[{unit}]"
            for unit in units
            if not unit.startswith(("external/", "build/"))
        }


def _suites_of(name: str) -> set[str]:
    """Return the suites that a file below tests/ belongs to."""
    folder = name.split("/")[1]
    is_program = folder == "guests" and not name.startswith(_RECIPES)
    return set(_SUITES_WITH_GUESTS) if is_program else {folder}


def _test(name: str) -> str:
    return name.removeprefix("tests/")


def _quoted(text: str) -> list[str]:
    return re.findall(r'"([\w-]+)"', text)


def _without_parts(tests: set[str]) -> set[str]:
    """Return the tests without those that are part of a file or suite in the same set."""
    return {
        test
        for test in tests
        if "." not in tests - {test}
        and not ("::" in test and test.partition("::")[0] in tests)
        and not ("/" in test and test.split("/")[0] in tests)
    }


def builds() -> list[build.Variant]:
    """Return all builds that tests need."""
    return [*build.variants("all", "all"), build.ARM32]


def reach() -> Reach:
    """Return a Reach for the present build folders, which must be up to date."""
    folders = [variant.folder for variant in builds()]
    graphs = {each.name: BuildGraph(each) for each in folders if (each / "build.ninja").is_file()}
    return Reach(PythonFiles.of(TESTS.parent), graphs)
