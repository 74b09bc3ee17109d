/* SPDX-License-Identifier: BSD-2-Clause */
/* The command `watch` (see sample.h): a listener for all frames that the interface receives. */
#define _KERNEL 1

#include <rtems/rtems_bsdnet.h>
#include <stdbool.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/systm.h>

#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/if_ether.h>
#include <netinet/in.h>

#include "sample.h"

/* Protected by the network semaphore. */
static unsigned long frames_for_others;
static bool watching;

/* Counts a frame for another station. Returns 0: the stack processes the frame if it is for us. */
static int count_frame(struct ifnet *ifp, struct ether_header *header, struct mbuf *frame)
{
    const struct arpcom *station = (const struct arpcom *)ifp;

    (void)frame;
    if ((header->ether_dhost[0] & 1) == 0 &&
        memcmp(header->ether_dhost, station->ac_enaddr, ETHER_ADDR_LEN) != 0) {
        frames_for_others++;
    }
    return 0;
}

static bool set_watching(bool on)
{
    struct ifnet *ifp = ifnet;

    while (ifp != NULL && (strcmp(ifp->if_name, "vtn") != 0 || ifp->if_unit != SAMPLE_UNIT)) {
        ifp = ifp->if_next;
    }
    if (ifp == NULL || (on != watching && ifpromisc(ifp, on) != 0)) {
        return false;
    }
    ifp->if_tap = on ? count_frame : NULL;
    watching = on;
    return true;
}

int watch_command(int count, char **arguments)
{
    bool on = count == 2 && strcmp(arguments[1], "on") == 0;
    bool done;

    if (!on && (count != 2 || strcmp(arguments[1], "off") != 0)) {
        (void)fputs("usage: watch on|off\n", stderr);
        return 2;
    }
    rtems_bsdnet_semaphore_obtain();
    done = set_watching(on);
    rtems_bsdnet_semaphore_release();
    printf("watch: %s, %lu frames for others\n", done ? arguments[1] : "not possible",
           frames_for_others);
    return done ? 0 : 1;
}
