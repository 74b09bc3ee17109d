# SPDX-License-Identifier: BSD-2-Clause
"""The system description as bytes: hypervisor/include/hypervisor/description.h, field by field.

A test compares the two.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from ctypes import Array, LittleEndianStructure, c_char, c_uint16, c_uint32, c_uint64

MAGIC = 0x444145484B4C5542
VERSION = 11
PAGE_BYTES = 4096
HOST_ECAM_BYTES = 0x100000
HOST_WINDOW_BYTES = 0x10000
CORES_MAX = 16
PARTITIONS_MAX = 8
VCPUS_MAX = 16
CORE_VCPUS_MAX = 32
NAME_BYTES = 16
MEMORIES_MAX = 4
DEVICES_MAX = 16
IMAGES_MAX = 4
FUNCTIONS_MAX = 8
CHANNELS_MAX = 16
SPI_WORDS = 32
GUEST_BITS = 39
NO_PARTITION = 0xFFFFFFFF
PERIOD_MIN = 100_000  # nanoseconds
PERIOD_MAX = 1_000_000_000
QUANTUM_MIN = 10_000_000  # nanoseconds
QUANTUM_MAX = 50_000_000
WEIGHT_MAX = 65535
DMA = {"none": 0, "smmu": 1, "trusted": 2}
RESTART = {"after-reset": 0, "without-reset": 1, "never": 2}
UNMAPPED = {"stop": 0, "abort": 1}
MAINTENANCE = {"broadcast": 0, "local": 1}
INTERRUPT_MODE = {"direct": 0, "listed": 1}
CHANNEL_FUNCTION = {"none": 0, "whole": 1, "control": 2}


class Core(LittleEndianStructure):
    """struct description_core"""

    _fields_ = (
        ("affinity", c_uint64),
        ("redistributor", c_uint64),
        ("quantum", c_uint64),
    )


class Vcpu(LittleEndianStructure):
    """struct description_vcpu"""

    _fields_ = (
        ("core", c_uint32),
        ("shared", c_uint32),
        ("budget", c_uint64),
        ("period", c_uint64),
        ("weight", c_uint32),
        ("io", c_uint32),
    )


class Memory(LittleEndianStructure):
    """struct description_memory"""

    _fields_ = (("guest", c_uint64), ("physical", c_uint64), ("bytes", c_uint64))


class Device(LittleEndianStructure):
    """struct description_device"""

    _fields_ = (("address", c_uint64), ("bytes", c_uint64))


class Image(LittleEndianStructure):
    """struct description_image"""

    _fields_ = (("offset", c_uint64), ("guest", c_uint64), ("bytes", c_uint64))


class Function(LittleEndianStructure):
    """struct description_function"""

    _fields_ = (("address", c_uint16), ("reserved", c_uint16 * 3))


class Partition(LittleEndianStructure):
    """struct description_partition"""

    _fields_ = (
        ("name", c_char * NAME_BYTES),
        ("entry", c_uint64),
        ("devicetree", c_uint64),
        ("console", c_uint64),
        ("pci_memory", c_uint64),
        ("pci_memory_bytes", c_uint64),
        ("pci_io", c_uint64),
        ("pci_io_bytes", c_uint64),
        ("times", c_uint64),
        ("channel_host", c_uint64),
        ("vcpu_count", c_uint32),
        ("console_interrupt", c_uint32),
        ("console_input", c_uint32),
        ("dma", c_uint32),
        ("memory_count", c_uint32),
        ("device_count", c_uint32),
        ("image_count", c_uint32),
        ("function_count", c_uint32),
        ("restart", c_uint32),
        ("unmapped", c_uint32),
        ("maintenance", c_uint32),
        ("interrupt_mode", c_uint32),
        ("distribute", c_uint32),
        ("reserved", c_uint32),
        ("vcpus", Vcpu * VCPUS_MAX),
        ("memories", Memory * MEMORIES_MAX),
        ("devices", Device * DEVICES_MAX),
        ("images", Image * IMAGES_MAX),
        ("functions", Function * FUNCTIONS_MAX),
        ("interrupts", c_uint32 * SPI_WORDS),
        ("edges", c_uint32 * SPI_WORDS),
    )


class Board(LittleEndianStructure):
    """struct description_board"""

    _fields_ = (
        ("hypervisor", c_uint64),
        ("hypervisor_bytes", c_uint64),
        ("distributor", c_uint64),
        ("uart", c_uint64),
        ("ecam", c_uint64),
        ("ecam_bytes", c_uint64),
        ("pci_io", c_uint64),
        ("smmu", c_uint64),
        ("uart_interrupt", c_uint32),
        ("smmu_interrupt", c_uint32),
    )


class Manager(LittleEndianStructure):
    """struct description_manager"""

    _fields_ = (
        ("partition", c_uint32),
        ("absent", c_uint32),
        ("staging", c_uint64),
        ("staging_bytes", c_uint64),
    )


class ChannelEnd(LittleEndianStructure):
    """struct description_channel_end"""

    _fields_ = (
        ("partition", c_uint32),
        ("interrupt", c_uint32),
        ("guest", c_uint64),
        ("function", c_uint32),
        ("reserved", c_uint32),
    )


class Channel(LittleEndianStructure):
    """struct description_channel"""

    _fields_ = (
        ("physical", c_uint64),
        ("section_bytes", c_uint64),
        ("one_way", c_uint32),
        ("reserved", c_uint32),
        ("ends", ChannelEnd * 2),
    )


class Description(LittleEndianStructure):
    """struct description"""

    _fields_ = (
        ("magic", c_uint64),
        ("version", c_uint32),
        ("bytes", c_uint32),
        ("payload", c_uint64),
        ("checksum", c_uint32),
        ("core_count", c_uint32),
        ("partition_count", c_uint32),
        ("mark", c_uint32),
        ("board", Board),
        ("manager", Manager),
        ("channel_count", c_uint32),
        ("reserved", c_uint32),
        ("cores", Core * CORES_MAX),
        ("partitions", Partition * PARTITIONS_MAX),
        ("channels", Channel * CHANNELS_MAX),
    )


def bitmap(intids: Iterable[int]) -> Array[c_uint32]:
    """Return a set of SPIs as a bitmap."""
    bits = sum(1 << intid for intid in set(intids))
    return (c_uint32 * SPI_WORDS).from_buffer_copy(bits.to_bytes(4 * SPI_WORDS, "little"))


def seal(description: Description) -> bytes:
    """Return the bytes of a description, with magic, version, length and checksum."""
    description.magic = MAGIC
    description.version = VERSION
    description.bytes = len(bytes(description))
    description.checksum = 0
    description.checksum = zlib.crc32(bytes(description))
    return bytes(description)
