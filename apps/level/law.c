/* SPDX-License-Identifier: BSD-2-Clause */
#include "law.h"

#define PROPORTIONAL 12.0 /* for each metre of error */
#define INTEGRAL     6.0  /* for each metre of error and second */

double law_command(struct law *law, double setpoint, double level, double seconds)
{
    double error = setpoint - level;
    double integral = law->integral + INTEGRAL * error * seconds;
    double command = PROPORTIONAL * error + integral;

    /* At a limit the integral stays: otherwise it would grow for as long as the pump can't follow,
     * and the level would overshoot. */
    if (command > 1) {
        return 1;
    }
    if (command < 0) {
        return 0;
    }
    law->integral = integral;
    return command;
}
