# SPDX-License-Identifier: BSD-2-Clause
"""Print the command's output: progress to stderr, results to stdout."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_UNLIMITED_COLUMNS = 10_000

Update = Callable[[str], None]


def is_interactive() -> bool:
    """Return True if a progress display may move."""
    return sys.stderr.isatty() and os.environ.get("CI", "").lower() not in ("1", "true")


def say(text: str) -> None:
    """Print a line about the current step."""
    print(f"bulkhead: {text}", file=sys.stderr, flush=True)


def results() -> "Console":
    """Return the console for tables on stdout.

    In a file or a pipe a table is as wide as its content: nothing is cut.
    """
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=_UNLIMITED_COLUMNS)


class Progress:
    """A long step. Call it with a text about its progress; `outcome` is printed at its end."""

    def __init__(self, show: Update) -> None:
        self._show = show
        self.outcome = ""

    def __call__(self, text: str) -> None:
        """Show the progress of the step."""
        self._show(text)


@contextmanager
def progress(title: str) -> Iterator[Progress]:
    """Show a long step and its outcome.

    A terminal shows a moving line. Elsewhere the start and the outcome are printed.
    """
    if not is_interactive():
        say(title)
        step = Progress(lambda _text: None)
        yield step
        if step.outcome:
            say(f"{title}: {step.outcome}")
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(f"bulkhead: {title}")) as status:
        step = Progress(lambda text: status.update(escape(f"bulkhead: {title}: {text[:80]}")))
        yield step
    say(f"{title}: {step.outcome or 'done'}")


def run_shown(
    command: Sequence[str],
    update: Update,
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    is_finished_first: bool = False,
) -> tuple[int, str]:
    """Run a command without input, and call `update` with each line of its output.

    A signal that ends this process ends the command, too; if `is_finished_first`, the process waits
    for the command's end. Returns its status and its output.
    """
    lines: list[str] = []
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line)
                if line.strip():
                    update(line.strip())
        except KeyboardInterrupt:
            if not is_finished_first:
                process.terminate()
            raise
    return process.returncode, "".join(lines)
