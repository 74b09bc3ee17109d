/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces double_conversion.c in images that format no doubles
 * (docs/decisions/0020-formatted-doubles.md). */
#include "conversion.h"

bool convert_double(struct output *output, const struct conversion *conversion,
                    struct arguments *arguments)
{
    (void)output;
    (void)conversion;
    (void)arguments;
    return false;
}
