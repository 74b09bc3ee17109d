/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mixes random accesses of all partitions, input, and switching of the input. The sanitizers report
 * errors. Each line on the terminal must have a name and only that partition's letters, and no sent
 * letter may be missing. The random sequence is always the same.
 */
#include "console_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 200u
#define STEPS  2000u

/* A line that was interrupted by others is printed again, so more letters are printed than sent. */
#define TEXT_BYTES (20 * STEPS)

static uint64_t random_state = 0x9E3779B97F4A7C15;
static char sent[PARTITIONS][STEPS + 1];
static size_t sent_bytes[PARTITIONS];

/* xorshift64* */
static uint64_t random_number(uint64_t limit)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (random_state * 0x2545F4914F6CDD1D >> 16) % limit;
}

static void require(bool right, const char *what)
{
    if (!right) {
        (void)fprintf(stderr, "not so: %s\n%s\n", what, fake.printed);
        abort();
    }
}

/* Sends capitals for "control" and small letters for "linux". */
static void send(unsigned partition)
{
    char letter = (char)((partition == 0 ? 'A' : 'a') + random_number(26));

    if (random_number(20) == 0) {
        fixture_send(partition, "\r\n");
    } else {
        char text[] = {letter, '\0'};

        fixture_send(partition, text);
        sent[partition][sent_bytes[partition]++] = letter;
    }
}

static void access_anything(unsigned partition)
{
    static const uint8_t sizes[] = {1, 2, 4, 8};
    uint8_t bytes = sizes[random_number(4)];
    struct access access = {
        .offset = random_number(4) == 0 ? random_number(4096) : random_number(0x60),
        .value = random_number(UINT64_MAX),
        .bytes = bytes,
        .write = random_number(2) == 0,
    };
    enum access_result result;

    access.offset -= access.offset % bytes;
    if (access.write && access.offset == UARTDR) {
        access.value = 0; /* 0 is not printed, like other control characters */
        return;
    }
    result = uart_access(&fixture_partitions[partition], &access);
    require(result == ACCESS_DONE || result == ACCESS_REFUSED, "no guest is stopped for its UART");
    require(access.write || bytes == 8 || access.value >> (8 * bytes) == 0, "above is zero");
}

static void type(void)
{
    static const char *const keys[] = {"1", "22", "\x1d", "333333333333333333", "\r"};

    fixture_type(keys[random_number(5)]);
}

static void step(void)
{
    unsigned partition = random_number(2) == 0 ? 0 : 2;

    switch (random_number(16)) {
    case 0:
        access_anything(partition);
        break;
    case 1:
        type();
        break;
    case 2:
        fixture_interrupt();
        break;
    default:
        send(partition);
        break;
    }
}

/* Adds the letters of a line to `got`. Returns the start of the next line. */
static const char *take_line(const char *line, char got[PARTITIONS][2 * TEXT_BYTES],
                             size_t got_bytes[PARTITIONS])
{
    unsigned partition = strncmp(line, "control| ", 9) == 0 ? 0 : 2;
    const char *text = strstr(line, "| ");
    const char *end = strstr(line, "\r\n");

    require(text != NULL && end != NULL && text < end, "each line has a name and an end");
    if (strncmp(line, "bulkhead| ", 10) == 0) { /* about the input */
        return end + 2;
    }
    require(partition == 0 || strncmp(line, "linux| ", 7) == 0,
            "each line has a name that is known");
    for (text += 2; text < end; text++) {
        require(*text >= (partition == 0 ? 'A' : 'a') && *text <= (partition == 0 ? 'Z' : 'z'),
                "a line is one partition's");
        require(got_bytes[partition] < sizeof(got[0]), "no more is printed than was sent, twice");
        got[partition][got_bytes[partition]++] = *text;
    }
    return end + 2;
}

/* Checks that no letter is missing. Letters of lines that were printed again occur twice. */
static void judge(void)
{
    static char got[PARTITIONS][2 * TEXT_BYTES];
    size_t got_bytes[PARTITIONS] = {0};

    for (const char *line = fake.printed; *line != '\0';) {
        line = take_line(line, got, got_bytes);
    }
    for (unsigned partition = 0; partition < PARTITIONS; partition += 2) {
        size_t found = 0;

        for (size_t i = 0; i < got_bytes[partition] && found < sent_bytes[partition]; i++) {
            found += got[partition][i] == sent[partition][found];
        }
        require(found == sent_bytes[partition], "nothing is missing");
    }
}

int main(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        (void)fixture_set_up(NULL);
        memset(sent_bytes, 0, sizeof(sent_bytes));
        for (unsigned i = 0; i < STEPS; i++) {
            step();
        }
        fixture_send(0, "\n");
        fixture_send(2, "\n");
        fixture_send_output();
        judge();
    }
    return 0;
}
