// SQLite for WASI preview 1: sqlite3.c as it is, what it needs from the system, and how it locks.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define SQLITE_THREADSAFE 0
#define SQLITE_OMIT_LOAD_EXTENSION
#define SQLITE_TEMP_STORE 3  // in memory: a module may have no folder for temporary files
#define SQLITE_MAX_MMAP_SIZE 0
#define HAVE_USLEEP 1  // or who waits for the lock would sleep for whole seconds
#define HAVE_NANOSLEEP 1
// WAL without shared memory, which WASI has not: the database is locked until it is closed.
#define SQLITE_DEFAULT_LOCKING_MODE 1
#define SQLITE_EXTRA_INIT lock_by_folder

// What the code for unix names but never does here, because of the lock. Newer headers have some of
// it.
#ifndef F_GETLK
#define F_GETLK 5
#define F_SETLK 6
#define F_SETLKW 7
#endif
#ifndef F_RDLCK
#define F_RDLCK 0
#endif
#ifndef F_WRLCK
#define F_WRLCK 1
#define F_UNLCK 2
#endif

static int set_mode(int file, mode_t mode) {
  (void)file, (void)mode;
  errno = ENOSYS;
  return -1;
}

static int set_owner(int file, uid_t user, gid_t group) {
  (void)file, (void)user, (void)group;
  errno = ENOSYS;
  return -1;
}

// SQLite sets a file's owner only as root.
static uid_t some_user(void) {
  return 1;
}

static int page_bytes(void) {
  return 65536;
}

// SQLite checks whether a folder on the way to the database is a link. WASI shows none above those
// that the module was given; SQLite goes on if it is told that there is nothing.
static int look_at(const char *path, struct stat *found) {
  int failed = lstat(path, found);
  if (failed && errno == ENOTCAPABLE) errno = ENOENT;
  return failed;
}

static char lock[PATH_MAX];

static void give_lock_back(void) {
  if (*lock) rmdir(lock);
}

// A lock of the system's is gone with its program, also if that ends without closing the database.
static int take_lock(const char *path, mode_t mode) {
  static int registered;
  int failed = mkdir(path, mode);
  if (failed || strlen(path) >= sizeof lock) return failed;
  strcpy(lock, path);
  if (!registered++) atexit(give_lock_back);
  return 0;
}

static int drop_lock(const char *path) {
  *lock = 0;
  return rmdir(path);
}

#define lstat look_at
#define mkdir take_lock
#define rmdir drop_lock
#define fchmod set_mode
#define fchown set_owner
#define geteuid some_user
#define getpagesize page_bytes

// If it is defined, SQLite (3.41 and later) leaves out WAL, and could not read the databases of the
// other guestbooks. No header of the system is included after this for the first time.
#undef __wasi__
int lock_by_folder(const char *unused);
#include "sqlite3.c"

// WASI has no locks on files, so a database is locked by the folder NAME.lock beside it, which only
// one program can make; programs of the system do not look at it. One that is killed leaves it, and
// then it must be removed by hand. SQLite calls this as it starts.
int lock_by_folder(const char *unused) {
  (void)unused;
  return sqlite3_vfs_register(sqlite3_vfs_find("unix-dotfile"), 1);
}
