# SPDX-License-Identifier: BSD-2-Clause
"""Distributes tests among the workers of pytest-xdist.

Each worker plans during collection: for each test its group, whether it runs alone, and how long it
may take. The controller reads the plan (selection.py) and hands out the groups, the longest first.
Tests marked `alone` run last, on one worker, after the other workers have ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

_SHARED_SCOPES = ("class", "module", "package")
_DEFAULT_LIMIT_S = 300.0
# Expected time of a test that was never measured, as a share of its time limit.
_EXPECTED_SHARE = 1 / 60


@dataclass(frozen=True)
class Planned:
    """The controller's data about one test."""

    group: str
    alone: bool
    limit: float


def plan(items: Iterable[pytest.Item]) -> dict[str, Planned]:
    """Return the plan of the collected tests, by node id."""
    return {item.nodeid: _planned(item) for item in items}


def _planned(item: pytest.Item) -> Planned:
    return Planned(_group(item), item.get_closest_marker("alone") is not None, _limit(item))


def _group(item: pytest.Item) -> str:
    """Return a group name; tests of a group run one after the other on the same worker.

    The marker xdist_group names the group. Tests of a module that share a fixture also form a
    group.
    """
    marker = item.get_closest_marker("xdist_group")
    if marker is not None:
        return str(marker.args[0])
    information = getattr(item, "_fixtureinfo", None)
    definitions = information.name2fixturedefs.values() if information is not None else ()
    if any(each[-1].scope in _SHARED_SCOPES for each in definitions if each):
        return item.nodeid.partition("::")[0]
    return item.nodeid


def _limit(item: pytest.Item) -> float:
    marker = item.get_closest_marker("timeout")
    if marker is not None and marker.args:
        return float(marker.args[0])
    return float(getattr(item, "time_limit", _DEFAULT_LIMIT_S))


@dataclass(frozen=True)
class Unit:
    """Tests that are handed out together, as indices into the collection."""

    indices: tuple[int, ...]
    alone: bool


def make_units(
    collection: Sequence[str], planned: Mapping[str, Planned], durations: Mapping[str, float]
) -> list[Unit]:
    """Return the units of a collection, those with the longest expected time first.

    `durations`: seconds that each test took in an earlier run, by node id.
    """
    groups: dict[tuple[str, bool], list[int]] = {}
    for index, nodeid in enumerate(collection):
        each = planned.get(nodeid, Planned(nodeid, False, _DEFAULT_LIMIT_S))
        groups.setdefault((each.group, each.alone), []).append(index)

    def expected(unit: Unit) -> float:
        return sum(
            expected_seconds(collection[index], planned, durations) for index in unit.indices
        )

    units = [Unit(tuple(indices), alone) for (_, alone), indices in groups.items()]
    return sorted(units, key=expected, reverse=True)


def expected_seconds(
    nodeid: str, planned: Mapping[str, Planned], durations: Mapping[str, float]
) -> float:
    """Return the time that a test took, or a share of its limit if it was never measured."""
    if nodeid in durations:
        return durations[nodeid]
    limit = planned[nodeid].limit if nodeid in planned else _DEFAULT_LIMIT_S
    return limit * _EXPECTED_SHARE


class Schedule:
    """A scheduler of pytest-xdist (xdist.scheduler.Scheduling).

    A worker starts a test only when it knows the next one, or that there is none. Therefore each
    worker gets at least two tests, and the worker that will run the tests marked `alone` keeps one
    test until the others have ended.
    """

    def __init__(
        self,
        workers: int,
        read_plan: Callable[[], Mapping[str, Planned]],
        durations: Mapping[str, float],
    ) -> None:
        self._workers = workers
        self._read_plan = read_plan
        self._durations = durations
        self._collections: dict[WorkerController, list[str]] = {}
        self._pending: dict[WorkerController, list[int]] = {}
        self._collection: list[str] | None = None
        self._queue: deque[Unit] = deque()
        self._alone: deque[Unit] = deque()

    # Properties that xdist reads.

    @property
    def nodes(self) -> list[WorkerController]:
        """Return the running workers."""
        return list(self._pending)

    @property
    def collection_is_completed(self) -> bool:
        """Return true if all workers have collected."""
        return len(self._collections) >= self._workers

    @property
    def tests_finished(self) -> bool:
        """Return true if no test is left to hand out and no worker waits for another test."""
        if not self.collection_is_completed or self._queue or self._alone:
            return False
        return all(len(indices) < 2 for indices in self._pending.values())

    @property
    def has_pending(self) -> bool:
        """Return true if some tests have not ended."""
        return bool(self._queue or self._alone or any(self._pending.values()))

    # Calls from xdist.

    def add_node(self, node: WorkerController) -> None:
        """Handle a worker that has started."""
        self._pending[node] = []

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Handle a worker that has collected."""
        self._collections[node] = list(collection)

    def schedule(self) -> None:
        """Begin when all workers, or a worker that replaces a crashed one, have collected."""
        if self._collection is None:
            first, *others = self._collections.values()
            if any(other != first for other in others):
                raise pytest.UsageError("the workers collected different tests")
            self._collection = first
            units = make_units(first, self._read_plan(), self._durations)
            self._queue.extend(unit for unit in units if not unit.alone)
            self._alone.extend(unit for unit in units if unit.alone)
        self._hand_out()

    def mark_test_complete(
        self,
        node: WorkerController,
        item_index: int,
        duration: float = 0,  # noqa: ARG002
    ) -> None:
        """Handle the end of a test in a worker."""
        self._pending[node].remove(item_index)
        self._hand_out()

    def mark_test_pending(self, item: str) -> None:
        """Handle the wish of a plugin to run a test again."""
        assert self._collection is not None
        self._queue.appendleft(Unit((self._collection.index(item),), alone=False))
        self._hand_out()

    def remove_pending_tests_from_node(
        self, node: WorkerController, indices: Sequence[int]
    ) -> None:
        """Never called: no test is taken back from a worker."""
        raise NotImplementedError

    def remove_node(self, node: WorkerController) -> str | None:
        """Handle the end of a worker. Return the test that it ran if it crashed, else None."""
        left = self._pending.pop(node)
        crashed = None
        if left and self._collection is not None:
            crashed = self._collection[left[0]]
            if left[1:]:
                self._queue.appendleft(Unit(tuple(left[1:]), alone=False))
        if self._collection is not None:
            self._hand_out()
        return crashed

    def _hand_out(self) -> None:
        running = [node for node in self._pending if not node.shutting_down]
        for node in running:
            while self._queue and len(self._pending[node]) < 2:
                self._send(node, self._queue.popleft())
        if self._queue or not running:
            return
        # One worker waits for the tests that run alone; the others end after their present tests.
        for node in running[1 if self._alone else 0 :]:
            node.shutdown()
        if self._alone and len(self._pending) == 1:
            while self._alone:
                self._send(running[0], self._alone.popleft())
            running[0].shutdown()

    def _send(self, node: WorkerController, unit: Unit) -> None:
        self._pending[node].extend(unit.indices)
        node.send_runtest_some(list(unit.indices))
