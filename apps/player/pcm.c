/* SPDX-License-Identifier: BSD-2-Clause */
#include "pcm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <sound/asound.h>

#define DEVICE       "/dev/snd/pcmC0D0p"
#define NS_PER_S     1000000000ull
#define OPEN_TRIES   100 /* the driver looks for the codec after its module has been loaded */
#define OPEN_WAIT_NS 100000000

static void set_mask(struct snd_pcm_hw_params *params, unsigned parameter, unsigned value)
{
    struct snd_mask *mask = &params->masks[parameter - SNDRV_PCM_HW_PARAM_FIRST_MASK];

    memset(mask, 0, sizeof(*mask));
    mask->bits[value / 32] = 1u << value % 32;
}

static void set_interval(struct snd_pcm_hw_params *params, unsigned parameter, unsigned value)
{
    struct snd_interval *interval =
        &params->intervals[parameter - SNDRV_PCM_HW_PARAM_FIRST_INTERVAL];

    *interval = (struct snd_interval){.min = value, .max = value, .integer = 1};
}

/* Sets all parameters to all values, for the driver to choose from. */
static void set_all(struct snd_pcm_hw_params *params)
{
    memset(params, 0, sizeof(*params));
    for (unsigned i = 0; i < sizeof(params->masks) / sizeof(params->masks[0]); i++) {
        memset(&params->masks[i], 0xff, sizeof(params->masks[i]));
    }
    for (unsigned i = 0; i < sizeof(params->intervals) / sizeof(params->intervals[0]); i++) {
        params->intervals[i].max = UINT_MAX;
    }
    params->rmask = UINT_MAX;
    params->info = UINT_MAX;
}

static bool set_hardware(const struct pcm *pcm, unsigned rate, unsigned periods)
{
    struct snd_pcm_hw_params params;

    set_all(&params);
    set_mask(&params, SNDRV_PCM_HW_PARAM_ACCESS, SNDRV_PCM_ACCESS_RW_INTERLEAVED);
    set_mask(&params, SNDRV_PCM_HW_PARAM_FORMAT, SNDRV_PCM_FORMAT_S16_LE);
    set_mask(&params, SNDRV_PCM_HW_PARAM_SUBFORMAT, SNDRV_PCM_SUBFORMAT_STD);
    set_interval(&params, SNDRV_PCM_HW_PARAM_CHANNELS, PCM_CHANNELS);
    set_interval(&params, SNDRV_PCM_HW_PARAM_RATE, rate);
    set_interval(&params, SNDRV_PCM_HW_PARAM_PERIOD_SIZE, pcm->period_frames);
    set_interval(&params, SNDRV_PCM_HW_PARAM_PERIODS, periods);
    return ioctl(pcm->descriptor, SNDRV_PCM_IOCTL_HW_PARAMS, &params) == 0;
}

static bool set_software(const struct pcm *pcm, unsigned periods)
{
    snd_pcm_uframes_t buffer_frames = (snd_pcm_uframes_t)pcm->period_frames * periods;
    struct snd_pcm_sw_params params = {
        .period_step = 1,
        .avail_min = pcm->period_frames,
        .start_threshold = buffer_frames,
        .stop_threshold = buffer_frames,
    };

    return ioctl(pcm->descriptor, SNDRV_PCM_IOCTL_SW_PARAMS, &params) == 0;
}

static int open_device(void)
{
    const struct timespec wait = {.tv_nsec = OPEN_WAIT_NS};
    int descriptor = open(DEVICE, O_RDWR);

    for (unsigned tries = 1; descriptor < 0 && tries < OPEN_TRIES; tries++) {
        (void)nanosleep(&wait, NULL);
        descriptor = open(DEVICE, O_RDWR);
    }
    return descriptor;
}

bool pcm_open(struct pcm *pcm, unsigned rate, unsigned period_frames, unsigned periods)
{
    *pcm = (struct pcm){
        .descriptor = open_device(),
        .period_frames = period_frames,
        .period_ns = period_frames * NS_PER_S / rate,
        .periods = periods,
    };
    if (pcm->descriptor < 0) {
        perror("player: " DEVICE);
        return false;
    }
    if (!set_hardware(pcm, rate, periods) || !set_software(pcm, periods) ||
        ioctl(pcm->descriptor, SNDRV_PCM_IOCTL_PREPARE) != 0) {
        perror("player: the sound device refuses these parameters");
        (void)close(pcm->descriptor);
        return false;
    }
    return true;
}

static uint64_t now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* Counts the period that was not there, and those since then, and prepares the device. The status's
 * trigger_tstamp is no help: snd_hda_intel sets it at the start only. */
static bool recover(struct pcm *pcm)
{
    uint64_t due = (now() - pcm->begun) / pcm->period_ns;

    pcm->lost += due > pcm->written ? due - pcm->written + 1 : 1;
    pcm->written = 0;
    return ioctl(pcm->descriptor, SNDRV_PCM_IOCTL_PREPARE) == 0;
}

bool pcm_write(struct pcm *pcm, const int16_t *samples)
{
    struct snd_xferi transfer = {
        .buf = (int16_t *)samples, /* only read */
        .frames = pcm->period_frames,
    };

    while (ioctl(pcm->descriptor, SNDRV_PCM_IOCTL_WRITEI_FRAMES, &transfer) != 0) {
        if (errno != EPIPE || !recover(pcm)) {
            perror("player: writing to the sound device failed");
            return false;
        }
    }
    pcm->written++;
    if (pcm->written == pcm->periods) {
        pcm->begun = now();
    }
    return true;
}
