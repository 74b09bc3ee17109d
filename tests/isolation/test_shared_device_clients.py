# SPDX-License-Identifier: BSD-2-Clause
"""A client of a shared card attacks by its registers, while another client answers requests.

The other client notices nothing, and the back-end's doorbell is masked when it rings too often.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.demo_client import ping
from support.http_clients import ask_meanwhile
from support.rogue_system import StartGuest, Way, id_of
from support.shared_card import CardSystem
from support.written_system import reports

from bulkhead.running.network import Namespace

BACK_END, ROGUE = 0, 2  # numbers of partitions
HONEST = "10.77.0.20"
ATTACK_S = 200
QUIET_S = 2.0
DOORBELLS = 20_000  # of the attack
REPORTS = 10  # of failures: one in 10 s
_RESTART = "\x1er"  # Ctrl-^ r
_BUDGET = 'budget = "4 ms"\nperiod = "10 ms"'
_KEYS = {
    Way.DIRECT: (3, "", ""),
    Way.LISTED: (3, "", 'interrupts = "listed"'),
    Way.SHARED: (2, _BUDGET, _BUDGET),
}
_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "net"
cores = [1]
memory = "32 MiB"
image = "backend"
pci = ["00:02.0"]
dma = "smmu"

[[partition]]
name = "demo"
cores = [2]
memory = "32 MiB"
image = "demo"
arguments = "ip={honest_address}/24"
{honest}

[[partition]]
name = "rogue"
cores = [{core}]
memory = "16 MiB"
image = "rogue"
console = "interactive"
{rogue}

[[shared_device]]
name = "lan-demo"
kind = "net"
client = "demo"
backend = "net"
access = "all"

[[shared_device]]
name = "lan-rogue"
kind = "net"
client = "rogue"
backend = "net"
access = "all"
"""


class Attacked:
    """The running system."""

    def __init__(
        self, start_guest: StartGuest, folder: Path, namespace: Namespace, way: Way
    ) -> None:
        """Boot it, until the honest client answers."""
        core, honest, rogue = _KEYS[way]
        text = _SYSTEM.format(core=core, honest=honest, rogue=rogue, honest_address=HONEST)
        self.namespace = namespace
        self.system = CardSystem(start_guest, folder, namespace, text, BACK_END)
        self.guest = self.system.guest
        self.guest.wait_for_match(r"(?m)^demo\| demo: http on 80", ATTACK_S)
        self.guest.wait_for_match(r"(?m)^rogue\| rogue: listens", ATTACK_S)
        (device,) = self.system.layout.places[ROGUE].shared_clients
        self.registers = device.registers

    def order(self, order: str) -> None:
        self.guest.type_text(f"{order}\n")

    def says(self, text: str) -> str:
        return self.guest.wait_for_next_match(rf"(?m)^{text}", ATTACK_S)

    def attack(self, name: str, done: str) -> None:
        """Attack while the honest client is asked for pages, and answers all of them."""

        def make() -> None:
            self.order(f"{name} {self.registers.start:#x}")
            self.says(rf"rogue\| \d+ {done}")
            self.says(r"rogue\| rogue: survived")

        self._ask(name, make)

    def ask_in_quiet(self) -> None:
        """Ask for pages while nothing happens, to compare the rates."""
        self._ask("quiet", lambda: time.sleep(QUIET_S))

    def _ask(self, name: str, meanwhile: Callable[[], None]) -> None:
        before, began = self._exits(), self._seconds()
        counts = ask_meanwhile(self.namespace, HONEST, [meanwhile])
        seconds, pages = self._seconds() - began, sum(counts.requests)
        print(
            f"{name}: {pages} pages, {pages / seconds:.0f} in a second of QEMU's processor time, "
            f"longest {1000 * counts.longest_s:.0f} ms by the wall clock, "
            f"{(self._exits() - before) / pages:.1f} exits of the back-end a page"
        )
        assert counts.failed == [], name
        assert min(counts.requests) > 0, name

    def _seconds(self) -> float:
        """Return the processor time of QEMU: this machine may be busy otherwise."""
        fields = Path(f"/proc/{self.guest.process.pid}/stat").read_text().rpartition(")")[2].split()
        user, system = int(fields[11]), int(fields[12])  # proc(5)
        return (user + system) / os.sysconf("SC_CLK_TCK")

    def _exits(self) -> int:
        return sum(reports(self.guest, self.system.layout)[BACK_END].exits.values())


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "way",
    [
        Way.DIRECT,
        *(pytest.param(each, marks=pytest.mark.long) for each in (Way.LISTED, Way.SHARED)),
    ],
    ids=id_of,
)
def test_registers_of_a_shared_device(
    start_guest: StartGuest, log_folder: Path, namespace: Namespace, way: Way
) -> None:
    attacked = Attacked(start_guest, log_folder, namespace, way)
    attacked.ask_in_quiet()
    attacked.attack("device", "accesses")
    attacked.attack("resets", "resets")
    assert attacked.system.count(r"net\| backend: lan-rogue: its driver is not served") <= REPORTS
    before = attacked.system.ports()["lan-rogue"].doorbells
    attacked.attack("doorbells", "doorbells")
    rung = attacked.system.ports()["lan-rogue"].doorbells - before
    print(f"{DOORBELLS} doorbells: the back-end was interrupted {rung} times")
    assert rung < DOORBELLS / 2
    # The hypervisor emulates only aligned loads and stores of one register.
    start = attacked.registers.start
    for attack in ("unaligned", "pair", "exclusive", "zero", "execute"):
        at = start + (attack == "unaligned")
        attacked.order(f"{attack} {at:#x}")
        attacked.says(r"bulkhead\| rogue is ")
        attacked.guest.type_text(_RESTART)
        attacked.says(r"rogue\| rogue: listens")
    ping(namespace, HONEST, 1)
    console = attacked.guest.console()
    assert not re.search(r"(?m)^bulkhead\| (net|demo) ", console)
    assert not re.search(r"(?m)^demo\| (panic|net: link down)", console)
