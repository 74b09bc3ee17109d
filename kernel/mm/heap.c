/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel heap: TLSF over pages, under the lock of memory management (mm/memory_lock.h). */
#include "mm/heap.h"

#include "kernel/panic.h"
#include "mm/memory_lock.h"
#include "mm/tlsf.h"

static struct {
    struct tlsf tlsf;
    uint64_t failures;
} heap;

void heap_init(void)
{
    tlsf_init(&heap.tlsf);
    heap.failures = 0;
}

static bool grow_by(size_t bytes)
{
    size_t count = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    void *memory = page_allocate(count, PAGE_BYTES);

    if (memory == NULL) {
        return false;
    }
    if (!tlsf_add_region(&heap.tlsf, memory, count * PAGE_BYTES)) {
        page_free(memory, count);
        return false;
    }
    return true;
}

/* Grows the heap so that the request will succeed: by a step, or by the size of the request if a
 * step is not available. */
static bool grow(size_t bytes, size_t alignment)
{
    size_t needed = tlsf_region_bytes(bytes, alignment);

    if (needed == 0) {
        return false;
    }
    if (needed < HEAP_STEP_BYTES && grow_by(HEAP_STEP_BYTES)) {
        return true;
    }
    return grow_by(needed);
}

void *heap_allocate_aligned(size_t bytes, size_t alignment)
{
    void *memory = NULL;

    if (alignment < TLSF_ALIGNMENT) {
        alignment = TLSF_ALIGNMENT;
    }
    if ((alignment & (alignment - 1)) != 0 || alignment > PAGE_BYTES) {
        panic("heap: alignment to %zu bytes", alignment);
    }
    memory_lock();
    if (bytes > 0) {
        memory = tlsf_allocate(&heap.tlsf, bytes, alignment);
        if (memory == NULL && grow(bytes, alignment)) {
            memory = tlsf_allocate(&heap.tlsf, bytes, alignment);
        }
    }
    if (memory == NULL) {
        heap.failures++;
    }
    if (heap.tlsf.damaged) {
        panic("heap: a free block was written to, or its neighbour beyond its end");
    }
    memory_unlock();
    return memory;
}

void *heap_allocate(size_t bytes)
{
    return heap_allocate_aligned(bytes, TLSF_ALIGNMENT);
}

void heap_free(void *memory)
{
    if (memory == NULL) {
        return;
    }
    memory_lock();
    if (!tlsf_free(&heap.tlsf, memory)) {
        panic("heap: %p is not an allocated block, or it was written beyond its end", memory);
    }
    memory_unlock();
}

void heap_count(struct memory_statistics *statistics)
{
    memory_lock();
    statistics->heap_total_bytes = heap.tlsf.total_bytes;
    statistics->heap_used_bytes = heap.tlsf.used_bytes;
    statistics->heap_peak_bytes = heap.tlsf.peak_bytes;
    statistics->heap_failures = heap.failures;
    memory_unlock();
}

const char *heap_check(void)
{
    memory_lock();
    const char *wrong = tlsf_check(&heap.tlsf);

    memory_unlock();
    return wrong;
}
