# SPDX-License-Identifier: BSD-2-Clause
"""Zenoh: the session, and publishers and subscribers of a bridged channel."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import zenoh
from zenoh import handlers

# Zenoh's errors end with the place in its source.
_PLACE = re.compile(r"\s+at \S+:\d+\.?")


class NetworkProblem(Exception):
    """The session can't be opened or a key is invalid; the text is one line."""


@dataclass(frozen=True)
class NetworkOptions:
    """How to reach other bridges. Without any of them they find each other by multicast."""

    connect: Sequence[str] = ()
    listen: Sequence[str] = ()
    config: Path | None = None


def _text(error: BaseException) -> str:
    return " ".join(_PLACE.sub("", str(error)).split())


def open_session(options: NetworkOptions) -> zenoh.Session:
    """Open a session, whether others are there or not. It connects again after each loss."""
    try:
        return zenoh.open(_config(options))
    except zenoh.ZError as error:
        raise NetworkProblem(f"the network can't be used: {_text(error)}") from None


def _config(options: NetworkOptions) -> zenoh.Config:
    if options.config is not None:
        try:
            config = zenoh.Config.from_file(str(options.config))
        except zenoh.ZError as error:
            raise NetworkProblem(f"{options.config} is no Zenoh file: {_text(error)}") from None
    else:
        config = zenoh.Config()
        config.insert_json5("mode", '"peer"')
        # The others may begin later: try for ever, in the background.
        config.insert_json5("connect/timeout_ms", "-1")
        config.insert_json5("connect/exit_on_failure", "false")
        retry = {"period_init_ms": 200, "period_max_ms": 1000, "period_increase_factor": 2}
        config.insert_json5("connect/retry", json.dumps(retry))
        # It would need /dev/shm, and serves processes of one machine only.
        config.insert_json5("transport/shared_memory/enabled", "false")
        # A board that lost its power is noticed after this time.
        config.insert_json5("transport/link/tx/lease", "5000")
    for name, endpoints in (("connect", options.connect), ("listen", options.listen)):
        if endpoints:
            config.insert_json5(f"{name}/endpoints", json.dumps(list(endpoints)))
    if options.connect or options.listen:
        config.insert_json5("scouting/multicast/enabled", "false")
    return config


def check_key(key: str) -> None:
    """Raise NetworkProblem unless data can be published with this key."""
    try:
        zenoh.KeyExpr(key)
    except zenoh.ZError as error:
        raise NetworkProblem(_text(error)) from None
    if "*" in key or "$" in key:
        raise NetworkProblem(f"the key '{key}' has a wildcard: name one key")


def direct(callback: object) -> handlers.Callback[object]:
    """Return a handler that is called by Zenoh's own thread, without a queue between."""
    return handlers.Callback(callback, indirect=False)  # type: ignore[arg-type]
