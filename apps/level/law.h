/* SPDX-License-Identifier: BSD-2-Clause */
/* The control law: proportional and integral, with a limited command. */
#ifndef LEVEL_LAW_H
#define LEVEL_LAW_H

struct law {
    double integral; /* part of the command */
};

/* Returns the pump's command, from 0 to 1, for a measured level. `seconds`: since the sample
 * before. */
double law_command(struct law *law, double setpoint, double level, double seconds);

#endif
