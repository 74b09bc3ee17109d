/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules on registers (rules.h) for MMIO and PCI, including the legacy interfaces. */
#include "rules.h"
#include <string.h>

#define STATUS_START (VIRTIO_STATUS_ACKNOWLEDGE | VIRTIO_STATUS_DRIVER)

struct rules rules;
void (*rules_on_access)(enum rules_register what, const struct qtest_access *access);

/* The rules' state between two accesses. */
static struct {
    uint8_t status;       /* last value written */
    bool started;         /* DRIVER_OK was written, and 0 not written since */
    bool reset_pending;   /* 0 was written, and not read back yet */
    bool features_unread; /* FEATURES_OK was written, and the status not read yet */
    bool config_open;     /* fields were read, and the generation not since */
    enum rules_register last;
    uint32_t device_select;
    uint32_t driver_select;
    uint8_t words_selected; /* bit per feature word that was read after it was selected */
    uint32_t queue_select;
    uint32_t cause;
    enum rules_register vector_unread;
    uint8_t config_reads[64]; /* legacy: by offset, since the last write of a register */
} seen;

struct place {
    uint16_t offset;
    uint8_t bytes;
    uint8_t what;
};

static const struct place mmio_places[] = {
    {0x000, 4, REGISTER_CONSTANT},
    {0x004, 4, REGISTER_CONSTANT},
    {0x008, 4, REGISTER_CONSTANT},
    {0x010, 4, REGISTER_DEVICE_FEATURES},
    {0x014, 4, REGISTER_DEVICE_FEATURES_SELECT},
    {0x020, 4, REGISTER_DRIVER_FEATURES},
    {0x024, 4, REGISTER_DRIVER_FEATURES_SELECT},
    {0x030, 4, REGISTER_QUEUE_SELECT},
    {0x034, 4, REGISTER_QUEUE_SIZE_MAX},
    {0x038, 4, REGISTER_QUEUE_SIZE},
    {0x050, 4, REGISTER_NOTIFY},
    {0x060, 4, REGISTER_CAUSE},
    {0x064, 4, REGISTER_ACKNOWLEDGE},
    {0x070, 4, REGISTER_STATUS},
};

static const struct place mmio_modern_places[] = {
    {0x044, 4, REGISTER_QUEUE_ENABLE},     {0x080, 4, REGISTER_DESCRIPTORS},
    {0x084, 4, REGISTER_DESCRIPTORS_HIGH}, {0x090, 4, REGISTER_DRIVER_AREA},
    {0x094, 4, REGISTER_DRIVER_AREA_HIGH}, {0x0a0, 4, REGISTER_DEVICE_AREA},
    {0x0a4, 4, REGISTER_DEVICE_AREA_HIGH}, {0x0c0, 4, REGISTER_QUEUE_RESET},
    {0x0fc, 4, REGISTER_GENERATION},
};

static const struct place mmio_legacy_places[] = {
    {0x028, 4, REGISTER_PAGE_SIZE},
    {0x03c, 4, REGISTER_QUEUE_ALIGN},
    {0x040, 4, REGISTER_QUEUE_PAGE},
};

static const struct place pci_places[] = {
    {0x00, 4, REGISTER_DEVICE_FEATURES_SELECT},
    {0x04, 4, REGISTER_DEVICE_FEATURES},
    {0x08, 4, REGISTER_DRIVER_FEATURES_SELECT},
    {0x0c, 4, REGISTER_DRIVER_FEATURES},
    {0x10, 2, REGISTER_CONFIG_VECTOR},
    {0x14, 1, REGISTER_STATUS},
    {0x15, 1, REGISTER_GENERATION},
    {0x16, 2, REGISTER_QUEUE_SELECT},
    {0x18, 2, REGISTER_QUEUE_SIZE},
    {0x1a, 2, REGISTER_QUEUE_VECTOR},
    {0x1c, 2, REGISTER_QUEUE_ENABLE},
    {0x1e, 2, REGISTER_QUEUE_NOTIFY_OFFSET},
    {0x20, 4, REGISTER_DESCRIPTORS},
    {0x24, 4, REGISTER_DESCRIPTORS_HIGH},
    {0x28, 4, REGISTER_DRIVER_AREA},
    {0x2c, 4, REGISTER_DRIVER_AREA_HIGH},
    {0x30, 4, REGISTER_DEVICE_AREA},
    {0x34, 4, REGISTER_DEVICE_AREA_HIGH},
    {0x3a, 2, REGISTER_QUEUE_RESET},
};

static const struct place pci_legacy_places[] = {
    {0x00, 4, REGISTER_DEVICE_FEATURES}, {0x04, 4, REGISTER_DRIVER_FEATURES},
    {0x08, 4, REGISTER_QUEUE_PAGE},      {0x0c, 2, REGISTER_QUEUE_SIZE},
    {0x0e, 2, REGISTER_QUEUE_SELECT},    {0x10, 2, REGISTER_NOTIFY},
    {0x12, 1, REGISTER_STATUS},          {0x13, 1, REGISTER_CAUSE},
};

/* Present only with MSI-X; otherwise the device's configuration begins here. */
static const struct place pci_legacy_vector_places[] = {
    {0x14, 2, REGISTER_CONFIG_VECTOR},
    {0x16, 2, REGISTER_QUEUE_VECTOR},
};

#define LOOK_UP(places, offset, bytes) \
    look_up(places, sizeof(places) / sizeof((places)[0]), offset, bytes)

static enum rules_register look_up(const struct place *places, size_t count, uint64_t offset,
                                   unsigned bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (places[i].offset == offset) {
            rules_check(RULE_REGISTER_WIDTH, places[i].bytes == bytes);
            return (enum rules_register)places[i].what;
        }
    }
    return REGISTER_UNKNOWN;
}

static enum rules_register what_on_mmio(const struct virtio_mmio *mmio,
                                        const struct qtest_access *access)
{
    uint64_t offset = access->reg - mmio->transport.registers;
    enum rules_register what = LOOK_UP(mmio_places, offset, access->bytes);

    if (offset >= 0x100) {
        return REGISTER_CONFIG;
    }
    if (what != REGISTER_UNKNOWN) {
        return what;
    }
    return mmio->transport.legacy ? LOOK_UP(mmio_legacy_places, offset, access->bytes)
                                  : LOOK_UP(mmio_modern_places, offset, access->bytes);
}

static enum rules_register what_on_pci(const struct virtio_pci *pci,
                                       const struct qtest_access *access)
{
    virtio_register reg = access->reg;
    enum rules_register what;

    if (reg >= pci->transport.config && reg < pci->transport.config + pci->transport.config_bytes) {
        return REGISTER_CONFIG;
    }
    if (pci->transport.legacy) {
        what = LOOK_UP(pci_legacy_places, reg - pci->transport.registers, access->bytes);
        return what != REGISTER_UNKNOWN || pci->transport.vectors == 0
                   ? what
                   : LOOK_UP(pci_legacy_vector_places, reg - pci->transport.registers,
                             access->bytes);
    }
    if (reg == pci->transport.cause) {
        return REGISTER_CAUSE;
    }
    if (reg >= pci->transport.notify && reg < pci->transport.notify + pci->transport.notify_bytes) {
        rules_check(RULE_REGISTER_WIDTH, access->bytes == 2);
        return REGISTER_NOTIFY;
    }
    return LOOK_UP(pci_places, reg - pci->transport.registers, access->bytes);
}

static struct rules_queue *selected(void)
{
    assert_true(seen.queue_select < RULES_QUEUES);
    return &rules.queue[seen.queue_select];
}

static void write_status(uint8_t value)
{
    bool legacy = rules.station->transport->legacy;
    uint8_t added = (uint8_t)(value & ~seen.status);
    uint8_t before = legacy ? STATUS_START : STATUS_START | VIRTIO_STATUS_FEATURES_OK;

    if ((seen.status & VIRTIO_STATUS_FAILED) != 0) {
        rules_check(RULE_FAILED_RESET, value == 0);
    }
    if (value == 0) {
        seen.reset_pending = true;
        seen.started = false;
        seen.features_unread = false;
        seen.status = 0;
        seen.words_selected = 0;
        rules.accepted = 0;
        rules.pairs_told = 1;
        memset(rules.queue, 0, sizeof(rules.queue));
        return;
    }
    rules_check(RULE_RESET_AWAITED, !seen.reset_pending);
    rules_check(RULE_STATUS_KEPT, (seen.status & ~value) == 0);
    if ((added & VIRTIO_STATUS_DRIVER) != 0) {
        rules_check(RULE_STATUS_ORDER, seen.status == VIRTIO_STATUS_ACKNOWLEDGE);
    }
    if ((added & VIRTIO_STATUS_FEATURES_OK) != 0) {
        rules_check(RULE_STATUS_ORDER, !legacy && seen.status == STATUS_START);
        rules_check(RULE_VERSION_1, (rules.accepted & VIRTIO_F_VERSION_1) != 0);
        rules_check(RULE_FEATURES_SELECTED, seen.words_selected == 3);
        seen.features_unread = true;
    }
    if ((added & VIRTIO_STATUS_DRIVER_OK) != 0) {
        rules_check(RULE_STATUS_ORDER, seen.status == before);
        rules_check(RULE_FEATURES_CHECKED, !seen.features_unread);
        rules_check(RULE_STATUS_ORDER, rules.queue[0].enabled && rules.queue[1].enabled);
    }
    seen.status = value;
    seen.started = seen.started || (value & VIRTIO_STATUS_DRIVER_OK) != 0;
}

static void read_status(uint8_t value)
{
    if (value == 0) {
        seen.reset_pending = false;
    }
    /* The device also changes bits by itself. */
    seen.status = seen.reset_pending ? 0 : value;
    if ((value & VIRTIO_STATUS_FEATURES_OK) != 0) {
        seen.features_unread = false;
    }
}

static void check_dependencies(uint64_t accepted)
{
    uint64_t host = VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6;
    uint64_t guest = VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6;

    rules_check(RULE_FEATURES_DEPENDENT,
                (accepted & host) == 0 || (accepted & VIRTIO_NET_F_CSUM) != 0);
    rules_check(RULE_FEATURES_DEPENDENT,
                (accepted & guest) == 0 || (accepted & VIRTIO_NET_F_GUEST_CSUM) != 0);
    rules_check(RULE_FEATURES_DEPENDENT,
                (accepted & VIRTIO_NET_F_MQ) == 0 || (accepted & VIRTIO_NET_F_CTRL_VQ) != 0);
}

static uint64_t word(uint32_t select, uint32_t value)
{
    return select < 2 ? (uint64_t)value << (32 * select) : 0;
}

static void access_features(enum rules_register what, const struct qtest_access *access)
{
    uint32_t device_select = rules.station->transport->legacy ? 0 : seen.device_select;
    uint32_t driver_select = rules.station->transport->legacy ? 0 : seen.driver_select;

    switch (what) {
    case REGISTER_DEVICE_FEATURES_SELECT:
        seen.device_select = access->value;
        break;
    case REGISTER_DRIVER_FEATURES_SELECT:
        seen.driver_select = access->value;
        break;
    case REGISTER_DEVICE_FEATURES:
        seen.words_selected |= (uint8_t)(1u << (device_select & 7u));
        rules.offered |= word(device_select, access->value);
        break;
    default:
        rules_check(RULE_FEATURES_FIXED, (seen.status & VIRTIO_STATUS_FEATURES_OK) == 0);
        rules.accepted |= word(driver_select, access->value);
        rules_check(RULE_FEATURES_OFFERED, (rules.accepted & ~rules.offered) == 0);
        check_dependencies(rules.accepted);
        break;
    }
}

static void set_half(uint64_t *address, bool high, uint32_t value)
{
    *address = high ? (*address & UINT32_MAX) | (uint64_t)value << 32
                    : (*address & ~(uint64_t)UINT32_MAX) | value;
}

static void enable_queue(struct rules_queue *queue)
{
    uint64_t driver_alignment = (rules.accepted & VIRTIO_F_RING_PACKED) != 0 ? 4 : 2;

    rules_check(RULE_QUEUE_SIZE, queue->size != 0 && (queue->size & (queue->size - 1)) == 0 &&
                                     queue->size <= queue->size_max);
    rules_check(RULE_QUEUE_ALIGNED, queue->descriptors != 0 && queue->descriptors % 16 == 0 &&
                                        queue->driver_area != 0 &&
                                        queue->driver_area % driver_alignment == 0 &&
                                        queue->device_area != 0 && queue->device_area % 4 == 0);
    /* A queue that was reset alone is set up again while the device runs (2.6.1). */
    rules_check(RULE_STATUS_ORDER,
                (seen.status & VIRTIO_STATUS_DRIVER_OK) == 0 || queue->was_reset);
    rules_check(RULE_RESET_AGREED, !queue->reset_pending);
    rules_check(RULE_FEATURES_CHECKED, !seen.features_unread);
    queue->enabled = true;
    rules_queue_enabled(queue);
}

/* Computes the legacy layout, which follows from the address alone (2.7.2). */
static void enable_legacy_queue(struct rules_queue *queue, uint64_t page)
{
    uint64_t alignment = VIRTIO_LEGACY_ALIGNMENT;

    queue->descriptors = page * alignment;
    queue->driver_area = queue->descriptors + 16 * (uint64_t)queue->size;
    queue->device_area =
        (queue->driver_area + 2 * (3 + (uint64_t)queue->size) + alignment - 1) & ~(alignment - 1);
    enable_queue(queue);
}

static void read_queue(enum rules_register what, uint32_t value)
{
    if (what == REGISTER_QUEUE_SIZE_MAX || what == REGISTER_QUEUE_SIZE) {
        selected()->size_max = value;
        if (rules.station->transport->queue_size_fixed) {
            selected()->size = value;
        }
    }
}

static void write_queue(enum rules_register what, uint32_t value)
{
    struct rules_queue *queue;

    if (what == REGISTER_QUEUE_SELECT) {
        seen.queue_select = value;
        return;
    }
    queue = selected();
    rules_check(RULE_QUEUE_IDLE, !queue->enabled);
    switch (what) {
    case REGISTER_QUEUE_SIZE:
        queue->size = value;
        break;
    case REGISTER_DESCRIPTORS:
    case REGISTER_DESCRIPTORS_HIGH:
        set_half(&queue->descriptors, what == REGISTER_DESCRIPTORS_HIGH, value);
        break;
    case REGISTER_DRIVER_AREA:
    case REGISTER_DRIVER_AREA_HIGH:
        set_half(&queue->driver_area, what == REGISTER_DRIVER_AREA_HIGH, value);
        break;
    case REGISTER_DEVICE_AREA:
    case REGISTER_DEVICE_AREA_HIGH:
        set_half(&queue->device_area, what == REGISTER_DEVICE_AREA_HIGH, value);
        break;
    case REGISTER_QUEUE_ENABLE:
        rules_check(RULE_QUEUE_ENABLED, value == 1);
        enable_queue(queue);
        break;
    case REGISTER_QUEUE_PAGE:
        enable_legacy_queue(queue, value);
        break;
    case REGISTER_PAGE_SIZE:
    case REGISTER_QUEUE_ALIGN:
        rules_check(RULE_QUEUE_ALIGNED, value == VIRTIO_LEGACY_ALIGNMENT);
        break;
    default:
        break;
    }
}

static void notified(uint32_t queue)
{
    rules_check(RULE_NOTIFY_RUNNING, seen.started);
    rules_check(RULE_NOTIFY_QUEUE, queue < RULES_QUEUES && rules.queue[queue].enabled);
}

static void access_reset(const struct qtest_access *access)
{
    struct rules_queue *queue = selected();

    if (access->is_write) {
        rules_check(RULE_RESET_AGREED, (rules.accepted & VIRTIO_F_RING_RESET) != 0 &&
                                           queue->enabled && access->value == 1);
        queue->reset_pending = true;
    } else if (access->value == 0) {
        queue->reset_pending = false;
        queue->was_reset = true;
        queue->enabled = false;
    }
}

static void access_vector(enum rules_register what, const struct qtest_access *access)
{
    if (access->is_write) {
        rules_check(RULE_VECTOR_INSIDE, access->value == VIRTIO_NO_VECTOR ||
                                            access->value < rules.station->transport->vectors);
        seen.vector_unread = what;
    } else if (seen.vector_unread == what) {
        seen.vector_unread = REGISTER_UNKNOWN;
    }
}

/* struct virtio_net_config: length of the field at each offset; 0 if no field begins there. */
static const uint8_t config_widths[24] = {
    [0] = 1, [1] = 1,  [2] = 1,  [3] = 1,  [4] = 1,  [5] = 1,  [6] = 2,
    [8] = 2, [10] = 2, [12] = 4, [16] = 1, [17] = 1, [18] = 2, [20] = 4,
};

static void access_config(const struct qtest_access *access)
{
    const struct station *station = rules.station;
    uint64_t offset = access->reg - station->transport->config;

    rules_check(RULE_CONFIG_UNTOUCHED, !access->is_write);
    rules_check(RULE_CONFIG_WIDTH,
                offset < sizeof(config_widths) && config_widths[offset] == access->bytes);
    if (station->transport->legacy) {
        seen.config_reads[offset]++;
    } else {
        rules_check(RULE_CONFIG_GENERATION,
                    seen.last == REGISTER_GENERATION || seen.last == REGISTER_CONFIG);
        seen.config_open = true;
    }
}

/* Called before an access of another kind: checks that the configuration was read properly. */
static void close_config(enum rules_register what)
{
    if (what == REGISTER_CONFIG) {
        return;
    }
    if (seen.config_open) {
        rules_check(RULE_CONFIG_GENERATION, what == REGISTER_GENERATION);
        seen.config_open = false;
    }
    for (size_t i = 0; i < sizeof(seen.config_reads); i++) {
        if (seen.config_reads[i] != 0) {
            rules_check(RULE_CONFIG_TWICE, seen.config_reads[i] >= 2);
            seen.config_reads[i] = 0;
        }
    }
}

static void dispatch(enum rules_register what, const struct qtest_access *access)
{
    switch (what) {
    case REGISTER_STATUS:
        (access->is_write ? write_status : read_status)((uint8_t)access->value);
        break;
    case REGISTER_DEVICE_FEATURES:
    case REGISTER_DEVICE_FEATURES_SELECT:
    case REGISTER_DRIVER_FEATURES:
    case REGISTER_DRIVER_FEATURES_SELECT:
        access_features(what, access);
        break;
    case REGISTER_NOTIFY:
        notified(access->value);
        break;
    case REGISTER_CAUSE:
        rules_check(RULE_CAUSE_MSIX, rules.station->transport->vectors == 0);
        seen.cause = access->value;
        break;
    case REGISTER_ACKNOWLEDGE:
        rules_check(RULE_CAUSE_ACKNOWLEDGED,
                    access->value != 0 && (access->value & ~(seen.cause & 3u)) == 0);
        break;
    case REGISTER_QUEUE_RESET:
        access_reset(access);
        break;
    case REGISTER_CONFIG_VECTOR:
    case REGISTER_QUEUE_VECTOR:
        access_vector(what, access);
        break;
    case REGISTER_CONFIG:
        access_config(access);
        break;
    case REGISTER_CONSTANT:
    case REGISTER_GENERATION:
    case REGISTER_QUEUE_NOTIFY_OFFSET:
        break;
    default:
        (access->is_write ? write_queue : read_queue)(what, access->value);
        break;
    }
}

static void observe(const struct qtest_access *access)
{
    const struct station *station = rules.station;
    enum rules_register what = station->function == NULL ? what_on_mmio(&station->mmio, access)
                                                         : what_on_pci(&station->pci, access);

    rules_check(RULE_REGISTER_KNOWN, what != REGISTER_UNKNOWN);
    if (seen.vector_unread != REGISTER_UNKNOWN) {
        rules_check(RULE_VECTOR_READ, what == seen.vector_unread && !access->is_write);
    }
    close_config(what);
    dispatch(what, access);
    seen.last = what;
    if (rules_on_access != NULL) {
        rules_on_access(what, access);
    }
}

void rules_watch(const struct station *station)
{
    rules.station = station;
    qtest_observe(observe);
}
