# SPDX-License-Identifier: BSD-2-Clause
"""Define the errors that the user can correct."""

from collections.abc import Sequence

EXIT_USER_ERROR = 2


class UserError(Exception):
    """An error that the user can correct: one line, exit status 2, no traceback.

    `what` names the error, `fix` tells the user what to do.
    """

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what, fix)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return " ".join(f"{self.what}; {self.fix}".split())


class UserErrors(Exception):
    """Several errors, one line each."""

    def __init__(self, errors: Sequence[UserError]) -> None:
        super().__init__(errors)
        self.errors = errors

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)
