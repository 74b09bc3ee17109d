/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lies that wait for an access of the driver. Registers come by here from platform.c; shared memory
 * by what Clang's -fsanitize-coverage=trace-loads,trace-stores inserts before each access in the
 * driver, so that no access escapes, whatever function it is made with. Counts the work, too.
 */
#include "hostile.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct snare snares[SNARES];
static unsigned next_snare;
static bool active;             /* the driver runs */
static struct driver_call call; /* the one that runs */
static bool memory_seen;

/* The kinds of invalid answers that each kind of access can get. */
static const unsigned lie_of[ACCESS_KINDS] = {
    [ACCESS_ANY] = LIE_RING | LIE_REGISTER | LIE_CONFIG,
    [ACCESS_RING_READ] = LIE_RING,
    [ACCESS_RING_WRITE] = LIE_RING,
    [ACCESS_BUFFER_READ] = LIE_FRAME,
    [ACCESS_STATUS] = LIE_REGISTER,
    [ACCESS_FEATURES] = LIE_REGISTER,
    [ACCESS_CONFIG] = LIE_CONFIG,
    [ACCESS_GENERATION] = LIE_CONFIG,
    [ACCESS_QUEUE] = LIE_REGISTER,
    [ACCESS_CAUSE] = LIE_REGISTER,
    [ACCESS_IDENTITY] = LIE_REGISTER,
    [ACCESS_REGISTER_WRITE] = 0,
    [ACCESS_UNLOCK] = 0,
};

void hostile_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)fprintf(stderr, "%s:%d: ", file, line);
    (void)vfprintf(stderr, format, arguments);
    (void)fprintf(stderr, " (in %s)\n", call.name != NULL ? call.name : "no call");
    va_end(arguments);
    abort();
}

void snare_clear(void)
{
    memset(snares, 0, sizeof(snares));
}

void snare_set(const struct snare *snare)
{
    snares[next_snare++ % SNARES] = *snare;
}

enum snare_effect snare_effect_of(unsigned number)
{
    static const enum snare_effect effects[] = {SNARE_REPLACE, SNARE_XOR, SNARE_ADD,
                                                SNARE_NEEDS_RESET};

    return effects[number % (sizeof(effects) / sizeof(effects[0]))];
}

bool snare_any(void)
{
    for (unsigned i = 0; i < SNARES; i++) {
        if (snares[i].countdown != 0) {
            return true;
        }
    }
    return false;
}

bool snare_sees_memory(void)
{
    return memory_seen;
}

static void check_work(void)
{
    HOSTILE_CHECK(call.work.registers <= call.limit.registers &&
                      call.work.shared <= call.limit.shared && call.work.all <= call.limit.all,
                  "no end: %llu register accesses, %llu to shared memory, %llu in all",
                  (unsigned long long)call.work.registers, (unsigned long long)call.work.shared,
                  (unsigned long long)call.work.all);
}

static uint32_t apply(const struct snare *snare, uint32_t value)
{
    switch (snare->effect) {
    case SNARE_REPLACE:
        return snare->value;
    case SNARE_XOR:
        return value ^ snare->value;
    default:
        return value + snare->value;
    }
}

/* `value` as the driver shall see it after all snares that wait for this access. */
static uint32_t trip(enum access access, uint32_t value, bool unlocked)
{
    for (unsigned i = 0; i < SNARES; i++) {
        struct snare *snare = &snares[i];

        if (snare->countdown == 0 || (snare->access != access && snare->access != ACCESS_ANY)) {
            continue;
        }
        snare->countdown--;
        if (snare->countdown != 0) {
            continue;
        }
        snare->countdown = snare->every;
        if (snare->effect == SNARE_NEEDS_RESET) {
            device_fail();
        } else if (snare->effect == SNARE_ACT) {
            active = false;
            snare_act(snare->value, unlocked);
            active = true;
        } else {
            device.lies |= lie_of[access];
            value = apply(snare, value);
        }
    }
    return value;
}

uint32_t snare_register_read(enum access access, uint32_t value, unsigned bytes)
{
    if (!active) {
        return value;
    }
    call.work.registers++;
    check_work();
    value = trip(access, value, false);
    return bytes == 4 ? value : value & ((1u << (8 * bytes)) - 1u);
}

void snare_register_write(void)
{
    if (active) {
        call.work.registers++;
        check_work();
        (void)trip(ACCESS_REGISTER_WRITE, 0, false);
    }
}

void snare_unlock(void)
{
    if (active) {
        (void)trip(ACCESS_UNLOCK, 0, true);
    }
}

void snare_pause(void (*others)(void))
{
    bool was_active = active;

    active = false;
    others();
    active = was_active;
}

/* Of a frame, only num_buffers says more than what is in it: where it ends (5.1.6.4). */
static bool ends_frame(const void *address, unsigned bytes)
{
    size_t from = memory_buffer_offset(address);

    return device_features(VIRTIO_NET_F_MRG_RXBUF) && from < VIRTIO_NET_HEADER_BYTES &&
           from + bytes > VIRTIO_NET_HEADER_BYTES - 2;
}

static void memory_access(void *address, unsigned bytes, bool store)
{
    enum memory_kind kind;
    uint32_t value = 0;
    uint32_t changed;

    memory_seen = true;
    if (!active) {
        return;
    }
    call.work.all++;
    kind = memory_kind(address);
    if (kind == MEMORY_PRIVATE) {
        if (call.work.all > call.limit.all) {
            check_work();
        }
        return;
    }
    HOSTILE_CHECK(kind != MEMORY_RECEIVED, "the driver accesses a frame in the pool");
    call.work.shared++;
    check_work();
    if (store) {
        (void)trip(ACCESS_RING_WRITE, 0, false);
        return;
    }
    if (bytes > sizeof(value)) { /* several fields in one: now this, now that */
        address = (uint8_t *)address + sizeof(value) * (call.work.shared % (bytes / sizeof(value)));
        bytes = sizeof(value);
    }
    memory_read(&value, address, bytes);
    changed = trip(kind == MEMORY_RING ? ACCESS_RING_READ : ACCESS_BUFFER_READ, value, false);
    /* Only what the lie changes: an act may have changed the word itself. */
    if (changed != value) {
        memory_write(address, &changed, bytes);
        if (kind == MEMORY_BUFFER && ends_frame(address, bytes)) {
            device.lies |= LIE_RING;
        }
    }
}

struct driver_call snare_enter(const char *name, const struct work *limit)
{
    struct driver_call outer = call;

    call = (struct driver_call){.name = name, .limit = *limit};
    active = true;
    return outer;
}

void snare_leave(const struct driver_call *outer)
{
    call = *outer;
    active = false;
}

/* The names are the compiler's. */
#define TRACED(bytes)                                 \
    void __sanitizer_cov_load##bytes(void *address);  \
    void __sanitizer_cov_load##bytes(void *address)   \
    {                                                 \
        memory_access(address, bytes, false);         \
    }                                                 \
    void __sanitizer_cov_store##bytes(void *address); \
    void __sanitizer_cov_store##bytes(void *address)  \
    {                                                 \
        memory_access(address, bytes, true);          \
    }

TRACED(1)
TRACED(2)
TRACED(4)
TRACED(8)
TRACED(16)
