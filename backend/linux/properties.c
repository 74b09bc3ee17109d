/* SPDX-License-Identifier: BSD-2-Clause */
#include "properties.h"

#include "pci_function.h"
#include "problem.h"
#include <endian.h>
#include <string.h>

#define WINDOW_LONGS 3u /* address of the client, address here, bytes */

/* A client with a limit may send so much at once. */
#define BURST_MILLISECONDS 10u

bool properties_are_of_network(const char *function)
{
    uint64_t page;

    return pci_function_property(function, "bulkhead,page", &page, sizeof(page)) == sizeof(page) &&
           pci_function_has_text(function, "bulkhead,kind", "net");
}

static bool has_property(const char *function, const char *name)
{
    char none;

    return pci_function_property(function, name, &none, sizeof(none)) >= 0;
}

/* Reads a number of one cell. Returns false if there is none. */
static bool read_number(const char *function, const char *name, uint32_t *value)
{
    uint32_t cell;

    if (pci_function_property(function, name, &cell, sizeof(cell)) != sizeof(cell)) {
        return false;
    }
    *value = be32toh(cell);
    return true;
}

/* Reads a number of two cells. Returns false if there is none. */
static bool read_long(const char *function, const char *name, uint64_t *value)
{
    uint64_t cells;

    if (pci_function_property(function, name, &cells, sizeof(cells)) != sizeof(cells)) {
        return false;
    }
    *value = be64toh(cells);
    return true;
}

static bool read_name(const char *function, const char *name, char text[PROPERTIES_NAME_BYTES])
{
    ssize_t bytes = pci_function_property(function, name, text, PROPERTIES_NAME_BYTES);

    return bytes > 0 && memchr(text, '\0', (size_t)bytes) == text + bytes - 1;
}

static bool read_windows(const char *function, struct properties *properties)
{
    uint64_t longs[PROPERTIES_WINDOWS_MAX + 1][WINDOW_LONGS];
    ssize_t bytes = pci_function_property(function, "bulkhead,memory", longs, sizeof(longs));

    if (bytes <= 0 || (size_t)bytes % sizeof(longs[0]) != 0 ||
        (size_t)bytes / sizeof(longs[0]) > PROPERTIES_WINDOWS_MAX) {
        return false;
    }
    properties->window_count = (unsigned)((size_t)bytes / sizeof(longs[0]));
    for (unsigned i = 0; i < properties->window_count; i++) {
        struct properties_window *window = &properties->windows[i];

        window->client = be64toh(longs[i][0]);
        window->here = be64toh(longs[i][1]);
        window->bytes = be64toh(longs[i][2]);
        if (window->bytes == 0 || window->client + window->bytes < window->client) {
            return false;
        }
    }
    return true;
}

/* Reads the memory for reports, which the first device alone has. */
static void read_reports(const char *function, struct properties_memory *reports)
{
    uint64_t longs[2];

    if (pci_function_property(function, "bulkhead,reports", longs, sizeof(longs)) ==
        sizeof(longs)) {
        reports->here = be64toh(longs[0]);
        reports->bytes = be64toh(longs[1]);
    }
}

static bool read_mac(const char *function, struct network_client_setup *setup)
{
    if (pci_function_property(function, "local-mac-address", setup->mac, sizeof(setup->mac)) !=
        sizeof(setup->mac)) {
        return false;
    }
    for (unsigned i = 0; i < sizeof(setup->mac); i++) {
        setup->rules.address = setup->rules.address << 8 | setup->mac[i];
    }
    return true;
}

static void read_vlan(const char *function, struct network_client_setup *setup)
{
    uint32_t vlan;

    if (has_property(function, "bulkhead,all-vlans")) {
        setup->rules.kind = FRAME_SWITCH_TRUNK;
    } else if (read_number(function, "bulkhead,vlan", &vlan)) {
        setup->rules.kind = FRAME_SWITCH_ACCESS;
        setup->rules.vlan = (uint16_t)vlan;
    }
}

static void read_rate(const char *function, struct fair_share *share)
{
    uint64_t burst;

    if (read_long(function, "bulkhead,rate", &share->rate)) {
        burst = share->rate / 1000 * BURST_MILLISECONDS;
        burst = burst < FAIR_QUEUE_FRAME_BYTES_MAX ? FAIR_QUEUE_FRAME_BYTES_MAX : burst;
        share->burst = burst < INT32_MAX ? (uint32_t)burst : INT32_MAX;
    }
}

/* Reads what the switch needs. Returns false if a property is missing. */
static bool read_setup(const char *function, struct network_client_setup *setup)
{
    uint32_t mtu;

    if (!read_mac(function, setup) || !read_number(function, "bulkhead,mtu", &mtu) ||
        !read_long(function, "bulkhead,features", &setup->features) ||
        !read_number(function, "bulkhead,weight", &setup->share.weight)) {
        return false;
    }
    setup->mtu = (uint16_t)mtu;
    setup->rules.is_any_address = has_property(function, "bulkhead,any-address");
    read_vlan(function, setup);
    read_rate(function, &setup->share);
    return true;
}

bool properties_read(const char *function, struct properties *properties, char *problem)
{
    memset(properties, 0, sizeof(*properties));
    read_reports(function, &properties->reports);
    if (!read_name(function, "label", properties->label) ||
        !read_name(function, "bulkhead,client", properties->client) ||
        !read_number(function, "bulkhead,device", &properties->number) ||
        !read_long(function, "bulkhead,page", &properties->page) ||
        !read_windows(function, properties) || !read_setup(function, &properties->setup)) {
        return problem_set(problem,
                           "%s: its node in the devicetree is not that of a shared device: use the "
                           "devicetree that bulkhead made",
                           function);
    }
    return true;
}
