# SPDX-License-Identifier: BSD-2-Clause
"""Install the packages that the other commands need: ./bulkhead setup."""

from collections.abc import Sequence

from bulkhead import console
from bulkhead.building import sources
from bulkhead.errors import UserError
from bulkhead.settings import Settings
from bulkhead.setup import packages


def setup(groups: Sequence[str], settings: Settings) -> None:
    """Install the packages of some groups; without names, of all groups not on request only."""
    for group in groups:
        if group not in packages.GROUPS:
            raise UserError(
                f"there is no group '{group}'", f"the groups are: {', '.join(packages.GROUPS)}"
            )
    wanted = list(groups) or [g for g in packages.GROUPS if g not in packages.GROUPS_ON_REQUEST]
    installed = packages.ensure(wanted, settings)
    if {"guest", "host"} & set(wanted):
        sources.locate(sources.LWIP)
        sources.locate(sources.DTC)
    console.say(
        f"installed {', '.join(installed)}" if installed else "everything is installed already"
    )
