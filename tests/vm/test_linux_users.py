# SPDX-License-Identifier: BSD-2-Clause
"""Users without rights use channels of Linux: as members of udev's group, or by lent files.

Debian's udev reads our rules. A user's access beside the channel raises SIGBUS in the process.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.written_system import StartGuest, boot, reports

from bulkhead.paths import ROOT
from bulkhead.peers import linux_channels, linux_guest

_RULES = ROOT / "channel/linux/60-bulkhead-channel.rules"
_MAP_PAGE = ROOT / "tests/vm/linux_channel/map_page.c"
_SYSTEM = """
board = "qemu-virt"

[[partition]]
name = "kernel"
cores = [{kernel_core}]
memory = "16 MiB"
image = "channel-echo"
{kernel_key}

[[partition]]
name = "linux"
cores = {cores}
memory = "256 MiB"
image = "{kernel}"
initrd = "{initrd}"
arguments = "run=/bin/use"
{key}

[[channel]]
name = "commands"
from = "kernel"
to = "linux"
size = "64 KiB"
{way} = ["linux"]
{common}
"""
_SCRIPT = """
dmesg -n 1
cat > /etc/passwd <<END
root:x:0:0::/:/bin/sh
member:x:1000:1000::/:/bin/sh
stranger:x:1001:1001::/:/bin/sh
END
cat > /etc/group <<END
root:x:0:
bulkhead-channel:x:900:member
END
systemd-udevd --daemon
udevadm trigger --action=add
udevadm settle
su stranger -c "bulkhead-channel stat commands"
echo "script: stranger ended with $?"
su member -c "bulkhead-channel bench commands -n 1000 -s 8 -t 60" && echo "script: measured"
su member -c "bulkhead-channel call commands -t 60 hello" && echo "script: member called"
bulkhead-channel lend commands -- su stranger -c \
    "bulkhead-channel call commands -t 60 lent" && echo "script: stranger called"
{accesses}
su member -c "bulkhead-channel call commands -t 60 again" && echo "script: member called again"
echo "script: the end"
sleep 2
"""
_ACCESSES = {
    "pci": """
cd /sys/bus/pci/devices/0000:00:00.0
su member -c "map_page resource2_wc 0 store"; echo "script: store ended with $?"
su member -c "map_page resource2_wc 4096 store"; echo "script: common ended with $?"
cd /
""",
    "dax": """
last=$(($(cat /sys/bus/dax/devices/dax0.0/size) - 4096))
su member -c "map_page /dev/dax0.0 0 store"; echo "script: store ended with $?"
su member -c "map_page /dev/dax0.0 4096 store"; echo "script: common ended with $?"
su member -c "map_page /dev/dax0.0 $last load"; echo "script: load beyond ended with $?"
su member -c "map_page /dev/dax0.0 $last store"; echo "script: store beyond ended with $?"
""",
}
_FAULTS = {"pci": 1, "dax": 3}
_COMMON = 'common = "8 KiB"'
_BOOT_S = 300


def budget(text: str) -> str:
    """Return the keys of a partition that shares its core."""
    return f'budget = "{text}"\nperiod = "20 ms"'


# Packages may have to be fetched.
@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("way", "cores", "keys", "common"),
    [
        ("pci", (0, "[1, 2]"), ("", ""), ""),
        ("pci", (0, "[1, 2]"), ("", 'interrupts = "listed"'), _COMMON),
        ("pci", (1, "[1]"), (budget("4 ms"), budget("15 ms")), ""),
        ("dax", (0, "[1, 2]"), ("", ""), _COMMON),
    ],
    ids=["pci", "pci-listed", "pci-shared", "dax"],
)
def test_users_without_rights(
    start_guest: StartGuest,
    tmp_path: Path,
    way: str,
    cores: tuple[int, str],
    keys: tuple[str, str],
    common: str,
) -> None:
    """`cores`, `keys`: of the kernel, and of Linux. With a common section, users can write it, as
    Jailhouse's demo does. Without one, the section of the kernel is at its place."""
    image = linux_guest.with_udev(linux_channels.prepare_command(way), _RULES)
    image = linux_guest.with_program(image, "map_page", [_MAP_PAGE], [])
    image = linux_guest.with_script(image, "use", _SCRIPT.format(accesses=_ACCESSES[way]))
    text = _SYSTEM.format(
        initrd=image.initrd,
        kernel=image.kernel,
        way=way,
        kernel_core=cores[0],
        cores=cores[1],
        kernel_key=keys[0],
        key=keys[1],
        common=common,
    )
    guest, layout = boot(start_guest, tmp_path, text)
    guest.wait_for_match(r"(?m)^linux\| script: the end", _BOOT_S)
    console = guest.console()
    for line in (
        "bulkhead-channel: configuration space of 0000:00:00.0 can't be opened: Permission denied: "
        "it is for root, and for a group (see 60-bulkhead-channel.rules)",
        "script: stranger ended with 2",
        "script: measured",
        "hello",
        "script: member called",
        "lent",
        "script: stranger called",
        "script: store ended with 135",  # 128 and SIGBUS
        "again",
        "script: member called again",
    ):
        assert f"linux| {line}" in console
    assert f"linux| script: common ended with {0 if common else 135}" in console
    if way == "dax":
        assert "linux| script: load beyond ended with 135" in console
        assert "linux| script: store beyond ended with 135" in console
    assert " is stopped" not in console
    linux = [each.exits["fault"] for each in reports(guest, layout) if each.partition == 1]
    assert sum(linux) == _FAULTS[way] + (0 if common else 1)
