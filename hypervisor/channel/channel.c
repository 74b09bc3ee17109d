/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel/channel.h"

#include "channel/end.h"
#include "emulated_function/config.h"

enum step_outcome channel_end(const struct partition *partition, uint32_t *index)
{
    struct end end;

    while (*index < partition->constant.system->channel_count) {
        if (end_find(partition, (*index)++, &end)) {
            if (end_described(&end)->function != 0) {
                function_config_reset(end_function(&end));
            }
            end_set_state(&end, 0);
            return STEP_PENDING;
        }
    }
    return STEP_DONE;
}
