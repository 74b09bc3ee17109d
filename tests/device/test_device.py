# SPDX-License-Identifier: BSD-2-Clause
"""Test the driver on QEMU's network device, without a guest: transports, rings, features,
recovery.

Each case names its clause of VIRTIO 1.3. Beside its own purpose every case runs under the rule
checker of rules.h, and the statuses that the driver writes must follow the standard's steps.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.device_kinds import (
    BY_NAME,
    LEGACY_KINDS,
    MODERN_KINDS,
    Run,
    each_kind,
    each_kind_and_ring,
    each_legacy_kind,
    each_modern_kind,
    each_transport_and_ring,
    named,
    pairs_case,
    rings,
)
from support.transports import (
    ACCESS_PLATFORM,
    CTRL_VLAN,
    FEATURES,
    LARGE_BUFFERS,
    MTU,
    SPEED_DUPLEX,
    SPLIT,
    Transport,
)

# ACKNOWLEDGE, DRIVER, FEATURES_OK, DRIVER_OK in this order (3.1.1). Legacy devices have no
# FEATURES_OK (3.1.2).
MODERN_STATUSES = [0, 1, 3, 11, 15, 0]
LEGACY_STATUSES = [0, 1, 3, 7, 0]


@each_transport_and_ring
def test_traffic(run_case: Run, transport: Transport, ring: str) -> None:
    """3.1.1: frames of all sizes pass both ways, after exactly the steps of the standard."""
    outcome = run_case(transport.case("traffic", ring))
    assert outcome.statuses() == (LEGACY_STATUSES if transport.legacy else MODERN_STATUSES)


# Features.


def _optional(transport: Transport) -> list[str]:
    return [
        name
        for name, feature in FEATURES.items()
        if feature.applies(legacy=transport.legacy)
        and name != "version_1"
        and not feature.vnet
        and not feature.large
    ]


def _feature_cases(*, switchable: bool) -> list[object]:
    """Return each optional feature on each kind of device, or only features whose offer QEMU
    can switch."""
    return [
        pytest.param(BY_NAME[name], feature, ring, id=f"{name}-{feature}-{ring}")
        for name in (*MODERN_KINDS, *LEGACY_KINDS)
        for feature in _optional(BY_NAME[name])
        for ring in BY_NAME[name].rings
        if not switchable or FEATURES[feature].option is not None
    ]


@pytest.mark.pairwise
@pytest.mark.parametrize(("transport", "feature", "ring"), _feature_cases(switchable=True))
def test_feature_not_offered(run_case: Run, transport: Transport, feature: str, ring: str) -> None:
    """2.2.1: the driver does not use a feature that the device does not offer."""
    run_case(transport.case("traffic", ring, off=[feature]))


@pytest.mark.pairwise
@pytest.mark.parametrize(("transport", "feature", "ring"), _feature_cases(switchable=False))
def test_feature_refused(run_case: Run, transport: Transport, feature: str, ring: str) -> None:
    """2.2.1: the driver does not use an offered feature that it does not accept."""
    run_case(transport.case("traffic", ring, refused=[feature]))


@each_kind_and_ring
def test_no_feature(run_case: Run, transport: Transport, ring: str) -> None:
    """2.2.1: the driver works with the fewest features that both must agree on."""
    run_case(transport.case("traffic", ring, refused=_optional(transport)))


@pytest.mark.parametrize("feature", ["any_layout", "event_idx", "indirect_desc"])
@each_legacy_kind
def test_only_feature(run_case: Run, transport: Transport, feature: str) -> None:
    """2.7.4.3: layouts of a legacy device, with each feature that affects them alone."""
    refused = [name for name in _optional(transport) if name != feature]
    run_case(transport.case("traffic", refused=refused))


@named("pci-modern-virt-intx", "pci-modern-q35-msix3", "pci-modern-virt-port-msix3")
def test_access_platform(run_case: Run, transport: Transport) -> None:
    """6.1: the driver accepts ACCESS_PLATFORM where it is offered."""
    options = {"iommu_platform": "on"}
    run_case(transport.case("traffic", options=options, added=ACCESS_PLATFORM.mask))


@named("pci-modern-virt-intx", "pci-modern-q35-msix3")
def test_features_not_accepted(run_case: Run, transport: Transport) -> None:
    """3.1.1: the driver reads FEATURES_OK back and gives up; a second attempt starts from the
    reset."""
    options = {"iommu_platform": "on"}
    case = transport.case("features_not_accepted", options=options, added=ACCESS_PLATFORM.mask)
    statuses = run_case(case).statuses()
    assert statuses == [0, 1, 3, 11, *statuses[4:-6], *MODERN_STATUSES]
    assert any(status & 0x80 for status in statuses)


# Cases for all transports.

CASES = {
    "ping_pong": "2.7.7, 2.7.10: no interrupt and no notification gets lost",
    "far_end_blocked": "2.7.13: a full ring, then a full send queue; nothing lost, order kept",
    "buffers_exhausted": "5.1.6.3: an empty receive ring is filled again",
    "spurious_interrupts": "2.7.7: interrupts without a cause do no harm",
    "sleep_window": "2.7.7: what comes just before interrupts are on again is not overlooked",
    "overload": "5.1.6.3: more frames at once than buffers exposed",
    "every_size": "5.1.6: frames of every size",
    "restart": "2.4.1: stopped and started over and over",
    "mac": "5.1.5: the device's address",
    "link": "5.1.4, 4.1.4.5: each change of the link is announced and read",
    "starts_without_link": "5.1.5: no link when the driver starts",
    "configuration_changes": "2.5.1, 2.5.3: fields that change while they are read",
    "restart_after_failed": "2.1.1: a reset after FAILED",
    "takes_over": "3.1.1: a device that somebody left half set up",
    "reset_in_traffic": "2.4.1: no buffer is lost or returned twice when the device is reset",
}


@pytest.mark.pairwise
@each_kind_and_ring
@pytest.mark.parametrize("name", CASES)
def test_case(run_case: Run, transport: Transport, name: str, ring: str) -> None:
    """See CASES."""
    run_case(transport.case(name, ring))


@pytest.mark.pairwise
@each_kind_and_ring
@pytest.mark.parametrize("name", ["ping_pong", "sleep_window", "far_end_blocked"])
def test_case_without_event_index(
    run_case: Run, transport: Transport, name: str, ring: str
) -> None:
    """2.7.6: interrupts and notifications are suppressed by the flags alone."""
    run_case(transport.case(name, ring, refused=["event_idx"]))


@rings("mmio-2", "pci-modern-q35-msix3", "pci-legacy-virt-msix2")
def test_indices_wrap(run_case: Run, transport: Transport, ring: str) -> None:
    """2.7.6, 2.7.10: the indices wrap while bursts of many sizes are added."""
    run_case(transport.case("indices_wrap", ring))


@pytest.mark.pairwise
@each_kind_and_ring
@pytest.mark.parametrize("budget", [1, 3, 64])
def test_bounded_interrupt(run_case: Run, transport: Transport, budget: int, ring: str) -> None:
    """2.7.7: chains that the handler leaves are not lost, however small its budget."""
    run_case(transport.case("bounded_interrupt", ring, count=budget))


@each_kind
def test_no_address(run_case: Run, transport: Transport) -> None:
    """5.1.5: without VIRTIO_NET_F_MAC the device gives the driver no address."""
    run_case(transport.case("mac", refused=["mac"]))


@named("mmio-2", "mmio-1", "pci-legacy-q35-intx", "pci-modern-q35-msix3")
@pytest.mark.parametrize("mtu", [68, 576, 1400, 1500, 2000])
def test_mtu(run_case: Run, transport: Transport, mtu: int) -> None:
    """5.1.4.2: the driver adopts the device's MTU and sends no larger frame."""
    case = transport.case(
        "mtu",
        options={"host_mtu": str(mtu)},
        added=MTU.mask,
        mtu=mtu,
        receive_bytes=max(1526, mtu + 26),
    )
    run_case(case)


@named("mmio-2", "mmio-1", "pci-modern-q35-msix3")
def test_mtu_beyond_buffers(run_case: Run, transport: Transport) -> None:
    """5.1.4.2: the driver does not accept an MTU whose frames exceed its buffers."""
    run_case(transport.case("mtu", options={"host_mtu": "9000"}, mtu=1500))


# Offloads, on a wire that carries the network header.

OFFLOADS = {
    "checksum_transmitted": "5.1.6.2: a checksum left to the device",
    "checksum_received": "5.1.6.4: a checksum that the device vouches for",
    "traffic": "5.1.6: frames that ask for nothing",
}


@pytest.mark.pairwise
@each_kind_and_ring
@pytest.mark.parametrize(
    "refused",
    [(), ("csum",), ("guest_csum",), ("csum", "guest_csum")],
    ids=lambda names: "without-" + "-".join(names) if names else "all",
)
@pytest.mark.parametrize("name", OFFLOADS)
def test_offload(
    run_case: Run, transport: Transport, name: str, refused: tuple[str, ...], ring: str
) -> None:
    """See OFFLOADS."""
    run_case(transport.case(name, ring, refused=refused, vnet=True))


LARGE = {
    "segments_transmitted": "5.1.6.2: TCP segments of up to 64 KiB for the device to cut",
    "segments_received": "5.1.6.4: several TCP segments in one frame, in many buffers",
    "traffic": "5.1.6: frames that ask for nothing",
}


@pytest.mark.pairwise
@each_kind_and_ring
@pytest.mark.parametrize(
    "refused",
    [(), ("csum",), ("guest_csum",), ("mrg_rxbuf",), ("host_tso4", "guest_tso6"),
     ("host_tso6", "guest_tso4")],
    ids=lambda names: "without-" + "-".join(names) if names else "all",
)  # fmt: skip
@pytest.mark.parametrize("name", LARGE)
def test_large(
    run_case: Run, transport: Transport, name: str, refused: tuple[str, ...], ring: str
) -> None:
    """See LARGE."""
    case = transport.case(name, ring, refused=refused, vnet=True, rx_buffers=LARGE_BUFFERS + 3)
    run_case(case)


@pytest.mark.pairwise
@each_kind_and_ring
@pytest.mark.parametrize("refused", [(), ("event_idx", "indirect_desc")], ids=["all", "flags"])
def test_merged(run_case: Run, transport: Transport, refused: tuple[str, ...], ring: str) -> None:
    """5.1.6.4: a frame may fill several buffers."""
    run_case(transport.case("merged", ring, refused=refused, rx_buffers=LARGE_BUFFERS + 3))


# Queues.


# With IN_ORDER, QEMU 10.0's MMIO has room only for the size that it offers first, and crashes if
# the driver sets a larger one.
_MMIO_IN_ORDER_ENTRIES_MAX = 256


def _transmit_rings() -> list[object]:
    return [
        pytest.param(BY_NAME[name], ring, entries, id=f"{name}-{ring}-{entries}")
        for name in ("mmio-2", "mmio-1", "pci-modern-q35-msix3", "pci-legacy-q35-intx")
        for ring in BY_NAME[name].rings
        for entries in (1, 2, 4, 16, 64, 256, 512, 1024)
        if name != "mmio-2" or "in_order" not in ring or entries <= _MMIO_IN_ORDER_ENTRIES_MAX
    ]


@pytest.mark.pairwise
@pytest.mark.parametrize(("transport", "ring", "entries"), _transmit_rings())
def test_transmit_ring(run_case: Run, transport: Transport, ring: str, entries: int) -> None:
    """2.7: rings of any size up to the device's work."""
    run_case(transport.case("traffic", ring, tx_ring=entries))


@pytest.mark.pairwise
@rings("mmio-2", "mmio-1", "pci-modern-q35-msix3", "pci-legacy-q35-intx")
@pytest.mark.parametrize("buffers", [1, 2, 3, 32, 2000])
def test_receive_buffers(run_case: Run, transport: Transport, buffers: int, ring: str) -> None:
    """5.1.6.3: few buffers are exposed, whatever the ring's size; buffers are merged if they
    have room for the largest frame together."""
    run_case(transport.case("traffic", ring, rx_buffers=buffers))


@named("mmio-2", "mmio-1", "pci-modern-q35-msix3", "pci-legacy-q35-intx", "pci-legacy-virt-msix2")
@pytest.mark.parametrize("entries", [512, 1024])
def test_large_receive_queue(run_case: Run, transport: Transport, entries: int) -> None:
    """2.7.2: a legacy queue has the size that the device gives."""
    run_case(transport.case("traffic", options={"rx_queue_size": str(entries)}))


@pytest.mark.pairwise
@each_kind_and_ring
@pytest.mark.parametrize("entries", [256, 1024])
def test_memory(run_case: Run, transport: Transport, entries: int, ring: str) -> None:
    """2.7: the driver allocates memory for its needs, not for the size of the device's queues."""
    run_case(transport.case("memory", ring, options={"rx_queue_size": str(entries)}))


# The control queue.

CONTROL = {
    "receive_modes": "5.1.6.5.1: promiscuous, all and no multicast, unicast, broadcast",
    "filter_tables": "5.1.6.5.2: further addresses",
    "own_address": "5.1.6.5.2: another address",
    "announce": "5.1.6.5.4: announcements on demand",
}


@pytest.mark.pairwise
@each_kind_and_ring
@pytest.mark.parametrize(
    "refused",
    [(), ("ctrl_rx",), ("ctrl_rx_extra",), ("ctrl_mac_addr", "guest_announce"), ("ctrl_vq",)],
    ids=lambda names: "without-" + "-".join(names) if names else "all",
)
@pytest.mark.parametrize("name", CONTROL)
def test_control(
    run_case: Run, transport: Transport, name: str, refused: tuple[str, ...], ring: str
) -> None:
    """See CONTROL."""
    run_case(transport.case(name, ring, refused=refused))


@pytest.mark.pairwise
@each_kind_and_ring
@pytest.mark.parametrize(
    ("offered", "wanted"), [(True, True), (True, False), (False, True)],
    ids=["filter", "no-filter", "not-offered"],
)  # fmt: skip
def test_vlans(run_case: Run, transport: Transport, offered: bool, wanted: bool, ring: str) -> None:
    """5.1.6.5.3: the device drops frames of unknown VLANs if the driver asked for the filter."""
    case = transport.case(
        "vlans",
        ring,
        options={"ctrl_vlan": "on" if offered else "off"},
        added=CTRL_VLAN.mask if offered and wanted else 0,
        vlan_filter=int(wanted),
    )
    run_case(case)


@each_modern_kind
@pytest.mark.parametrize("speed", [0, 10, 1000, 40000])
def test_speed(run_case: Run, transport: Transport, speed: int) -> None:
    """5.1.4: the driver reports the device's speed and duplex if the device has them."""
    options = {"speed": str(speed), "duplex": "full"} if speed else {}
    added = SPEED_DUPLEX.mask if speed else 0
    run_case(transport.case("speed", options=options, added=added, count=speed))


@pytest.mark.pairwise
@rings(*MODERN_KINDS, "pci-legacy-q35-intx")
@pytest.mark.parametrize("refused", [(), ("queue_reset",)], ids=["all", "without"])
def test_queue_reset(
    run_case: Run, transport: Transport, refused: tuple[str, ...], ring: str
) -> None:
    """2.6.1: a broken queue is reset alone."""
    run_case(transport.case("queue_reset", ring, refused=refused))


@rings("pci-modern-virt-intx", "pci-transitional-q35-msix1", "pci-modern-q35-msix3",
       "pci-modern-virt-port-msix3")  # fmt: skip
def test_queue_reset_in_traffic(run_case: Run, transport: Transport, ring: str) -> None:
    """2.6.1: a queue is reset in mid-traffic. The other queue loses nothing, and both continue."""
    run_case(transport.case("queue_reset_in_traffic", ring))


# Queue pairs.


@pytest.mark.pairwise
@each_kind_and_ring
@pytest.mark.parametrize("pairs", [2, 4])
def test_pairs(run_case: Run, transport: Transport, ring: str, pairs: int) -> None:
    """5.1.6.5.6: frames pass both ways on each queue pair."""
    run_case(pairs_case(transport, "pairs_traffic", ring, device=pairs, asked=pairs))


@each_kind
@pytest.mark.parametrize(("device", "asked"), [(4, 2), (4, 3), (2, 4), (3, 31), (4, 1), (1, 4)])
def test_pairs_in_common(run_case: Run, transport: Transport, device: int, asked: int) -> None:
    """5.1.6.5.6: the driver uses as many queue pairs as both sides have; one pair needs no
    command."""
    run_case(pairs_case(transport, "pairs_traffic", SPLIT, device=device, asked=asked))


@named("pci-modern-virt-msix3", "pci-modern-q35-msix3", "pci-legacy-q35-msix3")
@pytest.mark.parametrize(
    ("pairs", "vectors"),
    [
        (2, 1),
        (2, 2),
        (2, 3),
        (2, 4),
        (2, 5),
        (2, 6),
        (4, 1),
        (4, 2),
        (4, 4),
        (4, 5),
        (4, 8),
        (4, 9),
    ],
)
def test_pairs_and_vectors(run_case: Run, transport: Transport, pairs: int, vectors: int) -> None:
    """4.1.5.1.2: one vector for everything, for all queues, for each pair, or for each queue."""
    with_vectors = replace(transport, vectors=vectors)
    run_case(pairs_case(with_vectors, "pairs_traffic", SPLIT, device=pairs, asked=pairs))


@pytest.mark.pairwise
@each_kind_and_ring
@pytest.mark.parametrize("pairs", [2, 4])
def test_pairs_reset(run_case: Run, transport: Transport, ring: str, pairs: int) -> None:
    """2.4.1: no buffer of any pair is lost when the device is reset in mid-traffic."""
    run_case(pairs_case(transport, "pairs_reset", ring, device=pairs, asked=pairs))


# Resets by others than the driver.

# As in cases_reset.c.
_RESETS = ("system_reset", "function", "bus")
_BEHIND_PORTS = ("pci-modern-virt-port-intx", "pci-modern-virt-port-msix3",
                 "pci-modern-q35-port-msix3", "pci-modern-q35-switch-intx")  # fmt: skip


@each_kind_and_ring
def test_system_reset(run_case: Run, transport: Transport, ring: str) -> None:
    """2.4.1: the machine is reset in mid-traffic."""
    run_case(transport.case("hot_reset", ring, count=_RESETS.index("system_reset")))


@pytest.mark.pairwise
@rings(*_BEHIND_PORTS)
@pytest.mark.parametrize("way", _RESETS[1:])
def test_hot_reset(run_case: Run, transport: Transport, ring: str, way: str) -> None:
    """2.4.1, PCI Express 6.6: the function alone, or everything behind its port, is reset in
    mid-traffic."""
    run_case(transport.case("hot_reset", ring, count=_RESETS.index(way)))


# By default q35 leaves hot-plug to ACPI, and register writes to its ports have no effect.
_NATIVE = ("-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off")


@pytest.mark.each_value
@rings(*_BEHIND_PORTS)
def test_hot_plug(run_case: Run, transport: Transport, ring: str) -> None:
    """2.4.1: the device is removed from its slot in mid-traffic and inserted again."""
    run_case(transport.case("hot_plug", ring))


@pytest.mark.each_value
@rings(*(name for name in _BEHIND_PORTS if "q35" in name))
def test_hot_plug_by_slot(run_case: Run, transport: Transport, ring: str) -> None:
    """PCI Express 6.7: hot-plug by the slot's own registers instead of ACPI."""
    run_case(replace(transport, extra=(*transport.extra, *_NATIVE)).case("hot_plug", ring))


# QEMU's own error path.

# As in cases_recovery.c.
_SABOTAGES = ("head", "next", "loop", "empty", "direction", "table", "header")
# Packed rings have no indices to spoil; the loop needs the whole ring to be free.
_SPLIT_ONLY = ("head", "next")
_SPLIT_ONLY_RECEIVING = (*_SPLIT_ONLY, "loop")


def _sabotages(*, receiving: bool) -> list[object]:
    ways = _SABOTAGES[:-1] if receiving else _SABOTAGES
    split_only = _SPLIT_ONLY_RECEIVING if receiving else _SPLIT_ONLY
    return [
        pytest.param(BY_NAME[name], ring, way, id=f"{name}-{ring}-{way}")
        for name in (*MODERN_KINDS, *LEGACY_KINDS)
        for ring in BY_NAME[name].rings
        for way in ways
        if "packed" not in ring or way not in split_only
    ]


@pytest.mark.pairwise
@pytest.mark.parametrize(("transport", "ring", "way"), _sabotages(receiving=False))
def test_needs_reset_transmitting(run_case: Run, transport: Transport, ring: str, way: str) -> None:
    """2.1.2: after a descriptor that the device can't accept, a reset restores traffic."""
    run_case(transport.case("needs_reset", ring, count=_SABOTAGES.index(way)))


@pytest.mark.pairwise
@pytest.mark.parametrize(("transport", "ring", "way"), _sabotages(receiving=True))
def test_needs_reset_receiving(run_case: Run, transport: Transport, ring: str, way: str) -> None:
    """2.1.2: the same for a descriptor of the receive queue."""
    run_case(transport.case("needs_reset", ring, count=16 + _SABOTAGES.index(way)))
