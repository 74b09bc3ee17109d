# SPDX-License-Identifier: BSD-2-Clause
"""A small client for QEMU's machine protocol."""

import json
import socket
from typing import Any


class QmpError(Exception):
    """QEMU refused a command, or the connection broke."""


class QmpClient:
    """One connection; each command is answered before the next, events in between are dropped."""

    def __init__(self, connection: socket.socket, timeout: float = 10.0) -> None:
        self._socket = connection
        self._socket.settimeout(timeout)
        self._lines = self._socket.makefile("r", encoding="utf-8")
        self._receive("QMP")
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: object) -> Any:
        """Run a command; its return value."""
        message: dict[str, object] = {"execute": command}
        if arguments:
            message["arguments"] = {
                name.replace("_", "-"): value for name, value in arguments.items()
            }
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise QmpError(f"QEMU does not take {command}: {error}") from None
        return self._receive("return")

    def set_link(self, name: str, up: bool) -> None:
        """Plug a network cable in or out."""
        self.execute("set_link", name=name, up=up)

    def _receive(self, key: str) -> Any:
        while True:
            try:
                line = self._lines.readline()
            except OSError as error:
                raise QmpError(f"QEMU does not answer: {error}") from None
            if not line:
                raise QmpError("QEMU closed the connection")
            message = json.loads(line)
            if "error" in message:
                raise QmpError(message["error"].get("desc", str(message["error"])))
            if key in message:
                return message[key]
