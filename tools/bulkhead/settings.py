# SPDX-License-Identifier: BSD-2-Clause
"""Hold the settings of the whole call."""

from dataclasses import dataclass


@dataclass
class Settings:
    """Options of all subcommands, and the arguments after --."""

    no_install: bool = False
    passed_on: tuple[str, ...] = ()
