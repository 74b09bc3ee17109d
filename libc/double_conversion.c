/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The conversions e E f F g G of the printf engine (C11 7.21.6.1): exact, rounded to the nearest
 * whatever the rounding mode is. Compiled for floating-point registers, which a double comes in
 * (docs/decisions/0020-formatted-doubles.md).
 */
#include "conversion.h"

#include "decimal.h"
#include <string.h>

#define DEFAULT_PRECISION 6

/* How a rounded decimal is written: digits from position `first` to `unit`, a point, `precision`
 * more digits, and `exponent`. */
struct layout {
    struct decimal decimal;
    long first;
    long unit;
    long precision;
    char sign[2];     /* "" or one character */
    char exponent[6]; /* "" or for example "e-308" */
};

static bool is_capital(const struct conversion *conversion)
{
    return conversion->specifier < 'a';
}

static void set_sign(char sign[2], const struct conversion *conversion, double value)
{
    sign[0] = __builtin_signbit(value) ? '-' : conversion->positive_sign;
    sign[1] = '\0';
}

static void put_not_finite(struct output *output, const struct conversion *conversion, double value)
{
    char text[5];

    set_sign(text, conversion, value);
    if (value != value) {
        strcat(text, is_capital(conversion) ? "NAN" : "nan");
    } else {
        strcat(text, is_capital(conversion) ? "INF" : "inf");
    }
    put_padded(output, conversion, text, strlen(text));
}

static void set_fixed(struct layout *layout, long precision)
{
    long first = decimal_first(&layout->decimal);

    layout->first = first > 0 ? first : 0;
    layout->unit = 0;
    layout->precision = precision;
    layout->exponent[0] = '\0';
}

static void set_exponential(struct layout *layout, long precision, bool capital)
{
    long exponent = decimal_first(&layout->decimal);
    unsigned magnitude = (unsigned)(exponent < 0 ? -exponent : exponent);
    char *end = layout->exponent;

    layout->first = exponent;
    layout->unit = exponent;
    layout->precision = precision;
    *end++ = capital ? 'E' : 'e';
    *end++ = exponent < 0 ? '-' : '+';
    if (magnitude >= 100) {
        *end++ = (char)('0' + magnitude / 100);
    }
    *end++ = (char)('0' + magnitude / 10 % 10);
    *end++ = (char)('0' + magnitude % 10);
    *end = '\0';
}

/* Conversion g: the style depends on the exponent of the rounded value, and zeros at the end are
 * removed unless the alternative form is asked for. */
static void set_general(struct layout *layout, const struct conversion *conversion, long precision)
{
    long digits = precision > 0 ? precision : 1;

    decimal_round(&layout->decimal, decimal_first(&layout->decimal) - (digits - 1));

    long exponent = decimal_first(&layout->decimal);

    if (exponent >= -4 && exponent < digits) {
        set_fixed(layout, digits - 1 - exponent);
    } else {
        set_exponential(layout, digits - 1, is_capital(conversion));
    }
    if (!conversion->alternative) {
        long last = decimal_last(&layout->decimal);
        long needed = last < layout->unit ? layout->unit - last : 0;

        layout->precision = needed < layout->precision ? needed : layout->precision;
    }
}

static void set_layout(struct layout *layout, const struct conversion *conversion, double value)
{
    long precision = conversion->precision < 0 ? DEFAULT_PRECISION : conversion->precision;
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    set_sign(layout->sign, conversion, value);
    decimal_set(&layout->decimal, bits);
    switch (conversion->specifier) {
    case 'f':
    case 'F':
        decimal_round(&layout->decimal, -precision);
        set_fixed(layout, precision);
        break;
    case 'e':
    case 'E':
        decimal_round(&layout->decimal, decimal_first(&layout->decimal) - precision);
        set_exponential(layout, precision, is_capital(conversion));
        break;
    default:
        set_general(layout, conversion, precision);
        break;
    }
}

/* Writes `count` digits from position `first` on. */
static void put_digits(struct output *output, const struct decimal *decimal, long first, long count)
{
    long last = decimal_last(decimal);

    while (count > 0 && first >= last) {
        char digits[DECIMAL_CHUNK_DIGITS];
        long bytes = 0;

        while (bytes < DECIMAL_CHUNK_DIGITS && bytes < count) {
            digits[bytes] = (char)('0' + decimal_digit(decimal, first - bytes));
            bytes++;
        }
        put(output, digits, (size_t)bytes);
        first -= bytes;
        count -= bytes;
    }
    put_zeros(output, (size_t)count);
}

bool convert_double(struct output *output, const struct conversion *conversion,
                    struct arguments *arguments)
{
    double value = va_arg(arguments->list, double);
    struct layout layout;

    if (!__builtin_isfinite(value)) {
        put_not_finite(output, conversion, value);
        return true;
    }
    set_layout(&layout, conversion, value);

    bool point = layout.precision > 0 || conversion->alternative;
    long digits = layout.first - layout.unit + 1;
    size_t bytes = strlen(layout.sign) + (size_t)digits + (point ? 1 : 0) +
                   (size_t)layout.precision + strlen(layout.exponent);
    size_t width = (size_t)conversion->width;
    size_t padding = width > bytes ? width - bytes : 0;
    bool zeros = conversion->zero && !conversion->left;

    if (!conversion->left && !zeros) {
        put_spaces(output, padding);
    }
    put(output, layout.sign, strlen(layout.sign));
    if (zeros) {
        put_zeros(output, padding);
    }
    put_digits(output, &layout.decimal, layout.first, digits);
    put(output, ".", point ? 1 : 0);
    put_digits(output, &layout.decimal, layout.unit - 1, layout.precision);
    put(output, layout.exponent, strlen(layout.exponent));
    if (conversion->left) {
        put_spaces(output, padding);
    }
    return true;
}
