/* SPDX-License-Identifier: BSD-2-Clause */
/* bulkhead-channel: messages over a channel from the command line. */
#include "command.h"

#include "channel/version.h"
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NANOSECONDS UINT64_C(1000000000)
#define RING_BYTES  UINT64_C(65536)

static const char help[] =
    "Usage: bulkhead-channel COMMAND CHANNEL [OPTION]... [MESSAGE]...\n"
    "\n"
    "Sends and receives messages over a channel: with another partition (CHANNEL is its name in\n"
    "the system file, or the address of its PCI function), or with another process (CHANNEL is a\n"
    "path, which contains a '/').\n"
    "A receiver of values gets the newest one. A receiver of a one-way channel gets what is sent\n"
    "from now on, and says how many messages it has missed.\n"
    "\n"
    "Commands:\n"
    "  send      Send each MESSAGE; without one, each line of standard input.\n"
    "  receive   Print each message, or each new value, on a line of its own (--framing).\n"
    "  call      Send each MESSAGE, or line of standard input, and print the response to it.\n"
    "  answer    Print each request of 'call', and answer it with a line of standard input.\n"
    "  cat       Send standard input, and write what arrives to standard output.\n"
    "  bench     Measure throughput and round trips with 'bench --listen' on the other side.\n"
    "  stat      Print the counters of both sides.\n"
    "  lend      Execute a program to which the channel is lent, and which needs no rights for\n"
    "            it: bulkhead-channel lend CHANNEL -- PROGRAM [ARGUMENT]...\n"
    "  bridge    Connect channels with those of other boards: see 'bridge --help'.\n"
    "\n"
    "Options:\n"
    "  -e, --end=0|1         the side of this process; only for paths (default 0)\n"
    "  -K, --kind=KIND       messages (default), value or one-way; only for paths\n"
    "  -r, --ring=BYTES      the size of each ring; only for paths (default 65536)\n"
    "  -t, --timeout=SECONDS the longest wait for the peer (default: none); cat: the\n"
    "                        longest time in which it neither sends nor receives\n"
    "  -n, --count=COUNT     end after so many messages\n"
    "  -s, --size=BYTES      the size of bench's messages (default 8)\n"
    "  -i, --interval=SECONDS  bench: the time from one message to the next one, one way\n"
    "                        (default: none)\n"
    "  -T, --trips=COUNT     bench: the number of round trips, 0 to 10000 (default 10000)\n"
    "  -k, --keep            receive, answer: go on when the peer has ended\n"
    "  -l, --listen          bench: answer the other side\n"
    "  -f, --framing=FRAMING how messages follow each other in standard input and output:\n"
    "                        lines (default), nuls: each ends with a NUL, or lengths: each\n"
    "                        follows its length, 4 bytes, little-endian\n"
    "  -h, --help            print this text\n"
    "  -V, --version         print the version\n"
    "\n"
    "Exit status: 0 done; 1 the time passed or the peer ended first; 2 a problem.\n";

static const struct option long_options[] = {
    {"end", required_argument, NULL, 'e'},     {"kind", required_argument, NULL, 'K'},
    {"ring", required_argument, NULL, 'r'},    {"timeout", required_argument, NULL, 't'},
    {"count", required_argument, NULL, 'n'},   {"size", required_argument, NULL, 's'},
    {"keep", no_argument, NULL, 'k'},          {"listen", no_argument, NULL, 'l'},
    {"trips", required_argument, NULL, 'T'},   {"interval", required_argument, NULL, 'i'},
    {"framing", required_argument, NULL, 'f'}, {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},       {NULL, 0, NULL, 0},
};

static const char *const kinds[] = {
    [LINUX_MESSAGES] = "messages",
    [LINUX_VALUE] = "value",
    [LINUX_ONE_WAY] = "one-way",
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

typedef int command_execute(struct linux_endpoint *endpoint, const struct options *options);

struct command {
    const char *name;
    command_execute *execute[KINDS]; /* NULL: not for channels of this kind */
    bool begins_use;
    bool has_words; /* the command line may have messages */
};

static const struct command commands[] = {
    {"send", {send_messages, send_values, send_broadcasts}, true, true},
    {"receive", {receive_messages, receive_values, receive_broadcasts}, true, false},
    {"call", {make_calls, NULL, NULL}, true, true},
    {"answer", {answer_calls, NULL, NULL}, true, false},
    {"cat", {exchange_streams, NULL, NULL}, true, false},
    {"bench", {measure, NULL, NULL}, true, false},
    {"stat", {show_counters, show_counters, show_counters}, false, false},
};

/* The endpoint of the process, for its signal handler. */
static struct linux_endpoint *used_endpoint;

int command_fail(const char *format, ...)
{
    va_list arguments;

    (void)fputs("bulkhead-channel: ", stderr);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    return STATUS_PROBLEM;
}

/* Reads a number with an optional K, M or G (1024). Returns false if the text is none. */
static bool read_number(const char *text, uint64_t maximum, uint64_t *number)
{
    const char *units = "KMG";
    const char *unit;
    char *rest;

    errno = 0;
    *number = strtoull(text, &rest, 10);
    if (rest == text || text[0] == '-' || errno != 0) {
        return false;
    }
    unit = *rest == '\0' ? NULL : strchr(units, *rest);
    if (unit != NULL) {
        unsigned shift = 10 * (unsigned)(unit - units + 1);

        if (*number > UINT64_MAX >> shift) {
            return false;
        }
        *number <<= shift;
        rest++;
    }
    return *rest == '\0' && *number <= maximum;
}

static bool read_seconds(const char *text, uint64_t *nanoseconds)
{
    char *rest;
    double seconds = strtod(text, &rest);

    if (rest == text || *rest != '\0' || !(seconds >= 0 && seconds < 1e9)) {
        return false;
    }
    *nanoseconds = (uint64_t)(seconds * (double)NANOSECONDS);
    return true;
}

static bool read_kind(const char *text, enum linux_kind *kind)
{
    for (unsigned i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i], text) == 0) {
            *kind = (enum linux_kind)i;
            return true;
        }
    }
    return false;
}

static bool read_framing(const char *text)
{
    static const char *const framings[] = {
        [FRAMING_LINES] = "lines",
        [FRAMING_NULS] = "nuls",
        [FRAMING_LENGTHS] = "lengths",
    };

    for (unsigned i = 0; i < sizeof(framings) / sizeof(framings[0]); i++) {
        if (strcmp(framings[i], text) == 0) {
            framing_set((enum framing)i);
            return true;
        }
    }
    return false;
}

static bool read_option(struct options *options, int letter)
{
    uint64_t end;

    switch (letter) {
    case 'e':
        if (!read_number(optarg, 1, &end)) {
            return false;
        }
        options->end = (unsigned)end;
        return true;
    case 'K':
        return read_kind(optarg, &options->kind);
    case 'r':
        return read_number(optarg, CHANNEL_RING_MAX, &options->ring_bytes);
    case 't':
        return read_seconds(optarg, &options->timeout);
    case 'n':
        return read_number(optarg, UINT64_MAX, &options->count) && options->count > 0;
    case 's':
        return read_number(optarg, CHANNEL_RING_MAX, &options->bytes);
    case 'i':
        return read_seconds(optarg, &options->interval);
    case 'T':
        return read_number(optarg, ROUND_TRIPS_MAX, &options->trips);
    case 'f':
        return read_framing(optarg);
    case 'k':
        options->keeps = true;
        return true;
    default:
        options->listens = true;
        return true;
    }
}

/* Returns a status; STATUS_DONE if the command can be executed. */
static int read_options(int count, char **arguments, struct options *options)
{
    int letter;

    while ((letter = getopt_long(count, arguments, "e:K:r:t:n:s:i:T:klf:hV", long_options, NULL)) !=
           -1) {
        if (letter == '?') {
            return STATUS_PROBLEM; /* getopt has printed a line */
        }
        if (!read_option(options, letter)) {
            return command_fail("option -%c: '%s' is no valid value: see --help", letter, optarg);
        }
    }
    if (count - optind < 2) {
        return command_fail("name a command and a channel: see --help");
    }
    options->channel = arguments[optind + 1];
    options->is_file = strchr(options->channel, '/') != NULL;
    options->words = &arguments[optind + 2];
    return STATUS_DONE;
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

uint64_t command_deadline(const struct options *options)
{
    return options->timeout == CHANNEL_FOREVER ? CHANNEL_FOREVER : linux_now() + options->timeout;
}

static bool has_option(int count, char **arguments, const char *letter, const char *name)
{
    for (int i = 1; i < count && strcmp(arguments[i], "--") != 0; i++) {
        if (strcmp(arguments[i], letter) == 0 || strcmp(arguments[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Ends the use of the channel, so that the peer notices it, and then the process. */
static void end_by_signal(int number)
{
    linux_end(used_endpoint);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void handle_ends(void (*handler)(int))
{
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        /* A shell ignores SIGINT for processes in the background. */
        if (signal(numbers[i], handler) == SIG_IGN) {
            (void)signal(numbers[i], SIG_IGN);
        }
    }
}

static int execute_command(const struct command *command, struct linux_endpoint *endpoint,
                           const struct options *options)
{
    enum linux_kind kind = linux_endpoint_kind(endpoint);
    command_execute *execute = command->execute[kind];
    char problem[LINUX_PROBLEM_BYTES];
    int status;

    if (execute == NULL) {
        return command_fail("%s is for channels of messages: %s is of the kind %s", command->name,
                            options->channel, kinds[kind]);
    }
    if (!command->begins_use) {
        return execute(endpoint, options);
    }
    if (!linux_begin(endpoint, problem)) {
        return command_fail("%s", problem);
    }
    used_endpoint = endpoint;
    handle_ends(end_by_signal);
    status = execute(endpoint, options);
    handle_ends(SIG_DFL);
    return status;
}

/* `begins_use`: otherwise the command only looks at the channel, and creates none. */
static struct linux_endpoint *map(const struct options *options, bool begins_use, char *problem)
{
    if (!options->is_file) {
        return linux_map_function(options->channel, problem);
    }
    return begins_use ? linux_map_file(options->channel, options->end, options->kind,
                                       options->ring_bytes, problem)
                      : linux_map_existing_file(options->channel, options->end, options->kind,
                                                options->ring_bytes, problem);
}

int main(int count, char **arguments)
{
    struct options options = {
        .ring_bytes = RING_BYTES,
        .timeout = CHANNEL_FOREVER,
        .bytes = 8,
        .trips = ROUND_TRIPS_MAX,
        .words = &arguments[count],
    };
    struct linux_endpoint *endpoint;
    const struct command *command;
    char problem[LINUX_PROBLEM_BYTES];
    int status;

    if (count > 1 && strcmp(arguments[1], "bridge") == 0) {
        return bridge_execute(&arguments[2], (size_t)count - 2);
    }
    if (has_option(count, arguments, "-h", "--help")) {
        (void)fputs(help, stdout);
        return STATUS_DONE;
    }
    if (has_option(count, arguments, "-V", "--version")) {
        (void)puts("bulkhead-channel " CHANNEL_VERSION);
        return STATUS_DONE;
    }
    status = read_options(count, arguments, &options);
    if (status != STATUS_DONE) {
        return status;
    }
    if (strcmp(arguments[optind], "lend") == 0) {
        return lend(&options);
    }
    command = find_command(arguments[optind]);
    if (command == NULL) {
        return command_fail(
            "there is no command '%s': send, receive, call, answer, cat, bench, stat, lend or "
            "bridge",
            arguments[optind]);
    }
    if (!command->has_words && options.words[0] != NULL) {
        return command_fail("%s takes no message: '%s'", command->name, options.words[0]);
    }
    endpoint = map(&options, command->begins_use, problem);
    if (endpoint == NULL) {
        return command_fail("%s", problem);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    status = execute_command(command, endpoint, &options);
    linux_close(endpoint);
    return status;
}
