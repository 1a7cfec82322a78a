"""What native programs do before main() is done once for all their visitors, so they are warm only if that is
pure, or can be repeated."""

import os

import pytest

from driver import (LAUNCH_ENV, REQUEST_ENV, SHALLOWER, Warm, Zygote, adapters_dir, library,
                    run_plainly)

PYTHON = "/usr/bin/python3"
TIMES = 4

EARLY = r"""
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <random>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>
static unsigned long draw() { unsigned long n; getrandom(&n, sizeof n, 0); return n; }
static unsigned long device() { std::random_device source("/dev/urandom"); return source(); }
static unsigned long read_device() {
  unsigned long n; int fd = open("/dev/urandom", O_RDONLY); if (read(fd, &n, sizeof n) < 8) abort();
  close(fd); return n; }
static unsigned long by_number() { unsigned long n; syscall(SYS_getrandom, &n, sizeof n, 0); return n; }
static unsigned long read_uuid() {
  char t[9] = ""; int fd = open("/proc/sys/kernel/random/uuid", O_RDONLY); if (read(fd, t, 8) < 8) abort();
  close(fd); return strtoul(t, nullptr, 16); }
static int lock() { int fd = open("/etc/passwd", O_RDONLY); flock(fd, LOCK_SH); return close(fd); }
static struct timespec moment;
static long since_boot() { clock_gettime(CLOCK_BOOTTIME, &moment); return moment.tv_nsec; }
struct Link { char text[99]; long size; Link(const char *name) : size(readlink(name, text, 99)) {} };
static auto early = %s;
int main() { printf("%%lu\n", (unsigned long)early); }
"""


@pytest.mark.parametrize("text, why", [
    ("draw()", "random"), ("device()", "random"), ("std::random_device()()", "random"),
    ("read_device()", "random"), ("arc4random()", "random"),
    ("by_number()", "random"), ("syscall(SYS_getpid)", "process id"), ("read_uuid()", "random"),
    ("Link(\"/proc/self\").size", "process id"), ("lock()", "flock"),
    ("clearenv()", "environment"),
    ("std::chrono::steady_clock::now().time_since_epoch().count()", "time"), ("since_boot()", "time"),
    ("syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &moment)", "time"),
    ("time(nullptr)", "time"), ("clock()", "time"),
    ("getpid()", "process id"), ("system(\"true\")", "process"),
    ("printf(\"early\") + fflush(stdout)", "prints"), ("write(2, \"early\", 5)", "prints")])
def test_a_native_program_whose_constructors_do_it_is_not_warm(folder, text, why):
    program = folder.compile("early.cc", EARLY % text)
    with Zygote([program], reset="rewind") as zygote:
        assert not zygote.stands
        assert why in zygote.note(SHALLOWER)[0], zygote.notes


CHANGES_ENVIRONMENT = r"""
#include <stdio.h>
#include <stdlib.h>
extern char **environ;
static char own[] = "OWN=1";
__attribute__((constructor)) static void early(void) {
  setenv("GIT_CONFIG_NOSYSTEM", "1", 1); unsetenv("HOME"); putenv(own); setenv("SERVER_NAME", "mine", 1);
  setenv("MAYBE", "default", 0); setenv("GATEWAY_INTERFACE", "not this", 0);
}
static int compare(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }
int main(int argc, char **argv, char **envp) {
  size_t count = 0;
  while (environ[count]) ++count;
  qsort(environ, count, sizeof *environ, compare);
  for (size_t i = 0; i < count; ++i) puts(environ[i]);
  printf("%d %s\n", envp == environ, getenv("OWN"));
  setenv("LATE", "1", 1);
  return 0;
}
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_what_constructors_do_to_the_environment_is_done_to_each_request_s(folder, reset):
    program = folder.compile("early.c", CHANGES_ENVIRONMENT, "-include", "string.h")
    launched = {**LAUNCH_ENV, "HOME": "/root", "SERVER_NAME": "x", "GATEWAY_INTERFACE": "CGI/1.1"}
    requests = [{**REQUEST_ENV, "HOME": "/root", "SERVER_NAME": "y", **more}
                for more in ({}, {"MAYBE": "given"}, {"OWN": "2"}, {"HTTP_A": "b"}, {})]
    with Warm([program], reset=reset, level="linked", env=launched) as warm:
        assert warm.stands, warm.notes
        for env in requests * 2:
            plain = run_plainly([program], env=env)
            assert warm.ask(env=env).seen() == plain.seen()


OWN_ALLOCATOR = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char heap[1 << 22] __attribute__((aligned(16)));
static unsigned long used, key;
static int calls;
void *malloc(size_t bytes) {
  pthread_mutex_lock(&lock);
  if (++calls == FIRST) getrandom(&key, sizeof key, 0);
  char *piece = heap + used;
  used += (bytes + 15) / 16 * 16;
  if (used > sizeof heap) abort();
  pthread_mutex_unlock(&lock);
  return piece; }
void free(void *piece) { }
void *calloc(size_t count, size_t bytes) { return memset(malloc(count * bytes), 0, count * bytes); }
void *realloc(void *piece, size_t bytes) {
  return piece ? memmove(malloc(bytes), piece, bytes) : malloc(bytes); }
static void *kept;
__attribute__((constructor)) static void early(void) { calls = 0; kept = malloc(10); kept = malloc(10); }
int main() { printf("%d\n", kept != 0); return 0; }
"""


@pytest.mark.parametrize("first", [1, 2])
def test_a_program_s_own_allocator_that_draws_is_not_called_again_meanwhile(folder, first):
    program = folder.compile("own.c", OWN_ALLOCATOR, "-fno-builtin", f"-DFIRST={first}")
    assert run_plainly([program]).text == "1\n"
    with Zygote([program], reset="rewind") as zygote:
        assert not zygote.stands
        assert "random" in zygote.note(SHALLOWER)[0], zygote.notes


def test_a_native_program_is_warm_if_the_operator_accepts_it(folder):
    program = folder.compile("early.cc", EARLY % "time(nullptr)")
    with Zygote([program], reset="rewind", accept="time,random") as zygote:
        assert zygote.stands, zygote.notes


EFFECTS = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
__attribute__((constructor)) static void early(void) { %s; }
int main() { return write(1, "x", 1) != 1; }
"""


@pytest.mark.parametrize("linked", [[], ["-static"]])
@pytest.mark.parametrize("effect", [
    'int f = open("LOG", O_WRONLY | O_CREAT, 0600); (void)!write(f, "hit", 3); close(f)',
    'mkdir("LOG", 0700)', 'system("mkdir LOG")',
    'if (fork() == 0) { mkdir("LOG", 0700); _exit(0); } wait(0)',
    'if (time(0) > 9) symlink("x", "LOG")'])
def test_what_a_constructor_changes_outside_is_not_changed_for_nobody(folder, effect, linked):
    log = folder.path / "log"
    program = folder.compile("early.c", EFFECTS % effect.replace("LOG", str(log)), *linked)
    with Zygote([program], reset="rewind") as zygote:
        # A static one stops before its constructors, if it may not stop after them.
        refused = not zygote.stands and "what runs before main()" in zygote.note(SHALLOWER)[0]
        assert refused != bool(linked), zygote.notes
    assert not os.path.lexists(log)
    assert run_plainly([program]).text == "x" and os.path.lexists(log)


EXECUTES = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
extern char **environ;
__attribute__((constructor)) static void early(int argc, char **argv) {
  if (getenv("AGAIN") == NULL) { setenv("AGAIN", "1", 1); %s; }
}
int main() { return mkdir("LOG", 0700) != 0 || write(1, "x", 1) != 1; }
"""


@pytest.mark.parametrize("how", ['syscall(SYS_execve, "/proc/self/exe", argv, environ)',
                                 'syscall(SYS_execveat, AT_FDCWD, "/proc/self/exe", argv, environ, 0)',
                                 'execv("/proc/self/exe", argv)',
                                 'fexecve(open("/proc/self/exe", 0), argv, environ)'])
def test_a_constructor_executes_nothing_for_nobody(folder, how):
    """The other program, which may be the same one again, would run from its beginning to its end."""
    log = folder.path / "log"
    program = folder.compile("again.c", (EXECUTES % how).replace("LOG", str(log)))
    with Zygote([program], reset="rewind") as zygote:
        zygote.process.wait()
        assert not zygote.stands and "what runs before main()" in zygote.note(SHALLOWER)[0], zygote.notes
    assert not log.exists()
    assert run_plainly([program]).text == "x" and log.exists()


SHARED = r"""
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
static int reads(const char *path) {
  FILE *f = fopen(path, "r"); char t[9]; return fgets(t, 9, f) && !fclose(f); }
static int start(void) { %s; }
static int early;
__attribute__((constructor)) static void init(void) { early = start(); }
int ask(void) { return early != 0; }
"""


def starts_with(folder, name, text):
    """A program that is linked with a library of this name, which does this in its constructor."""
    shared = folder.compile("shared.c", SHARED % text, "-shared", "-fPIC", f"-Wl,-soname,{name}")
    os.rename(shared, f"{folder.path}/{name}")
    text = "#include <stdio.h>\nint ask(void);\nint main() { printf(\"%d\\n\", ask()); }"
    return folder.compile("main.c", text, f"{folder.path}/{name}", f"-Wl,-rpath,{folder.path}")


@pytest.mark.parametrize("name", ["libglib-2.0.so.0", "libxml2.so.2"])
@pytest.mark.parametrize("text, is_pure", [
    ("struct timeval now; return gettimeofday(&now, 0) == 0", True), ("return getpid()", False)])
def test_the_clock_of_some_libraries_is_their_own(folder, name, text, is_pure):
    """GLib 2.74 reads the clock in its constructor; all programs that use it would otherwise run classic."""
    with Zygote([starts_with(folder, name, text)], reset="rewind") as zygote:
        assert bool(zygote.stands) == is_pure, zygote.notes


@pytest.mark.parametrize("name, text, is_pure", [
    ("libnuma.so.1", 'return reads("/proc/self/status")', True),
    ("libnuma.so.1", 'return reads("/proc/self/stat")', False), ("libnuma.so.1", "return getpid()", False),
    ("libnumber.so.1", 'return reads("/proc/self/status")', False)])
def test_only_libnuma_may_look_at_the_masks_of_its_process(folder, name, text, is_pure):
    """Its constructor does so. MapServer is linked with it, for example."""
    with Zygote([starts_with(folder, name, text)], reset="rewind") as zygote:
        assert bool(zygote.stands) == is_pure, zygote.notes


@pytest.mark.parametrize("name, text, is_pure", [
    ("libgfortran.so.5", "struct stat input; return fstat(0, &input)", True),
    ("libgfortran.so.5", "return getpid()", False),
    ("libother.so.5", "struct stat input; return fstat(0, &input)", False)])
def test_only_libraries_of_languages_may_look_what_0_1_and_2_are(folder, name, text, is_pure):
    """MapServer is linked with Fortran's, too."""
    with Zygote([starts_with(folder, name, text)], reset="rewind") as zygote:
        assert bool(zygote.stands) == is_pure, zygote.notes


def test_what_main_does_is_each_request_s_own(folder):
    program = folder.compile("late.c", r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main() { printf("%d\n", time(0) > 0 && getpid() > 0 && system("true") == 0); }
""")
    with Warm([program]) as zygote:
        assert zygote.ask().text == "1\n"


OPENED_LATER = r"""
#include <random>
extern "C" unsigned draw() { return std::random_device()(); }
extern "C" unsigned draw_from_device() { return std::random_device("/dev/urandom")(); }
"""


@pytest.mark.parametrize("reset", ["fork", "rewind", None])
def test_a_library_that_is_opened_for_its_opener_alone_draws_as_ever(folder, reset):
    """The library's own dependencies are in no global scope, where the interposed functions look for the next
    definition; they find them all the same."""
    library_of_its_own = folder.compile("later.cc", OPENED_LATER, "-shared", "-fPIC")
    script = folder.script("x.py", f"import ctypes\nown = ctypes.CDLL({library_of_its_own!r})\n"
                           "both = own.draw, own.draw_from_device\n"
                           "print(*[draw() for _ in range(4) for draw in both])\n")
    if reset is None:
        drawn = run_plainly([PYTHON, script], env={**REQUEST_ENV, "LD_PRELOAD": library()}).text.split()
        assert len(set(drawn)) == 8
        return
    with Warm([PYTHON, f"{adapters_dir()}/python/start.py", "--preload=ctypes", script], level="compiled",
              reset=reset) as zygote:
        zygote.argv = [PYTHON, script]
        drawn = [number for _ in range(TIMES) for number in zygote.ask().text.split()]
        assert len(set(drawn)) == 8 * TIMES


# Interpreters and tools that must remain pure at their start: anything impure before main() costs them the
# level.
@pytest.mark.parametrize("program", ["perl", "python3", "ruby", "tclsh", "bash", "dash", "gawk", "lua5.4",
                                     "git", "sqlite3", "curl", "openssl", "find", "sed"])
def test_the_start_of_common_programs_is_pure(program, needs):
    needs(program)
    path = next(path for path in (f"/usr/bin/{program}", f"/bin/{program}") if os.path.exists(path))
    with Zygote([path], reset="rewind") as zygote:
        assert zygote.stands, zygote.notes
