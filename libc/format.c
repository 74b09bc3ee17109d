/* SPDX-License-Identifier: BSD-2-Clause */
/* The printf engine. */
#include "libc/format.h"

#include "conversion.h"
#include <limits.h>
#include <stdint.h>
#include <string.h>

void put(struct output *output, const char *text, size_t bytes)
{
    if (bytes > 0) {
        output->sink(output->context, text, bytes);
        output->count += bytes;
    }
}

static void put_repeated(struct output *output, const char fill[16], size_t count)
{
    while (count > 16) {
        put(output, fill, 16);
        count -= 16;
    }
    put(output, fill, count);
}

void put_spaces(struct output *output, size_t count)
{
    put_repeated(output, "                ", count);
}

void put_zeros(struct output *output, size_t count)
{
    put_repeated(output, "0000000000000000", count);
}

void put_padded(struct output *output, const struct conversion *conversion, const char *text,
                size_t bytes)
{
    size_t width = (size_t)conversion->width;
    size_t padding = width > bytes ? width - bytes : 0;

    if (!conversion->left) {
        put_spaces(output, padding);
    }
    put(output, text, bytes);
    if (conversion->left) {
        put_spaces(output, padding);
    }
}

/* Writes a sign or base prefix and digits, with the zeros that the precision asks for, padded to
 * the field's width with blanks or zeros. */
static void put_number(struct output *output, const struct conversion *conversion,
                       const char *prefix, const char *digits, size_t digit_count)
{
    size_t prefix_bytes = strlen(prefix);
    size_t zeros = 0;
    size_t width = (size_t)conversion->width;

    if (conversion->precision >= 0 && (size_t)conversion->precision > digit_count) {
        zeros = (size_t)conversion->precision - digit_count;
    }
    size_t bytes = prefix_bytes + zeros + digit_count;
    size_t padding = width > bytes ? width - bytes : 0;

    if (conversion->zero && !conversion->left && conversion->precision < 0) {
        zeros += padding;
        padding = 0;
    }
    if (!conversion->left) {
        put_spaces(output, padding);
    }
    put(output, prefix, prefix_bytes);
    put_zeros(output, zeros);
    put(output, digits, digit_count);
    if (conversion->left) {
        put_spaces(output, padding);
    }
}

/* Writes the digits of `value` so that they end in front of `end`; none for 0. Returns the place of
 * the first digit. */
static char *digits_of(uintmax_t value, unsigned base, bool capitals, char *end)
{
    const char *digits = capitals ? "0123456789ABCDEF" : "0123456789abcdef";

    /* A constant base needs no division instruction. */
    if (base == 10) {
        for (; value != 0; value /= 10) {
            *--end = digits[value % 10];
        }
        return end;
    }
    unsigned shift = base == 16 ? 4 : 3;

    for (; value != 0; value >>= shift) {
        *--end = digits[value & (base - 1)];
    }
    return end;
}

static void convert_unsigned(struct output *output, struct conversion *conversion, uintmax_t value,
                             const char *sign, unsigned base)
{
    char buffer[24]; /* 22 octal digits of 64 bits, and the alternative form's zero */
    char *end = buffer + sizeof(buffer);
    char *digits = digits_of(value, base, conversion->specifier == 'X', end);
    const char *prefix = sign;

    if (digits == end && conversion->precision != 0) {
        *--digits = '0';
    }
    if (conversion->alternative && base == 8 && (digits == end || *digits != '0') &&
        conversion->precision <= end - digits) {
        *--digits = '0'; /* "increases the precision, if and only if necessary" (C11 7.21.6.1) */
    }
    if (conversion->alternative && base == 16 && value != 0) {
        prefix = conversion->specifier == 'X' ? "0X" : "0x";
    }
    put_number(output, conversion, prefix, digits, (size_t)(end - digits));
}

static void convert_signed(struct output *output, struct conversion *conversion, intmax_t value)
{
    const char *sign = "";

    if (value < 0) {
        sign = "-";
    } else if (conversion->positive_sign == '+') {
        sign = "+";
    } else if (conversion->positive_sign == ' ') {
        sign = " ";
    }
    uintmax_t magnitude = value < 0 ? -(uintmax_t)value : (uintmax_t)value;

    convert_unsigned(output, conversion, magnitude, sign, 10);
}

static void convert_text(struct output *output, const struct conversion *conversion,
                         const char *text)
{
    if (text == NULL) {
        text = "(null)";
        if (conversion->precision >= 0 && conversion->precision < 6) {
            text = "";
        }
    }
    size_t bytes =
        conversion->precision < 0 ? strlen(text) : strnlen(text, (size_t)conversion->precision);

    put_padded(output, conversion, text, bytes);
}

static void convert_pointer(struct output *output, struct conversion *conversion,
                            const void *pointer)
{
    char sign[2] = {conversion->positive_sign, '\0'};
    char prefix[4] = "";

    if (pointer == NULL) {
        conversion->precision = -1;
        put_padded(output, conversion, "(nil)", 5);
        return;
    }
    conversion->alternative = true;
    conversion->specifier = 'x';
    if (sign[0] != '\0') {
        prefix[0] = sign[0];
        prefix[1] = '0';
        prefix[2] = 'x';
        conversion->alternative = false;
    }
    convert_unsigned(output, conversion, (uintptr_t)pointer, prefix, 16);
}

/* Reads a decimal number of the format; saturates. */
static int parse_number(const char **format)
{
    int number = 0;

    while (**format >= '0' && **format <= '9') {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, **format - '0', &number)) {
            number = INT_MAX;
        }
        (*format)++;
    }
    return number;
}

static const char *parse_flags(const char *format, struct conversion *conversion)
{
    for (;; format++) {
        switch (*format) {
        case '-':
            conversion->left = true;
            break;
        case '0':
            conversion->zero = true;
            break;
        case '#':
            conversion->alternative = true;
            break;
        case '+':
            conversion->positive_sign = '+';
            break;
        case ' ':
            conversion->positive_sign = conversion->positive_sign == '+' ? '+' : ' ';
            break;
        default:
            return format;
        }
    }
}

static const char *parse_length(const char *format, struct conversion *conversion)
{
    conversion->length = LENGTH_INT;
    switch (*format) {
    case 'h':
        conversion->length = format[1] == 'h' ? LENGTH_CHAR : LENGTH_SHORT;
        return format + (format[1] == 'h' ? 2 : 1);
    case 'l':
        conversion->length = LENGTH_LONG;
        return format + (format[1] == 'l' ? 2 : 1);
    case 'z':
    case 't':
    case 'j':
        conversion->length = LENGTH_LONG;
        return format + 1;
    default:
        return format;
    }
}

_Static_assert(sizeof(size_t) == sizeof(long) && sizeof(ptrdiff_t) == sizeof(long) &&
                   sizeof(intmax_t) == sizeof(long) && sizeof(long long) == sizeof(long),
               "lengths z, t, j and ll are read as long");

/* Reads flags, width, precision and length behind a '%'. Returns the place of the specifier. */
static const char *parse_conversion(const char *format, struct conversion *conversion,
                                    struct arguments *arguments)
{
    *conversion = (struct conversion){.precision = -1};
    format = parse_flags(format, conversion);
    if (*format == '*') {
        conversion->width = va_arg(arguments->list, int);
        format++;
        if (conversion->width < 0) {
            conversion->left = true;
            conversion->width = conversion->width == INT_MIN ? INT_MAX : -conversion->width;
        }
    } else {
        conversion->width = parse_number(&format);
    }
    if (*format == '.') {
        format++;
        if (*format == '*') {
            conversion->precision = va_arg(arguments->list, int);
            format++;
        } else {
            conversion->precision = parse_number(&format);
        }
        if (conversion->precision < 0) {
            conversion->precision = -1;
        }
    }
    format = parse_length(format, conversion);
    conversion->specifier = *format;
    return format;
}

static intmax_t signed_argument(enum length length, struct arguments *arguments)
{
    switch (length) {
    case LENGTH_CHAR:
        return (signed char)va_arg(arguments->list, int);
    case LENGTH_SHORT:
        return (short)va_arg(arguments->list, int);
    case LENGTH_LONG:
        return va_arg(arguments->list, long);
    default:
        return va_arg(arguments->list, int);
    }
}

static uintmax_t unsigned_argument(enum length length, struct arguments *arguments)
{
    switch (length) {
    case LENGTH_CHAR:
        return (unsigned char)va_arg(arguments->list, unsigned);
    case LENGTH_SHORT:
        return (unsigned short)va_arg(arguments->list, unsigned);
    case LENGTH_LONG:
        return va_arg(arguments->list, unsigned long);
    default:
        return va_arg(arguments->list, unsigned);
    }
}

/* Returns false if the specifier is not supported. */
static bool convert(struct output *output, struct conversion *conversion,
                    struct arguments *arguments)
{
    char character;

    switch (conversion->specifier) {
    case 'd':
    case 'i':
        convert_signed(output, conversion, signed_argument(conversion->length, arguments));
        return true;
    case 'u':
        convert_unsigned(output, conversion, unsigned_argument(conversion->length, arguments), "",
                         10);
        return true;
    case 'x':
    case 'X':
        convert_unsigned(output, conversion, unsigned_argument(conversion->length, arguments), "",
                         16);
        return true;
    case 'o':
        convert_unsigned(output, conversion, unsigned_argument(conversion->length, arguments), "",
                         8);
        return true;
    case 'p':
        convert_pointer(output, conversion, va_arg(arguments->list, void *));
        return true;
    case 'c':
        character = (char)va_arg(arguments->list, int);
        put_padded(output, conversion, &character, 1);
        return true;
    case 's':
        convert_text(output, conversion, va_arg(arguments->list, const char *));
        return true;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
        return convert_double(output, conversion, arguments);
    case '%':
        put(output, "%", 1);
        return true;
    default:
        return false;
    }
}

size_t format_arguments(format_sink sink, void *context, const char *format, va_list list)
{
    struct output output = {.sink = sink, .context = context};
    struct arguments arguments;

    va_copy(arguments.list, list);
    while (*format != '\0') {
        const char *start = format;

        while (*format != '\0' && *format != '%') {
            format++;
        }
        put(&output, start, (size_t)(format - start));
        if (*format == '\0') {
            break;
        }
        struct conversion conversion;

        start = format;
        format = parse_conversion(format + 1, &conversion, &arguments);
        if (*format != '\0') {
            format++;
        }
        if (!convert(&output, &conversion, &arguments)) {
            put(&output, start, (size_t)(format - start));
        }
    }
    va_end(arguments.list);
    return output.count;
}
