/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads values of the boot argument `vcpus`, one a line. Answers each with a line: the value, with
 * times in nanoseconds and with all threads, or `refused POSITION REASON`.
 */
#include "vcpu_text.h"
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 65536u

int main(void)
{
    static char line[LINE_BYTES], text[LINE_BYTES];
    struct vcpu_arguments arguments;
    struct vcpu_argument_error error;

    while (fgets(line, sizeof(line), stdin) != NULL) {
        line[strcspn(line, "\n")] = 0;
        if (vcpu_arguments_parse(&arguments, line, &error)) {
            vcpu_text_write(&arguments, text, sizeof(text));
            printf("%s\n", text);
        } else {
            printf("refused %zu %s\n", error.position, error.what);
        }
    }
    return 0;
}
