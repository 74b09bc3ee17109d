/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings of a case: words NAME=VALUE of the command line, written by test_device.py. */
#ifndef TESTS_DEVICE_SETTING_H
#define TESTS_DEVICE_SETTING_H

#include "qtest.h"
#include <stdbool.h>
#include <stdint.h>

struct setting {
    const char *name; /* name of the case */
    const struct qtest_machine *machine;
    int protocol; /* file descriptor of the qtest connection */
    int memory;   /* file descriptor of the machine's memory */
    int wire;     /* file descriptor of the wire's far end */
    int monitor;  /* file descriptor of the QMP connection */
    uint64_t memory_bytes;
    bool pci;            /* PCI, else MMIO */
    bool legacy;         /* interface to use: legacy or modern */
    bool probe_legacy;   /* use the legacy interface although the device also has the modern one */
    uint16_t vectors;    /* MSI-X vectors; 0: INTx */
    uint64_t refuse;     /* features that the driver refuses */
    uint64_t expect;     /* features that must be negotiated */
    uint16_t rx_buffers; /* parameters of the driver; 0: its defaults */
    uint16_t tx_ring;
    uint32_t receive_bytes;
    bool vnet;             /* each frame on the wire begins with a network header of 10 bytes */
    uint16_t count;        /* number of repetitions, or number of a variant */
    uint16_t mtu;          /* MTU that the driver should find */
    uint16_t device_pairs; /* queue pairs of the device; 0: it has no VIRTIO_NET_F_MQ */
    uint16_t pairs;        /* queue pairs that the driver asks for */
    bool vlan_filter;      /* parameter of the driver of the same name */
    const char *plug;      /* JSON for device_add: the device a second time */
};

/* Parses the words. Returns false after reporting an invalid word. */
bool setting_parse(struct setting *setting, int count, char **words);

/* Sends a QMP command (a JSON object) and reads its answer. The test fails on an error. */
void monitor_execute(const struct setting *setting, const char *command);
/* Does the same; the answer must contain this text. */
void monitor_expect(const struct setting *setting, const char *command, const char *text);
/* Waits for a line that contains this text, such as an event. */
void monitor_await(const struct setting *setting, const char *text);
void monitor_set_link(const struct setting *setting, bool up);

#endif
