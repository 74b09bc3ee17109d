/* SPDX-License-Identifier: BSD-2-Clause */
/* See rules.h: the rules' names and counts. */
#include "rules.h"
#include <stdio.h>

#define RULE_TEXT(name, text) text,
static const char *const texts[RULE_COUNT] = {RULES(RULE_TEXT)};
#undef RULE_TEXT
#define RULE_NAME(name, text) #name,
static const char *const names[RULE_COUNT] = {RULES(RULE_NAME)};
#undef RULE_NAME

static unsigned looked[RULE_COUNT];

void rules_check(enum rule rule, bool holds)
{
    looked[rule]++;
    if (!holds) {
        fail_msg("VIRTIO 1.3, %s: it does not hold", texts[rule]);
    }
}

void rules_report(void)
{
    for (unsigned rule = 0; rule < RULE_COUNT; rule++) {
        printf("rule %s %u: %s\n", names[rule], looked[rule], texts[rule]);
    }
}
