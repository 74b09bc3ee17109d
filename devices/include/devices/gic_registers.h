/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers of the GIC, versions 3 and 4 (Arm Generic Interrupt Controller Architecture
 * Specification, IHI 0069, chapter 12; cited as "IHI 0069" with the register's name, which every
 * issue keeps).
 */
#ifndef DEVICES_GIC_REGISTERS_H
#define DEVICES_GIC_REGISTERS_H

#include <stdint.h>

#define GIC_FRAME_BYTES 0x10000u

/* Distributor. The SGI frame of a Redistributor has the registers from IGROUPR to ICFGR at the same
 * offsets, for the private interrupts 0..31. */
#define GICD_CTLR      0x0000u
#define GICD_TYPER     0x0004u
#define GICD_IIDR      0x0008u
#define GIC_PIDR       0xFFD0u /* identification registers, up to the end of any frame */
#define GICD_PIDR2     0xFFE8u
#define GIC_IGROUPR    0x0080u
#define GIC_ISENABLER  0x0100u
#define GIC_ICENABLER  0x0180u
#define GIC_ISPENDR    0x0200u
#define GIC_ICPENDR    0x0280u
#define GIC_ISACTIVER  0x0300u
#define GIC_ICACTIVER  0x0380u
#define GIC_IPRIORITYR 0x0400u
#define GIC_ICFGR      0x0C00u
#define GICD_IROUTER   0x6000u /* 8 bytes for each INTID, from 32 on */

/* Bits that are the same with one security state and in the Non-secure view of two. */
#define GICD_CTLR_GROUP1           (1u << 1) /* EnableGrp1 / EnableGrp1A */
#define GICD_CTLR_AFFINITY_ROUTING (1u << 4) /* ARE / ARE_NS */
#define GICD_CTLR_WRITE_PENDING    (1u << 31)
#define GICD_TYPER_LPIS            (1u << 17)

/* Bits that exist only with one security state. */
#define GICD_CTLR_GROUP0       (1u << 0)
#define GICD_CTLR_ONE_SECURITY (1u << 6) /* DS */

#define GICD_TYPER_LINES         0x1Fu      /* ITLinesNumber */
#define GICD_TYPER_EXTENDED      (1u << 8)  /* ESPI: more SPIs, from 4096 on */
#define GICD_TYPER_SECURITY      (1u << 10) /* two security states are implemented */
#define GICD_TYPER_NMI           (1u << 9)  /* INMIR exists */
#define GICD_TYPER_LPI_COUNT     (0x1Fu << 11)
#define GICD_TYPER_MESSAGES      (1u << 16) /* MBIS: SETSPI, CLRSPI */
#define GICD_TYPER_VIRTUAL_LPIS  (1u << 18) /* DVIS */
#define GICD_TYPER_ONE_TARGET    (1u << 25) /* No1N: IROUTER.IRM is not supported */
#define GICD_TYPER_EXTENDED_LAST (0x1Fu << 27)

/* Redistributor, RD frame; its SGI frame follows. */
#define GICR_CTLR      0x0000u
#define GICR_IIDR      0x0004u
#define GICR_TYPER     0x0008u
#define GICR_WAKER     0x0014u
#define GICR_PROPBASER 0x0070u
#define GICR_PENDBASER 0x0078u

#define GICR_CTLR_ENABLE_LPIS      (1u << 0)
#define GICR_CTLR_WRITE_PENDING    (1u << 3)
#define GICR_CTLR_UPSTREAM_PENDING (1u << 31) /* UWP */
#define GICR_TYPER_PHYSICAL_LPIS   (1u << 0)
#define GICR_TYPER_VIRTUAL_LPIS    (1u << 1)
#define GICR_TYPER_LAST            (1u << 4)
#define GICR_TYPER_PROCESSOR_SHIFT 8
#define GICR_WAKER_PROCESSOR_SLEEP (1u << 1)
#define GICR_WAKER_CHILDREN_ASLEEP (1u << 2)

#define GICR_PENDBASER_ZEROED  (UINT64_C(1) << 62)
#define GICR_PENDBASER_ADDRESS UINT64_C(0x000fffffffff0000)
#define GICR_PROPBASER_ID_BITS UINT64_C(0x1f) /* bits of an LPI's INTID, minus 1 */

/* Interrupt Translation Service, control frame; the translation frame follows. */
#define GITS_CTLR       0x0000u
#define GITS_TYPER      0x0008u
#define GITS_CBASER     0x0080u
#define GITS_CWRITER    0x0088u
#define GITS_CREADR     0x0090u
#define GITS_BASER      0x0100u /* 8 registers of 8 bytes */
#define GITS_TRANSLATER (GIC_FRAME_BYTES + 0x0040u)

#define GITS_CTLR_ENABLED      (1u << 0)
#define GITS_CTLR_QUIESCENT    (1u << 31)
#define GITS_TYPER_PTA         (UINT64_C(1) << 19)
#define GITS_CBASER_VALID      (UINT64_C(1) << 63)
#define GITS_CWRITER_RETRY     (UINT64_C(1) << 0)
#define GITS_CREADR_STALLED    (UINT64_C(1) << 0)
#define GITS_BASER_COUNT       8u
#define GITS_BASER_VALID       (UINT64_C(1) << 63)
#define GITS_BASER_DEVICES     1u
#define GITS_BASER_COLLECTIONS 4u

/* Attributes of the GIC's tables in memory: Inner Shareable; Normal Inner Write-Back, Read- and
 * Write-Allocate, with the same outer attributes, or Normal Non-cacheable. The position of the
 * cacheability field differs between GICR and GITS registers. */
#define GIC_SHAREABILITY       (UINT64_C(3) << 10)
#define GIC_INNER_SHAREABLE    (UINT64_C(1) << 10)
#define GIC_CACHE_WRITE_BACK   UINT64_C(7)
#define GIC_CACHE_NONE         UINT64_C(1)
#define GIC_CACHE_MASK         UINT64_C(7)
#define GICR_BASER_CACHE_SHIFT 7u
#define GITS_BASER_CACHE_SHIFT 59u

#define GIC_SPI_FIRST 32u
#define GIC_SPI_LAST  1019u
#define GIC_LPI_FIRST 8192u

#endif
