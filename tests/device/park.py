# SPDX-License-Identifier: BSD-2-Clause
"""Write the firmware that parks an x86 processor: park.py OUTPUT.

The processor starts 16 bytes before the end of the image (Intel SDM 3A, 10.1.4), with interrupts
masked. It halts, and halts again if something wakes it.
"""

import sys
from pathlib import Path

_IMAGE_BYTES = 65536
_RESET_VECTOR = _IMAGE_BYTES - 16
_CLI_HLT_JUMP_BACK = bytes([0xFA, 0xF4, 0xEB, 0xFD])

image = bytearray(_IMAGE_BYTES)
image[_RESET_VECTOR : _RESET_VECTOR + len(_CLI_HLT_JUMP_BACK)] = _CLI_HLT_JUMP_BACK
Path(sys.argv[1]).write_bytes(image)
