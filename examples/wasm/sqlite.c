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
#define SQLITE_EXTRA_INIT set_up
#define USE_PREAD 1
#define HAVE_FDATASYNC 1

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

// WASI has no locks on files, so a database is locked by the file NAME.lock beside it, which only
// one program can make; programs of the system do not look at it. Who has it renews its time as it
// reads and writes; a program that was killed cannot, and after two seconds the next one removes
// its file. Who was only slow finds that the file is gone, and reads and writes no more.
static char lock[PATH_MAX];      // "": we have none
static int lock_file;            // it, open
static struct timespec renewed;  // when its time was set
static int lost;                 // somebody has removed it

static const double left_after = 2;  // seconds
static const double renewed_after = 0.5;

static double age_of(struct timespec then) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)(now.tv_sec - then.tv_sec) + (double)(now.tv_nsec - then.tv_nsec) / 1e9;
}

// left: whether its owner is gone.
static int has_lock(const char *path, int *left) {
  struct stat found;
  int has = !stat(path, &found);
  *left = has && age_of(found.st_mtim) > left_after;
  return has;
}

static int is_fresh(void) {
  return !lost && age_of(renewed) < renewed_after;
}

static int is_ours(void) {
  struct stat found;
  if (is_fresh()) return 1;  // nobody may have removed it yet
  if (!lost && !fstat(lock_file, &found) && found.st_nlink > 0) return 1;
  lost = 1;
  return 0;
}

static int renew(void) {
  struct timespec now[2];
  if (!is_ours()) return -1;
  clock_gettime(CLOCK_REALTIME, &now[0]);
  now[1] = renewed = now[0];
  return futimens(lock_file, now);
}

// SQLite does so with the lock, when it wants more of it, and with nothing else.
static int touch(const char *path, const struct timeval times[2]) {
  (void)path, (void)times;
  if (is_fresh() || !renew()) return 0;
  errno = EIO;
  return -1;
}

// One at a time, so that nobody removes what the one before has just made.
static void remove_left(const char *path) {
  char turn[PATH_MAX];
  int left;
  if (snprintf(turn, sizeof turn, "%s.left", path) >= (int)sizeof turn) return;
  if (!mkdir(turn, 0777)) {
    if (has_lock(path, &left) && left) unlink(path);
    rmdir(turn);
  } else if (has_lock(turn, &left) && left) {
    rmdir(turn);
  }
}

static void give_lock_back(void) {
  if (*lock && is_ours()) unlink(lock);
}

// SQLite's own waits begin with a millisecond and grow to a hundred, in which a hundred others
// could have had the lock; so it is waited for here, and only who has waited in vain goes back
// there.
static const double waited_here = 0.5;                        // seconds
static const long first_wait = 50000, longest_wait = 300000;  // nanoseconds

static int make_when_free(const char *path) {
  struct timespec began, wait = {0, first_wait};
  clock_gettime(CLOCK_REALTIME, &began);
  do {
    int left, has = has_lock(path, &left);
    if (left) remove_left(path);
    if (!has || left) {
      clock_gettime(CLOCK_REALTIME, &renewed);
      int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0666);
      if (file >= 0 || errno != EEXIST) return file;
    }
    nanosleep(&wait, NULL);
    if (wait.tv_nsec < longest_wait) wait.tv_nsec += wait.tv_nsec / 2;
  } while (age_of(began) < waited_here);
  errno = EEXIST;
  return -1;
}

// A lock of the system's is gone with its program, also if that ends without closing the database.
static int take_lock(const char *path, mode_t mode) {
  static int registered;
  (void)mode;
  if (strlen(path) >= sizeof lock || (lock_file = make_when_free(path)) < 0) return -1;
  strcpy(lock, path);
  lost = 0;
  if (!registered++) atexit(give_lock_back);
  return 0;
}

static int drop_lock(const char *path) {
  int failed = is_ours() ? unlink(path) : 0;
  close(lock_file);
  *lock = 0;
  return failed;
}

// Whether we may still read and write. Some is read before anything is locked.
static int may_go_on(void) {
  return !*lock || is_fresh() || !renew();
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
int set_up(const char *unused);
#include "sqlite3.c"

// Who closes a database last copies the log into it and removes it, which is three calls of
// fsync(); and here each program is the last one. So the log stays, until a program finds it long
// when it opens the database: each reads all of it then.
static const off_t long_log = 200000;  // bytes: some 50 pages

static int keep_short_log(sqlite3 *db, char **why, const struct sqlite3_api_routines *unused) {
  const char *path = sqlite3_db_filename(db, "main");
  struct stat log;
  (void)why, (void)unused;
  if (!path || !*path || (!stat(sqlite3_filename_wal(path), &log) && log.st_size > long_log))
    return SQLITE_OK;
  return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

// SQLite calls this as it starts.
int set_up(const char *unused) {
  (void)unused;
  int failed = sqlite3_auto_extension((void (*)(void))keep_short_log);
  return failed ? failed : sqlite3_vfs_register(sqlite3_vfs_find("unix-dotfile"), 1);
}
