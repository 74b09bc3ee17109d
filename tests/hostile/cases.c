/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases.h"
#include "steps.h"
#include <string.h>

static void begin(enum bus bus, unsigned vectors, unsigned header, unsigned without,
                  uint8_t buffers)
{
    const uint8_t program[PROGRAM_HEADER] = {(uint8_t)(header | vectors << 1 | (bus == BUS_PCI)),
                                             (uint8_t)without,
                                             (uint8_t)(without >> 8),
                                             buffers,
                                             7,
                                             63,
                                             63,
                                             0};

    program_begin(program);
    assert_non_null(owner_net());
}

void cases_begin(enum bus bus, unsigned vectors, unsigned header, unsigned without)
{
    begin(bus, vectors, header, without, 7);
}

void cases_begin_merging(enum bus bus, unsigned vectors, unsigned header, unsigned without)
{
    begin(bus, vectors, header, without, 160);
    assert_true(device_features(VIRTIO_NET_F_MRG_RXBUF));
}

const char *cases_start(void)
{
    assert_true(owner_net() == NULL || owner_destroy());
    device.lies |= LIE_REGISTER | LIE_CONFIG;
    return owner_create(&settings.parameters, VIRTIO_NET_RECEIVE_BYTES);
}

void cases_expect_broken(const char *what)
{
    owner_interrupt(1);
    owner_bottom_half(true);
    assert_non_null(virtio_net_broken(owner_net()));
    if (strstr(virtio_net_broken(owner_net()), what) == NULL) {
        fail_msg("broken for another reason: %s", virtio_net_broken(owner_net()));
    }
    assert_false(owner_transmit(60, 1, false));
    owner_check();
    program_finish();
}

void cases_expect_refused(const char *reason, const char *what)
{
    assert_non_null(reason);
    if (strstr(reason, what) == NULL) {
        fail_msg("refused for another reason: %s", reason);
    }
    program_finish();
}

void cases_send(unsigned count)
{
    while (count-- != 0) {
        assert_true(owner_transmit(100, 3, false));
    }
    owner_flush();
    traffic_take(2 * owner_chosen() + TRANSMIT, 64);
}
