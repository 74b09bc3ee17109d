# SPDX-License-Identifier: BSD-2-Clause
"""GenMC explores channels of messages under the memory model RC11, beside our own explorer.

GENMC names an installed genmc (0.10.1 was tried), which no distribution has. Without it the tests
are skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bulkhead.paths import ROOT

_PROGRAM = os.environ.get("GENMC", "")
_SOURCE = Path(__file__).parent / "genmc" / "messages.c"
_INCLUDES = (_SOURCE.parent, ROOT / "channel/include")
# The cases that can find that an order is missing, by the function that asks for the order.
_ORDERS = {
    ("channel/ring.c", "word_load_acquire(producer->consumed)"): 1,
    ("channel/ring.c", "word_load_acquire(consumer->produced)"): 1,
    ("channel/ring.c", "word_fence()"): 3,
    ("channel/include/channel/ring.h", "word_store_release(produced, position)"): 1,
    ("channel/include/channel/ring.h", "word_store_release(consumed, position)"): 1,
    ("channel/include/channel/ring.h", "word_fence()"): 2,
    ("channel/wait.c", "word_fence()"): 2,
}
_CASES = (1, 2, 3)

pytestmark = pytest.mark.skipif(
    shutil.which(_PROGRAM) is None, reason="GENMC names no installed genmc"
)


def explored(case: int, *definitions: str) -> subprocess.CompletedProcess[str]:
    """Runs GenMC on a case of messages.c."""
    flags = [f"-DCASE={case}", *(f"-I{folder}" for folder in _INCLUDES)]
    flags += [f"-D{each}" for each in definitions]
    return subprocess.run(
        [_PROGRAM, "--rc11", "--disable-estimation", "--", *flags, str(_SOURCE)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def line_of(file: str, text: str) -> int:
    """Returns the number of the only line that contains the text."""
    lines = (ROOT / file).read_text().splitlines()
    (found,) = (number for number, line in enumerate(lines, 1) if text in line)
    return found


@pytest.mark.parametrize("case", _CASES)
def test_all_executions_are_right(case: int) -> None:
    done = explored(case)
    assert "No errors were detected" in done.stdout, done.stdout + done.stderr
    executions = re.search(r"Number of complete executions explored: (\d+)", done.stdout)
    assert executions is not None
    assert int(executions[1]) > 0


@pytest.mark.parametrize(("order", "case"), _ORDERS.items())
def test_each_order_is_needed(order: tuple[str, str], case: int) -> None:
    file, text = order
    name = Path(file).name
    done = explored(case, f"WEAK_LINE={line_of(file, text)}", f"WEAK_FILE={name}")
    assert re.search("Error: (Non-[Aa]tomic race|Safety violation)", done.stdout), done.stdout
