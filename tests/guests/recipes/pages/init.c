/* SPDX-License-Identifier: BSD-2-Clause */
/* The first process of a Linux: it prints the size of a page and the PCI functions, and powers off.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    DIR *folder;

    (void)mkdir("/sys", 0755);
    (void)mount("sysfs", "/sys", "sysfs", 0, "");
    printf("pages of %ld bytes\n", sysconf(_SC_PAGESIZE));
    folder = opendir("/sys/bus/pci/devices");
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        if (entry->d_name[0] != '.') {
            printf("PCI function %s\n", entry->d_name);
        }
    }
    (void)fflush(stdout);
    return reboot(RB_POWER_OFF);
}
