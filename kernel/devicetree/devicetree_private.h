/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations shared by the files of this folder.
 */
#ifndef DEVICETREE_PRIVATE_H
#define DEVICETREE_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

/* Nodes nested deeper than this (the root is 1) are refused at boot. */
#define DEVICETREE_DEPTH_MAX 16u

/* A node and those above it. */
struct node_path {
    int node;
    uint32_t inside;                    /* offset of the first tag after the node's name */
    unsigned depth;                     /* number of nodes above it */
    int ancestor[DEVICETREE_DEPTH_MAX]; /* [0] is the root, [depth] is the node itself */
};

enum walk { WALK_NODE, WALK_END, WALK_MALFORMED };

/* Moves to the next node in the order of the blob. `path->node` == -1 is the place before the root.
 * Returns false after the last node. */
enum walk devicetree_walk(struct node_path *path);
/* Returns the offset of the node's first property, 0 if there is no node at that offset. */
uint32_t devicetree_inside(int node);
/* Returns a property of the node whose properties begin at that offset. */
const void *devicetree_property_inside(uint32_t inside, const char *name, unsigned *bytes);
/* Returns the name of an existing node. */
const char *devicetree_name(int node);
/* Discards all cached results. Called when a new tree is loaded. */
void devicetree_search_reset(void);

/* Returns false if there is no node at this offset. */
bool devicetree_path(int node, struct node_path *path);

/* Returns the text of /chosen/bootargs, of *bytes characters without a terminator; NULL if there is
 * none. */
const char *devicetree_bootargs(unsigned *bytes);

#endif
