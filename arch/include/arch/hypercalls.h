/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of a guest by HVC or SMC (SMC Calling Convention 1.1, DEN0028): function identifiers,
 * arguments and results. The hypervisor, guests and the tools use the numbers: append only.
 * docs/hypercalls.md lists who may call what. hypervisor_call() makes a call
 * (arch/hypervisor_call.h).
 *
 * W0 is the function, X1 to X3 are the arguments, and X0 is the result. A negative result is an
 * error. CALL_NOT_SUPPORTED is returned for every function that does not exist or that the caller
 * may not call.
 */
#ifndef ARCH_HYPERCALLS_H
#define ARCH_HYPERCALLS_H

#include <stdint.h>

/* Fields of a function identifier (DEN0028, "Function identifier ranges"). Bits 31 and 29:24 are
 * the kind of call, here a fast call, and its owner. */
#define CALL_OWNER_MASK 0xbf000000u
#define CALL_OWNER_PSCI 0x84000000u
#define CALL_64         0x40000000u /* arguments and results of 64 bits */

enum call_result {
    CALL_SUCCESS = 0,
    CALL_NOT_SUPPORTED = -1,
};

/* Calls of the SMC Calling Convention itself (DEN0028, 7). */
#define CALL_SMCCC_VERSION       0x80000000u
#define CALL_SMCCC_ARCH_FEATURES 0x80000001u /* may the caller call the function in W1? */
/* Discard the calling core's branch predictions: branch targets, or also the branch history. */
#define CALL_SMCCC_ARCH_WORKAROUND_1 0x80008000u
#define CALL_SMCCC_ARCH_WORKAROUND_3 0x80003fffu

/* PSCI 1.1 (DEN0022, 5.1), for the VCPUs of the caller's own partition. With CALL_64 the functions
 * of which DEN0022 says so take arguments of 64 bits. */
#define PSCI_VERSION           0x84000000u
#define PSCI_CPU_SUSPEND       0x84000001u
#define PSCI_CPU_OFF           0x84000002u
#define PSCI_CPU_ON            0x84000003u
#define PSCI_AFFINITY_INFO     0x84000004u
#define PSCI_MIGRATE_INFO_TYPE 0x84000006u
#define PSCI_SYSTEM_OFF        0x84000008u
#define PSCI_SYSTEM_RESET      0x84000009u
#define PSCI_FEATURES          0x8400000au
#define PSCI_SYSTEM_RESET2     0x84000012u

/* DEN0098 (True Random Number Generator Firmware Interface), for guests of a machine that has a
 * source of entropy. They are in the range of numbers of CALL_OWNER_PSCI. */
#define CALL_TRNG_VERSION  0x84000050u
#define CALL_TRNG_FEATURES 0x84000051u /* is the function in W1 supported? */
#define CALL_TRNG_GET_UUID 0x84000052u
#define CALL_TRNG_RND32    0x84000053u /* W1 random bits, 96 at most, in W1 to W3 */
#define CALL_TRNG_RND64    0xc4000053u /* X1 random bits, 192 at most, in X1 to X3 */

/* DEN0057 (Paravirtualized Time for Arm-based Systems), and the hypervisor's own call for virtual
 * time. Results are guest addresses in a struct vcpu_times (arch/vcpu_times.h) of the caller. */
#define CALL_PV_TIME_FEATURES 0xc5000020u /* is the function in W1 supported? */
#define CALL_PV_TIME_ST       0xc5000021u /* address of `stolen_time` */
#define CALL_HYPERVISOR_TIMES 0xc6000000u /* address of `absence` */

/* DEN0028, "General service queries". */
#define CALL_HYPERVISOR_UID      0x8600ff01u /* W0 to W3: the UUID */
#define CALL_HYPERVISOR_REVISION 0x8600ff03u /* X0: major, X1: minor */

/* Channels (arch/channel.h), for partitions that are an end of one. W1 is the index of the channel
 * in the system description. At the receiving end of a one-way channel the calls have no effect,
 * because nothing flows back to the sender. */
#define CALL_CHANNEL_NOTIFY 0x86000020u /* rings the doorbell of the other end */
/* Sets the state of the caller's end to W2. Writes it to the state page after all earlier writes of
 * the caller, and rings the doorbell of the other end. */
#define CALL_CHANNEL_SET_STATE 0x86000021u

/* Shared devices (arch/shared_device.h), for the partition that is the back-end of one. W1 is the
 * index of the device in the system description. X0: CALL_SUCCESS, or CALL_NOT_SUPPORTED. */
/* Tells the driver of W2: 1 the device has used buffers, 2 its configuration has changed. */
#define CALL_SHARED_DEVICE_INTERRUPT 0x86000022u
/* The back-end accesses rings and buffers only of queues whose generation it read in the device's
 * page after it had read W2 as the device's generation there. W2 is ignored if the device has
 * another generation by now. In each life of the back-end the first such call comes before it
 * accesses any ring (arch/shared_device.h). */
#define CALL_SHARED_DEVICE_ACKNOWLEDGE 0x86000023u
/* Changes W2 bits 31:16 bytes, 8 at most, of the configuration space from W2 bits 15:0 on to those
 * of X3, the first in bits 7:0, and tells the driver. CALL_NOT_SUPPORTED if it has no such bytes.
 */
#define CALL_SHARED_DEVICE_CONFIGURE 0xc6000024u
/* The device can't go on until the driver resets it (VIRTIO 1.3, 2.1.2). */
#define CALL_SHARED_DEVICE_FAIL 0x86000025u

/* Health monitoring, for partitions that are monitored (arch/health.h). W1 is enum health_report,
 * X2 a number that the log shows. Has no result if the table of the caller's partition says that it
 * stops or restarts. Otherwise X0 is CALL_SUCCESS, and the guest continues. */
#define CALL_HEALTH_REPORT 0xc6000030u

/* PCI functions that move between partitions, for partitions that may own the function in W1, bus
 * << 8 | device << 3 | function. X0: CALL_SUCCESS. X1: enum device_state. X2: how often the
 * function has moved since the board started. X3: what X2 was when an owner adopted it last. W2 of
 * the call: DEVICE_ADOPT if the caller, which owns it, adopts it, or 0. An owner adopts a function
 * once its kept memory has all that goes on with the function. */
#define CALL_DEVICE_STATE 0xc6000031u

#define DEVICE_ADOPT 1u

enum device_state {
    DEVICE_STATE_ABSENT, /* another partition owns the function, or it is on its way to one */
    DEVICE_STATE_OWNED,  /* the caller owns it */
    DEVICE_STATE_LOST    /* it was not reset when it was to move: no partition can access it */
};

enum health_report {
    HEALTH_REPORT_PANIC /* the guest found an error after which it does not go on */
};

/*
 * Calls about partitions, for the boot VCPU of the manager. X1 is the index of a partition in the
 * system file. X0 is enum manager_result, unless stated otherwise. An order is given when the call
 * returns MANAGER_DONE; the partition carries it out later.
 */
/* X0: enum partition_state, or MANAGER_INVALID. X1: the result of the last order, or why the
 * partition failed or stays stopped. X2: number of its errors, 0 if it is not monitored. */
#define CALL_PARTITION_STATUS 0xc6000010u
/* Orders: CALL_PARTITION_CREATE + enum order_command. */
#define CALL_PARTITION_CREATE 0xc6000011u
#define CALL_PARTITION_START  0xc6000012u
#define CALL_PARTITION_STOP   0xc6000013u
/* X2: offset of the image in staging (bits 63:32, a multiple of the page size) and its number of
 * bytes (31:0). X3: CRC-32 of the image. Each call checks a part of the image; the last call gives
 * the order. */
#define CALL_PARTITION_REPLACE 0xc6000014u
#define CALL_PARTITION_DESTROY 0xc6000015u
/* The staged image that the partition loads in place of its own. X0: a result; MANAGER_BUSY while
 * the partition has not taken the last order. X1: as X2 of CALL_PARTITION_REPLACE; 0: it loads its
 * own image. */
#define CALL_PARTITION_IMAGE 0xc6000016u

/* Reads the log of a partition (arch/health.h). X2: number of a record. X3: enum
 * log_part. X0: MANAGER_DONE, or MANAGER_INVALID if the log has no such record any more. */
#define CALL_PARTITION_LOG 0xc6000017u

/* Moves the PCI function in X2, bus << 8 | device << 3 | function, to the partition. X3: 1 begins,
 * 0 asks how far it is. X0: MANAGER_AGAIN while the owner gives it up, MANAGER_DONE if the
 * partition has it or gets it at its next look, MANAGER_BUSY if it moves to another partition,
 * MANAGER_RESET_FAILED if it was not reset and no partition has it. */
#define CALL_DEVICE_GIVE 0xc6000018u

/* Reports a panic of the partition, as if its guest had done so (CALL_HEALTH_REPORT): for tests of
 * the action that follows, and for a guest that should report one and can't. */
#define CALL_PARTITION_CRASH 0xc6000019u

enum log_part {
    /* The first record from number X2 on. X1: its number, 0: there is none yet. X2: time. X3: error
     * in bits 15:0, action in 31:16, source in 63:32. */
    LOG_PART_EVENT,
    /* The record with number X2. X1: address. X2: syndrome. X3: program counter. */
    LOG_PART_PLACE
};

#define CALL_PARTITIONS_MAX 8u /* partitions of a system */

enum order_command {
    ORDER_CREATE,
    ORDER_START,
    ORDER_STOP,
    ORDER_REPLACE,
    ORDER_DESTROY,
    ORDER_CRASH
};

enum partition_state {
    PARTITION_STATE_ABSENT,
    PARTITION_STATE_STOPPED,
    PARTITION_STATE_RUNNING,
    PARTITION_STATE_BUSY, /* the partition starts or stops, or has not taken the last order */
    /* The guest does not execute, but the last start, stop or destruction has not had its effect:
     * devices may still act for the guest, or its memory is not zeroed. */
    PARTITION_STATE_FAILED,
};

enum manager_result {
    MANAGER_AGAIN = 1, /* a part of the image was checked: make the same call again */
    MANAGER_DONE = 0,
    MANAGER_NOT_SUPPORTED = CALL_NOT_SUPPORTED, /* the caller is not the manager's boot VCPU */
    MANAGER_INVALID = -2,                       /* no such partition, or the manager itself */
    MANAGER_BUSY = -3, /* the partition starts, stops, or has not taken the last order */
    MANAGER_WRONG_STATE = -4,
    MANAGER_NEVER_RESTARTS = -5, /* restart = "never", and it has been started before */
    MANAGER_BAD_IMAGE = -6,      /* no arm64 Image, or not one for the partition's entry */
    MANAGER_TOO_LARGE = -7,      /* outside of staging, or larger than the partition's room */
    MANAGER_DAMAGED = -8,        /* its checksum is not the one in X3 */
    MANAGER_CHANGED = -9,        /* the image was changed in staging after its check */
    /* Results of a start or a stop, with PARTITION_STATE_FAILED. */
    MANAGER_NOT_ISOLATED = -10, /* DMA of the partition's devices may go on */
    MANAGER_RESET_FAILED = -11, /* a device or the GIC was not reset; DMA is blocked */
    /* The partition was stopped for an error, because it has used up its restarts. */
    MANAGER_RESTARTS_USED_UP = -12,
};

#endif
