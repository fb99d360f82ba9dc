/*
 * Preloaded into a process: while the file SLOW_DISK exists, a sync of a file with SLOW_DISK_OF in its path takes
 * SLOW_DISK_MS longer, or until the file SLOW_DISK is gone. Where SLOW_DISK_MS is "fails", it fails.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_slow(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, getenv("SLOW_DISK_OF")) != NULL;
}

static int fails(void) {
  return strcmp(getenv("SLOW_DISK_MS"), "fails") == 0 && access(getenv("SLOW_DISK"), F_OK) == 0;
}

static void wait(void) {
  const char *file = getenv("SLOW_DISK");
  for (int left = atoi(getenv("SLOW_DISK_MS")); left > 0 && access(file, F_OK) == 0; left--) usleep(1000);
}

#define SYNC(function)                                      \
  int function(int fd) {                                    \
    if (is_slow(fd)) wait();                                \
    if (is_slow(fd) && fails()) return errno = EIO, -1;     \
    return ((int (*)(int))dlsym(RTLD_NEXT, #function))(fd); \
  }
SYNC(fsync)
SYNC(fdatasync)
