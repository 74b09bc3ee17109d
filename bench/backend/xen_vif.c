/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives a domU a network device, which dom0's netback serves: writes what Xen's toolstack writes to
 * the XenStore (Xen, xen/include/public/io/netif.h).
 *
 *     xen_vif DOMAIN MAC
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xenstore.h>

#define PATH_BYTES 128

static struct xs_handle *store;
static xs_transaction_t transaction; /* so that both ends begin to exist at the same time */

struct end {
    char path[PATH_BYTES];
    struct xs_permissions permissions[2];
};

static bool write_node(struct end *end, const char *name, const char *value)
{
    char path[2 * PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/%s", end->path, name);
    return xs_write(store, transaction, path, value, (unsigned)strlen(value)) &&
           xs_set_permissions(store, transaction, path, end->permissions, 2);
}

/* Writes pairs of a name and a value, up to a NULL. */
static bool write_nodes(struct end *end, const char *const nodes[])
{
    if (!xs_mkdir(store, transaction, end->path) ||
        !xs_set_permissions(store, transaction, end->path, end->permissions, 2)) {
        return false;
    }
    for (unsigned i = 0; nodes[i] != NULL; i += 2) {
        if (!write_node(end, nodes[i], nodes[i + 1])) {
            return false;
        }
    }
    return true;
}

int main(int count, char **arguments)
{
    struct end front, back;
    const char *domain, *mac;
    unsigned number;

    if (count != 3) {
        (void)fputs("xen_vif: DOMAIN MAC\n", stderr);
        return 2;
    }
    domain = arguments[1];
    mac = arguments[2];
    number = (unsigned)atoi(domain);
    (void)snprintf(front.path, sizeof(front.path), "/local/domain/%s/device/vif/0", domain);
    (void)snprintf(back.path, sizeof(back.path), "/local/domain/0/backend/vif/%s/0", domain);
    /* The first entry names the owner, the second one another reader. */
    front.permissions[0] = (struct xs_permissions){.id = number, .perms = XS_PERM_NONE};
    front.permissions[1] = (struct xs_permissions){.id = 0, .perms = XS_PERM_READ};
    back.permissions[0] = (struct xs_permissions){.id = 0, .perms = XS_PERM_NONE};
    back.permissions[1] = (struct xs_permissions){.id = number, .perms = XS_PERM_READ};
    store = xs_open(0);
    transaction = store != NULL ? xs_transaction_start(store) : XBT_NULL;
    if (transaction == XBT_NULL ||
        !write_nodes(&front,
                     (const char *const[]){"backend", back.path, "backend-id", "0", "handle", "0",
                                           "mac", mac, "mtu", "1500", "state", "1", NULL}) ||
        !write_nodes(&back, (const char *const[]){"frontend", front.path, "frontend-id", domain,
                                                  "online", "1", "handle", "0", "mac", mac, "type",
                                                  "vif", "script", "", "hotplug-status",
                                                  "connected", "state", "1", NULL}) ||
        !xs_transaction_end(store, transaction, false)) {
        (void)puts("FAIL: xen_vif: no XenStore");
        return 1;
    }
    return 0;
}
