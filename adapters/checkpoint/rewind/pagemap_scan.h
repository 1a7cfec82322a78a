/* The PAGEMAP_SCAN call on /proc/PID/pagemap, as in linux/fs.h as of Linux 6.7; Debian 12's is
 * older. */
#ifndef CGIBRIDGE_PAGEMAP_SCAN_H
#define CGIBRIDGE_PAGEMAP_SCAN_H

#include <stdint.h>
#include <sys/ioctl.h>

#define PAGE_WRITE_PROTECTABLE (1ull << 0)
#define PAGE_WRITTEN (1ull << 1)
#define PAGE_THERE (1ull << 3)
#define PAGE_SWAPPED (1ull << 4)

struct scan {
  uint64_t size, flags, start, end, walk_end, runs, runs_max, pages_max;
  uint64_t inverted, all_of, any_of, returned;
};
#define PAGEMAP_SCAN_CALL _IOWR('f', 16, struct scan)

#endif
