// Tries the file system: what a page may do in the folder DATA (/data), and ways out of it, one a
// line: "name: result", where a result is "ok", what was read, or the name of the error. A line
// whose name begins with "out" must never say ok, nor anything that was read.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wasi/api.h>

static const char *data;

// Four texts may be in use at once.
static const char *in(const char *name) {
  static char paths[4][600];
  static int turn;
  char *path = paths[turn++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", data, name);
  return path;
}

static void say(const char *name, int failed) {
  printf("%s: %s\n", name, failed ? strerror(errno) : "ok");
}

static void try_read(const char *name, const char *path) {
  char text[80];
  int file = open(path, O_RDONLY);
  if (file < 0) {
    say(name, 1);
    return;
  }
  ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  if (got < 0) {
    say(name, 1);
    return;
  }
  text[got] = 0;
  text[strcspn(text, "\n")] = 0;
  printf("%s: read \"%s\"\n", name, text);
}

static void try_write_with(const char *name, const char *path, int flags) {
  int file = open(path, O_WRONLY | O_TRUNC | flags, 0666);
  if (file < 0) {
    say(name, 1);
    return;
  }
  say(name, write(file, "written\n", 8) != 8);
  close(file);
}

static void try_write(const char *name, const char *path) {
  try_write_with(name, path, O_CREAT);
}

static void list(const char *name, const char *path) {
  DIR *folder = opendir(path);
  if (!folder) {
    say(name, 1);
    return;
  }
  int entries = 0;
  while (readdir(folder)) entries++;
  closedir(folder);
  printf("%s: read %d entries\n", name, entries);
}

static void work_inside(void) {
  struct stat stat_of;
  try_write("create", in("one"));
  try_read("read", in("one"));
  say("rename", rename(in("one"), in("two")));
  try_read("read old name", in("one"));
  try_read("read new name", in("two"));
  say("stat", stat(in("two"), &stat_of));
  printf("size: %lld\n", (long long)stat_of.st_size);
  say("mkdir", mkdir(in("sub"), 0777));
  try_write("create deeper", in("sub/three"));
  try_read("dots inside", in("sub/../two"));
  list("list", data);
  say("link", link(in("two"), in("hard")));
  say("symlink", symlink("two", in("soft")));
  try_read("read by symlink", in("soft"));
  say("truncate", truncate(in("two"), 3));
  FILE *file = fopen(in("two"), "a+");
  if (file) {
    fputs("appended", file);
    rewind(file);
    char text[40] = "";
    fgets(text, sizeof text, file);
    printf("append: read \"%s\"\n", text);
    fclose(file);
  }
  say("exclusive", open(in("two"), O_WRONLY | O_CREAT | O_EXCL, 0666) < 0);
  say("rmdir of a full folder", rmdir(in("sub")));
  static const char *const all[] = {"sub/three", "hard", "soft", "two"};
  for (int i = 0; i < 4; i++) say(all[i], unlink(in(all[i])));
  say("rmdir", rmdir(in("sub")));
}

// OUTSIDE: a file beside the folder, as the system names it.
static void try_to_leave(void) {
  const char *outside = getenv("OUTSIDE");
  if (!outside) outside = "/etc/hostname";
  char up[600];
  try_read("out by ..", in("../secret"));
  try_read("out by .. after a folder", in("./x/../../secret"));
  try_read("out to passwd", in("../../../../../../../../etc/passwd"));
  try_read("out by absolute", outside);
  try_read("out to /etc/passwd", "/etc/passwd");
  try_read("out to environ", "/proc/self/environ");
  try_read("out to memory", "/proc/self/maps");
  try_read("out to descriptors", "/proc/self/fd/0");
  list("out to the root", "/");
  list("out to the root by ..", in(".."));
  try_write("out by writing", in("../planted"));
  try_write("out by writing to /tmp", "/tmp/cgibridge-planted");
  say("made a symlink to a file outside", symlink(outside, in("away")));
  try_read("out by symlink", in("away"));
  try_write_with("out by writing by symlink", in("away"), 0);
  unlink(in("away"));
  say("made a symlink to a folder outside", symlink("../..", in("up")));
  snprintf(up, sizeof up, "up/../etc/passwd");
  try_read("out by a folder's symlink", in(up));
  list("out by listing a symlink", in("up"));
  unlink(in("up"));
  say("made a symlink to /", symlink("/", in("top")));
  try_read("out by a symlink to /", in("top/etc/passwd"));
  unlink(in("top"));
  // Links that the test made: ready -> .., ready-file -> ../secret, ready-new -> ../planted.
  try_read("out by a ready symlink", in("ready/secret"));
  try_read("out by a ready symlink to a file", in("ready-file"));
  try_write("out by writing by a ready symlink", in("ready-file"));
  try_write("out by creating by a ready symlink", in("ready-new"));
  say("out by link", link(outside, in("linked")));
  say("out by link of ..", link(in("../secret"), in("linked")));
  say("out by rename", rename(in("../secret"), in("taken")));
  try_write("to move", in("moved"));
  say("out by rename to", rename(in("moved"), in("../moved")));
  unlink(in("moved"));
  say("out by mkdir", mkdir(in("../made"), 0777));
  say("out by unlink", unlink(in("../secret")));
  say("out by rmdir", rmdir(in("../made")));
}

// Not by the C library, which has its own rules for paths: the system's functions and numbers.
static void try_numbers(void) {
  for (int file = 3; file <= 64; file++) {
    __wasi_fdstat_t state;
    if (__wasi_fd_fdstat_get(file, &state) != 0) continue;
    __wasi_prestat_t folder;
    char name[200] = "";
    if (__wasi_fd_prestat_get(file, &folder) == 0 && folder.u.dir.pr_name_len < sizeof name &&
        __wasi_fd_prestat_dir_name(file, (uint8_t *)name, folder.u.dir.pr_name_len) != 0)
      printf("descriptor %d has no name\n", file);
    printf("descriptor %d: type %d, \"%s\"\n", file, state.fs_filetype, name);
    static const char *const paths[] = {"../secret", "/etc/passwd", "..", "./../secret",
                                        "x/../../secret"};
    for (int i = 0; i < 5; i++) {
      __wasi_fd_t opened;
      int error = __wasi_path_open(file, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, paths[i], 0,
                                   __WASI_RIGHTS_FD_READ, __WASI_RIGHTS_FD_READ, 0, &opened);
      printf("out by number %d and %s: %s\n", file, paths[i], error ? strerror(error) : "ok");
    }
  }
  for (int file = 0; file < 3; file++) {
    __wasi_fd_t opened;
    int error = __wasi_path_open(file, 0, "etc/passwd", 0, __WASI_RIGHTS_FD_READ, 0, 0, &opened);
    printf("out by stream %d: %s\n", file, error ? strerror(error) : "ok");
  }
}

int main(void) {
  data = getenv("DATA");
  if (!data) data = "/data";
  printf("Content-Type: text/plain\r\n\r\n");
  work_inside();
  try_to_leave();
  try_numbers();
  return 0;
}
