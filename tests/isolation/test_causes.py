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
_ATTACKS_MIN = {
    "doorbells": 1_000,
    "doorbells-of-its-core": 1_000,
    "restarts": 5,
    "errors": 4,
    "calls": 1_000,
    "watchdog": 1_000,
}
# Exits by which the calls of a cause are counted, and not by those of _attacks().
_OWN_EXITS = {"watchdog": "watchdog"}
_BEGIN_MS, _END_MS = 400, 600
_END_EARLY_MS = 480  # of the victim, in the default run
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
_SPINNING_OTHER = Member("other", "role=spin", _TARGET)
# More urgent than the victim, so that the victim loses all time that is not paid.
_URGENT = _on_the_core("400 us", "1 ms")
# Each life ends with an error. As many restarts in a second as the waits before them allow.
_RESTARTED = f'{_URGENT}\n[partition.health]\npanic = "restart"\nrestarts = "16 in 1 s"'
# On a core of their own. When they are quiet, they call the hypervisor as often, without an effect
# on others: the machine divides its time among the cores that execute.
_CALLS = f"role=calls {_AWAKE}"
_RINGER = Member("ringer", "role=rings", "cores = [1]", _CALLS)
_MANAGER = Member(
    "manager", "role=orders target=1", 'cores = [1]\nmanager = true\nstaging = "4 MiB"', _CALLS
)
# Each signal is an error that is recorded, and the partition goes on.
_WATCHED = f'{_URGENT}\nwatchdog = true\n[partition.health]\nwatchdog = "log"'
_CAUSES: dict[str, tuple[tuple[Member, ...], str]] = {
    "doorbells": ((_WAITING, _RINGER), _CHANNEL),
    "doorbells-of-its-core": (
        (_WAITING, Member("ringer", "role=rings", _on_the_core("200 us", "1 ms"))),
        _CHANNEL,
    ),
    "restarts": ((Member("target", "role=restarts", _URGENT),), ""),
    "errors": ((Member("target", "fault=panic", _RESTARTED, image="fault"),), ""),
    "calls": ((Member("target", "role=calls", _URGENT),), ""),
    "watchdog": ((Member("target", "", _WATCHED, image="watchdog-flood"),), ""),
}
# As many keys as a pipe holds; the hypervisor reads 16 at a time.
_KEYS = 60_000
_TYPED = Member(
    "target", "role=spin", _on_the_core("200 us", "10 ms") + '\nconsole = "interactive"'
)
# The card sends its frames, and the SMMU refuses all of them at once, when the guest only waits.
_LATE_CARD = (
    "-global", "virtio-net-pci.tx=timer",
    "-global", "virtio-net-pci.ioeventfd=off",
)  # fmt: skip
_REFUSED = Member(
    "target",
    "attack=dma-storm address=0x50000000",
    'cores = [1]\npci = ["00:02.0"]\ndma = "smmu"',
    image="rogue",
)
_RESTARTER = Member(
    "manager",
    "role=starts target=1 period=100",
    'cores = [2]\nmanager = true\nstaging = "4 MiB"',
    _CALLS,
)


@dataclass(frozen=True)
class RemoteCause:
    """Partitions of other cores, or whoever types, interrupt the victim's core for another one.

    `calls_min`: of the others. `starts_min`: of the first one of them. `extra`: options of QEMU.
    """

    members: tuple[Member, ...]
    calls_min: int = 0
    starts_min: int = 0
    interrupts_max: int = _INTERRUPTS_MAX
    more: str = ""
    keys: int = 0
    extra: tuple[str, ...] = ()


# For a partition that has used its budget, but for refused DMA: that partition has another core.
_REMOTE_CAUSES = {
    "doorbells": RemoteCause((_SPINNING, _RINGER), calls_min=100_000, more=_CHANNEL),
    "orders": RemoteCause((_SPINNING, _MANAGER), calls_min=100_000),
    "refused-dma": RemoteCause(
        (_REFUSED, _SPINNING_OTHER, _RESTARTER),
        starts_min=15,
        interrupts_max=300,
        extra=_LATE_CARD,
    ),
    "keys": RemoteCause((_TYPED,), keys=_KEYS),
}


def _play(
    path: Path,
    members: tuple[Member, ...],
    more: str,
    *,
    is_awake: bool,
    end_ms: int,
    extra: tuple[str, ...] = (),
    typed: str = "",
) -> Ended:
    folder = path / ("awake" if is_awake else "asleep")
    folder.mkdir()
    file = folder / "system.toml"
    victim = _VICTIM.replace(f"end={_END_MS}", f"end={end_ms}")
    file.write_text(victim + "".join(each.text(is_awake=is_awake) for each in members) + more)
    system, board = read(str(file))
    console = folder / "console.log"
    return run_until_end(
        system,
        board,
        ["victim"],
        Settings(),
        console,
        extra=extra,
        typed=typed,
        do_read_reports=is_awake,
    )


def _parameters(causes: Iterable[str], short: str, *default: str) -> list[Any]:
    """Return the causes, each with the end of the victim, as parameters. By default the victim of
    `short` ends early, and `default` run, too; all others run only with --long."""
    return [
        pytest.param(short, _END_EARLY_MS, id=f"{short}-short"),
        *(
            pytest.param(each, _END_MS, id=each, marks=() if each in default else pytest.mark.long)
            for each in causes
        ),
    ]


@pytest.mark.parametrize(("cause", "end_ms"), _parameters(_CAUSES, "doorbells"))
def test_a_partition_keeps_its_work(tmp_path: Path, cause: str, end_ms: int) -> None:
    """More than 10 s: two runs, with an exit every few microseconds."""
    members, more = _CAUSES[cause]
    quiet, attacked = (
        _play(tmp_path, members, more, is_awake=awake, end_ms=end_ms) for awake in (False, True)
    )
    exits = _OWN_EXITS.get(cause)
    attacks = attacked.reports[1].exits[exits] if exits else _attacks(attacked)
    assert attacks >= _ATTACKS_MIN[cause]
    before, beside = (parse_played(each.console, "victim").looks for each in (quiet, attacked))
    assert 1 - beside / before <= _WORK_LOST_MAX


@pytest.mark.parametrize(
    ("name", "end_ms"), _parameters(_REMOTE_CAUSES, "orders", "refused-dma", "keys")
)
def test_another_core_interrupts_once(tmp_path: Path, name: str, end_ms: int) -> None:
    """The victim's exits are counted. Its work says nothing here: how a machine that counts
    instructions divides its time among cores depends on what they execute.

    More than 10 s: hundreds of thousands of calls of a partition that has a core of its own.
    """
    cause = _REMOTE_CAUSES[name]
    ended = _play(
        tmp_path,
        cause.members,
        cause.more,
        is_awake=True,
        end_ms=end_ms,
        extra=cause.extra,
        typed="x" * cause.keys,
    )
    assert _attacks(ended) >= cause.calls_min
    assert sum(each.starts for each in ended.reports if each.partition == 1) >= cause.starts_min
    assert ended.reports[0].exits["interrupt"] <= cause.interrupts_max


def _attacks(ended: Ended) -> int:
    """Return how often the others have called the hypervisor or have been started."""
    return sum(
        each.exits["hypercall"] + each.exits["power"] + each.starts for each in ended.reports[1:]
    )
