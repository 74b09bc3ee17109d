/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's side of the control queue (VIRTIO 1.3, 5.1.6.5). */
#include "fake.h"
#include <string.h>

struct fake_control fake_control;

void fake_control_begin(unsigned index)
{
    fake_control = (struct fake_control){.index = index, .written = 1};
    fake->on_notify = fake_control_notify;
}

void fake_control_answer(void)
{
    const struct ring_segment *last = &fake_control.chain.segment[fake_control.chain.count - 1];

    if (!fake_control.unwritten) {
        fake_memory(last)[0] = fake_control.answer;
    }
    fake_complete(fake_control.index, &fake_control.chain, fake_control.written);
    fake_ask_notification(fake_control.index);
}

void fake_control_notify(unsigned index)
{
    struct ring_chain *chain = &fake_control.chain;

    if (index != fake_control.index) {
        return;
    }
    assert_true(fake_pop(index, chain));
    assert_int_equal(fake_available(index), 0); /* one at a time */
    fake_control.commands++;
    fake_control.last_bytes = 0;
    fake_control.readable = chain->count - 1;
    for (unsigned i = 0; i + 1 < chain->count; i++) {
        const struct ring_segment *segment = &chain->segment[i];

        assert_false(segment->writable);
        assert_true(fake_control.last_bytes + segment->bytes <= sizeof(fake_control.last));
        memcpy(&fake_control.last[fake_control.last_bytes], fake_memory(segment), segment->bytes);
        fake_control.last_bytes += segment->bytes;
    }
    assert_true(chain->segment[chain->count - 1].writable);
    assert_int_equal(chain->segment[chain->count - 1].bytes, 1);
    if (!fake_control.silent) {
        fake_control_answer();
    }
}
