# SPDX-License-Identifier: BSD-2-Clause
"""Run a system in QEMU under the model of the memory system."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bulkhead.building.plugin import build_plugin
from bulkhead.memory_model.geometry import Geometry
from bulkhead.memory_model.owners import owners_file
from bulkhead.memory_model.results import Results, read_results
from bulkhead.running import machine_memory
from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qemu import Machine, Network, UserNetwork, escape
from bulkhead.settings import Settings
from bulkhead.system.assemble import Assembled
from bulkhead.system.coloured_places import pools_start
from bulkhead.system.machine import machine, repeatable

_PLUGIN = "tools/memory_model/memory_model.so"
_MEMORY = "bulkhead-model"
_POLL_S = 0.1
_IDLE_POLLS = 50  # in a row in which all threads of QEMU sleep


@dataclass(frozen=True)
class Counted:
    """The part of a run that is counted, and the model's seed."""

    instructions: int  # of all processors
    skipped: int = 0  # instructions before that
    # The accesses of each owner that its stream consists of.
    stream_first: int = 0
    stream_count: int = (1 << 64) - 1
    seed: int = 1  # of the replacement "random"
    # The partition that begins and ends what is counted, by the instructions HINT #126 and #127.
    # Then `instructions` is the limit for each of both. None: no partition does.
    victim: str | None = None

    def options(self) -> tuple[str, ...]:
        """Return the arguments of the plugin."""
        return (
            f"counted={self.instructions}",
            f"skipped={self.skipped}",
            f"stream={self.stream_first}:{self.stream_count}",
            f"seed={self.seed}",
            *([f"victim={self.victim}"] if self.victim else []),
        )


def _plugin_option(
    assembled: Assembled, geometry: Geometry, counted: Counted, folder: Path, settings: Settings
) -> str:
    layout = assembled.layout
    owners = folder / "owners"
    image_bytes = assembled.image.stat().st_size
    owners.write_text(owners_file(layout, pools_start(layout.system, layout.board, image_bytes)))
    plugin = build_plugin(_PLUGIN, "the memory model", settings)
    arguments = (
        f"results={escape(_results(folder))}",
        f"owners={escape(owners)}",
        f"memory={_MEMORY}",
        f"base={layout.board.memory:#x}",
        f"processors={layout.board.core_count}",
        *geometry.options(),
        *counted.options(),
    )
    return ",".join((escape(plugin), *arguments))


def _results(folder: Path) -> Path:
    return folder / "results.json"


def _silent_network(_: int) -> Network:
    """Return a network that answers without the host, with addresses and names only."""
    return UserNetwork(further={"restrict": "on", "ipv6": "off"})


def _machine(
    assembled: Assembled, plugin: str, memory: int, network: Callable[[int], Network]
) -> Machine:
    layout = assembled.layout
    path = machine_memory.path_of(memory)
    extra = (*machine_memory.options(path, layout.board.total_bytes), "-plugin", plugin)
    return repeatable(machine(layout.system, layout.board, assembled.image, network, extra))


def _all_sleep(process: int) -> bool:
    """Return True if all threads of a process sleep, or it has ended."""
    try:
        states = [
            (thread / "stat").read_text().rpartition(")")[2].split()[0]
            for thread in Path(f"/proc/{process}/task").iterdir()
        ]
    except OSError:
        return False
    return all(state == "S" for state in states)


def _wait(guest: GuestProcess, results: Path) -> None:
    """Wait for the results, or until the machine does nothing any more."""
    idle = 0
    while not results.exists() and idle < _IDLE_POLLS:
        if guest.process.poll() is not None:
            return
        idle = idle + 1 if _all_sleep(guest.process.pid) else 0
        time.sleep(_POLL_S)


def run_under_model(
    assembled: Assembled,
    geometry: Geometry,
    counted: Counted,
    console: Path,
    settings: Settings,
    network: Callable[[int], Network] = _silent_network,
) -> Results:
    """Run a system until its processors have executed the counted instructions, or sleep for ever.

    `network` returns the network of the card with a given number. It must answer without the host.
    The same system and arguments give the same results.
    """
    memory = machine_memory.make(_MEMORY, assembled.layout.board.total_bytes)
    try:
        with tempfile.TemporaryDirectory(prefix="bulkhead-") as name:
            folder = Path(name)
            plugin = _plugin_option(assembled, geometry, counted, folder, settings)
            guest = GuestProcess(_machine(assembled, plugin, memory, network), console)
            with guest:
                _wait(guest, _results(folder))
            # A machine that ends earlier writes the results at its end.
            if not _results(folder).exists():
                raise GuestError(f"QEMU has ended without results\n{guest.last_words()}")
            return read_results(_results(folder))
    finally:
        os.close(memory)
