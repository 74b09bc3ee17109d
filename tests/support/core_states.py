# SPDX-License-Identifier: BSD-2-Clause
"""Say where the cores of a running machine execute, for the report of a test that failed."""

from __future__ import annotations

import re

from bulkhead.running.guest import GuestError, GuestProcess
from bulkhead.running.qmp import QmpError

_CORE = re.compile(
    r"CPU#(?P<core>\d+)\s+PC=(?P<pc>\w+).*?X30=(?P<link>\w+).*?PSTATE=\w+ \S+ (?P<level>\w+)",
    re.DOTALL,
)


def core_states(guest: GuestProcess) -> str:
    """Return a line for each core: its exception level, program counter and link register.

    Returns the empty string if QEMU does not run, or the reason if it does not answer.
    """
    try:
        if guest.process.poll() is not None:
            return ""
        command = {"command-line": "info registers -a"}
        text = guest.qmp().execute("human-monitor-command", **command)
    except (GuestError, QmpError) as error:
        return str(error).partition("\n")[0]
    return "\n".join(
        f"core {each['core']}: {each['level']}, pc 0x{each['pc']}, lr 0x{each['link']}"
        for each in _CORE.finditer(text)
    )
