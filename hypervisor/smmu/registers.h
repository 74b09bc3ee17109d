/* SPDX-License-Identifier: BSD-2-Clause */
/* SMMUv3 (Arm IHI 0070): registers (chapter 6), stream table entries (5.2), commands (chapter 4),
 * events (chapter 7). */
#ifndef SMMU_REGISTERS_H
#define SMMU_REGISTERS_H

#include <stdint.h>

#define SMMU_IDR0            0x00u
#define SMMU_IDR1            0x04u
#define SMMU_IDR5            0x14u
#define SMMU_CR0             0x20u
#define SMMU_CR0ACK          0x24u
#define SMMU_CR1             0x28u
#define SMMU_CR2             0x2cu
#define SMMU_GBPA            0x44u
#define SMMU_IRQ_CTRL        0x50u
#define SMMU_IRQ_CTRLACK     0x54u
#define SMMU_STRTAB_BASE     0x80u /* 64 bits */
#define SMMU_STRTAB_BASE_CFG 0x88u
#define SMMU_CMDQ_BASE       0x90u /* 64 bits */
#define SMMU_CMDQ_PROD       0x98u
#define SMMU_CMDQ_CONS       0x9cu
#define SMMU_EVENTQ_BASE     0xa0u /* 64 bits */
#define SMMU_EVENTQ_IRQ_CFG0 0xb0u /* 64 bits */
#define SMMU_EVENTQ_PROD     0x100a8u
#define SMMU_EVENTQ_CONS     0x100acu

#define IDR0_NEEDED             ((1u << 0) | (1u << 3) | (1u << 4)) /* S2P, TTF (AArch64), COHACC */
#define IDR0_STALL              (3u << 24)
#define IDR0_STALL_FORCED       (2u << 24)
#define IDR1_PRESET             (3u << 29) /* TABLES_PRESET, QUEUES_PRESET: fixed addresses */
#define IDR1_COMMANDS(value)    ((value) >> 21 & 0x1fu) /* CMDQS: log2 of the most entries */
#define IDR1_EVENTS(value)      ((value) >> 16 & 0x1fu)
#define IDR1_STREAM_BITS(value) ((value) & 0x3fu)
#define IDR5_SIZE(value)        ((value) & 7u) /* OAS, coded like STE.S2PS */
#define IDR5_SIZE_48_BITS       5u
#define IDR5_4KIB               (1u << 4)

#define CR0_SMMU        (1u << 0)
#define CR0_EVENTS      (1u << 2)
#define CR0_COMMANDS    (1u << 3)
#define CR0_CHECK_ATS   (1u << 4)
#define CR1_WRITE_BACK  0xd75u /* tables and queues are Inner Shareable, write-back */
#define CR2_PRIVATE_TLB (1u << 2)
#define GBPA_ABORT      (1u << 20)
#define GBPA_UPDATE     (1u << 31)
#define IRQ_CTRL_EVENTS (1u << 2)

#define BASE_ALLOCATE  (UINT64_C(1) << 62) /* RA, in the base registers */
#define QUEUE_OVERFLOW (1u << 31)          /* OVFLG in EVENTQ_PROD, OVACKFLG in EVENTQ_CONS */

#define STE_WORDS          8u
#define STE_VALID          UINT64_C(1) /* V; with Config 0: DMA is aborted, without an event */
#define STE_BYPASS         (UINT64_C(4) << 1) /* Config: no translation */
#define STE_STAGE2         (UINT64_C(6) << 1) /* Config: stage 2 translation */
#define STE_SHARE_INCOMING (UINT64_C(1) << 44)
/* Doubleword 2 has the fields of VTCR_EL2 and VTTBR_EL2 at other positions. These are: T0SZ 64 -
 * 39, start level 1, walks write-back and Inner Shareable, granule of 4 KiB. */
#define STE_VTCR                                                                      \
    (UINT64_C(25) << 32 | UINT64_C(1) << 38 | UINT64_C(1) << 40 | UINT64_C(1) << 42 | \
     UINT64_C(3) << 44)
#define STE_VMID_MASK  UINT64_C(0xffff) /* S2VMID, in doubleword 2 */
#define STE_SIZE_SHIFT 48
#define STE_AARCH64    (UINT64_C(1) << 51)
#define STE_RECORD     (UINT64_C(1) << 58)

#define COMMANDS_LOG2          4u /* log2 of the entries of the command queue */
#define COMMANDS               (1u << COMMANDS_LOG2)
#define COMMAND_WORDS          2u
#define COMMAND_CFGI_STE       UINT64_C(0x03) /* 4.3.1 */
#define COMMAND_STREAM(stream) ((uint64_t)(stream) << 32)
#define COMMAND_CFGI_LEAF      UINT64_C(1)    /* Leaf, in the second doubleword */
#define COMMAND_CFGI_ALL       UINT64_C(0x04) /* 4.3.3: CFGI_STE_RANGE */
#define COMMAND_CFGI_RANGE     UINT64_C(31)   /* Range, in the second doubleword */
#define COMMAND_TLBI_VMID      UINT64_C(0x28) /* 4.4.3: TLBI_S12_VMALL */
#define COMMAND_VMID(vmid)     ((uint64_t)(vmid) << 32)
#define COMMAND_TLBI_ALL       UINT64_C(0x30) /* 4.4.4: TLBI_NSNH_ALL */
#define COMMAND_SYNC           UINT64_C(0x46) /* 4.7.3 */

#define EVENTS_LOG2        7u /* log2 of the entries of the event queue, which has one page */
#define EVENTS             (1u << EVENTS_LOG2)
#define EVENT_WORDS        4u
#define EVENT_TYPE(word)   ((uint32_t)(word) & 0xffu)
#define EVENT_STREAM(word) ((uint32_t)((word) >> 32))
#define EVENT_READ         (UINT64_C(1) << 35) /* RnW, in the second doubleword */

#endif
