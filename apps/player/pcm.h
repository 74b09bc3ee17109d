/* SPDX-License-Identifier: BSD-2-Clause */
/* Playback through ALSA's kernel interface, of 16-bit stereo samples. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PCM_CHANNELS 2u

struct pcm {
    int descriptor;
    unsigned period_frames;
    uint64_t period_ns;
    unsigned periods; /* of the device's buffer */
    uint64_t written; /* periods since the device was prepared */
    uint64_t begun;   /* nanoseconds of CLOCK_MONOTONIC: when the buffer was full, and it started */
    uint64_t lost;    /* periods that the device did not get in time */
};

/*
 * Opens the first sound device for playback. The device starts when its buffer of `periods` periods
 * is full. Returns false, with a message, if there is no such device or it refuses the parameters.
 */
bool pcm_open(struct pcm *pcm, unsigned rate, unsigned period_frames, unsigned periods);

/*
 * Writes one period. Waits while the buffer is full. If the device has run out of samples, counts
 * the periods that it has lost and starts it again. Returns false, with a message, after an error.
 */
bool pcm_write(struct pcm *pcm, const int16_t *samples);
