/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's own code of channels of values, for GenMC. CASE chooses one:
 *   1  a reader that is told of the first value reads it
 *   2  a writer writes as many values as there are slots while the reader reads two
 *   3  a reader sleeps until a value comes
 */
#include "sides.h"
#include "without_lives.h"

#include "../../../channel/value.c"
#include "../../../channel/wait.c"

enum { WRITER, READER };

static struct section section;
static struct channel_control reader_control;
static struct value_writer writer;
static struct value_reader reader;
static uint64_t last; /* the last value that was read */

void channel_notify_peer(struct channel *channel)
{
    (void)channel;
}

/* Sets the fields as value_writer_begin() and value_reader_begin() do. GenMC can't execute their
 * copies of structs. */
static void begin(void)
{
    writer.slots = section.ring;
    writer.slot_bytes = RING_BYTES / 4;
    writer.own = &section.control;
    writer.peer = &reader_control;
    reader.slots = section.ring;
    reader.slot_bytes = RING_BYTES / 4;
    reader.own = &reader_control;
    reader.peer = &section.control;
    section.control.format = CHANNEL_FORMAT_VALUE;
}

static void write_value(void)
{
    uint64_t *content = (uint64_t *)value_write_begin(&writer);

    *content = writer.number + 1;
    if (value_write_end(&writer, sizeof(*content))) {
        ring_doorbell(READER);
    }
}

static void read_value(void)
{
    uint64_t length;
    const uint64_t *content = (const uint64_t *)value_read(&reader, &length);

    assert(content != NULL && length == sizeof(*content));
    assert(*content == reader.number && *content >= last);
    last = *content;
}

static void *run_writer(void *argument)
{
    for (unsigned i = 0; i < (CASE == 2 ? 3 : 1); i++) {
        write_value();
    }
    return argument;
}

static void *run_reader(void *argument)
{
    if (CASE == 1) {
        __VERIFIER_assume(value_is_new(&reader));
    } else if (CASE == 2) {
        read_value();
    } else {
        wait_for(channel_wait_for_value(&reader), READER);
    }
    read_value();
    return argument;
}

int main(void)
{
    begin();
    if (CASE == 2) {
        write_value();
    }
    run_sides(run_writer, run_reader);
    return 0;
}
