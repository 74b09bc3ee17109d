# SPDX-License-Identifier: BSD-2-Clause
# lwIP with the driver as its interface: libvirtio-lwip.a beside libvirtio-net.a, and the sample.

LWIP_CORE = api/api_lib api/err api/if_api api/netbuf api/netdb api/sockets api/tcpip \
  core/def core/dns core/inet_chksum core/init core/ip core/mem core/memp core/netif core/pbuf core/stats core/sys \
  core/tcp core/tcp_in core/tcp_out core/timeouts core/udp \
  core/ipv4/dhcp core/ipv4/etharp core/ipv4/icmp core/ipv4/ip4 core/ipv4/ip4_addr core/ipv4/ip4_frag \
  core/ipv6/ethip6 core/ipv6/icmp6 core/ipv6/inet6 core/ipv6/ip6 core/ipv6/ip6_addr core/ipv6/ip6_frag \
  core/ipv6/mld6 core/ipv6/nd6 netif/ethernet

# What our own kernel's network shares with RTEMS's, and the calls it is written in.
LWIP_PORT = $(addprefix $(ROOT)/, \
  external/lwip_corrections/nd6.c kernel/mm/pool.c libc/portable_checksum.c \
  kernel/net/core_lock.c kernel/net/heap.c kernel/net/random.c kernel/net/sys_arch.c kernel/net/tcp_guard.c \
  virtio/ports/lwip/coalesce.c virtio/ports/lwip/filter.c virtio/ports/lwip/netif.c virtio/ports/lwip/receive.c \
  virtio/ports/lwip/segmentation.c virtio/ports/lwip/tcp_segment.c virtio/ports/lwip/transmit.c \
  $(addprefix virtio/ports/rtems/lwip/,calls.c start.c))

LWIP_FLAGS = -I$(PORT)/lwip/calls -I$(PORT)/lwip -I$(ROOT)/kernel/net/lwip -I$(ROOT)/virtio/ports/lwip \
  -I$(ROOT)/kernel -I$(ROOT)/libc/extensions -isystem $(LWIP_DIR)/src/include -DNETWORK_TCP_BUFFER=$(TCP_BUFFER) \
  $(DRIVER_FLAGS) -I$(ROOT)
# As external/meson.build has it: lwIP's heap has a limit, and one function a correction.
LWIP_CORE_FLAGS = -w -Dmalloc=network_heap_allocate -Dcalloc=network_heap_allocate_cleared -Dfree=network_heap_free

LWIP_OBJECTS = $(LWIP_CORE:%=$(BUILD)/lwip/src/%.o) $(LWIP_PORT:$(ROOT)/%.c=$(BUILD)/lwip/%.o) \
  $(BUILD)/lwip/corrections/netconn.o $(BUILD)/lwip/corrections/iperf.o

lwip: $(BUILD)/lwip-sample.exe

ifeq ($(filter clean bsd %bsd-sample.exe,$(MAKECMDGOALS)),)
ifeq ($(wildcard $(LWIP_DIR)/src/core/init.c),)
$(error LWIP_DIR names no source tree of lwIP; say where it is: make LWIP_DIR=FOLDER)
endif
endif

$(BUILD)/lwip/src/core/ipv6/nd6.o: LWIP_CORE_FLAGS += -Dnd6_get_destination_mtu=nd6_destination_mtu_as_told
$(BUILD)/lwip/src/%.o: $(LWIP_DIR)/src/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LWIP_FLAGS) $(LWIP_CORE_FLAGS) -c -o $@ $<

$(BUILD)/lwip/corrections/%.o: $(ROOT)/external/lwip_corrections/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LWIP_FLAGS) $(LWIP_CORE_FLAGS) -I$(LWIP_DIR)/src/api -I$(LWIP_DIR)/src/apps/lwiperf -c -o $@ $<

$(BUILD)/lwip/%.o: $(ROOT)/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WARNINGS) $(LWIP_FLAGS) -c -o $@ $<

$(BUILD)/libvirtio-lwip.a: $(LWIP_OBJECTS)

LWIP_SAMPLE = $(addprefix $(PORT)/samples/lwip/,echo.c main.c vnetstat.c)
$(BUILD)/lwip-sample.exe: $(LWIP_SAMPLE) $(BUILD)/libvirtio-lwip.a $(BUILD)/libvirtio-net.a
	$(CC) $(CFLAGS) $(WARNINGS) $(LWIP_FLAGS) -DSAMPLE_RX_BUFFERS=$(RX_BUFFERS) -o $@ $^ $(BSP_LDFLAGS) -Wl,--gc-sections
