/*
 * Preloaded into a process, writes down in DISK_JOURNAL what the process does to the directory DISK_JOURNAL_OF
 * and what lies in it, each step after it succeeded. A step: kind (1 byte), length of the name (u32), offset (u64), length
 * of the data (u64), all little-endian, then name and data. disk-journal.ts reads it.
 *
 *   c  a file was made          w  data at an offset        t  cut, or extended, to an offset
 *   s  a file was synced        u  removed                  r  renamed to the data
 *   m  a directory was made     d  the names in a directory were synced; without a name: in the outermost
 *   b  a sync begins: it counts for what was written down before
 *
 * At the offset of a sync stands the thread: each has one under way at a time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))

static char directory[PATH_MAX];
static int journal = -1;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

struct __attribute__((packed)) head {
  char kind;
  uint32_t name_length;
  uint64_t offset;
  uint64_t length;
};

__attribute__((constructor)) static void begin(void) {
  const char *of = getenv("DISK_JOURNAL_OF"), *file = getenv("DISK_JOURNAL");
  if (!of || !file || !realpath(of, directory)) abort();
  journal = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (journal < 0) abort();
}

/* The path within the directory, empty for the directory itself; NULL for what lies elsewhere. */
static const char *within(const char *path) {
  size_t length = strlen(directory);
  if (journal < 0 || strncmp(path, directory, length) != 0) return NULL;
  if (path[length] == 0) return path + length;
  return path[length] == '/' ? path + length + 1 : NULL;
}

static const char *name_of(int fd, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return NULL;
  path[length] = 0;
  return within(path);
}

static void note(char kind, const char *name, uint64_t offset, const void *data, uint64_t length) {
  struct head head = {kind, strlen(name), offset, length};
  struct iovec parts[] = {{&head, sizeof head}, {(void *)name, head.name_length}, {(void *)data, length}};
  ssize_t size = sizeof head + head.name_length + length;
  pthread_mutex_lock(&turn);
  if (syscall(SYS_writev, journal, parts, 3) != size) abort();
  pthread_mutex_unlock(&turn);
}

static void note_file(char kind, int fd, uint64_t offset, const void *data, uint64_t length) {
  char path[PATH_MAX];
  const char *name = name_of(fd, path);
  if (name) note(kind, name, offset, data, length);
}

static void note_vector(int fd, uint64_t offset, const struct iovec *parts, int count, uint64_t length) {
  for (int i = 0; i < count && length > 0; i++) {
    uint64_t size = parts[i].iov_len < length ? parts[i].iov_len : length;
    note_file('w', fd, offset, parts[i].iov_base, size);
    offset += size;
    length -= size;
  }
}

#define OPEN(function)                                                                       \
  int function(const char *path, int flags, ...) {                                           \
    va_list more;                                                                            \
    va_start(more, flags);                                                                   \
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                                \
    va_end(more);                                                                            \
    int makes = flags & O_CREAT && access(path, F_OK) != 0;                                  \
    int fd = REAL(int (*)(const char *, int, ...), #function)(path, flags, mode);            \
    if (fd >= 0 && makes) note_file('c', fd, 0, NULL, 0);                                    \
    else if (fd >= 0 && flags & O_TRUNC) note_file('t', fd, 0, NULL, 0);                     \
    return fd;                                                                               \
  }
OPEN(open)
OPEN(open64)

#define WRITE_AT(function)                                                                                    \
  ssize_t function(int fd, const void *data, size_t length, off64_t offset) {                                 \
    ssize_t written = REAL(ssize_t (*)(int, const void *, size_t, off64_t), #function)(fd, data, length, offset); \
    if (written > 0) note_file('w', fd, offset, data, written);                                               \
    return written;                                                                                           \
  }
WRITE_AT(pwrite)
WRITE_AT(pwrite64)

ssize_t write(int fd, const void *data, size_t length) {
  ssize_t written = REAL(ssize_t (*)(int, const void *, size_t), "write")(fd, data, length);
  if (written > 0) note_file('w', fd, lseek(fd, 0, SEEK_CUR) - written, data, written);
  return written;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  ssize_t written = REAL(ssize_t (*)(int, const struct iovec *, int), "writev")(fd, parts, count);
  if (written > 0) note_vector(fd, lseek(fd, 0, SEEK_CUR) - written, parts, count, written);
  return written;
}

#define WRITE_VECTOR_AT(function)                                                                        \
  ssize_t function(int fd, const struct iovec *parts, int count, off64_t offset) {                       \
    ssize_t written =                                                                                    \
        REAL(ssize_t (*)(int, const struct iovec *, int, off64_t), #function)(fd, parts, count, offset); \
    if (written > 0) note_vector(fd, offset, parts, count, written);                                     \
    return written;                                                                                      \
  }
WRITE_VECTOR_AT(pwritev)
WRITE_VECTOR_AT(pwritev64)

#define TRUNCATE(function)                                                    \
  int function(int fd, off64_t length) {                                      \
    int result = REAL(int (*)(int, off64_t), #function)(fd, length);          \
    if (result == 0) note_file('t', fd, length, NULL, 0);                     \
    return result;                                                            \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

static void note_sync(int fd) {
  struct stat found;
  char kind = fstat(fd, &found) == 0 && S_ISDIR(found.st_mode) ? 'd' : 's';
  note_file(kind, fd, syscall(SYS_gettid), NULL, 0);
}

#define SYNC(function)                                  \
  int function(int fd) {                                \
    note_file('b', fd, syscall(SYS_gettid), NULL, 0);   \
    int result = REAL(int (*)(int), #function)(fd);     \
    if (result == 0) note_sync(fd);                     \
    return result;                                      \
  }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
  int result = REAL(int (*)(const char *), "unlink")(path);
  const char *name = within(path);
  if (result == 0 && name) note('u', name, 0, NULL, 0);
  return result;
}

int mkdir(const char *path, mode_t mode) {
  int result = REAL(int (*)(const char *, mode_t), "mkdir")(path, mode);
  const char *name = within(path);
  if (result == 0 && name) note('m', name, 0, NULL, 0);
  return result;
}

int rename(const char *from, const char *to) {
  int result = REAL(int (*)(const char *, const char *), "rename")(from, to);
  const char *name = within(from), *next = within(to);
  if (result == 0 && name && next) note('r', name, 0, next, strlen(next));
  return result;
}
