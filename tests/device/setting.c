/* SPDX-License-Identifier: BSD-2-Clause */
/* See setting.h. */
#include "setting.h"
#include "station.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct word {
    const char *name;
    size_t offset;
    size_t bytes;
};

#define WORD(field) {#field, offsetof(struct setting, field), sizeof(((struct setting *)0)->field)}

static const struct word words_known[] = {
    WORD(protocol), WORD(memory),  WORD(wire),         WORD(monitor),       WORD(memory_bytes),
    WORD(pci),      WORD(legacy),  WORD(probe_legacy), WORD(vectors),       WORD(refuse),
    WORD(expect),   WORD(tx_ring), WORD(rx_buffers),   WORD(receive_bytes), WORD(mtu),
    WORD(count),    WORD(vnet),    WORD(pairs),        WORD(device_pairs),  WORD(vlan_filter),
};

static bool set_number(struct setting *setting, const char *name, size_t name_bytes,
                       const char *value)
{
    /* The low bytes of integers come first on all hosts of this program. */
    uint64_t number = strtoull(value, NULL, 0);

    for (size_t i = 0; i < sizeof(words_known) / sizeof(words_known[0]); i++) {
        const struct word *word = &words_known[i];

        if (strlen(word->name) == name_bytes && memcmp(word->name, name, name_bytes) == 0) {
            memcpy((uint8_t *)setting + word->offset, &number, word->bytes);
            return true;
        }
    }
    return false;
}

bool setting_parse(struct setting *setting, int count, char **words)
{
    *setting = (struct setting){.protocol = -1, .memory = -1, .wire = -1, .monitor = -1};
    for (int i = 0; i < count; i++) {
        const char *value = strchr(words[i], '=');

        if (value == NULL) {
            setting->name = words[i];
        } else if (strncmp(words[i], "machine=", 8) == 0) {
            setting->machine = qtest_find_machine(value + 1);
        } else if (strncmp(words[i], "plug=", 5) == 0) {
            setting->plug = value + 1;
        } else if (!set_number(setting, words[i], (size_t)(value - words[i]), value + 1)) {
            (void)fprintf(stderr, "unknown word %s\n", words[i]);
            return false;
        }
    }
    return setting->name != NULL && setting->machine != NULL;
}

static char monitor_byte(const struct setting *setting)
{
    char byte;

    assert_int_equal(read(setting->monitor, &byte, 1), 1);
    return byte;
}

static const char *monitor_line(const struct setting *setting)
{
    static char line[65536]; /* there can be many VLANs */
    size_t bytes = 0;
    char byte;

    while ((byte = monitor_byte(setting)) != '\n') {
        assert_true(bytes < sizeof(line) - 1);
        line[bytes++] = byte;
    }
    line[bytes] = 0;
    return line;
}

void monitor_await(const struct setting *setting, const char *text)
{
    while (strstr(monitor_line(setting), text) == NULL) {
    }
}

/* Skips greetings and events. */
void monitor_expect(const struct setting *setting, const char *command, const char *text)
{
    const char *line;

    assert_int_equal(write(setting->monitor, command, strlen(command)), strlen(command));
    do {
        line = monitor_line(setting);
        if (strncmp(line, "{\"error\"", 8) == 0) {
            fail_msg("%s: %s", command, line);
        }
    } while (strncmp(line, "{\"return\"", 9) != 0);
    if (strstr(line, text) == NULL) {
        fail_msg("%s: no %s in %s", command, text, line);
    }
}

void monitor_execute(const struct setting *setting, const char *command)
{
    monitor_expect(setting, command, "");
}

void monitor_set_link(const struct setting *setting, bool up)
{
    char command[128];

    (void)snprintf(command, sizeof(command),
                   "{\"execute\":\"set_link\",\"arguments\":{\"name\":\"nic0\",\"up\":%s}}\n",
                   up ? "true" : "false");
    monitor_execute(setting, command);
}
