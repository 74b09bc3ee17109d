/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the files of this folder only.
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
    uint32_t inside;                    /* offset of what follows the node's name */
    unsigned depth;                     /* nodes above */
    int ancestor[DEVICETREE_DEPTH_MAX]; /* [0] is the root, [depth] is the node itself */
};

enum walk { WALK_NODE, WALK_END, WALK_MALFORMED };

/* Goes to the next node in the order of the blob; `path->node` == -1 stands before the root. */
enum walk devicetree_walk(struct node_path *path);
/* Where the node's properties begin; 0 if there is no node at that offset. */
uint32_t devicetree_inside(int node);
/* A property of the node whose properties begin there. */
const void *devicetree_property_inside(uint32_t inside, const char *name, unsigned *bytes);
/* The name of a node that exists. */
const char *devicetree_name(int node);
/* For a new tree. */
void devicetree_search_reset(void);

/* False if `node` is no node. */
bool devicetree_path(int node, struct node_path *path);

/* The text of /chosen/bootargs, `*bytes` characters without an end mark; NULL if there is none. */
const char *devicetree_bootargs(unsigned *bytes);

/* True if the node's `compatible` list has the string. */
bool devicetree_compatible(int node, const char *compatible);

#endif
