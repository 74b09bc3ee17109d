# SPDX-License-Identifier: BSD-2-Clause
"""QEMU's arguments with which all cores of a machine execute in one thread of the host.

For tests in which several cores map and unmap BARs of PCI functions at once. QEMU 10.0 keeps the
number of a region in a core's TLB, and looks it up in the newest memory map
(`iotlb_to_section()`). A BAR that another core has just mapped or unmapped changes the numbers. An
access of a core that has not flushed its TLB yet is lost or goes to another device, or QEMU ends:
"Assertion `section_index < d->map.sections_nb' failed". In one thread, no core executes between
the change and the flush.
"""

ONE_THREAD = ("-accel", "tcg,thread=single")
