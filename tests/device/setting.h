/* SPDX-License-Identifier: BSD-2-Clause */
/* What a case is to be run on: words NAME=VALUE of the command line, by test_device.py. */
#ifndef TESTS_DEVICE_SETTING_H
#define TESTS_DEVICE_SETTING_H

#include "qtest.h"
#include <stdbool.h>
#include <stdint.h>

struct setting {
    const char *name; /* of the case */
    const struct qtest_machine *machine;
    int protocol; /* open files: qtest, */
    int memory;   /* the machine's memory, */
    int wire;     /* the far end of the wire, */
    int monitor;  /* QMP */
    uint64_t memory_bytes;
    bool pci;            /* else MMIO */
    bool legacy;         /* which interface is to be driven */
    bool probe_legacy;   /* ask for it, though the device has the modern one as well */
    uint16_t vectors;    /* MSI-X vectors; 0: the line */
    uint64_t refuse;     /* features the driver shall not accept */
    uint64_t expect;     /* features negotiated in the end */
    uint16_t rx_buffers; /* parameters of the driver; 0: its defaults */
    uint16_t tx_ring;
    uint32_t receive_bytes;
    bool vnet;             /* frames on the wire have a network header of 10 bytes in front */
    uint16_t count;        /* of whatever the case repeats; or which of its variants */
    uint16_t mtu;          /* that it should find */
    uint16_t device_pairs; /* of queues, that the device has; 0: it has no VIRTIO_NET_F_MQ */
    uint16_t pairs;        /* that the driver asks for */
    bool vlan_filter;      /* the same parameter of the driver */
    const char *plug;      /* JSON: the device once more, for device_add */
};

/* False: a word makes no sense; it has been reported. */
bool setting_parse(struct setting *setting, int count, char **words);

/* One command of the machine protocol (a JSON object) and its answer; the test fails on an error.
 */
void monitor_execute(const struct setting *setting, const char *command);
/* The same; the answer must contain this text. */
void monitor_expect(const struct setting *setting, const char *command, const char *text);
/* Waits for a line, of an event say, that contains this text. */
void monitor_await(const struct setting *setting, const char *text);
void monitor_set_link(const struct setting *setting, bool up);

#endif
