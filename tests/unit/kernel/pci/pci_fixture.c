/* SPDX-License-Identifier: BSD-2-Clause */
#include "pci_fixture.h"
#include "kernel/devicetree.h"
#include "tree.h"
#include <stdlib.h>

static void *tree;

int pci_fixture_reset(void **state)
{
    (void)state;
    fake_reset();
    return 0;
}

void pci_fixture_handler(void *argument)
{
    (void)argument;
}

bool pci_fixture_load(int count, char **arguments)
{
    size_t bytes;

    if (count != 2) {
        return false;
    }
    tree = tree_load(arguments[1], &bytes);
    return devicetree_init(tree) == RESULT_OK;
}

int pci_fixture_free(void **state)
{
    (void)state;
    fake_reset();
    free(tree);
    return 0;
}
