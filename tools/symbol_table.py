# SPDX-License-Identifier: BSD-2-Clause
"""Writes the symbol table of a guest image as assembly, for the image's second link.

symbol_table.py OUTPUT: writes an empty table, for the first link.
symbol_table.py OUTPUT NM PROGRAM.elf: writes the functions that NM finds in the first link.
"""

import subprocess
import sys
from pathlib import Path

# nm's types of code symbols: global, local, weak. The image is linked at 0, so an address is an
# offset.
_CODE_TYPES = frozenset("tTwW")
_HEADER = """\
/* SPDX-License-Identifier: BSD-2-Clause */
/* Made by tools/symbol_table.py. */
    .section .symbol_table, "a", %progbits
    .global symbol_table_count, symbol_table_offsets, symbol_table_names
    .balign 4
"""


def read_symbols(nm: str, program: Path) -> list[tuple[int, str]]:
    """Return the functions of a linked program in order of address, with one name per address."""
    listing = subprocess.run(
        [nm, "--defined-only", str(program)], check=True, capture_output=True, text=True
    ).stdout
    names: dict[int, str] = {}
    for line in sorted(listing.splitlines()):
        address, kind, *rest = line.split(maxsplit=2)
        name = rest[0] if rest else "$"  # link-time optimization leaves some symbols without a name
        # $x and $d are marks for disassemblers. The linker script's own symbols begin with image_.
        if kind in _CODE_TYPES and not name.startswith(("$", ".", "image_")):
            names.setdefault(int(address, 16), name)
    return sorted(names.items())


def assembly(symbols: list[tuple[int, str]]) -> str:
    """Return the table as an assembly file."""
    lines = [_HEADER + "symbol_table_count:", f"    .long {len(symbols)}", "symbol_table_offsets:"]
    lines += [f"    .long {address:#x}" for address, _ in symbols]
    lines += ["symbol_table_names:"]
    lines += [f'    .asciz "{name}"' for _, name in symbols] or ['    .asciz ""']
    return "\n".join(lines) + '\n    .section .note.GNU-stack, "", %progbits\n'


def main(arguments: list[str]) -> int:
    """Run the command. Returns its exit status."""
    match arguments:
        case [output]:
            symbols = []
        case [output, nm, program]:
            symbols = read_symbols(nm, Path(program))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    Path(output).write_text(assembly(symbols))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
