# SPDX-License-Identifier: BSD-2-Clause
"""Speak QEMU's machine protocol."""

import json
import socket
from typing import Any


class QmpError(Exception):
    """QEMU refused a command, or the connection broke."""


class QmpClient:
    """A connection. Each command is answered before the next; events are dropped."""

    def __init__(self, connection: socket.socket, timeout: float = 10.0) -> None:
        self._socket = connection
        self._socket.settimeout(timeout)
        self._lines = self._socket.makefile("r", encoding="utf-8")
        self._receive("QMP")
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: object) -> Any:
        """Run a command. Returns its result; raises QmpError."""
        message: dict[str, object] = {"execute": command}
        if arguments:
            message["arguments"] = {
                name.replace("_", "-"): value for name, value in arguments.items()
            }
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise QmpError(f"QEMU does not accept {command}: {error}") from None
        return self._receive("return")

    def close(self) -> None:
        """End the connection, so that others can connect."""
        self._lines.close()
        self._socket.close()

    def set_link(self, name: str, up: bool) -> None:
        """Plug in or unplug the cable of a network card."""
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
