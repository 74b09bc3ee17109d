# SPDX-License-Identifier: BSD-2-Clause
"""Systems: partitions on a board, from the file that describes them to the image that boots."""
