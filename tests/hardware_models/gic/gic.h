/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A GICv3 in the test process: Distributor, Redistributors and an ITS, as far as the kernel and the
 * separation kernel use them (IHI 0069). The CPU interface is not part of it: its system registers
 * are another header's for each of the two, and their tests put a header in its place.
 *
 * A test that breaks a rule of the architecture ends, with the rule's text: unknown registers,
 * accesses that are not aligned, the trigger of an enabled interrupt changed, affinity routing
 * changed while a group is on, table registers of running LPIs or of a running ITS changed. With
 * gic.watch the test adds rules of its own: whose registers may be accessed, and with what values.
 */
#ifndef TESTS_HARDWARE_MODELS_GIC_GIC_H
#define TESTS_HARDWARE_MODELS_GIC_GIC_H

#include <stdbool.h>
#include <stdint.h>

#define GIC_MODEL_DISTRIBUTOR    UINT64_C(0x08000000)
#define GIC_MODEL_ITS            UINT64_C(0x08080000)
#define GIC_MODEL_REDISTRIBUTORS UINT64_C(0x080a0000)
#define GIC_MODEL_CORES_MAX      5u
#define GIC_MODEL_COMMANDS_MAX   1024u

#define GIC_MODEL_INTERRUPTS 1024u

/* Registers of the Distributor, or of a Redistributor's SGI frame. Each interrupt has one bit, but
 * two in `triggers`. */
struct gic_bank {
    uint32_t groups[GIC_MODEL_INTERRUPTS / 32];
    uint32_t enabled[GIC_MODEL_INTERRUPTS / 32];
    uint32_t disabling[GIC_MODEL_INTERRUPTS / 32]; /* disabled, and signalled all the same */
    uint32_t pending[GIC_MODEL_INTERRUPTS / 32];
    uint32_t active[GIC_MODEL_INTERRUPTS / 32];
    uint32_t triggers[GIC_MODEL_INTERRUPTS / 16];
    uint8_t priorities[GIC_MODEL_INTERRUPTS];
};

struct gic_redistributor {
    uint64_t affinity;
    uint32_t control; /* GICR_CTLR */
    uint32_t waker;   /* GICR_WAKER */
    uint64_t configuration_table;
    uint64_t pending_table;
    struct gic_bank bank;
};

struct gic_its {
    /* Its kind, and its faults. */
    unsigned page_size;        /* that GITS_BASER is fixed to; 3: any */
    unsigned held_collections; /* GITS_TYPER.HCC */
    bool target_is_address;    /* GITS_TYPER.PTA */
    bool deaf;                 /* carries out no commands */
    unsigned delay;            /* reads of GITS_CREADR before it carries out its next command */
    uint8_t stalls_on;         /* a command's number, 0: none */
    /* Its registers. */
    uint32_t control;
    uint64_t tables[8];
    uint64_t queue;
    uint64_t writer;
    uint64_t reader;
    /* The commands that it has carried out. */
    uint64_t commands[GIC_MODEL_COMMANDS_MAX][4];
    unsigned command_count;
    unsigned waited; /* reads of GITS_CREADR since the last command */
};

enum gic_model_frame { GIC_DISTRIBUTOR, GIC_REDISTRIBUTOR, GIC_PRIVATE, GIC_ITS };

struct gic_access {
    uint64_t address;
    uint64_t value;  /* written */
    uint32_t offset; /* in the frame */
    unsigned core;   /* whose Redistributor */
    uint8_t bytes;
    bool write;
    enum gic_model_frame frame; /* GIC_PRIVATE: a Redistributor's SGI frame */
};

/* The Distributor, and each Redistributor with its SGI frame: accesses to one of them arrive in the
 * order of the program (Arm ARM, B2.7.2, Device memory). */
#define GIC_MODEL_PERIPHERALS (1u + GIC_MODEL_CORES_MAX)
#define GIC_MODEL_LATE_MAX    64u

/* Writes of this processor that have not arrived, the oldest first. */
struct gic_late_writes {
    unsigned count;
    struct gic_access writes[GIC_MODEL_LATE_MAX];
};

struct gic {
    /* Its kind. */
    unsigned cores;
    uint32_t redistributor_bytes;
    uint32_t type;               /* GICD_TYPER */
    uint32_t redistributor_type; /* GICR_TYPER, but for Processor_Number and Last; low word */
    bool two_securities;
    uint32_t
        firmwares; /* an SPI of the other security state: its priority ignores writes; 0: none */
    uint32_t
        firmwares_private; /* the same of private interrupts, which read as 0: bit n is INTID n */
    bool not_coherent;     /* table registers read back as Non-shareable */
    /* Writes arrive late: some at a later access or acknowledgement, at random, and all of a
     * peripheral before a read from it returns. Disabled interrupts are signalled until the
     * processor reads that no write is pending (IHI 0069, GICD_CTLR.RWP, GICR_CTLR.RWP). */
    bool is_late;
    uint32_t chance; /* the last random number */
    struct gic_late_writes late[GIC_MODEL_PERIPHERALS];
    /* Reads of GICD_CTLR or GICR_CTLR, after a write that disables interrupts, for which RWP is
     * set. */
    unsigned settling_reads;
    unsigned settling[GIC_MODEL_PERIPHERALS]; /* those that are left, by Distributor and core */
    /* Its faults. */
    bool no_routing;          /* affinity routing can't be switched on */
    bool ignores_writes;      /* as a hypervisor may */
    bool never_settles;       /* GICD_CTLR.RWP stays set */
    bool busy_redistributors; /* GICR_CTLR.RWP stays set */
    bool never_wakes;         /* GICR_WAKER.ChildrenAsleep stays set */
    bool lpis_stay_enabled;   /* GICR_CTLR.EnableLPIs can't be cleared */
    /* Its registers. */
    uint32_t control; /* GICD_CTLR: groups and affinity routing */
    struct gic_bank distributor;
    uint64_t routes[GIC_MODEL_INTERRUPTS];
    struct gic_redistributor redistributors[GIC_MODEL_CORES_MAX];
    struct gic_its its;
    /* Called before an access to a known frame takes effect, if set. */
    void (*watch)(const struct gic *gic, const struct gic_access *access);
    unsigned reads;
    unsigned writes;
    unsigned control_reads; /* of GICD_CTLR and GICR_CTLR */
};

/* As after power-on: affinity routing off, all cores asleep, with Redistributors of two frames. */
void gic_model_reset(struct gic *gic, unsigned cores);

/* An access by the processor to an address of `bytes` bytes: 1 (priorities), 4 or 8. */
uint64_t gic_model_read(struct gic *gic, uint64_t address, uint8_t bytes);
void gic_model_write(struct gic *gic, uint64_t address, uint8_t bytes, uint64_t value);

/* Lets some of the late writes arrive, or all of them. */
void gic_model_pass_time(struct gic *gic);
void gic_model_arrive(struct gic *gic);

/* Returns the model that the registers' addresses belong to. The test defines this function. */
struct gic *gic_model_in_use(void);

/* Where a core's Redistributor is. */
uint64_t gic_model_redistributor(const struct gic *gic, unsigned core);

/* Ends the test unless `holds`. */
void gic_model_require(bool holds, const char *rule, uint64_t address);

#endif
