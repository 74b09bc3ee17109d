# SPDX-License-Identifier: BSD-2-Clause
"""The content of a system file, converted by parse.py."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path

from bulkhead.system.emulated import NETWORK, SOUND, Emulated

WEIGHT_DEFAULT = 256  # as in Xen
QUANTUM_DEFAULT = 10_000_000  # nanoseconds
UTILIZATION_MIN = 0.001
MTU_DEFAULT = 1500  # of Ethernet
CORES_TO_DISTRIBUTE = 2  # shared cores of a partition
_CARD = Emulated(NETWORK)


class Dma(Enum):
    """The confinement of DMA by a partition's devices."""

    NONE = "none"
    SMMU = "smmu"
    TRUSTED = "trusted"


class Console(Enum):
    """A partition's share of the terminal."""

    NONE = "none"
    OUTPUT = "output"
    INTERACTIVE = "interactive"  # has the input at first; the user can give it to others


class Restart(Enum):
    """The condition on a partition's devices under which it may restart."""

    AFTER_RESET = "after-reset"
    WITHOUT_RESET = "without-reset"
    NEVER = "never"


class ConsoleInterrupt(Enum):
    """The number with which a guest sees its console's interrupt."""

    SPARE = "spare"  # that of an SPI that no device of the board uses
    BOARD = "board"  # that of the board's PL011, with listed interrupts only


class Unmapped(Enum):
    """The reaction to an access of a core to an address that its partition does not have."""

    STOP = "stop"  # the partition is stopped
    ABORT = "abort"  # the guest gets an external abort, as on a board


class Maintenance(Enum):
    """How far broadcast TLB and cache maintenance of a partition reaches."""

    BROADCAST = "broadcast"  # to all cores of the board, without a trap
    LOCAL = "local"  # to the partition's only core, by a trap


class Interrupts(Enum):
    """The way of a partition's interrupts to its guest."""

    DIRECT = "direct"  # to EL1, without an exit
    LISTED = "listed"  # to EL2, which lists them for the guest: one exit each


class Scheduler(Enum):
    """How the partitions of a shared core share it."""

    RESERVATION = "reservation"  # by budgets
    CREDIT = "credit"  # by weights


class HealthError(Enum):
    """An error of a partition, as its key in the table [partition.health]."""

    MEMORY_VIOLATION = "memory_violation"
    REFUSED_DMA = "refused_dma"
    SERROR = "serror"
    DEVICE_FAILURE = "device_failure"
    PANIC = "panic"
    WATCHDOG = "watchdog"
    HEARTBEAT = "heartbeat"


class HealthAction(Enum):
    """The reaction of the hypervisor to an error."""

    STOP = "stop"
    IGNORE = "ignore"
    LOG = "log"
    RESTART = "restart"
    FAILOVER = "failover"  # its standby takes over its devices, and it restarts


class Alternative(Enum):
    """The driver that takes the place of one that fails."""

    POLLED = "polled"  # virtio/net_polled.h


class VcpuPolicy(Enum):
    """The work that a VCPU's budget is for."""

    MAIN = "main"  # threads, by a sporadic server
    IO = "io"  # interrupts and bottom halves, by a PIBS server


class ChannelKind(Enum):
    """What a channel transfers."""

    MESSAGES = "messages"  # every message, in order
    VALUE = "value"  # the newest value only


class SharedKind(Enum):
    """The kind of virtio device that a client of a shared device sees."""

    NET = "net"
    BLOCK = "block"


class Access(Enum):
    """The memory of a client that the back-end of its shared device may access."""

    ALL = "all"  # all that is not kept


class Senders(Enum):
    """The link-layer addresses from which a client may send frames."""

    OWN = "own"
    ANY = "any"  # it connects a network of its own


ALL_VLANS = "all"


@dataclass(frozen=True)
class PciAddress:
    """bus:device.function"""

    bus: int
    device: int
    function: int

    @property
    def number(self) -> int:
        """The number in the description: bus << 8 | device << 3 | function."""
        return self.bus << 8 | self.device << 3 | self.function

    def __str__(self) -> str:
        return f"{self.bus:02x}:{self.device:02x}.{self.function:x}"


@dataclass(frozen=True)
class Vcpu:
    """A VCPU of a partition: guaranteed processor time for some threads of our kernel."""

    name: str
    policy: VcpuPolicy
    budget: int  # nanoseconds in each period
    period: int  # nanoseconds
    threads: tuple[str, ...]  # names; "*": every thread that no VCPU of the partition names
    line: int  # line of the file in which its table begins
    key_lines: Mapping[str, int] = field(default_factory=dict)  # lines of its keys
    is_of_period: bool = False  # an I/O VCPU that serves VCPUs of its own period alone
    is_aligned: bool = False  # its budget returns at multiples of its period
    blocking: int = 0  # nanoseconds for which less urgent work may hold it up
    overrun: int = 0  # nanoseconds for which it may execute beyond its budget
    unpaid: int = 0  # nanoseconds in each period that the kernel takes for it, and no budget pays

    def line_of(self, key: str) -> int:
        """Return the line for a message about a key, which may be missing."""
        return self.key_lines.get(key, self.line)


@dataclass(frozen=True)
class Cores:
    """The settings of cores that partitions share."""

    numbers: tuple[int, ...]  # the board's, ascending
    scheduler: Scheduler
    quantum: int  # nanoseconds: the turn of a VCPU of scheduler CREDIT
    line: int  # line of the file in which its table begins
    key_lines: Mapping[str, int] = field(default_factory=dict)  # lines of its keys

    def line_of(self, key: str) -> int:
        """Return the line for a message about a key, which may be missing."""
        return self.key_lines.get(key, self.line)


@dataclass(frozen=True)
class RestartLimit:
    """The restarts after errors that a partition may have within a window of time."""

    most: int
    window_ms: int


@dataclass(frozen=True)
class Health:
    """The table [partition.health]: what follows from each error of the partition."""

    actions: Mapping[HealthError, HealthAction]  # of every error
    restarts: RestartLimit | None  # None: the default, if an error restarts the partition
    line: int  # line of the file in which the table begins
    key_lines: Mapping[str, int] = field(default_factory=dict)  # lines of its keys

    @property
    def can_restart(self) -> bool:
        """Return True if an error restarts the partition."""
        return not {HealthAction.RESTART, HealthAction.FAILOVER}.isdisjoint(self.actions.values())

    @property
    def limit(self) -> RestartLimit | None:
        """The limit of restarts; None if no error restarts the partition."""
        return (self.restarts or RESTARTS_DEFAULT) if self.can_restart else None

    def line_of(self, key: str) -> int:
        """Return the line for a message about a key, which may be missing."""
        return self.key_lines.get(key, self.line)


RESTARTS_DEFAULT = RestartLimit(5, 60_000)


def stopping(line: int) -> Health:
    """Return a table by which each error stops the partition."""
    return Health(dict.fromkeys(HealthError, HealthAction.STOP), None, line)


@dataclass(frozen=True)
class FailureLimit:
    """The failures of a driver after which another one takes its place."""

    count: int
    window_ms: int


@dataclass(frozen=True)
class Driver:
    """The table [partition.driver]: the alternative to the driver of the network device."""

    alternative: Alternative
    failures: FailureLimit
    period: int  # nanoseconds between two polls
    budget: int  # nanoseconds in each period
    retry_ms: int  # until the ordinary driver is tried again; 0: it is not
    line: int  # line of the file in which the table begins
    key_lines: Mapping[str, int] = field(default_factory=dict)  # lines of its keys

    def line_of(self, key: str) -> int:
        """Return the line for a message about a key, which may be missing."""
        return self.key_lines.get(key, self.line)


@dataclass(frozen=True)
class CacheShare:
    """A share of the last-level cache: colours by number, or a part of all."""

    numbers: tuple[int, ...]  # ascending; empty if `thousandths` says how many
    thousandths: int  # of a percent


@dataclass(frozen=True)
class Bandwidth:
    """A limit of memory bandwidth, of each VCPU of a partition."""

    rate: int  # bytes or events in a second
    is_bytes: bool


WINDOW_DEFAULT = 1_000_000  # nanoseconds


@dataclass(frozen=True)
class Partition:
    """A partition."""

    name: str
    # One for each of its VCPUs: the board's numbers, ascending. Several VCPUs may have the same.
    cores: tuple[int, ...]
    memory_bytes: int
    image: str  # a guest program of apps/, "linux", or a file's path
    initrd: Path | None
    arguments: str  # /chosen bootargs
    devices: tuple[str, ...]  # labels in the board's devicetree
    pci: tuple[PciAddress, ...]
    dma: Dma
    console: Console
    line: int  # line of the file in which its table begins
    key_lines: Mapping[str, int] = field(default_factory=dict)  # lines of its keys
    restart: Restart = Restart.AFTER_RESET
    console_interrupt: ConsoleInterrupt = ConsoleInterrupt.SPARE
    unmapped: Unmapped = Unmapped.STOP
    maintenance: Maintenance = Maintenance.BROADCAST
    interrupts: Interrupts | None = None  # None: listed if it shares a core, otherwise direct
    budget: int | None = None  # nanoseconds in each period, on each core that it shares
    period: int | None = None  # nanoseconds
    # An I/O partition has a share of each core instead, for the partitions that it serves.
    utilization: float | None = None
    serves: tuple[str, ...] = ()
    vcpus: tuple[Vcpu, ...] = ()
    weight: int | None = None  # on each core that it shares by weights; None: WEIGHT_DEFAULT
    manager: bool = False  # decides which partitions live
    staging: int | None = None  # bytes of the manager's memory where it puts images
    autostart: bool = True  # False: not created at boot
    distribute: bool = True  # its interrupts, over the cores that it shares
    # Its VCPUs on cores shared by budgets get their budgets at the same instants, those on cores
    # shared by weights their turns. None: if all VCPUs of the system have room with it.
    aligned: bool | None = None
    sound: tuple[PciAddress, ...] = ()  # those of `pci` that QEMU makes sound devices
    emulated: Mapping[PciAddress, Emulated] = field(default_factory=dict)  # others of QEMU
    load: int | None = None  # address of a raw binary, or of a program that relocates itself
    entry: int | None = None  # of a raw binary; None: its first address
    kept_bytes: int = 0  # of memory that a restart leaves as it is, beside memory_bytes
    # None: each error stops it, and none is recorded. It has one if it has a watchdog or heartbeat.
    health: Health | None = None
    watchdog: bool = False  # it has a generic watchdog
    heartbeat: int | None = None  # nanoseconds between two looks at its heartbeat; None: none
    heartbeat_start: int | None = None  # nanoseconds until its first beat; None: any time
    driver: Driver | None = None  # None: its network driver has no alternative
    device_lines: Mapping[str, int] = field(default_factory=dict)  # of `emulated`, by address
    standby: str | None = None  # the partition that may take over its PCI functions
    coming: tuple[PciAddress, ...] = ()  # functions of others that it may take over
    cache: CacheShare | None = None  # None: its memory has all colours
    bandwidth: Bandwidth | None = None
    window: int | None = None  # nanoseconds, of the bandwidth; None: WINDOW_DEFAULT

    @property
    def bandwidth_window(self) -> int:
        """The window of the bandwidth, in nanoseconds."""
        return self.window or WINDOW_DEFAULT

    @property
    def functions(self) -> tuple[PciAddress, ...]:
        """The PCI functions that it has at first, and those that it may take over."""
        return (*self.pci, *self.coming)

    @property
    def cards(self) -> list[PciAddress]:
        """The PCI functions that are network cards in QEMU: those without another device."""
        return [
            each
            for each in self.pci
            if each not in self.sound_devices and self.emulated.get(each, _CARD).kind == NETWORK
        ]

    @property
    def sound_devices(self) -> list[PciAddress]:
        """The PCI functions that are sound devices in QEMU."""
        return [
            each
            for each in self.pci
            if each in self.sound or self.emulated.get(each, _CARD).kind == SOUND
        ]

    @property
    def all_memory_bytes(self) -> int:
        """The size of its memory, kept memory included."""
        return self.memory_bytes + self.kept_bytes

    @property
    def share_weight(self) -> int:
        """The weight on cores that are shared by weights."""
        return WEIGHT_DEFAULT if self.weight is None else self.weight

    @property
    def has_budget(self) -> bool:
        """Return True if it has the keys that a core shared by budgets needs."""
        return self.budget is not None or self.utilization is not None

    def line_of(self, key: str) -> int:
        """Return the line for a message about a key, which may be missing."""
        return self.key_lines.get(key, self.line)


@dataclass(frozen=True)
class Channel:
    """A channel between two partitions, or from one to several."""

    name: str
    ends: tuple[str, ...]  # names of the partitions: `from` is end 0, those of `to` follow
    ring_bytes: int  # of each direction
    line: int  # line of the file in which its table begins
    key_lines: Mapping[str, int] = field(default_factory=dict)  # lines of its keys
    kind: ChannelKind = ChannelKind.MESSAGES
    one_way: bool = False  # only end 0 can write
    pci: tuple[str, ...] = ()  # partitions that see their end as a PCI function
    dax: tuple[str, ...] = ()  # partitions that see the memory of their end by DAX, cached
    common_bytes: int = 0  # of the section that both ends can write

    def line_of(self, key: str) -> int:
        """Return the line for a message about a key, which may be missing."""
        return self.key_lines.get(key, self.line)


@dataclass(frozen=True)
class SharedDevice:
    """A virtio device of a partition, the client, that another one, the back-end, serves."""

    name: str
    kind: SharedKind
    client: str  # name of the partition
    backend: str  # name of the partition
    mac: bytes  # b"" unless it is a network device
    line: int  # line of the file in which its table begins
    key_lines: Mapping[str, int] = field(default_factory=dict)  # lines of its keys
    access: Access | None = None  # one of access and pool is not None
    pool: int | None = None  # bytes of the only memory that the back-end may access
    vlan: int | str | None = None  # of an access port, or ALL_VLANS
    addresses: Senders = Senders.OWN
    weight: int = 1
    rate: int | None = None  # bytes/s that the client may send; None: no limit
    mtu: int = MTU_DEFAULT
    dax: bool = False  # a process of the back-end's Linux serves it, and maps its memory by DAX
    offset: int = 0  # of a block device: bytes of the disk in front of it
    partition: str | None = None  # of the disk: the device begins there, and not at `offset`
    size: int | None = None  # bytes of a block device
    read_only: bool = False  # a block device that the client can't write

    def line_of(self, key: str) -> int:
        """Return the line for a message about a key, which may be missing."""
        return self.key_lines.get(key, self.line)


def derived_mac(system: str, device: str) -> bytes:
    """Return the MAC address of a shared device without the key: locally administered."""
    return b"\x02\x00" + zlib.crc32(f"{system}/{device}".encode()).to_bytes(4, "big")


@dataclass(frozen=True)
class System:
    """A system: a board, its partitions, their channels and shared devices."""

    name: str
    file: Path
    board: str
    partitions: tuple[Partition, ...]
    board_line: int = 1
    cores: tuple[Cores, ...] = ()
    channels: tuple[Channel, ...] = ()
    shared_devices: tuple[SharedDevice, ...] = ()
    hypervisor_cache: CacheShare | None = None
    hypervisor_cache_line: int = 1

    @cached_property
    def shared_cores(self) -> dict[int, list[Partition]]:
        """The cores of several VCPUs, with the partition of each of these VCPUs."""
        named = sorted({core for partition in self.partitions for core in partition.cores})
        owners = {
            core: [each for each in self.partitions for own in each.cores if own == core]
            for core in named
        }
        return {core: each for core, each in owners.items() if len(each) > 1}

    def vcpu_names(self, core: int) -> list[str]:
        """Return the names of a core's VCPUs: their partitions', numbered if one has several."""
        return [
            f"{each.name} VCPU {number}" if each.cores.count(core) > 1 else each.name
            for each in self.partitions
            for number, own in enumerate(each.cores)
            if own == core
        ]

    @cached_property
    def credit_cores(self) -> dict[int, Cores]:
        """The cores that partitions share by weights, with their settings."""
        return {
            number: each
            for each in self.cores
            for number in each.numbers
            if each.scheduler is Scheduler.CREDIT
        }

    def promised(self, partition: Partition, core: int) -> float | None:
        """Return the share of each of a partition's VCPUs on a core: of all its time, or of the
        time needed.

        None if it does not share the core.
        """
        if core not in self.shared_cores or core not in partition.cores:
            return None
        if core in self.credit_cores:
            total = sum(each.share_weight for each in self.shared_cores[core])
            return partition.share_weight / total
        times = self.budget_on(partition, core)
        return None if times is None else times[0] / times[1]

    def budget_on(self, partition: Partition, core: int) -> tuple[int, int] | None:
        """Return the budget and the period of a partition on a core that is shared by budgets.

        The period of an I/O partition is the shortest one of those that it serves there. Returns
        None if the partition has no budget there.
        """
        if core not in self.shared_cores or core in self.credit_cores:
            return None
        if core not in partition.cores:
            return None
        if partition.budget is not None and partition.period is not None:
            return partition.budget, partition.period
        served = [
            each.period
            for each in self.shared_cores[core]
            if each.name in partition.serves and each.period is not None
        ]
        if partition.utilization is None or not served:
            return None
        period = min(served)
        return max(1, int(partition.utilization * period)), period

    def cores_to_align(self, partition: Partition) -> list[int]:
        """Return the cores of a partition on which its VCPUs can be aligned; empty if none can."""
        cores = sorted({*partition.cores} & self.shared_cores.keys() - self.credit_cores.keys())
        return cores if partition.budget is not None and len(cores) > 1 else []

    def gang_cores(self, partition: Partition) -> list[int]:
        """Return the cores on which a partition's VCPUs can have turns together; empty if none can.

        They are shared by weights, with one quantum.
        """
        groups: dict[int, list[int]] = {}
        for core in sorted(
            {*partition.cores} & self.credit_cores.keys() & self.shared_cores.keys()
        ):
            groups.setdefault(self.credit_cores[core].quantum, []).append(core)
        largest = max(groups.values(), key=len, default=[])
        return largest if len(largest) > 1 else []

    def partner(self, partition: Partition) -> Partition | None:
        """Return the standby of a partition, or the partition whose standby it is."""
        for each in self.partitions:
            if each.name == partition.standby or each.standby == partition.name:
                return each
        return None

    @property
    def has_standby(self) -> bool:
        """Return True if functions move between partitions."""
        return any(each.standby for each in self.partitions)

    def shares_core(self, partition: Partition) -> bool:
        """Return True if one of its VCPUs shares its core with another VCPU."""
        return any(core in self.shared_cores for core in partition.cores)

    def distributes(self, partition: Partition) -> bool:
        """Return True if the hypervisor may route the partition's interrupts to other cores."""
        shared = {core for core in partition.cores if core in self.shared_cores}
        return partition.distribute and len(shared) >= CORES_TO_DISTRIBUTE

    def interrupts_of(self, partition: Partition) -> Interrupts:
        """Return the way of the partition's interrupts."""
        usual = Interrupts.LISTED if self.shares_core(partition) else Interrupts.DIRECT
        return partition.interrupts or usual

    @property
    def manager(self) -> Partition | None:
        """The partition that decides which others live, if there is one."""
        return next((each for each in self.partitions if each.manager), None)

    @property
    def vcpu_count(self) -> int:
        """The number of all partitions' VCPUs."""
        return sum(len(partition.cores) for partition in self.partitions)

    @property
    def monitors_health(self) -> bool:
        """Return True if a partition has a table of errors."""
        return any(partition.health for partition in self.partitions)

    @property
    def limits_bandwidth(self) -> bool:
        """Return True if the memory bandwidth of a partition is limited."""
        return any(partition.bandwidth for partition in self.partitions)

    @property
    def uses_smmu(self) -> bool:
        """Return True if the system needs a machine with an SMMU."""
        return any(partition.dma is Dma.SMMU for partition in self.partitions)
