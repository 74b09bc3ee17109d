# SPDX-License-Identifier: BSD-2-Clause
"""The distribution's real-time kernel runs cyclictest on cores that it shares with other guests.

Two shared cores, beside a spinning guest and a loop. All cycles are counted, and the kernel reports
no error. Skipped where the packages can't be had.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from support.written_system import StartGuest, boot, reports

from bulkhead.errors import UserError
from bulkhead.peers import linux_guest
from bulkhead.peers.linux_guest import LinuxImage

_CORES = 2
_CYCLES = 500
_TIMEOUT_S = 500
_CYCLICTEST = (
    "/bin/cyclictest", "--quiet", "--mlockall", "--priority=90", "--interval=2000",
    f"--threads={_CORES}", f"--loops={_CYCLES}",
)  # fmt: skip
_KERNEL_ERROR = r"Oops|Call trace|BUG:|WARNING:|rcu: INFO|soft lockup|Kernel panic"
_SYSTEM = f"""
board = "qemu-virt"

[[partition]]
name = "linux"
cores = [0, 1]
budget = "6 ms"
period = "10 ms"
memory = "512 MiB"
image = "./Image"
initrd = "initrd"
arguments = "run={",".join(_CYCLICTEST)}"

[[partition]]
name = "spin"
cores = [0]
budget = "3 ms"
period = "10 ms"
memory = "16 MiB"
image = "share"
arguments = "role=spin begin=0 end=4000000"

[[partition]]
name = "loop"
cores = [1]
budget = "200 us"
period = "1 ms"
memory = "16 MiB"
image = "control"
arguments = "quiet"
"""


@pytest.fixture(scope="module")
def image() -> LinuxImage:
    """Return the kernel with cyclictest."""
    try:
        kernel = linux_guest.prepare_real_time()
        if kernel is None:
            pytest.skip("the distribution has no real-time kernel")
        return linux_guest.with_cyclictest(kernel)
    except UserError as error:
        pytest.skip(str(error))


@pytest.mark.timeout(_TIMEOUT_S + 100)
@pytest.mark.long
def test_cyclictest_counts_all_cycles(
    start_guest: StartGuest, tmp_path: Path, image: LinuxImage
) -> None:
    """More than 10 s: a real-time kernel boots and is measured."""
    shutil.copy(image.kernel, tmp_path / "Image")
    shutil.copy(image.initrd, tmp_path / "initrd")
    guest, layout = boot(start_guest, tmp_path, _SYSTEM)
    guest.wait_for_match(r"(?m)^bulkhead\| linux is", timeout=_TIMEOUT_S)
    found = reports(guest, layout)
    console = guest.console()
    assert "bulkhead| linux is off" in console
    assert re.search(r"(?m)^linux\| .*PREEMPT_RT", console)
    counted = re.findall(r"(?m)^linux\| T: ?\d+ .* C: *(\d+) Min:", console)
    assert len(counted) == _CORES
    assert max(map(int, counted)) == _CYCLES  # the first thread with so many ends all of them
    assert min(map(int, counted)) > 0
    assert not re.search(_KERNEL_ERROR, console)
    used = {layout.system.partitions[each.partition].name: each.used for each in found}
    assert used["spin"] > 0
    assert used["loop"] > 0
