# SPDX-License-Identifier: BSD-2-Clause
# The compiler and the options of an installed board support package of RTEMS, for the makefiles of ports.
#
# Takes RTEMS_PREFIX (its installation folder), BSP (architecture/name), and RTEMS_TOOLS (the installation folder of the
# tool chain, if it is another one).
# Sets ARCHITECTURE, CC, AR, BSP_CFLAGS and BSP_LDFLAGS.

RTEMS_TOOLS ?= $(RTEMS_PREFIX)
ARCHITECTURE := $(firstword $(subst /, ,$(BSP)))
NAME := $(word 2,$(subst /, ,$(BSP)))

ifeq ($(RTEMS_PREFIX),)
$(error RTEMS_PREFIX is not set; set it to the folder of the installed RTEMS: make RTEMS_PREFIX=/opt/rtems/7)
endif
DESCRIPTION := $(firstword $(wildcard $(RTEMS_PREFIX)/lib/pkgconfig/$(ARCHITECTURE)-rtems*-$(NAME).pc))
ifeq ($(DESCRIPTION),)
$(error no $(BSP) in $(RTEMS_PREFIX)/lib/pkgconfig; install that BSP there, or name another by BSP=)
endif
TARGET := $(firstword $(subst -$(NAME), ,$(notdir $(basename $(DESCRIPTION)))))
CC := $(RTEMS_TOOLS)/bin/$(TARGET)-gcc
AR := $(RTEMS_TOOLS)/bin/$(TARGET)-ar
ifeq ($(wildcard $(CC)),)
$(error $(CC) does not exist; set RTEMS_TOOLS to the folder of the tool chain)
endif

PKG_CONFIG := PKG_CONFIG_PATH=$(dir $(DESCRIPTION)) pkg-config --define-variable=prefix=$(RTEMS_PREFIX)
BSP_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(notdir $(basename $(DESCRIPTION))))
BSP_LDFLAGS := $(shell $(PKG_CONFIG) --libs $(notdir $(basename $(DESCRIPTION))))
ifeq ($(BSP_CFLAGS),)
$(error pkg-config gives no options for $(DESCRIPTION); is it installed?)
endif
