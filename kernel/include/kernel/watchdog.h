/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Watchdogs. A program arms a watchdog with a time limit and feeds it again and again. If it is not
 * fed within the limit, the watchdog expires: it calls a hook, or panics with a report on the
 * thread that was to feed it. A watchdog needs no thread. There may be any number of them.
 *
 * A watchdog expires in the interrupt of the core's alarm. Therefore it notices a thread that
 * waits for ever (a deadlock, a lost wake-up), loops for ever, or does not get the processor, at
 * any priority. It notices a critical section or an interrupt handler that lasts longer than the
 * limit only at its end. It does not notice interrupts that are masked for ever, a handler that
 * never returns, a core that does not run at all, or a kernel whose timers are corrupt. Those are
 * for a hardware watchdog, which resets the board, and which on a real board should stand behind
 * these watchdogs. Feed it from a thread that a watchdog of this kind supervises. In a partition
 * kernel/heartbeat.h has this part.
 */
#ifndef KERNEL_WATCHDOG_H
#define KERNEL_WATCHDOG_H

#include "kernel/thread.h"
#include "kernel/time.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Capacity that is enough for each text of watchdog_describe(). */
#define WATCHDOG_TEXT_BYTES ((size_t)256)

/* The owner embeds it; it must stay valid while armed. Private. */
struct watchdog {
    const char *name;
    void (*hook)(struct watchdog *watchdog, void *argument);
    void *argument;
    struct timer timer; /* not moved by each feed: expires at an earlier `deadline` */
    uint64_t limit;     /* nanoseconds */
    uint64_t deadline;  /* time at which the watchdog expires unless it is fed before */
    bool armed;
    bool is_unfed; /* it has expired, and was neither armed nor disarmed since */
    char feeder_name[THREAD_NAME_BYTES];
    uint64_t feeder_number; /* of the thread, which may have been freed */
};

/*
 * Sets up a watchdog. `name` stays the caller's. `hook` is called once when the watchdog expires,
 * in interrupt context with interrupts masked, and may do what the callback of a timer may do
 * (kernel/time.h). The watchdog is not armed any more then; the hook may arm it again. Without a
 * hook (NULL) the watchdog panics with the text of watchdog_describe(). The report has two
 * backtraces: that of the thread that was to feed it, and that of the interrupted one.
 */
void watchdog_init(struct watchdog *watchdog, const char *name,
                   void (*hook)(struct watchdog *watchdog, void *argument), void *argument);

/* Arms the watchdog, or arms it again with other values: it expires `limit` nanoseconds, > 0, after
 * now or after the last feed. `feeder` is the thread that the report is about; NULL: the calling
 * thread. Any context. */
void watchdog_arm(struct watchdog *watchdog, const struct thread *feeder, uint64_t limit);

/* Feeds the watchdog. Returns false if it is not armed, or if it is too late: the limit has passed
 * while interrupts were masked, and the watchdog expires when they are unmasked. Takes constant
 * time. Any context, any thread. */
bool watchdog_feed(struct watchdog *watchdog);

/* Disarms the watchdog. Returns false if it was not armed, because it has expired for example. The
 * hook is not called after the return. Any context. */
bool watchdog_disarm(struct watchdog *watchdog);

/* Returns false if a watchdog with a hook has expired, and was neither armed again nor disarmed
 * since. Such a watchdog must stay valid. Any context. */
bool watchdogs_are_fed(void);

/*
 * Writes one line, at most `capacity` - 1 characters: the watchdog, the thread that was to feed it,
 * what this thread does or waits for, and the thread that runs now (in an interrupt: that was
 * interrupted). For a hook that reports. Any context.
 */
void watchdog_describe(const struct watchdog *watchdog, char *text, size_t capacity);

#endif
