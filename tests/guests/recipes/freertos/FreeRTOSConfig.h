/* SPDX-License-Identifier: BSD-2-Clause */
/* FreeRTOS's settings for a partition: the port ARM_AARCH64_SRE at EL1. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include <stdint.h>

void setup_tick(void);
void clear_tick(void);
void assertion_failed(const char *file, int line);

#define configTICK_RATE_HZ                      1000
#define configUSE_PREEMPTION                    1
#define configUSE_TIME_SLICING                  1
#define configMAX_PRIORITIES                    5
#define configMINIMAL_STACK_SIZE                512
#define configTOTAL_HEAP_SIZE                   (256 * 1024)
#define configMAX_TASK_NAME_LEN                 16
#define configTICK_TYPE_WIDTH_IN_BITS           TICK_TYPE_WIDTH_64_BITS
#define configUSE_IDLE_HOOK                     0
#define configUSE_TICK_HOOK                     0
#define configUSE_TASK_FPU_SUPPORT              1
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 1
#define configCHECK_FOR_STACK_OVERFLOW          0
#define INCLUDE_vTaskDelay                      1
#define INCLUDE_xTaskDelayUntil                 1

/* QEMU's GICv3 has 32 priorities. Critical sections mask 18 and the less urgent ones. */
#define configUNIQUE_INTERRUPT_PRIORITIES     32
#define configMAX_API_CALL_INTERRUPT_PRIORITY 18

#define configSETUP_TICK_INTERRUPT() setup_tick()
#define configCLEAR_TICK_INTERRUPT() clear_tick()
#define configASSERT(condition)               \
    if (!(condition)) {                       \
        assertion_failed(__FILE__, __LINE__); \
    }

#endif
