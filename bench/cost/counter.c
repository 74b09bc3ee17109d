/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin for QEMU that counts how often the instruction at each address is executed, and that
 * holds the guest at each mark (rounds.h) until the bench lets it continue. The rest of QEMU runs
 * while the guest is held: the device takes the frames that the guest sent, and delivers received
 * frames.
 *
 * Argument: socket=PATH, a stream socket on which the bench listens. At a mark the plugin sends the
 * address of the mark: 8 bytes, in the byte order of this machine. The bench answers with commands
 * of one byte: d  send the counts: their number, then pairs of address and count, 8 bytes each z
 * set all counts to zero g  let the guest continue
 *
 * Only one processor is supported. When the bench closes the connection, the guest is no longer
 * held.
 */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "mark.h"
#include "qemu_plugin.h"
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The count of an instruction. There is one for each address that the guest executes. */
struct counter {
    uint64_t address;
    uint64_t count;
    struct counter *next;
};

/* Accessed only by the processor's thread, which also translates. */
static struct {
    int connection;
    void *by_address; /* the root of tsearch() */
    struct counter *all;
} plugin;

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static int compare(const void *left, const void *right)
{
    uint64_t a = ((const struct counter *)left)->address;
    uint64_t b = ((const struct counter *)right)->address;

    return (a > b) - (a < b);
}

/* Returns the counter of an address. An address can be translated more than once, because QEMU
 * translates blocks again and because blocks overlap; it has only one counter. */
static struct counter *counter_of(uint64_t address)
{
    struct counter wanted = {.address = address};
    struct counter **found = (struct counter **)tfind(&wanted, &plugin.by_address, compare);
    struct counter *counter;

    if (found != NULL) {
        return *found;
    }
    counter = calloc(1, sizeof(*counter));
    if (counter == NULL) {
        abort();
    }
    *counter = (struct counter){.address = address, .next = plugin.all};
    if (tsearch(counter, &plugin.by_address, compare) == NULL) {
        abort();
    }
    plugin.all = counter;
    return counter;
}

static void send_all(const void *data, size_t bytes)
{
    const char *rest = data;

    while (bytes > 0) {
        ssize_t sent = send(plugin.connection, rest, bytes, MSG_NOSIGNAL);

        if (sent <= 0) {
            return;
        }
        rest += sent;
        bytes -= (size_t)sent;
    }
}

static void send_counts(void)
{
    uint64_t number = 0;

    for (const struct counter *each = plugin.all; each != NULL; each = each->next) {
        number += each->count != 0;
    }
    send_all(&number, sizeof(number));
    for (const struct counter *each = plugin.all; each != NULL; each = each->next) {
        if (each->count != 0) {
            send_all((uint64_t[]){each->address, each->count}, 2 * sizeof(uint64_t));
        }
    }
}

static void set_to_zero(void)
{
    for (struct counter *each = plugin.all; each != NULL; each = each->next) {
        each->count = 0;
    }
}

static void count(unsigned processor, void *argument)
{
    struct counter *counter = argument;

    (void)processor;
    counter->count++;
}

static void hold(unsigned processor, void *argument)
{
    const struct counter *mark = argument;
    char command;

    (void)processor;
    send_all(&mark->address, sizeof(mark->address));
    while (recv(plugin.connection, &command, 1, 0) == 1 && command != 'g') {
        if (command == 'd') {
            send_counts();
        } else if (command == 'z') {
            set_to_zero();
        }
    }
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    size_t instructions = qemu_plugin_tb_n_insns(block);

    (void)id;
    for (size_t i = 0; i < instructions; i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        struct counter *counter = counter_of(qemu_plugin_insn_vaddr(instruction));
        uint32_t code = 0;

        (void)qemu_plugin_insn_data(instruction, &code, sizeof(code));
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, code == ROUNDS_MARK ? hold : count,
                                               QEMU_PLUGIN_CB_NO_REGS, counter);
    }
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argument_count,
                        char **arguments)
{
    static const char name[] = "socket=";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path;

    (void)info;
    if (argument_count != 1 || strncmp(arguments[0], name, strlen(name)) != 0) {
        (void)fputs("counter: the argument socket=PATH is required, and no other is allowed\n",
                    stderr);
        return -1;
    }
    path = arguments[0] + strlen(name);
    if (strlen(path) >= sizeof(address.sun_path)) {
        (void)fputs("counter: the path of the socket is too long\n", stderr);
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    plugin.connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (plugin.connection < 0 ||
        connect(plugin.connection, (struct sockaddr *)&address, sizeof(address)) != 0) {
        perror("counter");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    return 0;
}
