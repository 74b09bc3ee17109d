/* SPDX-License-Identifier: BSD-2-Clause */
/* See coalesce.h. */
#include "coalesce.h"

static void hold(struct coalesce *coalesce, struct pbuf *frame, const struct tcp_segment *segment)
{
    /* Removes the padding of a short frame. */
    pbuf_realloc(frame, (u16_t)(segment->header_bytes + segment->data_bytes));
    coalesce->held = frame;
    coalesce->tail = frame;
    coalesce->frames = 1;
    coalesce->data_bytes = segment->data_bytes;
    coalesce->segment = *segment;
    coalesce->pushed = tcp_segment_pushed(frame->payload, segment);
}

static bool can_join(const struct coalesce *coalesce, const struct pbuf *frame,
                     const struct tcp_segment *segment)
{
    return coalesce->held != NULL &&
           coalesce->data_bytes + segment->data_bytes <= tcp_segment_data_max(segment) &&
           tcp_segment_follows(coalesce->held->payload, &coalesce->segment, coalesce->data_bytes,
                               frame->payload, segment);
}

static void join(struct coalesce *coalesce, struct pbuf *frame, const struct tcp_segment *segment)
{
    coalesce->pushed = coalesce->pushed || tcp_segment_pushed(frame->payload, segment);
    (void)pbuf_remove_header(frame, segment->header_bytes);
    pbuf_realloc(frame, segment->data_bytes);
    coalesce->tail->next = frame;
    coalesce->tail = frame;
    coalesce->data_bytes += segment->data_bytes;
    coalesce->frames++;
}

void coalesce_flush(struct coalesce *coalesce, coalesce_output output, void *context)
{
    struct pbuf *frame = coalesce->held;

    if (frame == NULL) {
        return;
    }
    coalesce->held = NULL;
    if (frame->next != NULL) {
        uint32_t rest = coalesce->segment.header_bytes + coalesce->data_bytes;

        tcp_segment_extend(frame->payload, &coalesce->segment, coalesce->data_bytes,
                           coalesce->pushed);
        for (struct pbuf *piece = frame; piece != NULL; piece = piece->next) {
            piece->tot_len = (u16_t)rest;
            rest -= piece->len;
        }
    }
    output(context, frame, true, coalesce->frames);
}

void coalesce_input(struct coalesce *coalesce, struct pbuf *frame, bool checked,
                    coalesce_output output, void *context)
{
    struct tcp_segment segment;

    if (tcp_segment_parse(frame->payload, frame->len, frame->len, &segment) &&
        (checked || tcp_segment_checksum_valid(frame->payload, &segment))) {
        if (can_join(coalesce, frame, &segment)) {
            join(coalesce, frame, &segment);
            return;
        }
        coalesce_flush(coalesce, output, context);
        hold(coalesce, frame, &segment);
        return;
    }
    coalesce_flush(coalesce, output, context);
    output(context, frame, checked, 1);
}
