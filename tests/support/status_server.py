# SPDX-License-Identifier: BSD-2-Clause
"""Serve the status page with answers that a test chooses."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from bulkhead.paths import ROOT, TESTS

_PAGE = ROOT / "apps" / "demo" / "status.html"
_SAMPLE = TESTS / "pages" / "status.json"


def sample(seconds: float) -> dict[str, Any]:
    """Return an answer of the demo, `seconds` after the recorded one."""
    status: dict[str, Any] = json.loads(_SAMPLE.read_text())
    status["uptime_ns"] += int(seconds * 1e9)
    driver = status["network"]["driver"]
    driver["rx_bytes"] += int(seconds * 5e6)
    driver["tx_bytes"] += int(seconds * 2e6)
    status["scheduler"]["idle_ns"] += int(seconds * 6e8)
    for vcpu in status["vcpus"]:
        vcpu["age_ns"] += int(seconds * 1e9)
        vcpu["received_ns"] += int(seconds * 5e7)
    return status


class StatusServer:
    """The server; a context manager. It may stop, and start again at the same port."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._server: ThreadingHTTPServer | None = None
        self._began = time.monotonic()
        self.delay_s = 0.0
        self.answer: Callable[[], bytes] = self.usual
        self.paths: list[str] = []  # of all requests

    @property
    def url(self) -> str:
        """The address of the page, without a slash at its end."""
        return f"http://127.0.0.1:{self._port}"

    def usual(self) -> bytes:
        """Return counters that grow with time."""
        return json.dumps(sample(time.monotonic() - self._began)).encode()

    def restart_counters(self) -> None:
        """Begin again with the first answer, as a guest does."""
        self._began = time.monotonic()

    def start(self) -> Self:
        """Accept requests."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.paths.append(self.path)
                if self.path == "/":
                    self.reply("text/html; charset=utf-8", _PAGE.read_bytes())
                elif self.path == "/status.json":
                    time.sleep(outer.delay_s)
                    self.reply("application/json", outer.answer())
                else:
                    self.send_error(404)

            def reply(self, kind: str, content: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_arguments: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_arguments: Any) -> None:
                pass  # the browser has given up

        self._server = Server(("127.0.0.1", self._port), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def stop(self) -> None:
        """Refuse connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
