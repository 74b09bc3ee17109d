/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bulkhead-backend: serves the shared network devices of this partition, as a process of an
 * unmodified Linux (backend/README.md). One thread executes rounds while there is work, looks for
 * more during a short time, and then sleeps until a doorbell, the tap interface or a limit wakes
 * it. A process that follows one that was killed continues all queues.
 */
#define _GNU_SOURCE /* ppoll */
#include "backend/network.h"
#include "device.h"
#include "problem.h"
#include "reports.h"
#include "tap.h"
#include <arch/shared_device_function.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>

#define NANOSECONDS UINT64_C(1000000000)
#define NEVER       UINT64_MAX

/* Frames in a round, from the tap interface and from clients. */
#define ROUND_FRAMES 64u

/* Without work, the thread looks for more during POLL_NS. Then it looks once in each NAP_NS, or
 * when the interface has frames, until LINGER_NS is over, before it asks the clients to notify: a
 * notification costs the client an exit, and this partition several. */
#define POLL_NS   UINT64_C(50000)
#define NAP_NS    UINT64_C(50000)
#define LINGER_NS UINT64_C(5000000)

/* The time by which Linux may delay the end of a nap (prctl(2)). */
#define TIMER_SLACK_NS 1000ul

#define INTERRUPT_USED 1u /* of SHARED_DEVICE_FUNCTION_INTERRUPT */
#define STATUS_OFFSET  6u /* of the configuration's status field (VIRTIO 1.3, 5.1.4) */
#define STATUS_BYTES   2u

#define EXIT_PROBLEM 2

static const char help[] =
    "Usage: bulkhead-backend --tap NAME [--client LABEL]...\n"
    "\n"
    "Serves the shared network devices of this partition (dax = true in the system file), and\n"
    "connects their clients with the tap interface NAME. The interface is created if it does not\n"
    "exist, and stays when the program ends: connect it with a bridge, and remove it with\n"
    "'ip link delete NAME'. The links of the clients are up while the interface is up.\n"
    "Runs until it is killed. A program that is started afterwards continues where it ended.\n"
    "\n"
    "Options:\n"
    "  -t, --tap=NAME      the interface\n"
    "  -c, --client=LABEL  serve only the device with this name in the system file; several may\n"
    "                      be named (default: all)\n"
    "  -h, --help          print this text\n"
    "\n"
    "Exit status: 2 a problem.\n";

struct backend {
    struct network network;
    struct network_client clients[NETWORK_CLIENTS_MAX];
    struct device devices[NETWORK_CLIENTS_MAX];
    unsigned count;
    struct tap tap;
    struct reports reports;
};

struct options {
    const char *tap;
    const char *clients[NETWORK_CLIENTS_MAX];
    unsigned client_count; /* 0: all */
};

static uint64_t time_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec;
}

static const struct device *device_of(void *context, unsigned client)
{
    return &((struct backend *)context)->devices[client];
}

static void acknowledge(void *context, unsigned client, uint32_t generation)
{
    device_write(device_of(context, client), SHARED_DEVICE_FUNCTION_ACKNOWLEDGE, generation);
}

static void interrupt(void *context, unsigned client)
{
    device_write(device_of(context, client), SHARED_DEVICE_FUNCTION_INTERRUPT, INTERRUPT_USED);
}

static void configure(void *context, unsigned client, uint16_t status)
{
    const struct device *device = device_of(context, client);

    device_write(device, SHARED_DEVICE_FUNCTION_VALUE_LOW, status);
    device_write(device, SHARED_DEVICE_FUNCTION_VALUE_HIGH, 0);
    device_write(device, SHARED_DEVICE_FUNCTION_CONFIGURE, STATUS_BYTES << 16 | STATUS_OFFSET);
}

static void fail_device(void *context, unsigned client, const char *reason)
{
    struct device *device = &((struct backend *)context)->devices[client];
    uint64_t left_out = 0;

    if (failure_report_is_due(&device->failures, time_now(), &left_out)) {
        printf("bulkhead-backend: %s: its driver is not served until it resets the device: %s\n",
               device->properties.label, reason);
    }
    if (left_out != 0) {
        printf("bulkhead-backend: %s: so it was %" PRIu64 " more times since the last report\n",
               device->properties.label, left_out);
    }
    device_write(device, SHARED_DEVICE_FUNCTION_FAIL, 0);
}

/* The kernel drops what it has no room for, as any card does. */
static bool has_room(void *context)
{
    (void)context;
    return true;
}

static bool send_frame(void *context, const struct device_net_frame *frame)
{
    return tap_send(&((struct backend *)context)->tap, frame);
}

static const struct network_operations operations = {
    .acknowledge = acknowledge,
    .interrupt = interrupt,
    .configure = configure,
    .fail = fail_device,
    .has_room = has_room,
    .send = send_frame,
};

/* The links of the clients follow the interface. */
static void follow_link(struct backend *backend)
{
    const struct network_card card = {
        .is_open = backend->tap.is_up,
        .completes_checksums = true,
        .segments_tcpv4 = true,
        .segments_tcpv6 = true,
    };

    network_set_card(&backend->network, &card);
    network_set_link(&backend->network, backend->tap.is_up);
    printf("bulkhead-backend: link %s\n", backend->tap.is_up ? "up" : "down");
}

/* Executes a round. Returns true if it moved a frame. *until: when there is work at the latest. */
static bool execute_round(struct backend *backend, uint64_t now, uint64_t *until)
{
    struct network *network = &backend->network;
    uint64_t before = network->moved;
    uint64_t due;

    *until = NEVER;
    network_begin(network, now);
    tap_receive(&backend->tap, ROUND_FRAMES, network);
    (void)network_service(network, ROUND_FRAMES, until);
    network_end(network);
    due = network_due(network);
    *until = due < *until ? due : *until;
    return network->moved != before;
}

/* Ends the program if a file tells that its function or interface is gone. */
static void check_file(const struct pollfd *file, const char *what)
{
    if ((file->revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
        (void)fprintf(stderr, "bulkhead-backend: %s is gone\n", what);
        exit(EXIT_PROBLEM);
    }
}

/* Waits for a doorbell, the interface, or the time, and takes note of what there is. */
static void wait_for_work(struct backend *backend, uint64_t until)
{
    struct pollfd files[NETWORK_CLIENTS_MAX + 2];
    uint64_t now = time_now();
    uint64_t left = until > now ? until - now : 0;
    const struct timespec time = {
        .tv_sec = (time_t)(left / NANOSECONDS),
        .tv_nsec = (long)(left % NANOSECONDS),
    };

    for (unsigned i = 0; i < backend->count; i++) {
        files[i] = (struct pollfd){.fd = backend->devices[i].interrupt, .events = POLLIN};
    }
    files[backend->count] = (struct pollfd){.fd = backend->tap.file, .events = POLLIN};
    files[backend->count + 1] = (struct pollfd){.fd = backend->tap.events, .events = POLLIN};
    if (ppoll(files, backend->count + 2, until == NEVER ? NULL : &time, NULL) <= 0) {
        return;
    }
    for (unsigned i = 0; i < backend->count; i++) {
        check_file(&files[i], backend->devices[i].properties.label);
        if (files[i].revents != 0) {
            device_quiet(&backend->devices[i]);
        }
    }
    check_file(&files[backend->count], backend->tap.name);
    if (files[backend->count + 1].revents != 0) {
        bool was_up = backend->tap.is_up;

        tap_look(&backend->tap);
        if (backend->tap.is_up != was_up) {
            follow_link(backend);
        }
    }
}

/* Sleeps if there is no work. A doorbell that rang before it was armed is lost, so a round follows
 * that looks at the devices' pages. */
static void sleep_until_work(struct backend *backend)
{
    uint64_t until;

    for (unsigned i = 0; i < backend->count; i++) {
        device_arm(&backend->devices[i]);
    }
    if (execute_round(backend, time_now(), &until)) {
        return;
    }
    if (network_sleep(&backend->network)) {
        reports_finish(&backend->reports, time_now());
        wait_for_work(backend, until);
    }
    network_wake(&backend->network);
}

/* Waits for the interface, or for a short time. The doorbells are not armed. */
static void nap(struct backend *backend, uint64_t until)
{
    uint64_t end = time_now() + NAP_NS;

    wait_for_work(backend, until < end ? until : end);
}

static _Noreturn void serve(struct backend *backend)
{
    uint64_t worked = time_now();

    for (;;) {
        uint64_t now = time_now();
        uint64_t until;

        if (execute_round(backend, now, &until)) {
            worked = now;
        } else if (now - worked >= LINGER_NS) {
            sleep_until_work(backend);
        } else if (now - worked >= POLL_NS) {
            nap(backend, until);
        }
        reports_tend(&backend->reports, now);
    }
}

/* Removes the devices that are not to be served. Returns false with a problem if a name is that of
 * no device. */
static bool select_devices(struct backend *backend, const struct options *options, char *problem)
{
    unsigned count = 0;

    for (unsigned i = 0; i < options->client_count; i++) {
        unsigned at = 0;

        while (at < backend->count &&
               strcmp(backend->devices[at].properties.label, options->clients[i]) != 0) {
            at++;
        }
        if (at == backend->count) {
            return problem_set(problem,
                               "this partition serves no network device '%s' with dax = true: see "
                               "the names in the system file",
                               options->clients[i]);
        }
        if (at >= count) { /* it is not named twice */
            struct device device = backend->devices[at];

            backend->devices[at] = backend->devices[count];
            backend->devices[count++] = device;
        }
    }
    backend->count = options->client_count == 0 ? backend->count : count;
    return true;
}

static bool start_network(struct backend *backend, char *problem)
{
    struct network_client_setup setups[NETWORK_CLIENTS_MAX];
    uint64_t secret;
    const char *reason;

    for (unsigned i = 0; i < backend->count; i++) {
        setups[i] = backend->devices[i].properties.setup;
    }
    if (getrandom(&secret, sizeof(secret), 0) != sizeof(secret)) {
        return problem_set(problem, "there are no random numbers: %s", strerror(errno));
    }
    reason = network_init(&backend->network, backend->clients, setups, backend->count, &operations,
                          backend, secret, time_now());
    if (reason != NULL) {
        return problem_set(problem, "no device is served: %s", reason);
    }
    reports_begin(&backend->reports, &backend->network, backend->devices, secret, time_now());
    return true;
}

static bool start(struct backend *backend, const struct options *options, char *problem)
{
    backend->count = devices_find(backend->devices, problem);
    if (backend->count == 0 || !select_devices(backend, options, problem)) {
        return false;
    }
    for (unsigned i = 0; i < backend->count; i++) {
        if (!device_open(&backend->devices[i], problem)) {
            return false;
        }
    }
    return tap_open(&backend->tap, options->tap, problem) && start_network(backend, problem);
}

static void print_clients(const struct backend *backend)
{
    for (unsigned i = 0; i < backend->count; i++) {
        const struct properties *properties = &backend->devices[i].properties;
        const uint8_t *mac = properties->setup.mac;

        printf("bulkhead-backend: %s: %s, %02x:%02x:%02x:%02x:%02x:%02x\n", properties->label,
               properties->client, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
    }
}

/* Returns false with a problem. Ends the program after --help. */
static bool read_options(int count, char **arguments, struct options *options, char *problem)
{
    static const struct option known[] = {
        {"tap", required_argument, NULL, 't'},
        {"client", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    opterr = 0;
    while ((option = getopt_long(count, arguments, "t:c:h", known, NULL)) >= 0) {
        if (option == 'h') {
            (void)fputs(help, stdout);
            exit(EXIT_SUCCESS);
        }
        if (option == 't') {
            options->tap = optarg;
        } else if (option == 'c' && options->client_count < NETWORK_CLIENTS_MAX) {
            options->clients[options->client_count++] = optarg;
        } else {
            return problem_set(problem, "%s: see --help",
                               option == 'c' ? "too many clients"
                                             : "an unknown option, or one without its value");
        }
    }
    return (options->tap != NULL && optind == count) ||
           problem_set(problem, "write --tap and the name of an interface, and nothing but "
                                "options: see --help");
}

int main(int count, char **arguments)
{
    static struct backend backend;
    struct options options = {0};
    char problem[PROBLEM_BYTES];

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    if (!read_options(count, arguments, &options, problem) || !start(&backend, &options, problem)) {
        (void)fprintf(stderr, "bulkhead-backend: %s\n", problem);
        return EXIT_PROBLEM;
    }
    print_clients(&backend);
    follow_link(&backend);
    serve(&backend);
}
