# SPDX-License-Identifier: BSD-2-Clause
"""The tests of schedule/ find the known errors of sporadic and PIBS servers, made on purpose."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from bulkhead.paths import ROOT

SOURCES = ROOT / "schedule"
TESTS = ROOT / "tests" / "unit" / "schedule"
# Each test program, and what it is linked with besides schedule/.
PROGRAMS = {
    "sporadic_server": ("tokens",),
    "replenishment": ("tokens",),
    "pibs_server": (),
    "deferrable_server": (),
    "overlap": ("core", "tokens"),
    "figures": ("core", "tokens"),
    "admission": (),
    "guarantees": ("core", "tokens"),
    "supply": ("core", "tokens"),
    "overheads": ("core", "tokens"),
    "workloads": ("tokens",),
}
COMPILE = ["gcc", "-std=c11", "-O1", "-w", f"-I{SOURCES / 'include'}", f"-I{TESTS}"]


@dataclass(frozen=True)
class Mutation:
    """One place of schedule/, broken. The rules' workloads must find it, or one of `programs`."""

    name: str
    file: str
    old: str
    new: str
    programs: tuple[str, ...] = ("workloads",)


CHOICE = "    if (sporadic_server_eligible(server) > now) {\n        return 0;"
POSIX_MERGE = """
    struct replenishment_queue *queue = (struct replenishment_queue *)&server->replenishments;
    while (queue->count > 1 && replenishment_queue_at(queue, 1)->time <= now) {
        struct replenishment head = replenishment_queue_pop(queue);
        replenishment_queue_head(queue)->time = head.time;
        replenishment_queue_head(queue)->amount += head.amount;
    }
"""
DEFECT_B = Mutation(
    "merge at preemption (POSIX, defect B)",
    "sporadic_server.c",
    CHOICE,
    f"{POSIX_MERGE}{CHOICE}",
)

MUTATIONS = [
    DEFECT_B,
    Mutation(
        "supply: small pieces wait for nothing",
        "supply.c",
        "return supply->budget - supply->waiting;",
        "return supply->budget;",
        ("supply",),
    ),
    Mutation(
        "supply: the second budget begins too early",
        "supply.c",
        "supply->budget - supply->waiting;\n}\n\n/* Returns the ticks of budget that",
        "supply->budget - supply->waiting - 1;\n}\n\n/* Returns the ticks of budget that",
        ("supply",),
    ),
    Mutation(
        "supply: pieces in part pay nothing",
        "supply.c",
        "MORE_PIECES 3u",
        "MORE_PIECES 0u",
        ("overheads",),
    ),
    Mutation(
        "overheads: no blocking",
        "admission.c",
        " + set->vcpus[subject->vcpu].blocking",
        "",
        ("overheads",),
    ),
    Mutation(
        "overheads: no overrun",
        "admission.c",
        "sum += set->vcpus[i].overrun + interference",
        "sum += interference",
        ("overheads",),
    ),
    Mutation(
        "head's time lost in a merge", "replenishment.c", "next->time = head.time;", "(void)0;"
    ),
    Mutation(
        "usage kept at a split",
        "sporadic_server.c",
        "    server->usage = 0;\n    if (replenishment_queue_is_full",
        "    if (replenishment_queue_is_full",
    ),
    Mutation(
        "dropped at a full queue",
        "replenishment.c",
        "        last->time = time - last->amount;\n",
        "        return;\n",
        ("replenishment",),
    ),
    Mutation(
        "small pieces stay",
        "replenishment.c",
        "last->amount < queue->smallest",
        "last->amount < 1",
        ("sporadic_server",),
    ),
    Mutation(
        "a small head is delayed",
        "replenishment.c",
        "queue->count > 1 && last->amount",
        "last->amount",
        ("sporadic_server",),
    ),
    Mutation(
        "split dropped at a full queue",
        "sporadic_server.c",
        "        replenishment_queue_postpone_head(queue);\n",
        "        return;\n",
    ),
    Mutation(
        "rest of the head dropped at a full queue",
        "replenishment.c",
        "entry_at(queue, 0)->amount += head.amount;",
        "(void)head;",
    ),
    Mutation(
        "merge of what a postponed head overlaps left out",
        "replenishment.c",
        "    entry_at(queue, 0)->amount += head.amount;\n"
        "    replenishment_queue_merge_head(queue);",
        "    entry_at(queue, 0)->amount += head.amount;",
    ),
    Mutation(
        "amplification: the used part is kept as well",
        "sporadic_server.c",
        "    head->amount -= used;\n",
        "",
    ),
    Mutation(
        "amplification: an overrun is forgotten",
        "sporadic_server.c",
        "server->usage -= replenishment_queue_head(queue)->amount;",
        "server->usage = 0;",
    ),
    Mutation(
        "amplification: an overrun of whole budgets is forgotten",
        "sporadic_server.c",
        "rounds * server->period);",
        "0);",
    ),
    Mutation(
        "overlap with a replenishment that does not exist",
        "replenishment.c",
        "while (queue->count > 1 && entry_at(queue, 1)",
        "while (queue->count > 0 && entry_at(queue, 1)",
    ),
    Mutation(
        "replenished after more than one period",
        "sporadic_server.c",
        "replenishment_queue_requeue_head(queue, server->period);",
        "replenishment_queue_requeue_head(queue, server->period + 1);",
    ),
    Mutation(
        "replenished before one period",
        "sporadic_server.c",
        "head->time + server->period, used",
        "head->time + server->period - 1, used",
    ),
    Mutation(
        "budget from before the unblocking",
        "sporadic_server.c",
        "    replenishment_queue_head(queue)->time = now;\n",
        "",
    ),
    Mutation(
        "budget before its time",
        "sporadic_server.c",
        CHOICE,
        "    if (false) {\n        return 0;",
        ("sporadic_server",),
    ),
    Mutation(
        "overrun of the next replenishment not waited for",
        "sporadic_server.c",
        "->time + server->usage;",
        "->time;",
    ),
    Mutation(
        "overrun of the next replenishment not waited for after blocking",
        "sporadic_server.c",
        "        head->time += used;\n",
        "",
    ),
    Mutation(
        "new parameters give a new budget",
        "sporadic_server.c",
        "queue, time, rest);",
        "queue, now, budget);",
    ),
    Mutation(
        "PIBS: idle time saved up",
        "pibs_server.c",
        "    if (server->eligible < now) {\n        server->eligible = now;\n    }\n",
        "",
        ("pibs_server",),
    ),
    Mutation(
        "PIBS: budget of a longer period kept",
        "pibs_server.c",
        "if (server->budget > share) {",
        "if (false) {",
        ("pibs_server",),
    ),
    Mutation(
        "PIBS: wait at a lower priority saved up",
        "pibs_server.c",
        "if (paid <= now && server->eligible < now - paid) {",
        "if (false) {",
        ("pibs_server",),
    ),
    Mutation(
        "PIBS: longer period inherited while active",
        "pibs_server.c",
        "} else if (served_period < server->period) {",
        "} else {",
        ("pibs_server",),
    ),
    Mutation(
        "PIBS: use rounded in favour of the server",
        "pibs_server.c",
        "schedule_ratio_ceiling(server->usage",
        "schedule_ratio_floor(server->usage",
        ("pibs_server",),
    ),
    Mutation(
        "admission: I/O VCPUs interfere by their utilization alone",
        "admission.c",
        "return time > share ? share + schedule_ratio_floor(time - share,",
        "return time > 0 ? schedule_ratio_floor(time,",
        ("guarantees",),
    ),
    Mutation(
        "admission: I/O VCPUs of the same priority do not interfere",
        "admission.c",
        "    return set->vcpus[vcpu].kind == ADMISSION_IO || vcpu == subject->level ||\n"
        "           outranks(",
        "    return outranks(",
        ("guarantees",),
    ),
    Mutation(
        "admission: interference rounded down",
        "admission.c",
        "divide_up(time + other->jitter, other->period)",
        "((time + other->jitter) / other->period)",
        ("guarantees",),
    ),
    Mutation(
        "admission: a deferrable server as a periodic task",
        "admission.c",
        "divide_up(time + other->jitter, other->period)",
        "divide_up(time, other->period)",
        ("guarantees",),
    ),
    Mutation(
        "deferrable: an unused budget is saved up",
        "deferrable_server.c",
        "        server->usage = 0;\n    }\n}",
        "        server->usage = server->usage > 0 ? server->usage - 1 : 0;\n    }\n}",
        ("deferrable_server",),
    ),
    Mutation(
        "deferrable: an overrun is forgotten",
        "deferrable_server.c",
        "    server->usage %= server->budget;\n",
        "    server->usage = 0;\n",
        ("deferrable_server",),
    ),
    Mutation(
        "deferrable: execution after a release is taken from the old budget",
        "deferrable_server.c",
        "        begin = pass_releases(server, begin, now);",
        "        (void)pass_releases(server, begin, now);\n        begin = now;",
        ("deferrable_server",),
    ),
    Mutation(
        "deferrable: releases one period after the use",
        "deferrable_server.c",
        "server->release = now - now % server->period;",
        "server->release = now;",
        ("deferrable_server", "overlap"),
    ),
    Mutation(
        "overlap: both are late at once",
        "overlap.c",
        "lag + one->lag + other->lag",
        "lag + lag",
        ("overlap",),
    ),
    Mutation(
        "overlap: the end of the last budget is not late",
        "overlap.c",
        "lag + one->lag + other->lag",
        "one->lag + other->lag",
        ("overlap",),
    ),
    Mutation(
        "overlap: budgets that may end before the other begins",
        "overlap.c",
        "lag + larger(one->overrun, other->overrun) >= budget",
        "lag > budget",
        ("overlap",),
    ),
    Mutation(
        "overlap: one budget too few",
        "overlap.c",
        "number * budget - waiting;",
        "(number + 1) * budget - waiting;",
        ("overlap",),
    ),
]


def mutated(mutation: Mutation) -> str:
    """Return the text of the file with this fault."""
    text = (SOURCES / mutation.file).read_text()
    count = text.count(mutation.old)
    assert count == 1, f"{mutation.name}: {mutation.file} has its text {count} times; adapt it"
    return text.replace(mutation.old, mutation.new)


def compile_object(source: Path, folder: Path) -> Path:
    made = folder / f"{source.stem}.o"
    subprocess.run([*COMPILE, "-c", str(source), "-o", str(made)], check=True)
    return made


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the objects of schedule/ and of its tests, by the name of their source."""
    folder = tmp_path_factory.mktemp("objects")
    names = {*(f"test_{program}" for program in PROGRAMS), "core", "tokens"}
    sources = [*SOURCES.glob("*.c"), *(TESTS / f"{name}.c" for name in names)]
    return {source.stem: compile_object(source, folder) for source in sources}


def run(objects: dict[str, Path], program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    parts = [*(path.stem for path in SOURCES.glob("*.c")), *PROGRAMS[program], f"test_{program}"]
    linked = folder / program
    command = ["gcc", *(str(objects[part]) for part in parts), "-lcmocka", "-o", str(linked)]
    subprocess.run(command, check=True)
    return subprocess.run(
        [linked], capture_output=True, text=True, errors="replace", timeout=60, check=False
    )


def broken(objects: dict[str, Path], mutation: Mutation, folder: Path) -> dict[str, Path]:
    source = folder / mutation.file
    source.write_text(mutated(mutation))
    return {**objects, source.stem: compile_object(source, folder)}


@pytest.mark.parametrize("program", PROGRAMS)
def test_without_an_error_all_pass(objects: dict[str, Path], program: str, tmp_path: Path) -> None:
    assert run(objects, program, tmp_path).returncode == 0


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_an_error_is_found(objects: dict[str, Path], mutation: Mutation, tmp_path: Path) -> None:
    changed = broken(objects, mutation, tmp_path)
    for program in mutation.programs:
        assert run(changed, program, tmp_path).returncode != 0, program


def test_defect_b_gives_the_schedule_b_of_figure_7(
    objects: dict[str, Path], tmp_path: Path
) -> None:
    done = run(broken(objects, DEFECT_B, tmp_path), "figures", tmp_path)
    assert f"{46:#x} != {40:#x}" in done.stderr + done.stdout
