# SPDX-License-Identifier: BSD-2-Clause
"""A partition keeps its work on a shared core, whatever causes the exits of its core.

The victim counts its own work, with the others asleep and with the others awake, on a machine that
counts instructions. What differs is what somebody took, and nobody paid. The timer as the cause:
tests/vm/test_shared_cores.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bulkhead.measuring.shared_core import Ended, parse_played, run_until_end
from bulkhead.settings import Settings
from bulkhead.system.assemble import read

_WORK_LOST_MAX = 0.001
# The victim's exits: its own timer and that of the core, and two for each budget of the target.
_INTERRUPTS_MAX = 1_000
_REMOTE_ATTACKS_MIN = 100_000
_ATTACKS_MIN = {"doorbells": 1_000, "restarts": 5, "calls": 1_000}
_BEGIN_MS, _END_MS = 400, 600
_ASLEEP = f"role=wake begin={_END_MS + 9000} end={_END_MS + 9001} period=1000 work=0"
_AWAKE = f"begin={_BEGIN_MS} end={_END_MS + 9000}"  # longer than the victim
_VICTIM = f"""board = "qemu-virt"
[[partition]]
name = "victim"
cores = [0]
memory = "16 MiB"
image = "share"
arguments = "role=spin begin={_BEGIN_MS} end={_END_MS}"
budget = "5 ms"
period = "10 ms"
"""
_CHANNEL = """
[[channel]]
name = "wire"
from = "target"
to = "ringer"
size = "64 KiB"
"""


@dataclass(frozen=True)
class Member:
    """A partition beside the victim, and what it does when it is awake."""

    name: str
    arguments: str
    keys: str
    quiet: str = _ASLEEP
    image: str = "share"

    def text(self, *, is_awake: bool) -> str:
        """Return its lines of the system file."""
        arguments = f"{self.arguments} {_AWAKE}" if is_awake else self.quiet
        image = self.image if is_awake else "share"
        return f"""
[[partition]]
name = "{self.name}"
memory = "16 MiB"
image = "{image}"
arguments = "{arguments}"
{self.keys}
"""


def _on_the_core(budget: str, period: str) -> str:
    return f'cores = [0]\nbudget = "{budget}"\nperiod = "{period}"'


_TARGET = _on_the_core("100 us", "1 ms")
_WAITING = Member("target", "", _TARGET, image="doorbells")
_SPINNING = Member("target", "role=spin", _TARGET)
_OTHER = _on_the_core("2 ms", "10 ms")
# On a core of their own. When they are quiet, they call the hypervisor as often, without an effect
# on others: the machine divides its time among the cores that execute.
_CALLS = f"role=calls {_AWAKE}"
_RINGER = Member("ringer", "role=rings", "cores = [1]", _CALLS)
_MANAGER = Member(
    "manager", "role=orders target=1", 'cores = [1]\nmanager = true\nstaging = "4 MiB"', _CALLS
)
_CAUSES: dict[str, tuple[tuple[Member, ...], str]] = {
    "doorbells": ((_WAITING, _RINGER), _CHANNEL),
    "restarts": ((Member("target", "role=restarts", _OTHER),), ""),
    "calls": ((Member("target", "role=calls", _OTHER),), ""),
}
# From another core, for a partition that has used its budget.
_REMOTE_CAUSES: dict[str, tuple[tuple[Member, ...], str]] = {
    "doorbells": ((_SPINNING, _RINGER), _CHANNEL),
    "orders": ((_SPINNING, _MANAGER), ""),
}


def _play(path: Path, members: tuple[Member, ...], more: str, *, is_awake: bool) -> Ended:
    folder = path / ("awake" if is_awake else "asleep")
    folder.mkdir()
    file = folder / "system.toml"
    file.write_text(_VICTIM + "".join(each.text(is_awake=is_awake) for each in members) + more)
    system, board = read(str(file))
    console = folder / "console.log"
    return run_until_end(system, board, ["victim"], Settings(), console, do_read_reports=is_awake)


def _only_default(causes: Iterable[str], default: str) -> list[Any]:
    """Return the causes as parameters: all but one run only with --long."""
    return [
        pytest.param(each, marks=() if each == default else pytest.mark.long) for each in causes
    ]


@pytest.mark.parametrize("cause", _only_default(_CAUSES, "doorbells"))
def test_a_partition_keeps_its_work(tmp_path: Path, cause: str) -> None:
    """More than 10 s: two runs, with an exit every few microseconds."""
    members, more = _CAUSES[cause]
    quiet, attacked = (_play(tmp_path, members, more, is_awake=awake) for awake in (False, True))
    assert _attacks(attacked) >= _ATTACKS_MIN[cause]
    before, beside = (parse_played(each.console, "victim").looks for each in (quiet, attacked))
    assert 1 - beside / before <= _WORK_LOST_MAX


@pytest.mark.parametrize("cause", _only_default(_REMOTE_CAUSES, "orders"))
def test_another_core_interrupts_once(tmp_path: Path, cause: str) -> None:
    """The victim's exits are counted. Its work says nothing here: how a machine that counts
    instructions divides its time among cores depends on what they execute.

    More than 10 s: half a million calls of a partition that has a core of its own.
    """
    members, more = _REMOTE_CAUSES[cause]
    ended = _play(tmp_path, members, more, is_awake=True)
    assert _attacks(ended) >= _REMOTE_ATTACKS_MIN
    assert ended.reports[0].exits["interrupt"] <= _INTERRUPTS_MAX


def _attacks(ended: Ended) -> int:
    """Return how often the others have called the hypervisor or have been started."""
    return sum(
        each.exits["hypercall"] + each.exits["power"] + each.starts for each in ended.reports[1:]
    )
