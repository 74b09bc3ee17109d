/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of layouts, for programs that are not written in C.
 *
 * A file layouts.c next to the types uses these macros in a function. It is compiled for AArch64
 * and never linked: tools/layouts/layouts.py reads the records from its object file. It makes a
 * header for assembly from LAYOUT_ASSEMBLY(), and a Python module from all others.
 */
#ifndef LAYOUTS_LAYOUT_H
#define LAYOUTS_LAYOUT_H

#include <stddef.h>

/* "%c0" is the constant without the punctuation of an immediate operand. */
#define LAYOUT_RECORD(text, ...)                                                             \
    __asm__ volatile(".pushsection .layouts\n\t.ascii \"layout:" text "\\n\"\n\t.popsection" \
                     :                                                                       \
                     : __VA_ARGS__)
#define LAYOUT_VALUE(value) "i"((long long)(value))

/* Whether Python shows an element as a number with a sign (1), as characters (2) or without (0). */
#define LAYOUT_KIND(element) _Generic((element), char: 2, int32_t: 1, int64_t: 1, default: 0)

#define LAYOUT_MEMBER(type, member) (((struct type *)0)->member)

/* A constant of the assembler: an offset, a size. */
#define LAYOUT_ASSEMBLY(name, value) LAYOUT_RECORD("assembly " #name " %c0", LAYOUT_VALUE(value))

/* A number of a macro or an enumerator, under its own name. The record also tells whether it is of
 * 64 bits without a sign: LAYOUT_VALUE() gives the larger half of these a sign. */
#define LAYOUT_CONSTANT(name)                                       \
    LAYOUT_RECORD("constant " #name " %c0 %c1", LAYOUT_VALUE(name), \
                  LAYOUT_VALUE(_Generic((name), unsigned long: 1, default: 0)))

/* An enumerator `prefix` ## `name` of `enum type`, under `name`. */
#define LAYOUT_ENUMERATOR(type, prefix, name) \
    LAYOUT_RECORD("enumerator " #type " " #name " %c0", LAYOUT_VALUE(prefix##name))

/* A structure. Its members follow, in their order. */
#define LAYOUT_STRUCT(type) LAYOUT_RECORD("struct " #type " %c0", LAYOUT_VALUE(sizeof(struct type)))

/* The same, and layouts.py refuses it if the members that follow do not fill it. */
#define LAYOUT_WHOLE_STRUCT(type) \
    LAYOUT_RECORD("whole " #type " %c0", LAYOUT_VALUE(sizeof(struct type)))

/* A member that is a number or a pointer, one that is an array of these, and one that is a
 * structure, or an array of structures, of another type above. */
#define LAYOUT_NUMBER(type, member)                                  \
    LAYOUT_RECORD("member " #type " " #member " %c0 %c1 %c2 %c3",    \
                  LAYOUT_VALUE(offsetof(struct type, member)),       \
                  LAYOUT_VALUE(sizeof(LAYOUT_MEMBER(type, member))), \
                  LAYOUT_VALUE(sizeof(LAYOUT_MEMBER(type, member))), \
                  LAYOUT_VALUE(LAYOUT_KIND(LAYOUT_MEMBER(type, member))))
#define LAYOUT_NUMBERS(type, member)                                    \
    LAYOUT_RECORD("array " #type " " #member " %c0 %c1 %c2 %c3",        \
                  LAYOUT_VALUE(offsetof(struct type, member)),          \
                  LAYOUT_VALUE(sizeof(LAYOUT_MEMBER(type, member))),    \
                  LAYOUT_VALUE(sizeof(LAYOUT_MEMBER(type, member)[0])), \
                  LAYOUT_VALUE(LAYOUT_KIND(LAYOUT_MEMBER(type, member)[0])))
#define LAYOUT_NESTED(type, member, other)                            \
    LAYOUT_RECORD("nested " #type " " #member " %c0 %c1 %c2 " #other, \
                  LAYOUT_VALUE(offsetof(struct type, member)),        \
                  LAYOUT_VALUE(sizeof(LAYOUT_MEMBER(type, member))),  \
                  LAYOUT_VALUE(sizeof(struct other)))

#endif
