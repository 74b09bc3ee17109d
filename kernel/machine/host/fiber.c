/* SPDX-License-Identifier: BSD-2-Clause */
/* Switches between user contexts, with the annotations of the address sanitizer if it is linked. */
#include "fiber.h"

#include "kernel/list.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GUARD_BYTES ((size_t)4096)
/* Instrumented code and the C library's formatting need more stack than a kernel thread has. */
#define SPARE_BYTES ((size_t)131072)

/* Part of the sanitizer's runtime (sanitizer/common_interface_defs.h, asan_interface.h); absent
 * without it. */
#define FROM_SANITIZER __attribute__((weak))
FROM_SANITIZER void __sanitizer_start_switch_fiber(void **fake_stack_save, const void *bottom,
                                                   size_t bytes);
FROM_SANITIZER void __sanitizer_finish_switch_fiber(void *fake_stack_save, const void **bottom_old,
                                                    size_t *bytes_old);
FROM_SANITIZER void __asan_unpoison_memory_region(void const volatile *address, size_t bytes);

/* At the lowest usable address of each stack's mapping. */
struct stack_header {
    struct list_node node;
    size_t mapped_bytes;
    uint8_t *stack;
};

static struct list stacks = {.head = {.next = &stacks.head, .previous = &stacks.head}};

/* The context that is being left. finish_switch() stores its stack's bounds. */
static struct arch_context *leaving;

static void start_switch(void **fake_stack, const struct arch_context *to)
{
    if (__sanitizer_start_switch_fiber != NULL) {
        __sanitizer_start_switch_fiber(fake_stack, to->stack, to->stack_bytes);
    }
}

static void finish_switch(void *fake_stack)
{
    const void *bottom;
    size_t bytes;

    if (__sanitizer_finish_switch_fiber == NULL) {
        return;
    }
    __sanitizer_finish_switch_fiber(fake_stack, &bottom, &bytes);
    if (leaving != NULL) {
        leaving->stack = bottom;
        leaving->stack_bytes = bytes;
    }
}

void fiber_switch(struct arch_context *from, struct arch_context *to)
{
    leaving = from;
    start_switch(&from->fake_stack, to);
    if (swapcontext(&from->registers, &to->registers) != 0) {
        abort();
    }
    finish_switch(from->fake_stack);
}

void fiber_leave(struct arch_context *to)
{
    leaving = NULL;
    start_switch(NULL, to);
    setcontext(&to->registers);
    abort();
}

/* makecontext() passes int arguments only, so the context's address is passed in two halves. */
static void enter(unsigned high, unsigned low)
{
    struct arch_context *context = (struct arch_context *)((uintptr_t)high << 32 | (uintptr_t)low);

    finish_switch(NULL);
    context->run(context);
    abort();
}

void fiber_init(struct arch_context *context, void *stack, size_t stack_bytes,
                void (*run)(struct arch_context *context))
{
    uintptr_t address = (uintptr_t)context;

    if (getcontext(&context->registers) != 0) {
        abort();
    }
    context->run = run;
    context->fake_stack = NULL;
    context->stack = (uint8_t *)stack - SPARE_BYTES;
    context->stack_bytes = stack_bytes + SPARE_BYTES;
    context->registers.uc_stack.ss_sp = (uint8_t *)stack - SPARE_BYTES;
    context->registers.uc_stack.ss_size = stack_bytes + SPARE_BYTES;
    context->registers.uc_link = NULL;
    makecontext(&context->registers, (void (*)(void))(uintptr_t)enter, 2, (unsigned)(address >> 32),
                (unsigned)address);
}

void *fiber_stack_allocate(size_t bytes)
{
    size_t mapped = GUARD_BYTES * 2 + SPARE_BYTES + bytes;
    uint8_t *mapping = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mapped < bytes || mapping == MAP_FAILED) {
        return NULL;
    }
    if (__asan_unpoison_memory_region != NULL) {
        __asan_unpoison_memory_region(mapping, mapped);
    }
    struct stack_header *header = (struct stack_header *)(uintptr_t)mapping;

    header->mapped_bytes = mapped;
    header->stack = mapping + GUARD_BYTES * 2 + SPARE_BYTES;
    list_push_back(&stacks, &header->node);
    if (mprotect(mapping + GUARD_BYTES, GUARD_BYTES, PROT_NONE) != 0) {
        abort();
    }
    return header->stack;
}

static void unmap(struct stack_header *header)
{
    list_remove(&header->node);
    if (munmap(header, header->mapped_bytes) != 0) {
        abort();
    }
}

void fiber_stack_free(void *stack)
{
    unmap((struct stack_header *)((uintptr_t)stack - SPARE_BYTES - GUARD_BYTES * 2));
}

void fiber_stack_free_all(void)
{
    struct list_node *node = list_first(&stacks);

    while (node != NULL) {
        unmap(CONTAINER_OF(node, struct stack_header, node));
        node = list_first(&stacks);
    }
}
