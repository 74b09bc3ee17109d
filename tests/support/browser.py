# SPDX-License-Identifier: BSD-2-Clause
"""Load pages in headless Chromium.

Chromium reads commands from file descriptor 3 and writes answers and events to descriptor 4
(--remote-debugging-pipe). Each is a JSON text, and a zero byte ends it. The commands and events are
those of https://chromedevtools.github.io/devtools-protocol/.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from bulkhead.running.guest import die_with_parent
from bulkhead.setup.packages import program

_PATIENCE_S = 60.0
_COMMANDS, _ANSWERS = 3, 4  # file descriptors of Chromium
_FIRST_FREE = 10  # above the descriptors of Chromium
_OPTIONS = (
    "--headless",
    "--remote-debugging-pipe",
    "--disable-dev-shm-usage",  # containers have a small /dev/shm
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-proxy-server",
)


class BrowserError(Exception):
    """Chromium has ended, refused a command, or a page did not do what the test waited for."""


class Message(NamedTuple):
    """A message in the console of the page: of a script, or of the browser."""

    kind: str  # "error", "warning", "info", ...
    text: str
    url: str  # of the resource that failed to load, or of the script


class Browser:
    """A Chromium with one page; a context manager. The files of its profile are temporary."""

    def __init__(self, log: Path, width: int = 1280, height: int = 900) -> None:
        self._log = log
        self._size = (width, height)
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._results: dict[int, dict[str, Any]] = {}
        self._has_ended = False
        self._process: subprocess.Popen[bytes] | None = None
        self._session = ""  # of the page
        self._requests: dict[str, str] = {}  # URLs by the identifiers of unfinished requests
        self._messages: list[Message] = []
        self._most_requests: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._profile = tempfile.mkdtemp(prefix="bulkhead-")
        try:
            self._start()
            self._attach()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(BrowserError):
            self._call_browser("Browser.close")
        self._end()

    def _start(self) -> None:
        name = program("chromium")
        assert name is not None
        # Chromium's sandbox does not work for root.
        options = [*_OPTIONS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        (commands, self._writer), (self._reader, answers) = _high_pipe(), _high_pipe()
        prepare = die_with_parent()

        def connect() -> None:
            os.dup2(commands, _COMMANDS)
            os.dup2(answers, _ANSWERS)
            prepare()

        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [name, *options, f"--user-data-dir={self._profile}", "about:blank"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # All other descriptors of Python are closed by exec().
                close_fds=False,
                preexec_fn=connect,
                start_new_session=True,
            )
        os.close(commands)
        os.close(answers)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _end(self) -> None:
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(10)
            with contextlib.suppress(ProcessLookupError):  # the group of all its processes
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._listener.join()
            os.close(self._writer)
            os.close(self._reader)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _attach(self) -> None:
        """Choose the page that Chromium has opened, and ask for its events."""
        targets = self._call_browser("Target.getTargets")["targetInfos"]
        page = next(each["targetId"] for each in targets if each["type"] == "page")
        attached = self._call_browser("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self.resize(*self._size)

    def _listen(self) -> None:
        """Read answers and events until Chromium ends."""
        rest = b""
        while part := os.read(self._reader, 1 << 20):
            *texts, rest = (rest + part).split(b"\0")
            for text in texts:
                self._take(json.loads(text))
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _take(self, message: dict[str, Any]) -> None:
        with self._changed:
            if "id" in message:
                self._results[message["id"]] = message
                self._changed.notify_all()
            elif message.get("sessionId") == self._session:
                self._take_event(message["method"], message["params"])

    def _take_event(self, method: str, event: dict[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                url = event["request"]["url"]
                self._requests[event["requestId"]] = url
                unfinished = list(self._requests.values()).count(url)
                self._most_requests[url] = max(self._most_requests.get(url, 0), unfinished)
            case "Network.loadingFinished" | "Network.loadingFailed":
                self._requests.pop(event["requestId"], None)
            case "Runtime.consoleAPICalled":
                words = [str(each.get("value", each.get("description"))) for each in event["args"]]
                self._messages.append(Message(event["type"], " ".join(words), ""))
            case "Runtime.exceptionThrown":
                details = event["exceptionDetails"]
                text = details.get("exception", {}).get("description", details["text"])
                self._messages.append(Message("error", text, details.get("url", "")))
            case "Log.entryAdded":
                entry = event["entry"]
                if entry["level"] != "verbose":  # the console does not show these by default
                    message = Message(entry["level"], entry["text"], entry.get("url", ""))
                    self._messages.append(message)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command to the page. Returns its result."""
        return self._exchange({"method": method, "params": parameters, "sessionId": self._session})

    def _call_browser(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command to the browser itself. Returns its result."""
        return self._exchange({"method": method, "params": parameters})

    def _exchange(self, command: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        data = memoryview(json.dumps({**command, "id": number}).encode() + b"\0")
        try:
            while data:
                data = data[os.write(self._writer, data) :]
        except BrokenPipeError:
            raise BrowserError(f"Chromium has ended: see {self._log}") from None
        with self._changed:
            self._changed.wait_for(
                lambda: number in self._results or self._has_ended, timeout=_PATIENCE_S
            )
            answer = self._results.pop(number, None)
        if answer is None:
            raise BrowserError(f"no answer to {command['method']}: see {self._log}")
        if "error" in answer:
            raise BrowserError(f"{command['method']}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def open(self, url: str) -> None:
        """Load a page. Does not wait until it is loaded."""
        result = self._call("Page.navigate", url=url)
        if "errorText" in result:
            raise BrowserError(f"{url}: {result['errorText']}")

    def value(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript, or of the promise that it is."""
        result = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def call(self, function: str, *arguments: Any) -> Any:
        """Return what a function of JavaScript returns for some arguments."""
        return self.value(f"({function})({', '.join(map(json.dumps, arguments))})")

    def text(self, selector: str) -> str:
        """Return the text of the first element that a selector of CSS names."""
        return str(self.call("selector => document.querySelector(selector).textContent", selector))

    def wait_for(self, expression: str, seconds: float = _PATIENCE_S) -> Any:
        """Wait until an expression of JavaScript has a true value, and return that."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                if value := self.value(expression):
                    return value
                seen = f"is {value!r}"
            except BrowserError as error:  # such as one of a page that is being loaded
                seen = str(error)
            if time.monotonic() > deadline or self._has_ended:
                raise BrowserError(f"{expression} after {seconds:g} s: {seen}")
            time.sleep(0.05)

    def wait_for_text(self, selector: str, pattern: str, seconds: float = _PATIENCE_S) -> str:
        """Wait until the text of an element matches a regular expression of JavaScript."""
        text = f"document.querySelector({json.dumps(selector)})?.textContent"
        test = f"(text => text !== undefined && RegExp({json.dumps(pattern)}).test(text) && [text])"
        return str(self.wait_for(f"{test}({text})", seconds)[0])

    def resize(self, width: int, height: int = 900) -> None:
        """Give the window another size, in pixels."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def prefer(self, scheme: str) -> None:
        """Prefer a colour scheme: "light" or "dark"."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._call("Emulation.setEmulatedMedia", features=[feature])

    def picture(self, path: Path) -> None:
        """Write a picture of the whole page, as PNG."""
        width, height = self.value(
            "[innerWidth, Math.max(innerHeight, document.documentElement.scrollHeight)]"
        )
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        result = self._call(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip
        )
        path.write_bytes(base64.b64decode(result["data"]))

    def most_requests(self, url: str) -> int:
        """Return the largest number of requests for a URL that were unfinished at a time."""
        with self._changed:
            return self._most_requests.get(url, 0)

    def take_messages(self) -> list[Message]:
        """Return the messages in the console since the last call."""
        with self._changed:
            messages, self._messages = self._messages, []
        return messages


def _high_pipe() -> tuple[int, int]:
    """Return the two ends of a pipe, whose descriptors are not among those of Chromium."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE) for end in ends]
    for end in ends:
        os.close(end)
    return high[0], high[1]
