# SPDX-License-Identifier: BSD-2-Clause
"""Entry point: python -m bulkhead."""

import sys

from bulkhead.cli import main

sys.exit(main(sys.argv[1:]))
