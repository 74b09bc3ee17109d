# SPDX-License-Identifier: BSD-2-Clause
"""GenMC explores channels under the memory model RC11, beside our own explorer.

It runs the channel library's own ring, waits, connections, values and one-way channels, and checks
contents, wake-ups, and that a side finds the last message of a life. Each of their 29 orders, which
are all but the two of refused lives, is left out in turn, and GenMC must find an error. CBMC can't
check this code: it ends at each dereferenced pointer.

GENMC names an installed genmc (0.10.1 was tried), which no distribution has. Without it these tests
are skipped; the programs are compiled in any case.
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
_FOLDER = Path(__file__).parent / "genmc"
_INCLUDES = (_FOLDER, ROOT / "channel/include")
_RING = "channel/include/channel/ring.h"
_LIFE = "channel/connection.c"
_VALUE = "channel/value.c"
_BROADCAST = "channel/broadcast.c"
# The cases of each program.
_CASES = {
    "messages": (1, 2, 3),
    "lives": (1, 2, 3, 4, 5, 6),
    "values": (1, 2, 3),
    "broadcasts": (1, 2, 3, 4, 5),
}
# The case that can find that an order is missing, by the line that asks for the order.
_ORDERS = {
    ("channel/ring.c", "word_load_acquire(producer->consumed)"): ("messages", 1),
    ("channel/ring.c", "word_load_acquire(consumer->produced)"): ("messages", 1),
    ("channel/ring.c", "word_fence()"): ("messages", 3),
    (_RING, "word_store_release(produced, position)"): ("messages", 1),
    (_RING, "word_store_release(consumed, position)"): ("messages", 1),
    (_RING, "word_fence()"): ("messages", 2),
    ("channel/wait.c", "word_fence()"): ("messages", 2),
    (_LIFE, "word_store_release(&own->generation, channel->generation)"): ("lives", 1),
    (_LIFE, "word_store_release(&own->acknowledged, generation)"): ("lives", 4),
    (_LIFE, "word_load_acquire(&peer->acknowledged) of connect"): ("lives", 4),
    (_LIFE, "word_store_release(&own->connected, generation)"): ("lives", 6),
    (_LIFE, "word_load_acquire(&peer_control(channel)->generation)"): ("lives", 3),
    (_LIFE, "word_load_acquire32(state)"): ("lives", 2),
    (_VALUE, "word_fence_acquire()"): ("values", 2),
    (_VALUE, "word_store_release(&own->newest[writer->pair], writer->slot)"): ("values", 2),
    (_VALUE, "word_store_release(&writer->own->latest, pair)"): ("values", 2),
    (_VALUE, "word_store_release(&writer->own->produced, writer->number)"): ("values", 1),
    (_VALUE, "word_fence() of value_write_end"): ("values", 3),
    (_VALUE, "word_load_acquire(&reader->peer->produced)"): ("values", 1),
    (_VALUE, "word_store_release(&reader->own->reading, pair)"): ("values", 2),
    (_VALUE, "word_fence() of value_read"): ("values", 2),
    (_VALUE, "word_load_acquire(&reader->peer->newest[pair])"): ("values", 2),
    (_BROADCAST, "word_fence_release()"): ("broadcasts", 2),
    (_BROADCAST, "word_store_release(&sender->own->produced"): ("broadcasts", 1),
    (_BROADCAST, "word_store_release(&sender->own->last"): ("broadcasts", 2),
    (_BROADCAST, "word_fence_acquire()"): ("broadcasts", 1),
    (_BROADCAST, "word_store_release(&sender->own->overwritten"): ("broadcasts", 5),
    (_BROADCAST, "word_load_acquire(&control->overwritten)"): ("broadcasts", 4),
    (_BROADCAST, "word_load_acquire(&control->last)"): ("broadcasts", 2),
}

# The last one is how GenMC ends where a side fails: see lives.c.
_FOUND = "Error: (Non-[Aa]tomic race|Safety violation)|ERROR: Invalid call to memcpy"

needs_genmc = pytest.mark.skipif(
    shutil.which(_PROGRAM) is None, reason="GENMC names no installed genmc"
)


def flags_of(case: int, *definitions: str) -> list[str]:
    """Return the compiler's options for a case of a program."""
    includes = [f"-I{folder}" for folder in _INCLUDES]
    return [f"-DCASE={case}", *includes, *(f"-D{each}" for each in definitions)]


def explored(program: str, case: int, *definitions: str) -> subprocess.CompletedProcess[str]:
    """Run GenMC on a case of a program."""
    flags = flags_of(case, *definitions)
    return subprocess.run(
        [_PROGRAM, "--rc11", "--disable-estimation", "--", *flags, str(_FOLDER / f"{program}.c")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def line_of(file: str, order: str) -> int:
    """Return the number of the only line that asks for the order, of a function if it is named."""
    text, _, function = order.partition(" of ")
    source = (ROOT / file).read_text()
    begin = source.index(f"{function}(struct") if function else 0
    end = source.index("\n}\n", begin) if function else len(source)
    assert source.count(text, begin, end) == 1, f"{file} has several of {order}, or none"
    return source.count("\n", 0, source.index(text, begin)) + 1


@pytest.mark.parametrize("program", _CASES)
def test_programs_compile(program: str) -> None:
    """Without GenMC, too: the programs follow the library's sources."""
    file = str(_FOLDER / f"{program}.c")
    command = ["clang", "-fsyntax-only", "-Wall", "-Wno-unused-function", "-Werror"]
    done = subprocess.run(
        [*command, *flags_of(1), file], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("order", _ORDERS)
def test_each_order_is_in_the_source_once(order: tuple[str, str]) -> None:
    assert line_of(*order) > 0


@needs_genmc
@pytest.mark.parametrize(
    ("program", "case"), [(name, case) for name, cases in _CASES.items() for case in cases]
)
def test_all_executions_are_right(program: str, case: int) -> None:
    done = explored(program, case)
    assert "No errors were detected" in done.stdout, done.stdout + done.stderr
    executions = re.search(r"Number of complete executions explored: (\d+)", done.stdout)
    assert executions is not None
    assert int(executions[1]) > 0


@needs_genmc
@pytest.mark.parametrize(("order", "program_case"), _ORDERS.items())
def test_each_order_is_needed(order: tuple[str, str], program_case: tuple[str, int]) -> None:
    file, _ = order
    done = explored(*program_case, f"WEAK_LINE={line_of(*order)}", f"WEAK_FILE={Path(file).name}")
    assert re.search(_FOUND, done.stdout + done.stderr), done.stdout + done.stderr
