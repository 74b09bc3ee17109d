# SPDX-License-Identifier: BSD-2-Clause
"""Build plugins for QEMU, which count what a guest executes from outside."""

from pathlib import Path

from bulkhead.building.build import Variant, build
from bulkhead.errors import UserError
from bulkhead.settings import Settings
from bulkhead.setup import packages, qemu_program, versions

_OLDEST_QEMU = (9, 1)


def build_plugin(target: str, user: str, settings: Settings) -> Path:
    """Build a plugin, FOLDER/PLUGIN.so. Returns its path.

    `user` is the part that needs it, for the message if QEMU is too old.
    """
    version = versions.of_program(qemu_program.path())
    if version is None or version < _OLDEST_QEMU:
        raise UserError(
            f"{user} needs plugins as QEMU {versions.text(_OLDEST_QEMU)} has them",
            f"point {qemu_program.VARIABLE} at a newer QEMU",
        )
    # Without sanitizers, which QEMU itself is not built with.
    variant = Variant("host", options={"b_sanitize": "none"}, name="plugins")
    packages.ensure(variant.groups, settings)
    return build(variant, (target,)) / target
