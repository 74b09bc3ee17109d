# SPDX-License-Identifier: BSD-2-Clause
"""python3 -m bulkhead_channel.bridge: the same as bulkhead-channel bridge."""

import sys

from bulkhead_channel.bridge.command import main

sys.exit(main(sys.argv[1:]))
