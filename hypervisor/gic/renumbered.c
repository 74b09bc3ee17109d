/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/renumbered.h"

#include "gic/distributor.h"
#include "gic/interrupts.h"
#include <devices/gic_registers.h>

#define BYTE            UINT64_C(0xff)
#define PRIORITY_BITS   8u
#define ROUTE_BYTES     8u
#define WORD_BYTES      4u
#define REGISTERS_BYTES 0x80u /* of a group of registers with one bit for each interrupt */

/* Handles an access to priorities byte by byte, because each byte may be that of another one. */
static enum access_result access_priorities(struct vcpu *vcpu, struct access *access)
{
    uint32_t first = (uint32_t)access->offset - GIC_IPRIORITYR;
    enum access_result result = ACCESS_DONE;
    uint64_t value = 0;

    for (unsigned i = 0; i < access->bytes; i++) {
        struct access part = {.offset = GIC_IPRIORITYR + renumbered(vcpu->partition, first + i),
                              .value = access->value >> (8 * i) & BYTE,
                              .bytes = 1,
                              .write = access->write};

        if (distributor_access_own(vcpu, &part) == ACCESS_REFUSED) {
            result = ACCESS_REFUSED;
        }
        value |= part.value << (8 * i);
    }
    access->value = value;
    return result;
}

/* The fields of the two numbers in the register that a guest accesses. */
struct fields {
    uint32_t first; /* interrupt of the register's first field */
    unsigned bits;  /* of a field */
    unsigned count; /* of fields */
};

/* Returns the mask of a field at the lowest bits. */
static uint64_t lowest_field(const struct fields *fields)
{
    return (UINT64_C(1) << fields->bits) - 1;
}

/* Returns the lowest bit of an interrupt's field. The register has it. */
static unsigned field_shift(const struct fields *fields, uint32_t number)
{
    return (number - fields->first) * fields->bits;
}

/* Returns the mask of an interrupt's field, 0 if the register does not have it. */
static uint64_t field(const struct fields *fields, uint32_t number)
{
    return number - fields->first < fields->count
               ? lowest_field(fields) << field_shift(fields, number)
               : 0;
}

/* Makes `part` the access to the console's field in the register that has it. `offset`: of the
 * register that the guest accesses. */
static void begin_part(struct access *part, const struct fields *fields, uint32_t number,
                       uint64_t offset)
{
    uint64_t start = fields->bits == 1 ? offset - offset % REGISTERS_BYTES : GIC_ICFGR;

    part->offset = start + (uint64_t)WORD_BYTES * (number / fields->count);
    part->bytes = WORD_BYTES;
}

/* Handles an access to a word of fields of one or two bits. Writes to fields of two bits have no
 * effect. A write of one bit is repeated without harm if the second part has to wait. */
static enum access_result access_word(struct vcpu *vcpu, struct access *access,
                                      const struct fields *fields)
{
    const struct description_partition *described = vcpu->partition->constant.described;
    uint32_t number = described->console_interrupt;
    uint64_t shown = field(fields, described->console_shown), own = field(fields, number);
    struct fields target = {number / fields->count * fields->count, fields->bits, fields->count};
    struct access part = *access;
    enum access_result result = ACCESS_DONE;
    uint64_t found = 0;

    begin_part(&part, fields, number, access->offset);
    part.value = (access->value & shown) != 0 ? field(&target, number) : 0;
    if (shown != 0 && (!access->write || part.value != 0)) {
        result = distributor_access_own(vcpu, &part);
        if (result == ACCESS_AGAIN) {
            return result;
        }
        found = part.value >> field_shift(&target, number) & lowest_field(fields);
    }
    if (access->write) {
        access->value &= ~(shown | own);
        return distributor_access_own(vcpu, access);
    }
    result = distributor_access_own(vcpu, access);
    access->value &= ~(shown | own);
    if (shown != 0) {
        access->value |= found << field_shift(fields, described->console_shown);
    }
    return result;
}

enum access_result renumbered_access(struct vcpu *vcpu, struct access *access)
{
    uint64_t route = access->offset - GICD_IROUTER;
    struct fields fields;

    if (route < (uint64_t)ROUTE_BYTES * (GIC_SPI_LAST + 1)) {
        uint32_t number = renumbered(vcpu->partition, (uint32_t)route / ROUTE_BYTES);

        access->offset =
            GICD_IROUTER + (uint64_t)ROUTE_BYTES * number + access->offset % ROUTE_BYTES;
        return distributor_access_own(vcpu, access);
    }
    fields.bits = interrupts_field_bits((uint32_t)access->offset, &fields.first);
    if (fields.bits == PRIORITY_BITS && (access->bytes == 1 || access->bytes == WORD_BYTES)) {
        return access_priorities(vcpu, access);
    }
    if (fields.bits == 0 || access->bytes != WORD_BYTES) {
        return distributor_access_own(vcpu, access);
    }
    fields.count = 32 / fields.bits;
    return access_word(vcpu, access, &fields);
}
