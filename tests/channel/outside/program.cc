// SPDX-License-Identifier: BSD-2-Clause
// A program of C++17 that uses all public headers: both ends of channels of each kind, in one
// process.
#include "channel/batch.h"
#include "channel/broadcast.h"
#include "channel/call.h"
#include "channel/connection.h"
#include "channel/copy.h"
#include "channel/error.h"
#include "channel/format.h"
#include "channel/linkage.h"
#include "channel/linux.h"
#include "channel/port.h"
#include "channel/ring.h"
#include "channel/run.h"
#include "channel/value.h"
#include "channel/version.h"
#include "channel/wait.h"
#include "channel/words.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace
{

constexpr std::uint64_t ring_bytes = 4096;

void check(bool is_right, const char *what)
{
    if (!is_right) {
        std::fprintf(stderr, "%s\n", what);
        std::exit(1);
    }
}

// One end of a channel of a file.
class end_of_channel
{
  public:
    end_of_channel(const char *path, unsigned end, linux_kind kind)
    {
        char problem[LINUX_PROBLEM_BYTES];

        endpoint = linux_map_file(path, end, kind, ring_bytes, problem);
        check(endpoint != nullptr && linux_begin(endpoint, problem), problem);
    }

    ~end_of_channel()
    {
        linux_close(endpoint);
    }

    end_of_channel(const end_of_channel &) = delete;
    end_of_channel &operator=(const end_of_channel &) = delete;

    linux_endpoint *endpoint;
};

void fill(std::uint8_t *place, char letter)
{
    std::memset(place, letter, 8);
}

// Messages alone, in a batch and in a run.
void send_messages(channel *sender)
{
    send_batch batch;
    send_run run;
    std::uint8_t *place = channel_send_begin(sender, 8);

    check(place != nullptr, "no place");
    fill(place, 'a');
    channel_send_end(sender, 8, 1);
    batch = channel_send_batch_begin(sender, 8);
    place = send_batch_reserve(&batch, 8);
    check(place != nullptr, "no place in the batch");
    fill(place, 'b');
    send_batch_commit(&batch, 8, 2);
    channel_send_batch_end(sender, &batch);
    run = channel_send_run_begin(sender, 8, 3);
    place = send_run_reserve(&run);
    check(place != nullptr, "no place in the run");
    fill(place, 'c');
    send_run_commit(&run);
    channel_send_run_end(sender, &run);
}

std::string receive_messages(channel *receiver)
{
    receive_batch batch = channel_receive_batch_begin(receiver);
    std::string received;

    while (batch.count == 0 || channel_update(receiver) == CHANNEL_CONNECTED) {
        std::uint64_t length;
        std::uint32_t tag;
        const std::uint8_t *content = receive_batch_next(&batch, &length, &tag);

        if (content != nullptr) {
            received.append(reinterpret_cast<const char *>(content), 1);
            continue;
        }
        if (batch.count == 0) {
            break;
        }
        channel_receive_batch_end(receiver, &batch);
        batch = channel_receive_batch_begin(receiver);
    }
    return received;
}

void exchange_messages()
{
    end_of_channel first("./messages", 0, LINUX_MESSAGES);
    end_of_channel second("./messages", 1, LINUX_MESSAGES);
    channel *sender = linux_channel(first.endpoint);
    channel *receiver = linux_channel(second.endpoint);

    for (int i = 0; i < 4; i++) {
        channel_update(sender);
        channel_update(receiver);
    }
    send_messages(sender);
    check(receive_messages(receiver) == "abc", "other messages");
}

void exchange_values()
{
    end_of_channel first("./values", 0, LINUX_VALUE);
    end_of_channel second("./values", 1, LINUX_VALUE);
    value_writer *writer = linux_value_writer(first.endpoint);
    std::uint64_t length;
    const std::uint8_t *content;

    fill(value_write_begin(writer), 'v');
    value_write_end(writer, 8);
    content = value_read(linux_value_reader(second.endpoint), &length);
    check(content != nullptr && length == 8 && content[7] == 'v', "another value");
}

void exchange_broadcasts()
{
    end_of_channel first("./one-way", 0, LINUX_ONE_WAY);
    end_of_channel second("./one-way", 1, LINUX_ONE_WAY);
    broadcast_sender *sender = linux_broadcast_sender(first.endpoint);
    std::uint64_t buffer[1];
    std::uint64_t length;
    std::uint32_t tag;

    fill(broadcast_send_begin(sender, 8), 'o');
    broadcast_send_end(sender, 8, 7);
    check(broadcast_receive(linux_broadcast_receiver(second.endpoint), buffer, sizeof(buffer),
                            &length, &tag) == BROADCAST_RECEIVED &&
              length == 8 && tag == 7,
          "another broadcast");
}

} // namespace

int main()
{
    exchange_messages();
    exchange_values();
    exchange_broadcasts();
    std::puts("exchanged");
    return 0;
}
