/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/channel.h"

#include "channel/end.h"
#include "channel/function.h"

void channel_end(const struct partition *partition)
{
    struct end end;

    for (uint32_t i = 0; i < partition->constant.system->channel_count; i++) {
        if (end_find(partition, i, &end)) {
            function_reset(&end);
            end_set_state(&end, 0);
        }
    }
}
