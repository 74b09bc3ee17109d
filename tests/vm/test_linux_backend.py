# SPDX-License-Identifier: BSD-2-Clause
"""A process of Linux serves network devices of our kernel and of a Linux, and is killed meanwhile.

Linux owns the card, and connects it with the clients by a bridge and a tap interface. For DAX on
Debian 12, its kernel is fetched from Debian 13.
"""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from scapy.layers.inet import TCP
from support.demo_client import ECHO, HTTP, IPERF, DemoClient
from support.echo_stream import EchoStream
from support.seen_back_end import SeenBackEnd
from support.written_system import StartGuest

from bulkhead.peers import linux_backend, linux_guest
from bulkhead.running import machine_memory
from bulkhead.running.attach import facts_of
from bulkhead.running.guest import GuestProcess
from bulkhead.running.ports import free_ports
from bulkhead.running.qemu import Forward, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine

_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "net"
cores = [0, 1]
memory = "256 MiB"
image = "{kernel}"
initrd = "{backend}"
arguments = "serve=/bin/backend address=10.0.2.17 gateway=10.0.2.2 shell"
pci = ["00:02.0"]
dma = "smmu"
console = "interactive"

[[partition]]
name = "control"
cores = [2]
memory = "16 MiB"
image = "demo"
arguments = "ip=10.0.2.15/24,10.0.2.2"

[[partition]]
name = "linux"
cores = [3]
memory = "256 MiB"
image = "linux"
initrd = "{client}"
arguments = "address=10.0.2.16 gateway=10.0.2.2 serve=/bin/use"

[[shared_device]]
name = "lan-control"
kind = "net"
client = "control"
backend = "net"
{access}
dax = true

[[shared_device]]
name = "lan-linux"
kind = "net"
client = "linux"
backend = "net"
access = "all"
dax = true
"""
_USE = """
until ping -c 1 -W 1 10.0.2.15 > /dev/null; do sleep 0.2; done
ping -c 3 10.0.2.15 | grep transmitted | sed 's/^/client: /'
wget -q -O /tmp/page http://10.0.2.15/status.json && echo "client: page"
iperf -c 10.0.2.15 -t 1 -f k | grep sec | sed 's/^/client: /'
iperf -c 10.0.2.17 -t 1 -f k -r -L 5002 | grep sec | sed 's/^/client: net: /'
echo "client: the end"
# Resets its device while no process serves it: 5 s without an answer.
while ping -c 5 -W 1 10.0.2.15 > /dev/null; do sleep 0.5; done
echo "client: reboots"
reboot -f
"""
_BOOT_S, _PATIENCE_S = 300, 120
# The process writes its counters within 10 ms. Our driver naps in place of interrupts until 4 ms
# after the last frame of an answer of more than 8 KiB, such as a page. The host may be slow.
_SETTLE_S = 1.0


def _boot(
    start_guest: StartGuest, folder: Path, access: str
) -> tuple[GuestProcess, dict[int, int], SeenBackEnd]:
    backend = linux_backend.prepare()
    client = linux_guest.with_script(linux_guest.prepare(), "use", _USE)
    file = folder / "system.toml"
    file.write_text(
        _SYSTEM.format(
            kernel=backend.kernel, backend=backend.initrd, client=client.initrd, access=access
        )
    )
    system, board = read(str(file))
    assembled = assemble(system, board, Settings())
    ports = dict(zip((ECHO, HTTP, IPERF), free_ports(3), strict=True))
    network = UserNetwork([Forward(inside, outside) for inside, outside in ports.items()])
    memory = folder / "memory"
    options = machine_memory.options(memory, board.memory_bytes)
    running = replace(facts_of(assembled.layout), memory=str(memory), memory_start=board.memory)
    guest = start_guest(machine(system, board, assembled.image, lambda _: network, options))
    return guest, ports, SeenBackEnd(running, 0, folder)


def _check_problems(guest: GuestProcess) -> None:
    """Each problem is one line, and the status is 2. The process that serves goes on."""
    for options, line in (
        ("--tap tap1", r"lan-\w+: another process serves it"),
        ("--tap tap1 --client none", "this partition serves no network device 'none'"),
        ("--client lan-linux", "write --tap and the name of an interface"),
        ("--tap", "an unknown option, or one without its value: see --help"),
    ):
        guest.type_text(f"bulkhead-backend {options}; echo status $?\r")
        guest.wait_for_next_match(rf"(?m)^net\| .*bulkhead-backend: {line}", _PATIENCE_S)
        guest.wait_for_next_match(r"(?m)^net\| .*status 2", _PATIENCE_S)


def _check_seen(seen: SeenBackEnd, client: DemoClient) -> None:
    """Read counters and a mirror of the process, as of the back-end of our kernel."""
    time.sleep(_SETTLE_S)
    before = seen.ports()
    assert (before["lan-control"].client, before["lan-control"].link) == ("control", "up")
    assert before["lan-linux"].starts > 0
    assert before[""].link == "up"

    def ask() -> None:
        assert client.get("/")[0] == 200

    packets = seen.captured("control", ask)
    assert any(HTTP in (each.sport, each.dport) for each in packets if TCP in each)
    time.sleep(_SETTLE_S)
    after = seen.ports()
    assert after["lan-control"].sent.frames > before["lan-control"].sent.frames
    assert after["lan-control"].sent.bytes > before["lan-control"].sent.bytes
    assert after["lan-control"].interrupts > before["lan-control"].interrupts


def _reboot_client_without_process(guest: GuestProcess) -> None:
    """Restart a client while no process serves its device: nothing waits for a killed one."""
    guest.type_text("killall -9 backend bulkhead-backend\r")
    guest.wait_for_next_match(r"(?m)^linux\| client: reboots", _PATIENCE_S)
    guest.wait_for_next_match(r"(?m)^bulkhead\| linux restarts", _PATIENCE_S)
    guest.type_text("bulkhead-backend --tap tap0 &\r")
    guest.wait_for_next_match(r"(?m)^linux\| .*client: the end", _BOOT_S)


# Kernels may have to be fetched.
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("access", "kills", "reboots"),
    [
        pytest.param('pool = "4 MiB"', 2, False, id="twice"),
        pytest.param('access = "all"', 5, True, id="and-a-client-reboots", marks=pytest.mark.long),
    ],
)
def test_clients_survive_the_death_of_the_process(
    start_guest: StartGuest, tmp_path: Path, access: str, kills: int, reboots: bool
) -> None:
    """The process may access a pool of our kernel's memory or all of it, and all of Linux' memory.

    A client may also reboot while no process serves it.

    More than 10 s: two Linux boot, and the process is killed under traffic.
    """
    guest, ports, seen = _boot(start_guest, tmp_path, access)
    guest.wait_for_match(r"(?m)^net\| .*bulkhead-backend: link up", _BOOT_S)
    guest.wait_for_match(r"(?m)^linux\| .*client: the end", _BOOT_S)
    console = guest.console()
    assert "3 packets transmitted, 3 packets received" in console
    assert "client: page" in console
    assert len(re.findall(r"client: \[.*bits/sec", console)) == 1
    assert len(re.findall(r"client: net: \[.*bits/sec", console)) == 2
    client = DemoClient(ports=ports)
    assert client.get("/")[0] == 200
    _check_seen(seen, client)
    _check_problems(guest)
    links = guest.console().count("control| net: link")
    stream = EchoStream(client)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(stream.run)
        try:
            for _ in range(kills):
                stream.wait_for_more()
                guest.type_text("killall -9 bulkhead-backend\r")
                guest.wait_for_next_match(r"(?m)^net\| .*backend: ended with 137", _PATIENCE_S)
                guest.wait_for_next_match(r"(?m)^net\| .*bulkhead-backend: link up", _PATIENCE_S)
            stream.wait_for_more()
        finally:
            stream.stop()
        running.result(_BOOT_S)
    assert client.get("/")[0] == 200
    _check_seen(seen, client)  # those of the last process
    assert guest.console().count("control| net: link") == links  # a pause, and nothing else
    if reboots:
        _reboot_client_without_process(guest)
    assert "Oops" not in guest.console()
