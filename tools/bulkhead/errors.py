# SPDX-License-Identifier: BSD-2-Clause
"""The error a user can do something about."""

from collections.abc import Sequence

EXIT_USER_ERROR = 2


class UserError(Exception):
    """Something the user can put right: reported as one line, exit status 2, no traceback."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what, fix)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return " ".join(f"{self.what}; {self.fix}".split())


class UserErrors(Exception):
    """Several at once, a line for each."""

    def __init__(self, errors: Sequence[UserError]) -> None:
        super().__init__(errors)
        self.errors = errors

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)
