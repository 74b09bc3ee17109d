#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Makes a Debian for a partition, as root: disk.sh FOLDER SUITE KEY.pub
# It writes disk.img, vmlinuz and initrd.img into FOLDER. root's password is "bulkhead", and KEY.pub may log in by ssh.
# The machine must execute programs for arm64 (on Debian, the packages qemu-user-static and binfmt-support).
set -eu
folder=$1 suite=$2 key=$3
packages=systemd-sysv,udev,dbus,netbase,openssh-server,systemd-timesyncd,linux-image-arm64,initramfs-tools

# The disk's driver and its file system are all that the initial RAM disk needs.
before_kernel='mkdir -p "$1/etc/initramfs-tools/conf.d"
echo MODULES=list > "$1/etc/initramfs-tools/conf.d/partition"
printf "virtio_pci\nvirtio_blk\next4\n" > "$1/etc/initramfs-tools/modules"'

settings='echo debian > "$1/etc/hostname"
echo "/dev/vda / ext4 defaults 0 1" > "$1/etc/fstab"
printf "[Match]\nName=en*\n[Network]\nDHCP=yes\n" > "$1/etc/systemd/network/partition.network"
chroot "$1" systemctl enable systemd-networkd
echo root:bulkhead | chroot "$1" chpasswd'

rm -rf "$folder/root"
mmdebstrap --quiet --mode=root --architectures=arm64 --variant=minbase --include="$packages" \
    --skip=check/qemu --essential-hook="$before_kernel" --customize-hook="$settings" \
    "$suite" "$folder/root"
install -D -m 600 "$key" "$folder/root/root/.ssh/authorized_keys"
cp "$folder"/root/boot/vmlinuz-* "$folder/vmlinuz"
cp "$folder"/root/boot/initrd.img-* "$folder/initrd.img"
rm -f "$folder/disk.img"
mkfs.ext4 -q -d "$folder/root" "$folder/disk.img" 2G
rm -rf "$folder/root"
