# SPDX-License-Identifier: BSD-2-Clause
"""Write the names of a guest program's functions into it, and make its image.

symbol_table.py NM OBJCOPY LINKED ELF IMAGE: reads the symbols of the program LINKED, and writes a
copy of it with the table in its section .symbol_table (ELF), and the copy's memory (IMAGE).
kernel/panic/symbols.c describes and reads the table.
"""

import struct
import subprocess
import sys
import tempfile
from pathlib import Path

# nm's types of code symbols: global, local, weak. The image is linked at 0, so an address is an
# offset.
_CODE_TYPES = frozenset("tTwW")
_SECTION = ".symbol_table"


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


def table(symbols: list[tuple[int, str]], room: int) -> bytes:
    """Return the table, padded to `room` bytes.

    Where there is not enough room for whole names, all are cut to the same length. Raises
    ValueError if not even one character of each fits.
    """
    offsets = struct.pack(f"<{len(symbols) + 1}I", len(symbols), *(each for each, _ in symbols))
    names = [name.encode() for _, name in symbols]
    for length in range(max(map(len, names), default=1), 0, -1):
        whole = offsets + b"".join(name[:length] + b"\0" for name in names)
        if len(whole) <= room:
            return whole.ljust(room, b"\0")
    raise ValueError(f"{len(symbols)} symbols do not fit {_SECTION}, which has {room} bytes")


def fill(nm: str, objcopy: str, linked: Path, elf: Path, image: Path) -> None:
    """Write the program with its table, and its image."""
    with tempfile.TemporaryDirectory() as folder:
        section = Path(folder) / "section"
        subprocess.run(
            [objcopy, "-O", "binary", f"--only-section={_SECTION}", linked, section], check=True
        )
        section.write_bytes(table(read_symbols(nm, linked), section.stat().st_size))
        subprocess.run([objcopy, f"--update-section={_SECTION}={section}", linked, elf], check=True)
    subprocess.run([objcopy, "-O", "binary", elf, image], check=True)


def main(arguments: list[str]) -> int:
    """Run the command. Returns its exit status."""
    match arguments:
        case [nm, objcopy, linked, elf, image]:
            fill(nm, objcopy, Path(linked), Path(elf), Path(image))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
