# SPDX-License-Identifier: BSD-2-Clause
"""The error a user can do something about."""

EXIT_USER_ERROR = 2


class UserError(Exception):
    """Something the user can put right: reported as one line, exit status 2, no traceback."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what, fix)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return " ".join(f"{self.what}; {self.fix}".split())
