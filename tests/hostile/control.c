/* SPDX-License-Identifier: BSD-2-Clause */
/* The control queue (VIRTIO 1.3, 5.1.6.5) from both ends: what the owner asks for, and how the
 * device answers, while time passes. */
#include "owner.h"
#include "virtio/net_control.h"
#include <string.h>

#define COMMAND_BYTES_MAX (2u + 8u + 6u * VIRTIO_NET_FILTER_MAX)
#define LATE_MAX          500u /* pauses of the driver, which waits for twice as many */
#define STATUS_ANNOUNCE   2u
#define CLASS_ANNOUNCE    3u

/* 5.1.6.5 */
#define ANSWER_OK    0u
#define ANSWER_ERROR 1u

struct control {
    enum control_manner manner;
    uint32_t value;
    uint32_t pauses_left; /* until the device looks */
    uint32_t commands;    /* obeyed */
    uint8_t expected[COMMAND_BYTES_MAX];
    uint32_t expected_bytes;
    uint8_t taken[COMMAND_BYTES_MAX]; /* as the device saw it first */
};

static struct control control;

void control_power_on(void)
{
    control = (struct control){0};
}

unsigned control_commands(void)
{
    return control.commands;
}

bool control_obeys(void)
{
    return control.manner == CONTROL_HONEST || control.manner == CONTROL_LATE;
}

void control_answers(enum control_manner manner, uint32_t value)
{
    control.manner = manner;
    control.value = value;
    control.pauses_left = manner == CONTROL_LATE ? 1 + value % LATE_MAX : 0;
}

/* ---- The device ---- */

void control_check_command(const struct ring_chain *chain, const uint8_t *command, uint32_t bytes)
{
    HOSTILE_CHECK(chain->writable == 1, "a command with room for %u bytes of answer",
                  chain->writable);
    HOSTILE_CHECK(bytes >= 2 && (command[0] == 4 /* the driver's own (5.1.6.5.6) */ ||
                                 (bytes == control.expected_bytes &&
                                  memcmp(command, control.expected, bytes) == 0)),
                  "a command that the owner did not give");
    memcpy(control.taken, command, bytes);
}

/* The command is the device's until it answers. */
static void check_unchanged(const struct ring_chain *chain)
{
    const uint8_t *taken = control.taken;
    uint8_t now[COMMAND_BYTES_MAX];

    for (unsigned i = 0; device_strict() && i < chain->count && !chain->segment[i].writable; i++) {
        HOSTILE_CHECK(memory_load(chain->segment[i].address, now, chain->segment[i].bytes) &&
                          memcmp(now, taken, chain->segment[i].bytes) == 0,
                      "a command changed before it was answered");
        taken += chain->segment[i].bytes;
    }
}

static void answer(struct queue *queue, uint8_t acknowledge, uint32_t id, uint32_t bytes)
{
    const struct ring_chain *chain = &queue->held[0];

    check_unchanged(chain);
    for (unsigned i = 0; i < chain->count; i++) {
        if (chain->segment[i].writable) {
            (void)memory_store(chain->segment[i].address, &acknowledge, 1);
        }
    }
    queue->last_id = chain->id;
    if (id == chain->id) {
        ring_return(&queue->ring, chain, 1, bytes);
    } else {
        ring_push(&queue->ring, id, bytes, 1, chain->descriptors);
    }
    queue->held_count = 0;
}

static void obey(struct queue *queue)
{
    uint8_t class = 0;

    control.commands++;
    (void)memory_load(queue->held[0].segment[0].address, &class, 1);
    if (class == CLASS_ANNOUNCE) {
        device.config[6] &= (uint8_t)~STATUS_ANNOUNCE;
    }
    answer(queue, ANSWER_OK, queue->held[0].id, 1);
}

/* The answers of a device that lies. */
static void lie(struct queue *queue)
{
    uint16_t id = queue->held[0].id;

    device.lies |= LIE_RING;
    switch (control.manner) {
    case CONTROL_ODD:
        answer(queue, (uint8_t)(2 + control.value % 254), id, 1);
        break;
    case CONTROL_EMPTY:
        answer(queue, ANSWER_OK, id, 0);
        break;
    case CONTROL_UNWRITTEN:
        ring_push(&queue->ring, id, 1, 1, queue->held[0].descriptors);
        queue->held_count = 0;
        break;
    case CONTROL_LONGER:
        answer(queue, ANSWER_OK, id, 2 + control.value);
        break;
    case CONTROL_WRONG_ID:
        answer(queue, ANSWER_OK, id + 1 + control.value, 1);
        break;
    default: /* twice */
        answer(queue, ANSWER_OK, id, 1);
        ring_push(&queue->ring, id, 1, 1, queue->held[0].descriptors);
    }
}

/* A queue that holds a command, or NULL. */
static struct queue *with_command(void)
{
    unsigned index = traffic_control_index();
    struct queue *queue = device_features(VIRTIO_NET_F_CTRL_VQ) ? device_queue(index) : NULL;

    if (queue != NULL && control.manner == CONTROL_UNASKED) {
        device.lies |= LIE_RING;
        ring_push(&queue->ring, control.value % 4, 1, 1, 1);
        control.manner = CONTROL_SILENT;
    }
    if (queue == NULL || queue->held_count != 0) {
        return queue;
    }
    traffic_take(index, 1);
    return queue->held_count != 0 ? queue : NULL;
}

void control_run(void)
{
    struct queue *queue = with_command();

    if (queue == NULL || control.manner == CONTROL_SILENT) {
        return;
    }
    if (control.manner == CONTROL_LATE && control.pauses_left != 0) {
        control.pauses_left--;
        return;
    }
    if (control.manner == CONTROL_HONEST || control.manner == CONTROL_LATE) {
        obey(queue);
        control_answers(control.manner, control.value);
    } else if (control.manner == CONTROL_REFUSES) {
        answer(queue, ANSWER_ERROR, queue->held[0].id, 1);
    } else {
        lie(queue);
    }
    traffic_signal((unsigned)(queue - device.queue));
}

/* ---- The owner ---- */

static uint8_t *put_table(uint8_t *at, unsigned count, uint8_t seed)
{
    memcpy(at, (const uint8_t[4]){(uint8_t)count}, 4);
    at += 4;
    for (unsigned i = 0; i < count; i++) {
        memcpy(at, (const uint8_t[6]){seed, 0, 0, 0x5e, (uint8_t)i, seed}, 6);
        at += 6;
    }
    return at;
}

static enum virtio_net_answer set_filter(unsigned unicasts, unsigned multicasts)
{
    static uint8_t addresses[2 * (VIRTIO_NET_FILTER_MAX + 8)][6];
    uint8_t table[2][4 + 6 * (VIRTIO_NET_FILTER_MAX + 8)];
    size_t bytes[2] = {(size_t)(put_table(table[0], unicasts, 2) - table[0]),
                       (size_t)(put_table(table[1], multicasts, 3) - table[1])};

    control.expected[0] = 1;
    control.expected[1] = 0;
    memcpy(addresses[0], table[0] + 4, bytes[0] - 4);
    memcpy(addresses[unicasts], table[1] + 4, bytes[1] - 4);
    if (unicasts + multicasts <= VIRTIO_NET_FILTER_MAX) {
        memcpy(control.expected + 2, table[0], bytes[0]);
        memcpy(control.expected + 2 + bytes[0], table[1], bytes[1]);
    }
    control.expected_bytes = (uint32_t)(2 + bytes[0] + bytes[1]);
    return virtio_net_set_filter(owner_net(), (const uint8_t(*)[6])addresses, unicasts, multicasts);
}

static void expect(uint8_t class, uint8_t what, uint16_t data, uint32_t bytes)
{
    const uint8_t command[4] = {class, what, (uint8_t)data, (uint8_t)(data >> 8)};

    memcpy(control.expected, command, sizeof(command));
    control.expected_bytes = 2 + bytes;
}

/* Stands in place of the features that a command needs if one of its operands is out of range. */
#define NOT_POSSIBLE VIRTIO_FEATURE(62)

static uint64_t needed(enum owner_command which, uint8_t b, uint8_t c)
{
    switch (which) {
    case COMMAND_MODE:
        return b % 6 < 2 ? VIRTIO_NET_F_CTRL_RX : VIRTIO_NET_F_CTRL_RX_EXTRA;
    case COMMAND_FILTER:
        return b % 72u + c % 72u > VIRTIO_NET_FILTER_MAX ? NOT_POSSIBLE : VIRTIO_NET_F_CTRL_RX;
    case COMMAND_MAC:
        return VIRTIO_NET_F_CTRL_MAC_ADDR | VIRTIO_NET_F_CTRL_RX;
    default:
        return 16u * b + c / 2u > 4094 ? NOT_POSSIBLE : VIRTIO_NET_F_CTRL_VLAN;
    }
}

static enum virtio_net_answer give(enum owner_command which, uint8_t b, uint8_t c)
{
    const uint8_t mac[6] = {2, 0, 0, 0, b, c};
    uint16_t vlan = (uint16_t)(16u * b + c / 2u);

    switch (which) {
    case COMMAND_MODE:
        expect(0, b % 6, c & 1, 1);
        return virtio_net_set_receive_mode(owner_net(), b % 6, (c & 1) != 0);
    case COMMAND_FILTER:
        return set_filter(b % 72, c % 72);
    case COMMAND_MAC:
        expect(1, 1, 0, 6);
        memcpy(control.expected + 2, mac, sizeof(mac));
        return virtio_net_set_mac(owner_net(), mac);
    default:
        expect(2, (c & 1) != 0 ? 0 : 1, vlan, 2);
        return virtio_net_receive_vlan(owner_net(), vlan, (c & 1) != 0);
    }
}

/* The answer there must be, if the device never lied and `possible`. */
static enum virtio_net_answer due(bool possible, bool unanswered)
{
    if (!possible) {
        return VIRTIO_NET_NOT_SENT;
    }
    if (unanswered || control.manner == CONTROL_SILENT) {
        return VIRTIO_NET_NO_ANSWER;
    }
    return control.manner == CONTROL_REFUSES ? VIRTIO_NET_REFUSED : VIRTIO_NET_DONE;
}

enum virtio_net_answer owner_command(enum owner_command which, uint8_t b, uint8_t c)
{
    uint64_t need = needed(which, b, c);
    bool running = owner_running();
    bool possible = running && (virtio_net_features(owner_net()) & need) == need;
    const struct queue *queue = device_queue(traffic_control_index());
    enum virtio_net_answer expected = due(possible, queue != NULL && queue->held_count != 0);
    enum virtio_net_answer given;
    uint8_t before[6] = {0};
    uint8_t after[6] = {0};

    (void)virtio_net_mac(owner_net(), before);
    CALL_WITHIN("command", wait_limit, given = give(which, b, c));
    (void)virtio_net_mac(owner_net(), after);
    HOSTILE_CHECK(given == expected || device.lies != 0 || snare_any(), "answer %u, but %u is due",
                  given, expected);
    HOSTILE_CHECK(given == VIRTIO_NET_NOT_SENT || possible, "a command that can't be given was");
    if (which == COMMAND_MAC && given == VIRTIO_NET_DONE) {
        HOSTILE_CHECK(after[4] == b && after[5] == c, "the new address is not taken over");
    } else {
        HOSTILE_CHECK(memcmp(before, after, 6) == 0, "the address changed by itself");
    }
    return given;
}

bool owner_announce_asked(void)
{
    bool due = owner_running() && device_features(VIRTIO_NET_F_GUEST_ANNOUNCE) &&
               (device.config[6] & STATUS_ANNOUNCE) != 0;
    bool asked;

    expect(CLASS_ANNOUNCE, 0, 0, 0);
    CALL_WITHIN("announce_asked", wait_limit, asked = virtio_net_announce_asked(owner_net()));
    HOSTILE_CHECK(asked == due || device.lies != 0 || snare_any(), "an announcement is %s",
                  due ? "not passed on" : "made up");
    return asked;
}
