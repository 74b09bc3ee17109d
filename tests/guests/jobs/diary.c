/* SPDX-License-Identifier: BSD-2-Clause */
#include "diary.h"

/* Turns of the empty loop between two looks, each of two instructions. */
#define PAUSE 21
/* Instructions from one look to the next, and those that note a gap besides. */
#define LOOK  (2 * PAUSE + 10)
#define NOTED 7
/* More than a look, with the note of the gap before. Less than any exit. */
#define GAP 80u

_Static_assert(GAP > LOOK + NOTED, "a look without an exit is no gap");

void diary_begin(struct diary *diary, struct record *records, uint32_t count)
{
    *diary =
        (struct diary){.next = records, .first = records, .limit = records + count - 1, .gap = GAP};
}

void diary_write(struct diary *diary, enum event event, uint64_t time, uint64_t span)
{
    enum event written = diary->next < diary->limit ? event : EVENT_FULL;

    *diary->next = (struct record){time, span | (uint64_t)written << EVENT_SHIFT};
    if (diary->next < diary->limit) {
        diary->next++;
    }
}

uint64_t diary_time(void)
{
    uint64_t now;

    __asm__ volatile("isb\n\tmrs %0, cntpct_el0" : "=r"(now) : : "memory");
    return now;
}

/* The loop is in assembly because it counts its own instructions. If the diary is full, its last
 * record is overwritten, and diary_write() marks it. */
void diary_work(struct diary *diary, uint64_t instructions, uint64_t end)
{
    int64_t left = (int64_t)instructions;
    struct record *next = diary->next;
    uint64_t last = diary->last;
    uint64_t now, span, turns;

    __asm__ volatile("1: mov %[turns], %[pause]\n\t"
                     "2: subs %[turns], %[turns], #1\n\t"
                     "b.ne 2b\n\t"
                     "mrs %[now], cntpct_el0\n\t"
                     "sub %[span], %[now], %[last]\n\t"
                     "mov %[last], %[now]\n\t"
                     "cmp %[span], %[gap]\n\t"
                     "b.hi 4f\n\t"
                     "3: cmp %[now], %[end]\n\t"
                     "b.hs 5f\n\t"
                     "subs %[left], %[left], %[look]\n\t"
                     "b.gt 1b\n\t"
                     "b 5f\n\t"
                     "4: stp %[now], %[span], [%[next]]\n\t"
                     "add %[next], %[next], #16\n\t"
                     "cmp %[next], %[limit]\n\t"
                     "csel %[next], %[next], %[limit], lo\n\t"
                     "sub %[left], %[left], %[noted]\n\t"
                     "b 3b\n\t"
                     "5:"
                     : [turns] "=&r"(turns), [now] "=&r"(now), [span] "=&r"(span),
                       [last] "+&r"(last), [left] "+&r"(left), [next] "+&r"(next)
                     : [pause] "i"(PAUSE), [gap] "r"(diary->gap), [end] "r"(end), [look] "i"(LOOK),
                       [limit] "r"(diary->limit), [noted] "i"(NOTED)
                     : "cc", "memory");
    diary->last = last;
    diary->next = next;
    if (next == diary->limit) {
        diary_write(diary, EVENT_FULL, last, 0);
    }
}
