/* SPDX-License-Identifier: BSD-2-Clause */
/* Included before each file, over hooked_channel/channel/words.h: a test can also end the life of a
 * writer before any store. */
#ifndef BEFORE_STORE_H
#define BEFORE_STORE_H

#include "channel/words.h"

/* May not return. */
void before_store(void);

#define word_store(word, value) (before_store(), model_store((word), sizeof(uint64_t), (value)))

#undef word_store_release
#define word_store_release(word, value) \
    (before_store(),                    \
     order_store((word), sizeof(uint64_t), (value), ORDER_PLACE(ORDER_RELEASE, #word)))

#endif
