/* SPDX-License-Identifier: BSD-2-Clause */
/* The intrusive list. */
#include "kernel/list.h"
#include "kernel_fixture.h"

struct item {
    int value;
    struct list_node node;
};

static int value_of(const struct list_node *node)
{
    return CONTAINER_OF(node, struct item, node)->value;
}

static void expect(const struct list *list, const int *values, size_t count)
{
    size_t i = 0;

    LIST_FOR_EACH(node, list)
    {
        assert_true(i < count);
        assert_int_equal(value_of(node), values[i]);
        assert_ptr_equal(node->next->previous, node);
        i++;
    }
    assert_int_equal(i, count);
    assert_int_equal(list_is_empty(list), count == 0);
}

static void test_order(void **state)
{
    struct list list;
    struct item item[4] = {{.value = 0}, {.value = 1}, {.value = 2}, {.value = 3}};

    (void)state;
    list_init(&list);
    expect(&list, NULL, 0);
    assert_null(list_first(&list));
    assert_null(list_pop_front(&list));
    list_push_back(&list, &item[1].node);
    list_push_back(&list, &item[2].node);
    list_push_front(&list, &item[0].node);
    list_insert_before(&item[2].node, &item[3].node);
    expect(&list, (const int[]){0, 1, 3, 2}, 4);
    list_remove(&item[3].node);
    expect(&list, (const int[]){0, 1, 2}, 3);
    assert_int_equal(value_of(list_pop_front(&list)), 0);
    assert_int_equal(value_of(list_first(&list)), 1);
    expect(&list, (const int[]){1, 2}, 2);
}

static void test_removed_node_is_unlinked(void **state)
{
    struct list list;
    struct item item = {.value = 7};

    (void)state;
    list_init(&list);
    list_node_init(&item.node);
    assert_false(list_node_is_linked(&item.node));
    list_push_back(&list, &item.node);
    assert_true(list_node_is_linked(&item.node));
    list_remove(&item.node);
    list_remove(&item.node); /* has no effect */
    assert_false(list_node_is_linked(&item.node));
    expect(&list, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_removed_node_is_unlinked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
