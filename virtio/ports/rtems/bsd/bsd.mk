# SPDX-License-Identifier: BSD-2-Clause
# RTEMS's legacy BSD stack with the driver as its interface: libvirtio-bsdnet.a beside libvirtio-net.a, and the sample.
# The stack (rtems-net-legacy, or the one built into RTEMS up to version 5) is installed with the BSP.

BSDNET_PORT := $(wildcard $(PORT)/bsd/*.c)
BSDNET_SAMPLE := $(wildcard $(PORT)/samples/bsd/*.c) $(SAMPLE_BOARD)
BSDNET_FLAGS = -I$(PORT)/bsd $(DRIVER_FLAGS) $(SAMPLE_FLAGS) -DSAMPLE_RX_BUFFERS=$(RX_BUFFERS) -DSAMPLE_TCP_BUFFER=$(TCP_BUFFER)

.PHONY: bsd
bsd: $(BUILD)/bsd-sample.exe

$(BUILD)/bsd/%.o: $(ROOT)/%.c $(BUILD)/settings
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WARNINGS) $(BSDNET_FLAGS) -c -o $@ $<

$(BUILD)/bsd/%.o: $(ROOT)/%.S $(BUILD)/settings
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

$(BUILD)/libvirtio-bsdnet.a: $(BSDNET_PORT:$(ROOT)/%.c=$(BUILD)/bsd/%.o)

$(BUILD)/bsd-sample.exe: $(patsubst $(ROOT)/%,$(BUILD)/bsd/%.o,$(basename $(BSDNET_SAMPLE))) $(BUILD)/libvirtio-bsdnet.a $(BUILD)/libvirtio-net.a
	$(CC) $(CFLAGS) -o $@ $^ $(LINK_FLAGS) $(BSP_LDFLAGS) $(SAMPLE_LINK_FLAGS) -lnetworking
