# SPDX-License-Identifier: BSD-2-Clause
"""Read a system file, and check each key by itself. check.py checks the keys together."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any

from bulkhead.errors import UserError
from bulkhead.layouts.kernel import CHANNEL_RING_MAX, CHANNEL_RING_MIN, THREAD_NAME_BYTES
from bulkhead.paths import ROOT, display
from bulkhead.system import driver_argument
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.description import (
    BANDWIDTH_WINDOW_MAX,
    BANDWIDTH_WINDOW_MIN,
    GUEST_BITS,
    HEARTBEAT_MAX,
    HEARTBEAT_MIN,
    HEARTBEAT_START_MAX,
    NAME_BYTES,
    QUANTUM_MAX,
    QUANTUM_MIN,
    RESTARTS_MAX,
    WEIGHT_MAX,
    WINDOW_MAX,
    WINDOW_MIN,
)
from bulkhead.system.elf_image import INSTRUCTION_BYTES
from bulkhead.system.emulated import Emulated, parse_device
from bulkhead.system.lines import Lines, find_lines
from bulkhead.system.model import (
    ALL_VLANS,
    MTU_DEFAULT,
    QUANTUM_DEFAULT,
    UTILIZATION_MIN,
    Access,
    Alternative,
    Bandwidth,
    CacheShare,
    Channel,
    ChannelKind,
    Console,
    ConsoleInterrupt,
    Cores,
    Dma,
    Driver,
    FailureLimit,
    Health,
    HealthAction,
    HealthError,
    Interrupts,
    Maintenance,
    Partition,
    PciAddress,
    Restart,
    RestartLimit,
    Scheduler,
    Senders,
    SharedDevice,
    SharedKind,
    System,
    Unmapped,
    Vcpu,
    VcpuPolicy,
    derived_mac,
    stopping,
)
from bulkhead.system.problems import (
    SIZE_UNITS,
    TIME_UNITS,
    Problem,
    choose,
    duration,
    refuse,
    show,
    size,
)

SYSTEMS = ROOT / "systems"
NAME_CHARACTERS_MAX = NAME_BYTES - 1  # the last is 0
ARGUMENTS_CHARACTERS_MAX = 2047  # Linux on arm64: COMMAND_LINE_SIZE
THREAD_CHARACTERS_MAX = THREAD_NAME_BYTES - 1  # of VCPUs too; the last is 0
EVERY_OTHER_THREAD = "*"
KEPT_BYTES_MAX = 256 << 20

# Linux gives the slots of a pool in groups of this size (IO_TLB_SEGSIZE of its swiotlb).
POOL_UNIT = 256 << 10
# Characters of a name in a GUID partition table (UEFI 2.10, 5.3.3).
PARTITION_NAME_MAX = 36
POOL_BYTES_MAX = 1 << 30
VLAN_MAX = 4094  # FRAME_VLAN_MAX
MTU_MIN = 68  # VIRTIO 1.3, 5.1.4.1
MTU_MAX = 65535  # the field has 16 bits
RATE_MAX = 1 << 40  # bytes/s; TOKEN_BUCKET_RATE_MAX

_FILE = "system.toml"
_GROUP_BIT = 1  # of the first byte of a MAC address (IEEE 802, 8.2)
_RATE_UNITS = {"k": 10**3, "M": 10**6, "G": 10**9}


class _Wrong(Exception):
    """A value that its key does not accept; `fix` says which values it does."""

    def __init__(self, fix: str, what: str = "") -> None:
        super().__init__(fix, what)
        self.fix = fix
        self.what = what


_Place = tuple[int, Mapping[str, int]]  # lines of a table and of its keys


@dataclass(frozen=True)
class _Kind:
    """A kind of table."""

    keys: Mapping[str, Callable[[Any], Any]]  # conversions
    defaults: Mapping[str, Any]  # of the keys that may be missing
    examples: Mapping[str, str]  # of the others


def find(name: str) -> Path:
    """Return the system file for a name in systems/, a path of a file, or a path of a folder."""
    if "/" in name or name.endswith(".toml"):
        given = Path(name)
        return given / _FILE if _is_folder(given) else given
    if not is_system(name):
        known = [path.parent.name for path in SYSTEMS.glob(f"*/{_FILE}")]
        raise UserError(
            f"there is no system {show(name)}",
            f"{choose(name, known, 'systems')}, or the path of a system file",
        )
    return _named(name)


def is_system(name: str) -> bool:
    """Return True if systems/ contains a system of that name."""
    try:
        return name.isprintable() and "/" not in name and _named(name).is_file()
    except OSError:  # the name is too long for the file system
        return False


def _named(name: str) -> Path:
    return SYSTEMS / name / _FILE


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # too long for the file system, or with a null character
        return False


def parse(file: Path) -> System:
    """Read and convert a system file. Raises UserErrors with all problems."""
    text = _read(file)
    content, lines = _load(file, text)
    known = ("board", "cache", "channel", "core", "partition", "shared_device")
    problems = [
        _unknown(lines.keys[key], key, known, "the file") for key in content if key not in known
    ]
    board = _board(file, content, lines, problems)
    own_cache = _own_cache(content, lines, problems)
    cores = _core_tables(content, lines, problems)
    partitions = _partitions(content, lines, problems)
    channels = _channels(content, lines, problems)
    name = _system_name(file)
    shared_devices = _shared_devices(name, content, lines, problems)
    refuse(file, problems)
    board_line = lines.keys["board"]
    made = tuple(_with_coming(each, partitions) for each in partitions)
    return System(
        name,
        file,
        board,
        made,
        board_line,
        tuple(cores),
        tuple(channels),
        tuple(shared_devices),
        own_cache,
        lines.keys.get("cache", board_line),
    )


def _with_coming(partition: Partition, others: list[Partition]) -> Partition:
    """Return the partition with the functions of those whose standby it is."""
    coming = (each.pci for each in others if each.standby == partition.name != each.name)
    return replace(partition, coming=tuple(chain.from_iterable(coming)))


def _system_name(file: Path) -> str:
    """Return the name of the system: that of the folder if the file is named system.toml."""
    name = file.resolve().parent.name if file.name == _FILE else file.stem
    return re.sub(r"[^A-Za-z0-9_-]", "_", name) or "system"


def _read(file: Path) -> str:
    shown = str(file)
    try:
        if not file.is_file():
            what = "is no file" if file.exists() else "does not exist"
            raise UserError(f"{shown} {what}", "name a system file")
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{display(file)}:{line}: this is no UTF-8", "save the file as UTF-8"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{shown} can't be read ({reason})", "name a system file") from None


def _load(file: Path, text: str) -> tuple[dict[str, Any], Lines]:
    """Parse the text. An error has tomllib's message and line."""
    try:
        return tomllib.loads(text), find_lines(text)
    except RecursionError:
        line, what = 1, "brackets are nested too deeply"
    except tomllib.TOMLDecodeError as error:
        what = str(error)
        found = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", what)
        line = int(found[1]) if found and found[1] else text.rstrip().count("\n") + 1
        what = what[: found.start()] if found else what
        what = "".join(c if c.isprintable() else " " for c in f"{what[:1].lower()}{what[1:]}")
    except ValueError:  # int() accepts at most 4,300 digits
        line, what = 1, "a number has thousands of digits"
    fix = "docs/systems.md shows how a system file is written"
    refuse(file, [Problem(line, f"this is no TOML: {what}", fix)])
    raise AssertionError


def _unknown(line: int, key: str, known: tuple[str, ...], where: str) -> Problem:
    return Problem(line, f"{where} has an unknown key {show(key)}", choose(key, known, "keys"))


def _board(file: Path, content: Mapping[str, Any], lines: Lines, problems: list[Problem]) -> str:
    if "board" not in content:
        problems.append(Problem(1, "the file names no board", 'write board = "qemu-virt"'))
        return ""
    try:
        board = _string(content["board"])
        # A path begins in the folder of the system file; a name is that of a folder of boards/.
        return str((file.parent / board).absolute()) if "/" in board else board
    except _Wrong as wrong:
        what = f"board is {show(content['board'])}"
        problems.append(Problem(lines.keys["board"], what, wrong.fix))
        return ""


def _own_cache(
    content: Mapping[str, Any], lines: Lines, problems: list[Problem]
) -> CacheShare | None:
    """Return the hypervisor's share of the cache, None if the file has none."""
    if "cache" not in content:
        return None
    place: _Place = (lines.keys["cache"], {})
    if not isinstance(content["cache"], dict):
        problems.append(Problem(place[0], "cache is no table", "begin it with [cache]"))
        return None
    share: CacheShare | None = _values(content["cache"], _CACHE, "[cache]", place, problems).get(
        "hypervisor"
    )
    return share


def _core_tables(content: Mapping[str, Any], lines: Lines, problems: list[Problem]) -> list[Cores]:
    made = []
    for index, table in enumerate(_top_tables(content, "core", lines, problems)):
        line, key_lines = lines.of_top_table("core", index)
        before = len(problems)
        values = _values(table, _CORE_TABLE, f"[[core]] {index + 1}", (line, key_lines), problems)
        if len(problems) == before:
            made.append(Cores(**values, line=line, key_lines=key_lines))
    return made


def _channels(content: Mapping[str, Any], lines: Lines, problems: list[Problem]) -> list[Channel]:
    made = []
    for index, table in enumerate(_top_tables(content, "channel", lines, problems)):
        line, key_lines = lines.of_top_table("channel", index)
        name = table.get("name")
        who = f"channel {show(name) if isinstance(name, str) and name else index + 1}"
        before = len(problems)
        values = _values(table, _CHANNEL, who, (line, key_lines), problems)
        if len(problems) == before:
            ends = values.pop("from"), *values.pop("to")
            values["ring_bytes"] = values.pop("size")
            values["common_bytes"] = values.pop("common")
            made.append(Channel(**values, ends=ends, line=line, key_lines=key_lines))
    return made


def _shared_devices(
    system: str, content: Mapping[str, Any], lines: Lines, problems: list[Problem]
) -> list[SharedDevice]:
    made = []
    for index, table in enumerate(_top_tables(content, "shared_device", lines, problems)):
        line, key_lines = lines.of_top_table("shared_device", index)
        name = table.get("name")
        who = f"shared device {show(name) if isinstance(name, str) and name else index + 1}"
        before = len(problems)
        values = _values(table, _SHARED_DEVICE, who, (line, key_lines), problems)
        if len(problems) == before:
            is_net = values["kind"] is SharedKind.NET
            address = derived_mac(system, values["name"]) if is_net else b""
            values["mac"] = values["mac"] or address
            made.append(SharedDevice(**values, line=line, key_lines=key_lines))
    return made


def _top_tables(
    content: Mapping[str, Any], key: str, lines: Lines, problems: list[Problem]
) -> list[Mapping[str, Any]]:
    """Return the tables of a list of the top level: none if it is missing or no list of tables."""
    tables = content.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        fix = f"begin each table with [[{key}]]"
        problems.append(Problem(lines.keys[key], f"{key} is no list of tables", fix))
        return []
    return tables


def _partitions(
    content: Mapping[str, Any], lines: Lines, problems: list[Problem]
) -> list[Partition]:
    before = len(problems)
    tables = _top_tables(content, "partition", lines, problems)
    if not tables and len(problems) == before:
        fix = "add one with [[partition]]"
        problems.append(Problem(lines.keys.get("partition", 1), "the file has no partition", fix))
    made = (_partition(index, table, lines, problems) for index, table in enumerate(tables))
    return [partition for partition in made if partition is not None]


def _partition(
    index: int, table: Mapping[str, Any], lines: Lines, problems: list[Problem]
) -> Partition | None:
    place = lines.of_partition(index)
    name = table.get("name")
    who = f"partition {show(name)}" if isinstance(name, str) and name else f"partition {index + 1}"
    before = len(problems)
    values = _values(table, _PARTITION, who, place, problems)
    made = []
    for number, each in enumerate(values.pop("vcpu")):
        shown = show(each["name"]) if isinstance(each.get("name"), str) else number + 1
        its_place = lines.of_table(index, "vcpu", number)
        made.append(_vcpu(each, f"{who}, VCPU {shown}", its_place, problems))
    if values["health"] is not None:
        place_of_health = lines.of_table(index, "health", 0)
        values["health"] = _health(values["health"], who, place_of_health, problems)
    elif values["watchdog"] or values["heartbeat"]:
        values["health"] = stopping(place[0])
    if values["driver"] is not None:
        place_of_driver = lines.of_table(index, "driver", 0)
        values["driver"] = _driver(values["driver"], who, place_of_driver, problems)
    if len(problems) > before:
        return None
    if values["driver"] is not None:
        made.append(driver_argument.vcpu(values["driver"]))
    values["memory_bytes"] = values.pop("memory")
    values["kept_bytes"] = values.pop("kept")
    values["emulated"] = values.pop("qemu")
    _, values["device_lines"] = lines.of_table(index, "qemu", 0)
    line, key_lines = place
    vcpus = tuple(vcpu for vcpu in made if vcpu is not None)
    return Partition(**values, line=line, key_lines=key_lines, vcpus=vcpus)


def _health(
    table: Mapping[str, Any], who: str, place: _Place, problems: list[Problem]
) -> Health | None:
    before = len(problems)
    values = _values(table, _HEALTH, f"{who}, health", place, problems)
    if len(problems) > before:
        return None
    line, key_lines = place
    actions = {error: values[error.value] for error in HealthError}
    return Health(actions, values["restarts"], line, key_lines)


def _driver(
    table: Mapping[str, Any], who: str, place: _Place, problems: list[Problem]
) -> Driver | None:
    before = len(problems)
    values = _values(table, _DRIVER, f"{who}, driver", place, problems)
    if len(problems) > before:
        return None
    line, key_lines = place
    if values["budget"] is None:
        values["budget"] = values["period"] // driver_argument.PERIODS_OF_BUDGET
    values["retry_ms"] = values.pop("retry")
    return Driver(**values, line=line, key_lines=key_lines)


def _vcpu(
    table: Mapping[str, Any], who: str, place: _Place, problems: list[Problem]
) -> Vcpu | None:
    before = len(problems)
    values = _values(table, _VCPU, who, place, problems)
    if len(problems) > before:
        return None
    line, key_lines = place
    threads = values.pop("threads") or (values["name"],)
    return Vcpu(**values, threads=threads, line=line, key_lines=key_lines)


def _values(
    table: Mapping[str, Any], kind: _Kind, who: str, place: _Place, problems: list[Problem]
) -> dict[str, Any]:
    """Convert the keys of a table. Returns the values, and appends the problems."""
    line, key_lines = place
    problems.extend(
        _unknown(key_lines.get(key, line), key, tuple(kind.keys), who)
        for key in table
        if key not in kind.keys
    )
    values = dict(kind.defaults)
    for key, convert in kind.keys.items():
        if key not in table:
            if key not in kind.defaults:
                example = f"write for example {key} = {kind.examples[key]}"
                problems.append(Problem(line, f"{who} has no {key}", example))
            continue
        try:
            values[key] = convert(table[key])
        except _Wrong as wrong:
            what = wrong.what or f"{key} is {show(table[key])}"
            problems.append(Problem(key_lines.get(key, line), f"{who}: {what}", wrong.fix))
    return values


def _string(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _Wrong("write a name between quotation marks")
    if not value.isprintable():
        raise _Wrong("leave out what can't be printed")
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", value):
        raise _Wrong("a name is of letters, digits, - and _")
    if len(value) > NAME_CHARACTERS_MAX:
        raise _Wrong(f"take at most {NAME_CHARACTERS_MAX} characters")
    return value


def _list(value: Any, convert: Callable[[Any], Any], example: str) -> tuple[Any, ...]:
    """Return a tuple of distinct values."""
    converted = _any_list(value, convert, example)
    for each in converted:
        if converted.count(each) > 1:
            raise _Wrong("name it once", f"{each} is in the list twice")
    return converted


def _receivers(value: Any) -> tuple[str, ...]:
    """Return the name of a partition, or a list of them."""
    if not isinstance(value, list):
        return (_name(value),)
    names = _list(value, _name, '["plot", "log"]')
    if not names:
        raise _Wrong('name at least one, such as ["plot", "log"]')
    return names


def _any_list(value: Any, convert: Callable[[Any], Any], example: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _Wrong(f"write a list, such as {example}")
    converted = []
    for each in value:
        try:
            converted.append(convert(each))
        except _Wrong as wrong:
            raise _Wrong(wrong.fix, f"{show(each)} in the list is wrong") from None
    return tuple(converted)


def _core(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _Wrong("cores are numbers from 0")
    return value


def _cores(value: Any) -> tuple[int, ...]:
    cores = _any_list(value, _core, _EXAMPLES["cores"])
    if not cores:
        raise _Wrong("give it at least one", "the list of cores is empty")
    return tuple(sorted(cores))


def _weight(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= WEIGHT_MAX:
        raise _Wrong(f"a weight is a whole number from 1 to {WEIGHT_MAX}")
    return value


def _utilization(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise _Wrong("a utilization is a number, for example 0.1")
    if not UTILIZATION_MIN <= value <= 1:
        raise _Wrong(f"a utilization is {UTILIZATION_MIN} to 1")
    return float(value)


def _quantum(value: Any) -> int:
    quantum = _time(value)
    if not QUANTUM_MIN <= quantum <= QUANTUM_MAX:
        raise _Wrong(f"a quantum is {duration(QUANTUM_MIN)} to {duration(QUANTUM_MAX)}")
    return quantum


def _memory(value: Any) -> int:
    found = re.fullmatch(r"([0-9]{1,9}) ?([KMG]iB)", value) if isinstance(value, str) else None
    if found is None:
        raise _Wrong('write a whole number and KiB, MiB or GiB, such as "64 MiB"')
    return int(found[1]) * SIZE_UNITS[found[2]]


def _kept_bytes(value: Any) -> int:
    count = _memory(value)
    if not 0 < count <= KEPT_BYTES_MAX or count % PAGE_BYTES:
        raise _Wrong(
            f"take a multiple of {size(PAGE_BYTES)}, up to {size(KEPT_BYTES_MAX)}, or leave it out"
        )
    return count


def _address(value: Any, unit: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Wrong("write an address, such as 0x40200000, without quotation marks")
    if value % unit or not 0 <= value < 1 << GUEST_BITS:
        raise _Wrong(
            f"take a multiple of {unit} below 2^{GUEST_BITS}", f"{value:#x} is no address here"
        )
    return value


def _ring_bytes(value: Any) -> int:
    count = _memory(value)
    if count & (count - 1) or not CHANNEL_RING_MIN <= count <= CHANNEL_RING_MAX:
        raise _Wrong(
            f"take a power of two from {size(CHANNEL_RING_MIN)} to {size(CHANNEL_RING_MAX)}"
        )
    return count


def _common_bytes(value: Any) -> int:
    count = _memory(value)
    if not 0 < count <= CHANNEL_RING_MAX or count % PAGE_BYTES:
        raise _Wrong(
            f"take a multiple of {size(PAGE_BYTES)}, up to {size(CHANNEL_RING_MAX)}, or leave it "
            "out"
        )
    return count


def _pool_bytes(value: Any) -> int:
    count = _memory(value)
    if not 0 < count <= POOL_BYTES_MAX or count % POOL_UNIT:
        raise _Wrong(f"take a multiple of {size(POOL_UNIT)}, up to {size(POOL_BYTES_MAX)}")
    return count


def _disk_bytes(value: Any) -> int:
    count = _memory(value)
    if not count:
        raise _Wrong("a disk has 1 KiB at least")
    return count


def _partition_name(value: Any) -> str:
    """Return the name of a disk's partition, of characters that a back-end can compare."""
    is_text = isinstance(value, str) and re.fullmatch(r"[ -~]+", value)
    if not is_text or any(each in value for each in '"\\'):
        raise _Wrong("a partition's name is of printable ASCII characters without \" and \\")
    if len(value) > PARTITION_NAME_MAX:
        raise _Wrong(f"take at most {PARTITION_NAME_MAX} characters")
    return str(value)


def _mac(value: Any) -> bytes:
    pattern = r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}"
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise _Wrong('write six bytes in hexadecimal, such as "02:00:00:00:00:01"')
    address = bytes.fromhex(value.replace(":", ""))
    if address[0] & _GROUP_BIT or not any(address):
        raise _Wrong('a device has the address of one station, such as "02:00:00:00:00:01"')
    return address


def _vlan(value: Any) -> int | str:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if value != ALL_VLANS and not (is_number and 1 <= value <= VLAN_MAX):
        raise _Wrong(f"a VLAN is a whole number from 1 to {VLAN_MAX}, or '{ALL_VLANS}'")
    return value  # type: ignore[no-any-return]


def _mtu(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not MTU_MIN <= value <= MTU_MAX:
        raise _Wrong(f"an MTU is a whole number from {MTU_MIN} to {MTU_MAX}")
    return value


def _cache(value: Any) -> CacheShare:
    if isinstance(value, list):
        numbers = _list(value, _colour, _CACHE_EXAMPLE)
        if not numbers:
            raise _Wrong("name one colour at least", "the list of colours is empty")
        return CacheShare(tuple(sorted(numbers)), 0)
    pattern = r"([0-9]{1,3})(?:\.([0-9]{1,3}))? ?%"
    found = re.fullmatch(pattern, value) if isinstance(value, str) else None
    if found is None:
        raise _Wrong(f'write a share such as "25 %", or colours such as {_CACHE_EXAMPLE}')
    thousandths = int(found[1]) * 1000 + int((found[2] or "").ljust(3, "0"))
    if not 0 < thousandths <= 100_000:
        raise _Wrong("a share is more than 0 %, and 100 % at most")
    return CacheShare((), thousandths)


def _colour(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _Wrong("colours are numbers from 0")
    return value


def _rate(value: Any) -> int:
    """Return bytes/s."""
    pattern = r"([0-9]{1,9}) ?([kMG])bit/s"
    found = re.fullmatch(pattern, value) if isinstance(value, str) else None
    if found is None:
        raise _Wrong('write a whole number and kbit/s, Mbit/s or Gbit/s, such as "20 Mbit/s"')
    rate = int(found[1]) * _RATE_UNITS[found[2]] // 8
    if not 0 < rate <= RATE_MAX:
        raise _Wrong(f"take 1 kbit/s to {RATE_MAX * 8 // _RATE_UNITS['G']} Gbit/s")
    return rate


def _bandwidth(value: Any) -> Bandwidth:
    pattern = r"([0-9]{1,12}) ?(?:([kMG]?)B|(events))/s"
    found = re.fullmatch(pattern, value) if isinstance(value, str) else None
    if found is None:
        raise _Wrong('write a whole number and kB/s, MB/s, GB/s or events/s, such as "200 MB/s"')
    rate = int(found[1]) * _RATE_UNITS.get(found[2], 1)
    if not rate:
        raise _Wrong("take more than 0, or leave bandwidth out")
    return Bandwidth(rate, is_bytes=found[3] is None)


def _window(value: Any) -> int:
    window = _time(value)
    if not BANDWIDTH_WINDOW_MIN <= window <= BANDWIDTH_WINDOW_MAX:
        shortest, longest = duration(BANDWIDTH_WINDOW_MIN), duration(BANDWIDTH_WINDOW_MAX)
        raise _Wrong(f"a window is {shortest} to {longest}")
    return window


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("write true or false, without quotation marks")
    return value


def _arguments(value: Any) -> str:
    if not isinstance(value, str) or not value.isascii() or (value and not value.isprintable()):
        raise _Wrong("write a string of printable ASCII characters")
    if len(value) > ARGUMENTS_CHARACTERS_MAX:
        what = f"arguments have {len(value)} characters"
        raise _Wrong(f"at most {ARGUMENTS_CHARACTERS_MAX} are passed on", what)
    return value


def _pci_address(value: Any) -> PciAddress:
    pattern = r"([0-9a-f]{2}):([01][0-9a-f])\.([0-7])"
    found = re.fullmatch(pattern, value) if isinstance(value, str) else None
    if found is None:
        raise _Wrong('write "bus:device.function" in hexadecimal, such as "00:02.0"')
    return PciAddress(int(found[1], 16), int(found[2], 16), int(found[3]))


def parse_address(text: str) -> PciAddress | None:
    """Return the address that a text is, or None."""
    try:
        return _pci_address(text)
    except _Wrong:
        return None


def _devices(value: Any) -> dict[PciAddress, Emulated]:
    if not isinstance(value, dict):
        raise _Wrong('write a table, such as {"00:03.0" = "disk:root.img"}')
    devices = {}
    for key, text in value.items():
        try:
            address = _pci_address(key)
        except _Wrong as wrong:
            raise _Wrong(wrong.fix, f"{show(key)} in qemu is no address") from None
        if not isinstance(text, str) or not text.isprintable():
            raise _Wrong('write a text, such as "disk:root.img"', f"qemu has {show(text)}")
        try:
            devices[address] = parse_device(text)
        except UserError as error:
            raise _Wrong(error.fix, f"{address} of qemu is {show(text)}: {error.what}") from None
    return devices


def _one_of(kind: type[Enum]) -> Callable[[Any], Any]:
    known = {each.value: each for each in kind}

    def convert(value: Any) -> Enum:
        if not isinstance(value, str) or value not in known:
            raise _Wrong(f"write one of {', '.join(map(show, known))}")
        return known[value]

    return convert


def _action(value: Any) -> HealthAction:
    action: HealthAction = _one_of(HealthAction)(value)
    return action


def _action_of_end(value: Any) -> HealthAction:
    """Return the action for an error after which the guest can't continue."""
    action = _action(value)
    if action in (HealthAction.IGNORE, HealthAction.LOG):
        raise _Wrong("the guest can't go on after this error: write 'stop' or 'restart'")
    return action


def _heartbeat(value: Any) -> int:
    return _microseconds(value, HEARTBEAT_MIN, HEARTBEAT_MAX)


def _heartbeat_start(value: Any) -> int:
    return _microseconds(value, 1, HEARTBEAT_START_MAX)


def _microseconds(value: Any, shortest: int, longest: int) -> int:
    """Return nanoseconds: a whole number of microseconds between two others."""
    unit, found = TIME_UNITS["us"], _time(value)
    if found % unit or not shortest <= found // unit <= longest:
        times = (duration(each * unit) for each in (shortest, longest))
        raise _Wrong(f"take a time of {' to '.join(times)}, in whole microseconds")
    return found


def _count_in(value: Any, what: str, most: int) -> tuple[int, int]:
    """Return a number of events, and a time in milliseconds."""
    found = re.fullmatch(r"([0-9]{1,9}) in (.+)", value) if isinstance(value, str) else None
    if found is None:
        raise _Wrong(f'write a number of {what} and a time, such as "5 in 60 s"')
    count, window = int(found[1]), _time(found[2])
    if not 1 <= count <= most:
        raise _Wrong(f"take 1 to {most} {what}")
    if window % TIME_UNITS["ms"] or not WINDOW_MIN <= window // TIME_UNITS["ms"] <= WINDOW_MAX:
        shortest, longest = (duration(each * TIME_UNITS["ms"]) for each in (WINDOW_MIN, WINDOW_MAX))
        raise _Wrong(f"take a time of {shortest} to {longest}, in whole milliseconds")
    return count, window // TIME_UNITS["ms"]


def _restarts(value: Any) -> RestartLimit:
    return RestartLimit(*_count_in(value, "restarts", RESTARTS_MAX))


def _failures(value: Any) -> FailureLimit:
    return FailureLimit(*_count_in(value, "failures", driver_argument.FAILURES_MAX))


def _poll_period(value: Any) -> int:
    period = _time(value)
    shortest, longest = driver_argument.PERIOD_MIN, driver_argument.PERIOD_MAX
    if period % TIME_UNITS["us"] or not shortest <= period <= longest:
        raise _Wrong(f"take {duration(shortest)} to {duration(longest)}, in whole microseconds")
    return period


def _retry(value: Any) -> int:
    """Return milliseconds; 0 for "never"."""
    if value == "never":
        return 0
    retry = _time(value)
    longest = driver_argument.RETRY_MAX
    if retry % TIME_UNITS["ms"] or retry > longest:
        raise _Wrong(f"take up to {duration(longest)}, in whole milliseconds, or 'never'")
    return retry // TIME_UNITS["ms"]


def _table(name: str) -> Callable[[Any], Mapping[str, Any]]:
    def convert(value: Any) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise _Wrong(f"begin it with [partition.{name}]", f"{name} is no table")
        return value

    return convert


def _tables(value: Any) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise _Wrong("begin each VCPU with [[partition.vcpu]]", "vcpu is no list of tables")
    return value


def _time(value: Any) -> int:
    """Return nanoseconds."""
    found = re.fullmatch(r"([0-9]{1,9}) ?(ns|us|ms|s)", value) if isinstance(value, str) else None
    if found is None:
        raise _Wrong('write a whole number and ns, us, ms or s, such as "10 ms"')
    if int(found[1]) == 0:
        raise _Wrong("take more than 0")
    return int(found[1]) * TIME_UNITS[found[2]]


def _vcpu_name(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_.-]+", value):
        raise _Wrong("write letters, digits, -, _ and ., which the boot argument can carry")
    if len(value) > THREAD_CHARACTERS_MAX:
        raise _Wrong(f"take at most {THREAD_CHARACTERS_MAX} characters")
    return value


def _thread_name(value: Any) -> str:
    return value if value == EVERY_OTHER_THREAD else _vcpu_name(value)


def _threads(value: Any) -> tuple[str, ...]:
    threads = _list(value, _thread_name, '["init", "console"]')
    if not threads:
        fix = "name one, or leave threads out for the thread of the VCPU's name"
        raise _Wrong(fix, "the list of threads is empty")
    return threads


_CACHE_EXAMPLE = "[0, 1, 2, 3]"
_PARTITION_KEYS: dict[str, Callable[[Any], Any]] = {
    "name": _name,
    "cores": _cores,
    "memory": _memory,
    "cache": _cache,
    "kept": _kept_bytes,
    "image": _string,
    "load": lambda value: _address(value, PAGE_BYTES),
    "entry": lambda value: _address(value, INSTRUCTION_BYTES),
    "initrd": lambda value: Path(_string(value)),
    "arguments": _arguments,
    "devices": lambda value: _list(value, _string, '["rtc"]'),
    "pci": lambda value: _list(value, _pci_address, '["00:02.0"]'),
    "sound": lambda value: _list(value, _pci_address, '["00:03.0"]'),
    "qemu": _devices,
    "dma": _one_of(Dma),
    "console": _one_of(Console),
    "restart": _one_of(Restart),
    "console_interrupt": _one_of(ConsoleInterrupt),
    "unmapped": _one_of(Unmapped),
    "maintenance": _one_of(Maintenance),
    "interrupts": _one_of(Interrupts),
    "budget": _time,
    "period": _time,
    "utilization": _utilization,
    "serves": lambda value: _list(value, _name, '["control"]'),
    "weight": _weight,
    "vcpu": _tables,
    "health": _table("health"),
    "driver": _table("driver"),
    "watchdog": _flag,
    "heartbeat": _heartbeat,
    "heartbeat_start": _heartbeat_start,
    "standby": _name,
    "manager": _flag,
    "staging": _memory,
    "autostart": _flag,
    "distribute": _flag,
    "aligned": _flag,
    "bandwidth": _bandwidth,
    "window": _window,
}
_EXAMPLES = {"name": '"net"', "cores": "[0, 1]", "memory": '"64 MiB"', "image": '"demo"'}
_DEFAULTS: dict[str, Any] = {
    "cache": None,
    "kept": 0,
    "load": None,
    "entry": None,
    "initrd": None,
    "arguments": "",
    "devices": (),
    "pci": (),
    "sound": (),
    "qemu": {},
    "dma": Dma.NONE,
    "console": Console.OUTPUT,
    "restart": Restart.AFTER_RESET,
    "console_interrupt": ConsoleInterrupt.SPARE,
    "unmapped": Unmapped.STOP,
    "maintenance": Maintenance.BROADCAST,
    "interrupts": None,
    "budget": None,
    "period": None,
    "utilization": None,
    "serves": (),
    "weight": None,
    "vcpu": (),
    "health": None,
    "driver": None,
    "watchdog": False,
    "heartbeat": None,
    "heartbeat_start": None,
    "standby": None,
    "manager": False,
    "staging": None,
    "autostart": True,
    "distribute": True,
    "aligned": None,
    "bandwidth": None,
    "window": None,
}
_PARTITION = _Kind(_PARTITION_KEYS, _DEFAULTS, _EXAMPLES)
_VCPU = _Kind(
    {
        "name": _vcpu_name,
        "policy": _one_of(VcpuPolicy),
        "budget": _time,
        "period": _time,
        "blocking": _time,
        "threads": _threads,
    },
    {"policy": VcpuPolicy.MAIN, "threads": (), "blocking": 0},
    {"name": '"control"', "budget": '"1 ms"', "period": '"10 ms"'},
)
_HEALTH = _Kind(
    {
        HealthError.MEMORY_VIOLATION.value: _action_of_end,
        HealthError.REFUSED_DMA.value: _action,
        HealthError.SERROR.value: _action_of_end,
        HealthError.DEVICE_FAILURE.value: _action,
        HealthError.PANIC.value: _action,
        HealthError.WATCHDOG.value: _action,
        HealthError.HEARTBEAT.value: _action,
        "restarts": _restarts,
    },
    {
        **dict.fromkeys((error.value for error in HealthError), HealthAction.STOP),
        "restarts": None,
    },
    {},
)
_DRIVER = _Kind(
    {
        "alternative": _one_of(Alternative),
        "failures": _failures,
        "period": _poll_period,
        "budget": _time,
        "retry": _retry,
    },
    {
        "failures": FailureLimit(3, 10_000),
        "period": TIME_UNITS["ms"],
        "budget": None,
        "retry": 60_000,
    },
    {"alternative": '"polled"'},
)
_CORE_TABLE = _Kind(
    {"numbers": _cores, "scheduler": _one_of(Scheduler), "quantum": _quantum},
    {"quantum": QUANTUM_DEFAULT},
    {"numbers": "[0, 1]", "scheduler": '"credit"'},
)
_CACHE = _Kind({"hypervisor": _cache}, {}, {"hypervisor": '"12.5 %"'})
_CHANNEL = _Kind(
    {
        "name": _name,
        "from": _name,
        "to": _receivers,
        "size": _ring_bytes,
        "common": _common_bytes,
        "kind": _one_of(ChannelKind),
        "one_way": _flag,
        "pci": lambda value: _list(value, _name, '["linux"]'),
        "dax": lambda value: _list(value, _name, '["linux"]'),
    },
    {"kind": ChannelKind.MESSAGES, "one_way": False, "pci": (), "dax": (), "common": 0},
    {"name": '"commands"', "from": '"control"', "to": '"linux"', "size": '"64 KiB"'},
)
_SHARED_DEVICE = _Kind(
    {
        "name": _name,
        "kind": _one_of(SharedKind),
        "client": _name,
        "backend": _name,
        "access": _one_of(Access),
        "pool": _pool_bytes,
        "mac": _mac,
        "vlan": _vlan,
        "addresses": _one_of(Senders),
        "weight": _weight,
        "rate": _rate,
        "mtu": _mtu,
        "dax": _flag,
        "offset": _memory,
        "partition": _partition_name,
        "size": _disk_bytes,
        "read_only": _flag,
    },
    {
        "access": None,
        "pool": None,
        "mac": None,
        "vlan": None,
        "addresses": Senders.OWN,
        "weight": 1,
        "rate": None,
        "mtu": MTU_DEFAULT,
        "dax": False,
        "offset": 0,
        "partition": None,
        "size": None,
        "read_only": False,
    },
    {"name": '"lan"', "kind": '"net"', "client": '"linux"', "backend": '"net"'},
)
