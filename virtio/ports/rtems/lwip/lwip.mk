# SPDX-License-Identifier: BSD-2-Clause
# lwIP with the driver as its interface: libvirtio-lwip.a beside libvirtio-net.a, and the sample.

LWIP_CORE = api/api_lib api/err api/if_api api/netbuf api/netdb api/sockets api/tcpip \
  core/def core/dns core/inet_chksum core/init core/ip core/mem core/memp core/netif core/pbuf core/stats core/sys \
  core/tcp_in core/tcp_out core/timeouts \
  core/ipv4/dhcp core/ipv4/etharp core/ipv4/icmp core/ipv4/ip4 core/ipv4/ip4_addr core/ipv4/ip4_frag \
  core/ipv6/ethip6 core/ipv6/icmp6 core/ipv6/inet6 core/ipv6/ip6 core/ipv6/ip6_addr core/ipv6/ip6_frag \
  core/ipv6/mld6 core/ipv6/nd6 netif/ethernet

# The driver as lwIP's interface, the protection of lwIP, and lwIP's operating system layer for RTEMS.
LWIP_PORT = $(addprefix $(ROOT)/, \
  external/lwip_corrections/nd6.c external/lwip_corrections/reassembly.c libc/portable_checksum.c \
  $(addprefix virtio/ports/lwip/,alternative.c coalesce.c core_lock.c filter.c heap.c netif.c random.c receive.c \
    received.c receive_window.c segmentation.c start.c stream.c syn_cache.c tcp_guard.c tcp_segment.c transmit.c) \
  $(addprefix virtio/ports/rtems/lwip/,start.c sys_arch.c))

LWIP_FLAGS = -I$(PORT)/lwip -I$(ROOT)/virtio/ports/lwip -I$(ROOT)/libc/extensions -isystem $(LWIP_DIR)/src/include \
  -DNETWORK_TCP_BUFFER=$(TCP_BUFFER) $(DRIVER_FLAGS)
LWIP_CORE_FLAGS = -w

LWIP_OBJECTS = $(LWIP_CORE:%=$(BUILD)/lwip/src/%.o) $(LWIP_PORT:$(ROOT)/%.c=$(BUILD)/lwip/%.o) \
  $(addprefix $(BUILD)/lwip/corrections/,control_block.o datagrams.o iperf.o netconn.o)

lwip: $(BUILD)/lwip-sample.exe

ifeq ($(filter clean bsd %bsd-sample.exe,$(MAKECMDGOALS)),)
ifeq ($(wildcard $(LWIP_DIR)/src/core/init.c),)
$(error LWIP_DIR names no source tree of lwIP; say where it is: make LWIP_DIR=FOLDER)
endif
endif

# Three functions are replaced by corrected ones, as in external/meson.build.
$(BUILD)/lwip/src/core/ipv4/ip4.o: LWIP_CORE_FLAGS += -Dip4_reass=ip4_reass_counted
$(BUILD)/lwip/src/core/ipv6/ip6.o: LWIP_CORE_FLAGS += -Dip6_reass=ip6_reass_counted
$(BUILD)/lwip/src/core/ipv6/nd6.o: LWIP_CORE_FLAGS += -Dnd6_get_destination_mtu=nd6_destination_mtu_as_told
$(BUILD)/lwip/src/%.o: $(LWIP_DIR)/src/%.c $(BUILD)/settings
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LWIP_FLAGS) $(LWIP_CORE_FLAGS) -c -o $@ $<

$(BUILD)/lwip/corrections/%.o: $(ROOT)/external/lwip_corrections/%.c $(BUILD)/settings
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LWIP_FLAGS) $(LWIP_CORE_FLAGS) -I$(LWIP_DIR)/src/api -I$(LWIP_DIR)/src/core -I$(LWIP_DIR)/src/apps/lwiperf -c -o $@ $<

$(BUILD)/lwip/%.o: $(ROOT)/%.c $(BUILD)/settings
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WARNINGS) $(LWIP_FLAGS) -c -o $@ $<

$(BUILD)/libvirtio-lwip.a: $(LWIP_OBJECTS)

LWIP_SAMPLE = $(addprefix $(PORT)/samples/lwip/,echo.c main.c vnetstat.c)
$(BUILD)/lwip-sample.exe: $(BUILD)/settings $(LWIP_SAMPLE) $(SAMPLE_BOARD) $(BUILD)/libvirtio-lwip.a $(BUILD)/libvirtio-net.a
	$(CC) $(CFLAGS) $(WARNINGS) $(LWIP_FLAGS) $(SAMPLE_FLAGS) -DSAMPLE_RX_BUFFERS=$(RX_BUFFERS) -o $@ $(filter %.c %.S %.a,$^) \
	  $(LINK_FLAGS) $(BSP_LDFLAGS) $(SAMPLE_LINK_FLAGS)

# Another program on lwIP, from the sources that APPLICATION names: make $(BUILD)/application.exe APPLICATION=main.c
$(BUILD)/application.exe: $(BUILD)/settings $(APPLICATION) $(BUILD)/libvirtio-lwip.a $(BUILD)/libvirtio-net.a
	$(CC) $(CFLAGS) $(WARNINGS) $(LWIP_FLAGS) $(APPLICATION_FLAGS) -o $@ $(filter %.c %.a,$^) $(LINK_FLAGS) $(BSP_LDFLAGS) -Wl,--gc-sections
