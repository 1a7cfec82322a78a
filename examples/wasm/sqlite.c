// SQLite for WASI preview 1: sqlite3.c as it is, what it needs from the system, and how it locks.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
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

// WASI has no locks on files, so a database is locked by the folder NAME.lock beside it, which only
// one program can make; programs of the system do not look at it. Who has it renews its time as
// it reads and writes; a program that was killed cannot, and after two seconds the next one removes
// its folder. Who was only slow finds that the folder is not its own any more, and reads and writes
// no more.
static char lock[PATH_MAX];      // "": we have none
static struct timespec touched;  // the folder's time, as we have set it
static int lost;                 // somebody has removed it

static const double left_after = 2;  // seconds
static const double renewed_after = 0.5;

static double age_of(struct timespec then) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)(now.tv_sec - then.tv_sec) + (double)(now.tv_nsec - then.tv_nsec) / 1e9;
}

static int is_left(const char *path) {
  struct stat found;
  return !stat(path, &found) && age_of(found.st_mtim) > left_after;
}

static int is_ours(void) {
  struct stat found;
  return *lock && !stat(lock, &found) && found.st_mtim.tv_sec == touched.tv_sec &&
         found.st_mtim.tv_nsec == touched.tv_nsec;
}

static int note_time(void) {
  struct stat found;
  int failed = stat(lock, &found);
  if (!failed) touched = found.st_mtim;
  return failed;
}

// Always to the present: utimes() of WASI's library, given no times, sets 1970.
static int touch(const char *path, const struct timeval times[2]) {
  struct timespec now[2];
  (void)times;
  clock_gettime(CLOCK_REALTIME, &now[0]);
  now[1] = now[0];
  if (strcmp(path, lock)) return utimensat(AT_FDCWD, path, now, 0);
  if (is_ours() && !utimensat(AT_FDCWD, path, now, 0)) return note_time();
  lost = 1;
  errno = EIO;
  return -1;
}

// One at a time, so that nobody removes what the one before has just made.
static void remove_left(const char *path) {
  char turn[PATH_MAX];
  if (snprintf(turn, sizeof turn, "%s.left", path) >= (int)sizeof turn) return;
  if (!mkdir(turn, 0777)) {
    if (is_left(path)) rmdir(path);
    rmdir(turn);
  } else if (is_left(turn)) {
    rmdir(turn);
  }
}

static void give_lock_back(void) {
  if (is_ours()) rmdir(lock);
}

// A lock of the system's is gone with its program, also if that ends without closing the database.
static int take_lock(const char *path, mode_t mode) {
  static int registered;
  if (is_left(path)) remove_left(path);
  int failed = mkdir(path, mode);
  if (failed || strlen(path) >= sizeof lock) return failed;
  strcpy(lock, path);
  if (!registered++) atexit(give_lock_back);
  return note_time();
}

static int drop_lock(const char *path) {
  if (strcmp(path, lock)) return rmdir(path);
  int ours = is_ours();
  lost = *lock = 0;
  return ours ? rmdir(path) : 0;
}

// Whether we may still read and write. Some is read before anything is locked.
static int may_go_on(void) {
  if (!*lock || (!lost && age_of(touched) < renewed_after)) return 1;
  return !lost && !touch(lock, NULL);
}

static ssize_t read_locked(int file, void *bytes, size_t room) {
  return may_go_on() ? read(file, bytes, room) : -1;
}

static ssize_t read_at_locked(int file, void *bytes, size_t room, off_t at) {
  return may_go_on() ? pread(file, bytes, room, at) : -1;
}

static ssize_t write_locked(int file, const void *bytes, size_t count) {
  return may_go_on() ? write(file, bytes, count) : -1;
}

static ssize_t write_at_locked(int file, const void *bytes, size_t count, off_t at) {
  return may_go_on() ? pwrite(file, bytes, count, at) : -1;
}

static int cut_locked(int file, off_t size) {
  return may_go_on() ? ftruncate(file, size) : -1;
}

#define lstat look_at
#define mkdir take_lock
#define rmdir drop_lock
#define utimes touch
#define read read_locked
#define pread read_at_locked
#define write write_locked
#define pwrite write_at_locked
#define ftruncate cut_locked
#define fchmod set_mode
#define fchown set_owner
#define geteuid some_user
#define getpagesize page_bytes

// If it is defined, SQLite (3.41 and later) leaves out WAL, and could not read the databases of the
// other guestbooks. No header of the system is included after this for the first time.
#undef __wasi__
int lock_by_folder(const char *unused);
#include "sqlite3.c"

// SQLite calls this as it starts.
int lock_by_folder(const char *unused) {
  (void)unused;
  return sqlite3_vfs_register(sqlite3_vfs_find("unix-dotfile"), 1);
}
