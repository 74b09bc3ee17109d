# SPDX-License-Identifier: BSD-2-Clause
"""What the user chose for the whole call."""

from dataclasses import dataclass


@dataclass
class Settings:
    """Options every subcommand takes, and what stood after --."""

    no_install: bool = False
    passed_on: tuple[str, ...] = ()
