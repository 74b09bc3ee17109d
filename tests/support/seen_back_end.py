# SPDX-License-Identifier: BSD-2-Clause
"""See a back-end from outside of its machine: its counters, and captures of its clients."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from scapy.packet import Packet
from scapy.utils import PcapReader

from bulkhead.capturing.capture_command import Capture, CaptureOptions, find_readers
from bulkhead.capturing.machine_file import MachineFile
from bulkhead.inspecting.network_report import PortCounters, read_network
from bulkhead.inspecting.reports import Guest
from bulkhead.inspecting.storage_report import StorageReading, read_storage
from bulkhead.running.attach import Running

_PATIENCE_S = 120


@dataclass(frozen=True)
class SeenBackEnd:
    """The back-end of a running system whose memory is in a file."""

    running: Running
    partition: int
    folder: Path  # for captures

    def ports(self) -> dict[str, PortCounters]:
        """Return what the back-end has counted, by device."""
        place = self.running.backend_memory(self.running.guests[self.partition])
        with closing(self._memory()) as memory:
            counters = read_network(Guest(place, "", memory.read))
        assert counters is not None
        return {port.device: port for port in counters.ports}

    def storage(self) -> StorageReading | None:
        """Return what the back-end has counted of its disk, or None if it has not started yet."""
        place = self.running.guests[self.partition]
        with closing(self._memory()) as memory:
            return read_storage(Guest(place, "", memory.read))

    def captured(self, client: str, meanwhile: Callable[[], None]) -> list[Packet]:
        """Capture the frames of a client, while something happens."""
        file = self.folder / "capture.pcap"
        with file.open("wb") as output, closing(self._memory()) as memory:
            options = CaptureOptions(self.running.name, client, seconds=_PATIENCE_S)
            readers = find_readers(self.running, memory, options)
            capture = Capture(readers, memory, options)
            for reader in readers:
                reader.poll()  # from now on
            thread = threading.Thread(target=capture.write_to, args=(output,), daemon=True)
            thread.start()
            meanwhile()
            capture.stop()
            thread.join(_PATIENCE_S)
            for reader in readers:
                reader.end()
        return list(PcapReader(str(file)))

    def _memory(self) -> MachineFile:
        return MachineFile(self.running.memory, self.running.memory_start)
