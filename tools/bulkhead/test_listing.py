# SPDX-License-Identifier: BSD-2-Clause
"""List the suites, their files, and the first sentence of each file: ./bulkhead test --list."""

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from bulkhead.errors import UserError
from bulkhead.paths import TESTS

_FILES = ("test_*.py", "test_*.c")
_C_COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
_SENTENCE = re.compile(r"(.*?\.)(?:\s|$)")


def show(names: Sequence[str]) -> None:
    """Print the files of the named suites, or of all suites."""
    chosen = [file for file in _files() if not names or _is_named(file, names)]
    if not chosen:
        raise UserError(f"no test file belongs to {', '.join(names)}", "./bulkhead test --list")
    for suite, files in groupby(chosen, key=lambda file: file.relative_to(TESTS).parts[0]):
        print(suite)
        for file in files:
            print(f"  {file.relative_to(TESTS / suite)}: {first_sentence(file)}")


def first_sentence(file: Path) -> str:
    """Return the first sentence of a file's docstring, or of the first comment of a C file."""
    text = file.read_text()
    described = _docstring(text) if file.suffix == ".py" else _comment(text)
    paragraph = " ".join(described.strip().split("\n\n")[0].split())
    sentence = _SENTENCE.match(paragraph)
    return sentence[1] if sentence else paragraph


def _files() -> Iterator[Path]:
    yield from sorted(file for pattern in _FILES for file in TESTS.rglob(pattern))


def _is_named(file: Path, names: Sequence[str]) -> bool:
    place = str(file.relative_to(TESTS).with_suffix(""))
    return any(place == name or place.startswith(f"{name}/") for name in names)


def _docstring(text: str) -> str:
    return ast.get_docstring(ast.parse(text)) or ""


def _comment(text: str) -> str:
    """Return the first comment of a C file that is not its licence."""
    for comment in _C_COMMENT.findall(text):
        if "SPDX-License-Identifier" not in comment:
            return re.sub(r"^\s*\* ?", "", str(comment), flags=re.MULTILINE)
    return ""
