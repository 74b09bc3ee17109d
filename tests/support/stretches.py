# SPDX-License-Identifier: BSD-2-Clause
"""The plugin of QEMU that counts what the hypervisor executes without taking its interrupts, and
the addresses of the hypervisor's functions."""

from __future__ import annotations

from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from bulkhead.building.build import Variant, build
from bulkhead.building.plugin import build_plugin
from bulkhead.running.qemu import escape
from bulkhead.settings import Settings
from bulkhead.system.assemble import read


def _symbols(elf: Path) -> dict[str, tuple[int, int]]:
    """Return address and size of each symbol, without suffixes of the compiler."""
    with elf.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return {
            symbol.name.partition(".")[0]: (symbol.entry.st_value, symbol.entry.st_size)
            for symbol in table.iter_symbols()
        }


def _loaded() -> int:
    """Return the address of the hypervisor's image in the board's memory."""
    _, board = read("isolation")
    return board.memory + int(board.settings["hypervisor"]["image"])


def symbol_address(name: str, symbol: str) -> int:
    """Return the address at which a function executes. `name`: of the image."""
    symbols = _symbols(build(Variant("arm64")) / "hypervisor" / f"{name}.elf")
    return _loaded() + symbols[symbol][0]


def plugin_option(log: Path, name: str) -> str:
    """Return QEMU's option for the plugin (tests/isolation/stretches.c). `name`: of the image."""
    hypervisor = build(Variant("arm64")) / "hypervisor"
    symbols = _symbols(hypervisor / f"{name}.elf")
    start, end = (symbols[f"monitor_text_{name}"][0] for name in ("start", "end"))
    lock, lock_bytes = symbols["ticket_lock_take"]
    text = log.with_suffix(".text")
    text.write_bytes((hypervisor / f"{name}.bin").read_bytes()[start:end])
    loaded = _loaded()
    plugin = build_plugin("tests/isolation/stretches.so", "the test", Settings())
    return (
        f"{escape(plugin)},text={escape(text)},log={escape(log)}"
        f",at={loaded + start:#x},first={loaded + symbols['idle_start'][0]:#x}"
        f",lock={loaded + lock:#x},locked={lock_bytes}"
    )
