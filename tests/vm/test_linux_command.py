# SPDX-License-Identifier: BSD-2-Clause
"""The command and the Python package in Linux, with a kernel at the other end of the channel.

Measurements, messages, values, one-way channels, calls, counters and errors. Linux restarts in the
middle of a transfer. A second process is refused at a used end, also in another network namespace.
Doorbells wake ends without connections. The memory is a BAR or comes by DAX, which Linux' page
tables map uncached or cached. For DAX on Debian 12, the kernel is fetched from Debian 13.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.witness import read_memory
from support.written_system import StartGuest, boot, reports

from bulkhead.peers import linux_channels, linux_guest
from bulkhead.running.guest import GuestProcess
from bulkhead.system.board import PAGE_BYTES
from bulkhead.system.layout import Layout, section_bytes
from bulkhead.system.ranges import Range

_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "kernel"
cores = [0]
memory = "16 MiB"
image = "channel-echo"

[[partition]]
name = "linux"
cores = [1, 2]
memory = "256 MiB"
console = "interactive"
image = "{kernel}"
initrd = "{initrd}"
arguments = "run=/bin/use"

[[partition]]
name = "third"
cores = [3]
memory = "16 MiB"
image = "boot"

[[channel]]
name = "log"
from = "third"
to = "linux"
size = "4 KiB"
one_way = true
{way} = ["linux"]

[[channel]]
name = "commands"
from = "kernel"
to = "linux"
size = "64 KiB"
{way} = ["linux"]
"""
# A life for each line: the kernel connects with each, and drops what is no measurement. Linux'
# own messages would stand in the middle of others.
_SCRIPT = """
dmesg -n 1
bulkhead-channel send commands early
echo 110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id
bulkhead-channel send none word
bulkhead-channel stat log
{without_memory}
bulkhead-channel bench commands -n {messages} -s 8 -t 60 && echo "script: bench 8 done"
bulkhead-channel bench 0000:00:01.0 -n 500 -s 16000 -t 60 && echo "script: bench 16000 done"
bulkhead-channel send commands -t 60 one two three && echo "script: sent"
seq 20000 | bulkhead-channel send commands -t 60 && echo "script: sent lines"
bulkhead-channel receive commands -t 1 -n 1; echo "script: receive ended with $?"
bulkhead-channel call commands -t 60 hello && echo "script: called"
seq 5000 > /asked
bulkhead-channel call commands -t 60 < /asked | cmp - /asked && echo "script: called 5000 times"
bulkhead-channel stat commands
bulkhead-channel receive commands -t 600 &
sleep 3
bulkhead-channel send commands word; echo "script: second process ended with $?"
unshare -n -m sh -c "mount -t sysfs sysfs /sys && bulkhead-channel send commands word"
echo "script: process in another network namespace ended with $?"
echo "script: the end"
wait
"""
# Takes the memory from Linux' driver and gives it back.
_WITHOUT_DAX = """
cd /sys/bus/nd/drivers/dax_pmem
device=$(ls -d dax*)
echo $device > unbind
bulkhead-channel send commands word
echo $device > bind
cd /
"""
_KINDS = """
board = "qemu-virt"

[[partition]]
name = "kernel"
cores = [0]
memory = "16 MiB"
image = "channel-kinds"
arguments = "{arguments}"

[[partition]]
name = "linux"
cores = [1, 2]
memory = "512 MiB"
image = "linux"
initrd = "{initrd}"
arguments = "run=/bin/use-kinds"

[[channel]]
name = "position"
from = "kernel"
to = "linux"
size = "4 KiB"
kind = "value"
pci = ["linux"]

[[channel]]
name = "log"
from = "kernel"
to = "linux"
size = "4 KiB"
one_way = true
pci = ["linux"]

[[channel]]
name = "report"
from = "linux"
to = "kernel"
size = "4 KiB"
one_way = true
pci = ["linux"]
"""
_KINDS_SCRIPT = """
echo 110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id
echo "script: values"
bulkhead-channel receive position -t 60 -n 3
echo "script: messages"
bulkhead-channel receive log -t 60 -n 3
echo "script: other direction"
bulkhead-channel send position earlier newest
bulkhead-channel send report one two
bulkhead-channel send log word
bulkhead-channel receive report
bulkhead-channel bench position
bulkhead-channel stat position
bulkhead-channel stat log
cat > /tmp/use.py <<END
from bulkhead_channel import Channel, OneWayReceiver, OneWaySender, ValueChannel
for kind in (Channel, OneWaySender, OneWayReceiver):
    try:
        kind("position")
    except OSError as error:
        print("python:", error)
try:
    OneWaySender("log")
except OSError as error:
    print("python:", error)
with ValueChannel("position") as position, OneWayReceiver("log") as log:
    print("python: value", position.wait(60).decode(), position.wait(60).decode())
    messages = [log.receive(60) for _ in range(200)]
    numbers = [message.tag for message in messages]
    first = numbers[0]
    print("python: in order", sorted(numbers) == numbers, numbers[-1] - first + 1 - log.missed)
    print("python: content", messages[0].content == b"number %d" % first)
    position.write(b"from Python")
with OneWaySender("report") as report:
    report.send(b"Python too")
END
python3 /tmp/use.py
echo "script: the end"
sleep 2
"""
# The kernel sends again when something has come.
_DOORBELLS_SCRIPT = """
echo 110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id
bulkhead-channel receive log -n 2 > /received &
until ls -l /proc/$!/fd | grep -q uio; do sleep 1; done
bulkhead-channel send report one
until grep -q "number 2" /received; do sleep 1; done
bulkhead-channel send position newest
wait
cat /received
echo "script: the end"
"""
_TRANSFER_SCRIPT = """
dmesg -n 1
echo 110a 4106 > /sys/bus/pci/drivers/uio_pci_generic/new_id
bulkhead-channel send commands -t 60 one && echo "script: sent"
bulkhead-channel bench commands -n 1000000000000 -t 600 &
sleep 1
echo "script: in a transfer"
wait
"""
_BOOT_S, _PATIENCE_S = 300, 120
_RESTART = "\x1er"  # Ctrl-^ r
# Descriptors of stage 1 (Arm ARM, D8.3.1): a page, with access from EL0; AttrIndx. The numbers are
# Linux' (arch/arm64/include/asm/memory.h).
_ADDRESS, _PAGE, _EL0, _INDEX_SHIFT = 0x0000_FFFF_FFFF_F000, 3, 1 << 6, 2
_PART_BYTES = 8 << 20  # QEMU does not answer while it saves memory
_INDEX = {"pci": 2, "dax": 0}  # MT_NORMAL_NC, MT_NORMAL


def counters(console: str) -> dict[str, list[int]]:
    """Return the last table of `stat`: the counters of both ends by name."""
    rows = re.findall(r"(?m)^linux\| ([a-z ]{16}) +(\d+) +(\d+)\s*$", console)
    return {name.strip(): [int(first), int(second)] for name, first, second in rows}


def attributes(guest: GuestProcess, layout: Layout) -> Iterator[int]:
    """Yield AttrIndx of each process's page that maps the control page of Linux' section."""
    place = layout.places[1]
    end = place.channels[1]
    address = end.region.start + PAGE_BYTES + end.number * section_bytes(end.place.channel)
    for start in range(place.physical, place.physical + place.memory.bytes, _PART_BYTES):
        memory = read_memory(guest.qmp(), Range(start, _PART_BYTES))
        for found in re.finditer(re.escape((address >> 16).to_bytes(4, "little")), memory):
            at = found.start() - 2
            entry = int.from_bytes(memory[at : at + 8], "little")
            is_page = entry & _PAGE == _PAGE and entry & _EL0 and entry & _ADDRESS == address
            if at % 8 == 0 and is_page:
                yield entry >> _INDEX_SHIFT & 7


# Kernels may have to be fetched.
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("way", "messages"),
    [
        pytest.param("pci", 20_000, id="pci"),
        pytest.param("pci", 100_000, id="pci-more", marks=pytest.mark.long),
        pytest.param("dax", 100_000, id="dax", marks=pytest.mark.long),
    ],
)
def test_linux_and_a_kernel(
    start_guest: StartGuest, tmp_path: Path, way: str, messages: int
) -> None:
    """More than 10 s: Linux boots, and runs the command in many ways."""
    image = linux_channels.prepare_command(way)
    without_memory = _WITHOUT_DAX if way == "dax" else ""
    script = _SCRIPT.format(without_memory=without_memory, messages=messages)
    image = linux_guest.with_script(image, "use", script)
    text = _SYSTEM.format(initrd=image.initrd, kernel=image.kernel, way=way)
    guest, layout = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^linux\| script: the end", _BOOT_S)
    console = guest.console()
    for line in (
        "bulkhead-channel: 0000:00:01.0 is not bound to uio_pci_generic: ",
        "bulkhead-channel: there is no PCI function or channel 'none'",
        "ring of 4096 bytes from end 0 to end 1",
        f"throughput: {messages} messages of 8 bytes in ",
        "script: bench 8 done",
        "throughput: 500 messages of 16000 bytes in ",
        "script: bench 16000 done",
        "script: sent",
        "script: sent lines",
        "hello",
        "script: called",
        "script: called 5000 times",
        "script: receive ended with 1",
        "script: second process ended with 2",
        "script: process in another network namespace ended with 2",
    ):
        assert f"linux| {line}" in console
    refused = "linux| bulkhead-channel: another process uses end 1 of commands: end it first"
    assert console.count(refused) == 2
    missing = "bulkhead-channel: 0000:00:01.0 has no BAR 2, and no /dev/dax* has its memory: "
    assert console.count(f"linux| {missing}") == (way == "dax")
    found = counters(console)
    round_trips = 10_000
    calls = 1 + 5000
    answered = 2 * round_trips + 2 + calls
    sent = messages + 500 + 2 * round_trips + 3 + 20_000 + calls
    assert found["messages sent"] == [answered, sent]
    # All that Linux sent before its last life ended has been received.
    assert found["received"] == [sent, answered]
    assert found["errors"] == [0, 0]
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))
    assert set(attributes(guest, layout)) == {_INDEX[way]}
    if way == "dax":  # the info block is there again
        guest.type_text(_RESTART)
        guest.wait_for_match(r"(?s)script: the end.*script: bench 8 done", _BOOT_S)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_linux_restarts_in_a_transfer(start_guest: StartGuest, tmp_path: Path) -> None:
    """More than 10 s: Linux boots twice."""
    image = linux_guest.with_script(linux_channels.prepare_command("pci"), "use", _TRANSFER_SCRIPT)
    text = _SYSTEM.format(initrd=image.initrd, kernel=image.kernel, way="pci")
    guest, layout = boot(start_guest, tmp_path, text)
    for _ in range(2):
        guest.wait_for_next_match(r"(?m)^linux\| script: sent", _BOOT_S)
        guest.wait_for_next_match(r"(?m)^linux\| script: in a transfer", _PATIENCE_S)
        guest.type_text(_RESTART)
    guest.wait_for_next_match(r"(?m)^linux\| script: sent", _BOOT_S)
    # The kernel found no error, and was ready for the next life at once.
    assert re.findall(r"(?m)^kernel\| channel-echo: (.*)$", guest.console()) == [
        "waits for the other end"
    ]
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))


@pytest.mark.timeout(900)
def test_values_and_one_way_channels(start_guest: StartGuest, tmp_path: Path) -> None:
    """More than 10 s: Linux boots."""
    image = linux_guest.with_script(linux_channels.prepare(), "use-kinds", _KINDS_SCRIPT)
    guest, layout = boot(start_guest, tmp_path, _KINDS.format(initrd=image.initrd, arguments=""))
    guest.wait_for_match(r"(?m)^linux\| script: the end", _BOOT_S)
    guest.wait_for_match(r"(?m)^kernel\| channel-kinds: message Python too", _PATIENCE_S)
    guest.wait_for_match(r"(?m)^kernel\| channel-kinds: value from Python", _PATIENCE_S)
    console = guest.console()
    lines = [line.removeprefix("linux| ") for line in console.splitlines()]
    values = numbers_after(lines, "script: values")
    assert len(values) == 3
    assert values == sorted(set(values))
    messages = numbers_after(lines, "script: messages")
    assert len(messages) == 3
    assert messages == sorted(set(messages))
    for line in (
        "linux| bulkhead-channel: this is the end of log that receives: it is a one-way channel",
        "linux| bulkhead-channel: this is the end of report that sends: it is a one-way channel",
        "linux| bulkhead-channel: bench is for channels of messages: position is of the kind value",
        "linux| values of up to 1008 bytes each way",
        "linux| ring of 4096 bytes from end 0 to end 1",
        *["linux| python: position is end 1 of a channel of values"] * 3,
        "linux| python: log is end 1 of a channel of messages one way",
        "linux| python: in order True 200",
        "linux| python: content True",
        "kernel| channel-kinds: value newest",
        "kernel| channel-kinds: message one",
        "kernel| channel-kinds: message two",
    ):
        assert line in console
    assert all(each.exits["fault"] == 0 for each in reports(guest, layout))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_doorbells_wake_ends_without_connections(start_guest: StartGuest, tmp_path: Path) -> None:
    """Without a doorbell the kernel would sleep for an hour."""
    image = linux_guest.with_script(linux_channels.prepare(), "use-kinds", _DOORBELLS_SCRIPT)
    text = _KINDS.format(initrd=image.initrd, arguments="period=3600000")
    guest, _ = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^kernel\| channel-kinds: message one", _BOOT_S)
    guest.wait_for_match(r"(?m)^kernel\| channel-kinds: value newest", _PATIENCE_S)
    guest.wait_for_match(r"(?m)^linux\| script: the end", _PATIENCE_S)
    received = re.findall(r"(?m)^linux\| number (\d+)", guest.console())
    assert received == ["2", "3"]


def numbers_after(lines: list[str], title: str) -> list[int]:
    """Return the numbers in the lines "number N" that follow a line."""
    rest = lines[lines.index(title) + 1 :]
    rest = rest[: next(i for i, line in enumerate(rest) if line.startswith("script: "))]
    return [int(line.removeprefix("number ")) for line in rest if line.startswith("number ")]
