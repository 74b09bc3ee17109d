# SPDX-License-Identifier: BSD-2-Clause
"""Each error of the table lets the standby take over, and connections go on.

The web server makes an error by order, or its card fails: a memory violation, an SError, refused
DMA, a device that does not answer, a panic, a hang that the watchdog or the heartbeat notices.
Clients ask for pages meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.debugger import Debugger
from support.device_monitor import DeviceMonitor
from support.failover_system import NET, READY, FailoverRun
from support.http_clients import ask_meanwhile
from support.physical_memory import arguments
from support.silent_device import SilentDevice, ecam
from support.stretches import symbol_address
from support.translation_tables import HypervisorMemory
from support.written_system import StartGuest

from bulkhead.inspecting.health_log import read_logs
from bulkhead.inspecting.reports import physical_memory
from bulkhead.layouts.hypervisor import HealthAction as Action
from bulkhead.layouts.hypervisor import HealthError as Error
from bulkhead.running.attach import facts_of
from bulkhead.running.network import Namespace
from bulkhead.system.model import HealthError

_IMAGE = "hypervisor-managed-health-moving"
_CORE = 1  # of the partition that has the card at first
_NOT_ITS_OWN = 0x3000000000
_KEYS = {HealthError.WATCHDOG: "watchdog = true", HealthError.HEARTBEAT: 'heartbeat = "1 s"'}
# Offsets from VBAR_EL2 (Arm ARM, "Exception vectors").
_SYNCHRONOUS_OF_MONITOR, _SYNCHRONOUS_OF_GUEST, _ERROR_OF_GUEST = 0x200, 0x400, 0x580
_SYNDROME_ARGUMENT = 2  # the third one of fault_stop()
_SERROR = 0x2F << 26  # ESR_EL2.EC
_PATIENCE_S = 30


class _Failing(FailoverRun):
    """A system whose web server makes errors."""

    def __init__(
        self,
        start_guest: StartGuest,
        folder: Path,
        namespace: Namespace,
        monitor: DeviceMonitor,
        error: HealthError,
    ) -> None:
        self._stub = folder / "gdb"
        self._monitor = monitor
        super().__init__(
            start_guest,
            folder,
            namespace,
            extra=(*arguments(self._stub), *monitor.arguments),
            image="errors",
            guest_keys=_KEYS.get(error, ""),
            errors=[error.value],
        )
        monitor.attach(self.guest)
        place = self.layout.places[NET]
        monitor.memory_offset = place.physical - place.memory.start

    def vectors(self) -> int:
        """Return VBAR_EL2 of the core of the partition that has the card."""
        memory = HypervisorMemory(self.guest, self.layout)
        (page,) = (
            each for each in memory.mappings(memory.core(_CORE).resident) if each.executable
        )  # fmt: skip
        return page.input

    def violate(self) -> None:
        self.type_to("net", "violate")

    def panic(self) -> None:
        self.type_to("net", "panic")

    def hang(self) -> None:
        self.type_to("net", "hang")

    def take_system_error(self) -> None:
        """QEMU's processors never take an SError, so the core takes another exception, and is moved
        to the vector for an SError before its first instruction there. ESR_EL2, which QEMU lets
        nobody write, is replaced where it is handed on."""
        table, place = self.vectors(), symbol_address(_IMAGE, "fault_stop")
        with Debugger(self._stub) as debugger:
            self.guest.type_text("\x1d")
            self.guest.type_text("look\n")
            debugger.run_to(_CORE, table + _SYNCHRONOUS_OF_GUEST)
            debugger.jump(table + _ERROR_OF_GUEST)
            debugger.run_to(_CORE, place)
            debugger.set_register(_SYNDROME_ARGUMENT, _SERROR)

    def divert_dma(self) -> None:
        """Let the card write received frames to memory that is not the partition's."""
        end = time.monotonic() + _PATIENCE_S
        while "net is stopped: device 00:02.0, DMA write" not in self.guest.console():
            assert time.monotonic() < end, "no DMA was refused"
            self._monitor.divert_receive_queue(_NOT_ITS_OWN)
            time.sleep(0.01)

    def silence_card(self) -> None:
        """Let the card not answer the hypervisor, until this has noticed it."""
        device = SilentDevice(self, ecam(), NET)
        table = self.vectors()
        with Debugger(self._stub) as debugger:
            device.silence(debugger)
            self.guest.type_text("\x1d")
            self.guest.type_text("look\n")
            debugger.run_to(_CORE, table + _SYNCHRONOUS_OF_MONITOR)
            device.restore(debugger)


_CAUSES: dict[HealthError, tuple[Callable[[_Failing], None], str]] = {
    HealthError.MEMORY_VIOLATION: (_Failing.violate, "core 1, address 0x3000000000"),
    HealthError.SERROR: (
        _Failing.take_system_error,
        "core 1, address unknown, syndrome 0xbc000000",
    ),
    HealthError.REFUSED_DMA: (_Failing.divert_dma, "device 00:02.0, DMA write at 0x3000000"),
    HealthError.DEVICE_FAILURE: (_Failing.silence_card, "core 1, no answer from the device at "),
    HealthError.PANIC: (_Failing.panic, "core 1, panic with value 0x0"),
    HealthError.WATCHDOG: (_Failing.hang, "core 1, its watchdog was not refreshed"),
    HealthError.HEARTBEAT: (_Failing.hang, "core 1, its heartbeat stands still"),
}


# test_failover.py makes panics by orders, and a heartbeat is noticed as a watchdog is.
_LONG = (HealthError.PANIC, HealthError.HEARTBEAT)


@pytest.mark.parametrize(
    "error",
    [pytest.param(each, marks=pytest.mark.long) if each in _LONG else each for each in _CAUSES],
    ids=lambda each: each.value,
)
def test_each_error_lets_the_standby_take_over(
    start_guest: StartGuest,
    tmp_path: Path,
    namespace: Namespace,
    monitor: DeviceMonitor,
    error: HealthError,
) -> None:
    run = _Failing(start_guest, tmp_path, namespace, monitor, error)
    make, said = _CAUSES[error]
    exits = run.exits_of_loop()

    def fail() -> None:
        make(run)
        run.guest.wait_for_match(rf"(?m)^bulkhead\| net is stopped: {said}", _PATIENCE_S)
        run.says(r"bulkhead\| net restarts: its standby gets its devices")
        run.says(rf"net2\| {READY}")

    counts = ask_meanwhile(namespace, run.address, [fail])
    assert counts.failed == []
    run.guest.wait_for_match(r"(?m)^net\| standby: waits", _PATIENCE_S)  # healed
    assert run.count("connections continue") == 1
    logs = read_logs(facts_of(run.layout), physical_memory(run.guest.qmp()))
    found = {log.partition: [(each.error, each.action) for each in log.records] for log in logs}
    assert found == {"net": [(Error[error.name], Action.FAILOVER)], "net2": []}
    assert run.exits_of_loop() == exits
