# SPDX-License-Identifier: BSD-2-Clause
"""Systems of partitions start on their machine, and the host reaches their networks.

The minimal system and the demo: all partitions start. Several commands are given on the terminal in
a row.
"""

from __future__ import annotations

import http.client
import socket
from pathlib import Path

import pytest
from support.demo_client import ECHO, HTTP, IPERF
from support.demos import StartGuest

from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.ports import free_ports
from bulkhead.running.qemu import Forward, Network, UserNetwork
from bulkhead.settings import Settings
from bulkhead.system.assemble import assemble, read
from bulkhead.system.machine import machine


def start(
    start_guest: StartGuest, name: str, *forwards: tuple[Forward, ...], compiler: str = "gcc"
) -> GuestProcess:
    """Start a system. The forwards of each network are in the order of the functions."""
    system, board = read(name)
    image = assemble(system, board, Settings(), compiler).image

    def network(number: int) -> Network:
        return UserNetwork(forwards[number] if number < len(forwards) else ())

    return start_guest(machine(system, board, image, network))


def test_minimal(start_guest: StartGuest, compiler: str) -> None:
    guest = start(start_guest, "minimal", compiler=compiler)
    guest.wait_for("boot| PASS")
    assert "FAIL" not in guest.console()


def _get_page(client: http.client.HTTPConnection) -> None:
    """Ask for the status page on the connection that is open."""
    client.request("GET", "/")
    answer = client.getresponse()
    assert (answer.status, b"</html>" in answer.read()) == (200, True)


def _restart_under_a_client(guest: GuestProcess, http_port: int) -> None:
    """Restart the network guest. A connection to its HTTP server stays open."""
    client = http.client.HTTPConnection("127.0.0.1", http_port, timeout=60)
    client.connect()
    connected = client.sock
    _get_page(client)
    guest.type_text("\x1d\x1d\x1er")  # the keyboard is for Linux, then control, then net
    guest.wait_for_next_match(r"(?m)^bulkhead\| net restarts", 60)
    _get_page(client)
    assert client.sock is connected
    guest.wait_for_match(r"(?m)^net\| connection: port 80: 1 connections continue", 60)
    client.close()


def test_demo(start_guest: StartGuest) -> None:
    """More than 10 s: the demo shows its statistics each second."""
    echo, http_port, iperf = free_ports(3)
    net = (Forward(ECHO, echo), Forward(HTTP, http_port))
    guest = start(start_guest, "demo", net, (Forward(IPERF, iperf),))
    guest.wait_for_match(r"(?m)^control\| control: \d+ periods", timeout=120)
    guest.wait_for_match(r"(?m)^net\| demo: http on 80", timeout=120)
    guest.wait_for_match(r"(?m)^linux\| .*linux: ready", timeout=120)
    with socket.create_connection(("127.0.0.1", echo), timeout=30) as connection:
        connection.sendall(b"through the SMMU")
        assert connection.recv(100) == b"through the SMMU"
    with socket.create_connection(("127.0.0.1", iperf), timeout=30) as connection:
        connection.sendall(bytes(1 << 20))
    guest.wait_for_match(r"(?m)^linux\| .*0\.0.* sec .*bits/sec", timeout=60)
    _restart_under_a_client(guest, http_port)


@pytest.mark.long
def test_last_typed_command_takes_effect(start_guest: StartGuest, tmp_path: Path) -> None:
    """Type commands also while the partition's other core has not stopped yet.

    More than 10 s: Linux boots three times, and must not for 10 s.
    """
    file = tmp_path / "two.toml"
    file.write_text(
        'board = "qemu-virt"\n[[partition]]\nname = "linux"\ncores = [0, 1]\n'
        'memory = "256 MiB"\nimage = "linux"\narguments = "quiet"\nconsole = "interactive"\n'
    )
    guest = start(start_guest, str(file))
    guest.wait_for("linux: ready", 120)
    for _ in range(2):
        guest.type_text("\x1es\x1er")
        guest.wait_for("linux: ready", 120)
    guest.type_text("\x1er\x1es")
    guest.wait_for("linux is stopped")
    with pytest.raises(GuestError):
        guest.wait_for("linux: ready", 10)


def test_unfinished_line_is_printed_before_the_end(start_guest: StartGuest, tmp_path: Path) -> None:
    file = tmp_path / "ending.toml"
    file.write_text(
        'board = "qemu-virt"\n[[partition]]\nname = "one"\ncores = [0]\nmemory = "16 MiB"\n'
        'image = "exit"\narguments = "unfinished"\n'
    )
    guest = start(start_guest, str(file))
    guest.wait_for("one is off")
    assert guest.console().splitlines()[-2:] == ["one| unfinished", "bulkhead| one is off"]


def test_boot_arguments_of_a_partition_keep_their_commas(
    start_guest: StartGuest, tmp_path: Path
) -> None:
    text = "a:main:1us/1s,net:io:1ms/9ms:b+c-_.+*"
    file = tmp_path / "arguments.toml"
    file.write_text(
        'board = "qemu-virt"\n[[partition]]\nname = "one"\ncores = [0]\nmemory = "16 MiB"\n'
        f'image = "control"\narguments = "period={text}"\n'
    )
    guest = start(start_guest, str(file))
    assert f" period={text}: not a number" in guest.wait_for("boot argument period=")
