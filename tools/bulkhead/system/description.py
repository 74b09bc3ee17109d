# SPDX-License-Identifier: BSD-2-Clause
"""The system description as bytes (hypervisor/include/hypervisor/description.h)."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from ctypes import Array, c_uint32
from enum import IntEnum

from bulkhead.layouts import hypervisor

MAGIC = hypervisor.DESCRIPTION_MAGIC
VERSION = hypervisor.DESCRIPTION_VERSION
PAGE_BYTES = hypervisor.DESCRIPTION_PAGE_BYTES
HOST_ECAM_BYTES = hypervisor.DESCRIPTION_HOST_ECAM_BYTES
HOST_WINDOW_BYTES = hypervisor.DESCRIPTION_HOST_WINDOW_BYTES
CORES_MAX = hypervisor.DESCRIPTION_CORES_MAX
PARTITIONS_MAX = hypervisor.DESCRIPTION_PARTITIONS_MAX
VCPUS_MAX = hypervisor.DESCRIPTION_VCPUS_MAX
CORE_VCPUS_MAX = hypervisor.DESCRIPTION_CORE_VCPUS_MAX
NAME_BYTES = hypervisor.DESCRIPTION_NAME_BYTES
MEMORIES_MAX = hypervisor.DESCRIPTION_MEMORIES_MAX
DEVICES_MAX = hypervisor.DESCRIPTION_DEVICES_MAX
IMAGES_MAX = hypervisor.DESCRIPTION_IMAGES_MAX
FUNCTIONS_MAX = hypervisor.DESCRIPTION_FUNCTIONS_MAX
MOVABLES_MAX = hypervisor.DESCRIPTION_MOVABLES_MAX
CHANNELS_MAX = hypervisor.DESCRIPTION_CHANNELS_MAX
ENDS_MAX = hypervisor.DESCRIPTION_ENDS_MAX
SHARED_DEVICES_MAX = hypervisor.DESCRIPTION_SHARED_DEVICES_MAX
SPI_WORDS = hypervisor.DESCRIPTION_SPI_WORDS
GUEST_BITS = hypervisor.DESCRIPTION_GUEST_BITS
NO_PARTITION = hypervisor.DESCRIPTION_NO_PARTITION
PERIOD_MIN = hypervisor.DESCRIPTION_PERIOD_MIN
PERIOD_MAX = hypervisor.DESCRIPTION_PERIOD_MAX
QUANTUM_MIN = hypervisor.DESCRIPTION_QUANTUM_MIN
QUANTUM_MAX = hypervisor.DESCRIPTION_QUANTUM_MAX
WEIGHT_MAX = hypervisor.DESCRIPTION_WEIGHT_MAX
RESTARTS_MAX = hypervisor.DESCRIPTION_RESTARTS_MAX
WINDOW_MIN = hypervisor.DESCRIPTION_WINDOW_MIN
WINDOW_MAX = hypervisor.DESCRIPTION_WINDOW_MAX
BANDWIDTH_WINDOW_MIN = hypervisor.DESCRIPTION_BANDWIDTH_WINDOW_MIN
BANDWIDTH_WINDOW_MAX = hypervisor.DESCRIPTION_BANDWIDTH_WINDOW_MAX
BANDWIDTH_EVENTS_MIN = hypervisor.DESCRIPTION_BANDWIDTH_EVENTS_MIN
BANDWIDTH_EVENTS_MAX = hypervisor.DESCRIPTION_BANDWIDTH_EVENTS_MAX
HEARTBEAT_MIN = hypervisor.DESCRIPTION_HEARTBEAT_MIN
HEARTBEAT_MAX = hypervisor.DESCRIPTION_HEARTBEAT_MAX
HEARTBEAT_START_MAX = hypervisor.DESCRIPTION_HEARTBEAT_START_MAX

Core = hypervisor.DescriptionCore
Vcpu = hypervisor.DescriptionVcpu
Memory = hypervisor.DescriptionMemory
Colours = hypervisor.DescriptionColours
Device = hypervisor.DescriptionDevice
Image = hypervisor.DescriptionImage
Function = hypervisor.DescriptionFunction
Movable = hypervisor.DescriptionMovable
Health = hypervisor.DescriptionHealth
Bandwidth = hypervisor.DescriptionBandwidth
Partition = hypervisor.DescriptionPartition
Board = hypervisor.DescriptionBoard
Manager = hypervisor.DescriptionManager
ChannelEnd = hypervisor.DescriptionChannelEnd
Channel = hypervisor.DescriptionChannel
MemoryWindow = hypervisor.DescriptionWindow
SharedDevice = hypervisor.DescriptionSharedDevice
Description = hypervisor.Description


def _choices(values: type[IntEnum]) -> dict[str, int]:
    """Return the values by their names in system files."""
    return {each.name.lower().replace("_", "-"): each.value for each in values}


DMA = _choices(hypervisor.DescriptionDma)
RESTART = _choices(hypervisor.DescriptionRestart)
UNMAPPED = _choices(hypervisor.DescriptionUnmapped)
MAINTENANCE = _choices(hypervisor.DescriptionMaintenance)
INTERRUPT_MODE = _choices(hypervisor.DescriptionInterruptMode)
SERVER = hypervisor.DescriptionServer
HEALTH_ACTION = _choices(hypervisor.HealthAction)
CHANNEL_FUNCTION = _choices(hypervisor.DescriptionChannelFunction)


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
