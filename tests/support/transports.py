# SPDX-License-Identifier: BSD-2-Clause
"""The transports of a network device that the driver supports, and their features.

Both are tables, so that a new transport, ring format or feature is one new line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from support.parked import Case

_BEHIND_ROOT_PORT = ("-device", "pcie-root-port,id=behind,chassis=1,addr=4")
_BEHIND_SWITCH = (
    *("-device", "pcie-root-port,id=root,chassis=1,addr=5"),
    *("-device", "x3130-upstream,id=up,bus=root"),
    *("-device", "xio3130-downstream,id=behind,bus=up,chassis=2"),
)
# Conventional PCI, where devices may have I/O BARs.
_BEHIND_BRIDGE = (
    *("-device", "pcie-pci-bridge,id=outer,addr=6"),
    *("-device", "pci-bridge,id=behind,chassis_nr=3,bus=outer,addr=2"),
)


@dataclass(frozen=True)
class Feature:
    """A feature bit, and the device property that offers it."""

    bit: int
    option: str | None = None
    needs: tuple[str, ...] = ()
    legacy: bool = True
    modern: bool = True
    vnet: bool = False  # true if only a wire that carries the network header has it
    large: bool = False  # true if it needs buffers for the largest frame

    def applies(self, *, legacy: bool) -> bool:
        """Return true if the given interface (legacy or modern) has the feature."""
        return self.legacy if legacy else self.modern

    @property
    def mask(self) -> int:
        """Return the bit in a 64-bit feature mask, as in include/virtio/features.h."""
        return 1 << self.bit


# Features that the driver accepts from the device as test_device.py starts it.
FEATURES: Mapping[str, Feature] = {
    "csum": Feature(0, "csum", vnet=True),
    "guest_csum": Feature(1, "guest_csum", vnet=True),
    "mac": Feature(5),
    "guest_tso4": Feature(
        7, "guest_tso4", needs=("guest_csum", "mrg_rxbuf"), vnet=True, large=True
    ),
    "guest_tso6": Feature(
        8, "guest_tso6", needs=("guest_csum", "mrg_rxbuf"), vnet=True, large=True
    ),
    "host_tso4": Feature(11, "host_tso4", needs=("csum",), vnet=True),
    "host_tso6": Feature(12, "host_tso6", needs=("csum",), vnet=True),
    "mrg_rxbuf": Feature(15, "mrg_rxbuf", large=True),
    "status": Feature(16, "status"),
    "ctrl_vq": Feature(17, "ctrl_vq"),
    "ctrl_rx": Feature(18, "ctrl_rx", needs=("ctrl_vq",)),
    "ctrl_rx_extra": Feature(20, "ctrl_rx_extra", needs=("ctrl_vq",)),
    "guest_announce": Feature(21, "guest_announce", needs=("ctrl_vq", "status")),
    "ctrl_mac_addr": Feature(23, "ctrl_mac_addr", needs=("ctrl_vq",)),
    "any_layout": Feature(27, "any_layout", modern=False),
    "indirect_desc": Feature(28, "indirect_desc"),
    "event_idx": Feature(29, "event_idx"),
    "version_1": Feature(32, legacy=False),
    "queue_reset": Feature(40, "queue_reset", legacy=False),
}
# Features that are offered only on request.
MTU = Feature(3)
# Number of receive buffers of 1526 bytes that hold the largest frame.
LARGE_BUFFERS = 43
CTRL_VLAN = Feature(19)
MQ = Feature(22)
ACCESS_PLATFORM = Feature(33)
SPEED_DUPLEX = Feature(63)

# Ring formats: device properties, and the features negotiated with them.
_PACKED, _IN_ORDER = Feature(34), Feature(35)
SPLIT = "split"
RINGS: Mapping[str, tuple[Mapping[str, str], int]] = {
    SPLIT: ({}, 0),
    "packed": ({"packed": "on"}, _PACKED.mask),
    "split_in_order": ({"in_order": "on"}, _IN_ORDER.mask),
    "packed_in_order": ({"packed": "on", "in_order": "on"}, _PACKED.mask | _IN_ORDER.mask),
}


@dataclass(frozen=True)
class Transport:
    """How the device is attached, and which of its interfaces the driver uses."""

    name: str
    machine: str
    vectors: int = 0
    pci: bool = True
    legacy: bool = False
    probe_legacy: bool = False  # use the legacy interface of a device that also has the modern one
    options: Mapping[str, str] = field(default_factory=dict)
    extra: Sequence[str] = ()

    @property
    def rings(self) -> Sequence[str]:
        """Return the ring formats of the interface."""
        return [SPLIT] if self.legacy else list(RINGS)

    def features(
        self, without: Iterable[str] = (), *, vnet: bool = False, large: bool = False
    ) -> int:
        """Return the mask of the features that driver and device negotiate."""
        return sum(
            feature.mask
            for name, feature in FEATURES.items()
            if name not in without
            and not set(feature.needs) & set(without)
            and feature.applies(legacy=self.legacy)
            and (vnet or not feature.vnet)
            and (large or not feature.large)
        )

    def case(
        self,
        name: str,
        ring: str = SPLIT,
        *,
        off: Iterable[str] = (),
        refused: Iterable[str] = (),
        added: int = 0,
        options: Mapping[str, str] | None = None,
        vnet: bool = False,
        queues: int = 1,
        **words: int,
    ) -> Case:
        """Return a case on this transport.

        `off`: features that the device does not offer; `refused`: that the driver shall not accept;
        `added`: a mask of further ones that both agree on; `queues`: pairs that the device has.
        """
        ring_options, ring_mask = RINGS[ring]
        large = words.get("rx_buffers", 0) >= LARGE_BUFFERS
        properties = {option: "off" for each in off if (option := FEATURES[each].option)}
        return Case(
            name,
            machine=self.machine,
            device="virtio-net-pci" if self.pci else "virtio-net-device",
            device_options={**self.options, **ring_options, **properties, **(options or {})},
            extra=self.extra,
            vnet=vnet,
            queues=queues,
            words={
                "pci": int(self.pci),
                "legacy": int(self.legacy),
                "probe_legacy": int(self.probe_legacy),
                "vectors": self.vectors,
                "refuse": sum(FEATURES[each].mask for each in refused),
                "expect": self.features({*off, *refused}, vnet=vnet, large=large)
                | ring_mask
                | added,
                **words,
            },
        )


def _mmio() -> Iterable[Transport]:
    for version, legacy in (("2", False), ("1", True)):
        yield Transport(
            f"mmio-{version}",
            "virt",
            pci=False,
            legacy=legacy,
            extra=("-global", f"virtio-mmio.force-legacy={'true' if legacy else 'false'}"),
        )


_TRANSITIONAL = {"disable-legacy": "off", "disable-modern": "off"}
_KINDS: Mapping[str, Mapping[str, str]] = {
    "modern": {"disable-legacy": "on"},
    "transitional": _TRANSITIONAL,
    "transitional_as_legacy": _TRANSITIONAL,
    "legacy": {"disable-legacy": "off", "disable-modern": "on"},
}
_BRIDGES: Mapping[str, tuple[str, Sequence[str], Sequence[str]]] = {
    "port": ("0", _BEHIND_ROOT_PORT, ("modern",)),
    "switch": ("0", _BEHIND_SWITCH, ("modern",)),
    "bridge": ("1", _BEHIND_BRIDGE, ("modern", "legacy")),
}


def _pci_transport(
    kind: str, machine: str, vectors: int, place: str = "", extra: Sequence[str] = ()
) -> Transport:
    name = ["pci", kind, machine, *([place] if place else [])]
    behind = {"bus": "behind", "addr": _BRIDGES[place][0]} if place else {}
    return Transport(
        "-".join([*name, f"msix{vectors}" if vectors else "intx"]),
        machine,
        vectors,
        legacy=kind.endswith("legacy"),
        probe_legacy=kind == "transitional_as_legacy",
        options={"romfile": "", **_KINDS[kind], **behind},
        extra=extra,
    )


def _pci() -> Iterable[Transport]:
    for machine in ("virt", "q35"):
        for kind in _KINDS:
            for vectors in (0, 1, 2, 3):
                yield _pci_transport(kind, machine, vectors)
        for place, (_, bridges, kinds) in _BRIDGES.items():
            for kind in kinds:
                for vectors in (0, 3):
                    yield _pci_transport(kind, machine, vectors, place, bridges)


TRANSPORTS: Sequence[Transport] = (*_mmio(), *_pci())
