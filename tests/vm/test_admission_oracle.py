# SPDX-License-Identifier: BSD-2-Clause
"""An oracle for admission: what check promises is never broken by a run.

Random systems that check admits are played on a machine that counts instructions, with guests that
want their budgets at the worst instants (support/drawn_systems.py, tests/guests/jobs). No job takes
longer than the response that check states, and no partition receives less than its supply. The
systems that check refuses are played, too: the share of them in which no job was late says how
conservative check is.

ORACLE_SEED=N plays the systems of one seed; ORACLE_SYSTEM=FILE plays a system file:

    ORACLE_SYSTEM=build/test-logs/.../1000.toml ./bulkhead test vm/test_admission_oracle
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.admission_oracle import Found, play
from support.drawn_systems import KINDS, draw

from bulkhead.system import overheads

_HERE = Path(__file__).parent
# By default, 60 systems that check admits and five that it refuses: 30 s of a processor.
_SYSTEMS = {"partitions": 30, "alone": 20, "refused": 5, "inside": 10}
_SHARDS = {"partitions": 3, "alone": 2}
_LONG_SHARDS, _LONG_SYSTEMS = 100, 100  # ten thousand
_FIRST_SEED, _FIRST_LONG_SEED = 1000, 100_000


@dataclass
class Sum:
    """The sum of several runs."""

    systems: int = 0
    jobs: int = 0
    systems_without_late_job: int = 0
    ratio: float = 0.0

    def add(self, found: Found) -> None:
        self.systems += 1
        self.jobs += found.jobs
        self.systems_without_late_job += found.late == 0
        self.ratio = max(self.ratio, found.ratio)

    def __str__(self) -> str:
        return (
            f"{self.systems} systems, {self.jobs} jobs; no job was late in "
            f"{self.systems_without_late_job}; the worst response is {self.ratio:.3f} of check's"
        )


def _seeds(first: int, count: int) -> Sequence[int]:
    given = os.environ.get("ORACLE_SEED")
    return range(first, first + count) if given is None else [int(given)]


def _play(kind: str, seeds: Sequence[int], folder: Path) -> tuple[Sum, list[str]]:
    """Play the systems of the seeds. Returns the sum, and each promise that was broken."""
    total, broken = Sum(), []
    for seed in seeds:
        file = folder / f"{seed}.toml"
        file.write_text(draw(KINDS[kind], seed, folder))
        found = play(file, folder / "console.log")
        total.add(found)
        if found.broken:
            broken += [
                f"ORACLE_SYSTEM={file} ./bulkhead test vm/test_admission_oracle",
                *found.broken[:3],
            ]
        else:
            file.unlink()
    return total, broken


def _shards(kind: str) -> list[Any]:
    """Return the first seed and the number of systems of each shard."""
    shards = _SHARDS.get(kind, 1)
    count = _SYSTEMS[kind] // shards
    return [
        pytest.param(kind, _FIRST_SEED + shard * count, count, id=f"{kind}-{shard}")
        for shard in range(shards)
    ]


_DEFAULT = [each for kind in _SYSTEMS if kind != "refused" for each in _shards(kind)]
_LONG = [
    pytest.param(
        ("partitions", "alone", "inside")[shard % 3],
        _FIRST_LONG_SEED + shard * _LONG_SYSTEMS,
        _LONG_SYSTEMS,
        id=f"long-{shard}",
        marks=(pytest.mark.long, pytest.mark.timeout(7200)),
    )
    for shard in range(_LONG_SHARDS)
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("kind", "first", "count"), [*_DEFAULT, *_LONG])
def test_no_admitted_job_takes_longer_than_check_says(
    kind: str, first: int, count: int, log_folder: Path
) -> None:
    """More than 10 s: each system boots a machine, for tens of milliseconds of its time."""
    total, broken = _play(kind, _seeds(first, count), log_folder)
    print(total)
    assert not broken, "\n".join(broken)


def test_refused_systems(log_folder: Path, record_property: Callable[[str, object], None]) -> None:
    """Print how many of the systems that check refuses would have kept all deadlines."""
    total, _ = _play("refused", _seeds(_FIRST_SEED, _SYSTEMS["refused"]), log_folder)
    print(f"refused: {total}")
    record_property("refused_without_late_job", total.systems_without_late_job / total.systems)
    assert total.systems_without_late_job < total.systems


def test_a_seed_is_a_system_and_a_run(tmp_path: Path) -> None:
    """So a failure can be repeated."""
    texts, diaries = set(), []
    for _ in range(2):
        text = draw(KINDS["partitions"], _FIRST_SEED, tmp_path)
        file = tmp_path / "system.toml"
        file.write_text(text)
        texts.add(text)
        diaries.append(play(file, tmp_path / "console.log").diaries)
    assert len(texts) == 1
    assert diaries[0] == diaries[1]
    assert all(diaries[0].values())


@pytest.mark.parametrize(("kind", "table"), [("partitions", "hypervisor"), ("alone", "kernel")])
def test_an_analysis_without_overheads_is_found(
    kind: str, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle is no test if it cannot fail."""
    numbers = overheads.instructions()
    nothing = dict.fromkeys(numbers[table], 0)
    monkeypatch.setattr(overheads, "instructions", lambda: numbers | {table: nothing})
    _, broken = _play(kind, _seeds(_FIRST_SEED, 3), tmp_path)
    assert broken


@pytest.mark.parametrize(
    "name", ["late-wake-up", "stolen-time", "idle-wake-up", "hidden-wake-up", "lent-budget"]
)
def test_smallest_system_that_breaks_a_promise(name: str, tmp_path: Path) -> None:
    found = play(_HERE / "admission" / f"{name}.toml", tmp_path / "console.log")
    assert not found.broken, "\n".join(found.broken)


@pytest.mark.skipif("ORACLE_SYSTEM" not in os.environ, reason="ORACLE_SYSTEM names no file")
def test_system_file(tmp_path: Path) -> None:
    found = play(Path(os.environ["ORACLE_SYSTEM"]), tmp_path / "console.log")
    print(found.jobs, found.late, found.ratio)
    assert not found.broken, "\n".join(found.broken)
