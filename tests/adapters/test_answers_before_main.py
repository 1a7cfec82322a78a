"""What the kernel tells a process about itself, its input and its peers by ways that are no calls for it:
links and listings of /proc, the status of files, waits, signals. A constructor would keep it for all."""

import pytest

from conftest import Folder
from driver import REQUEST_ENV, SHALLOWER, Warm, Zygote, run_plainly

EARLY = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
static char text[8192];
static long n;
static int v, pair[2];
static struct stat status;
static struct statx more;
static struct statvfs room;
static struct statfs system_room;
static struct rusage usage;
static struct pollfd input = {0, POLLIN};
static struct timespec none;
static struct timeval no_time;
static siginfo_t info;
static sigset_t one_signal;
static struct sockaddr_storage address;
static socklen_t bytes;
static clockid_t own_clock;
static void told(int number, siginfo_t *sent, void *context) { n = sent->si_pid; }
static void untold(int number) { n = number; }
static void handle_told(void) { struct sigaction action = {.sa_sigaction = told, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &action, 0); }
static void block(void) { sigemptyset(&one_signal); sigaddset(&one_signal, SIGUSR1);
  sigprocmask(SIG_BLOCK, &one_signal, 0); raise(SIGUSR1); }
static int copy(void) { return dup(0); }
static fd_set *set_of(int fd) { static fd_set set; FD_ZERO(&set); FD_SET(fd, &set); return &set; }
static void watch(int fd) { struct epoll_event event = {EPOLLIN}; int all = epoll_create1(0);
  epoll_ctl(all, EPOLL_CTL_ADD, fd, &event); n = epoll_wait(all, &event, 1, 0); close(all); }
static int folder(char *path) { return open(path, O_RDONLY | O_DIRECTORY); }
static int place(char *path) { return open(path, O_PATH | O_NOFOLLOW); }
static void ends(int kind) { socketpair(AF_UNIX, kind, 0, pair); }
static void option(int name) {
  int here = socket(AF_INET, SOCK_STREAM, 0); char room[64]; socklen_t size = 64;
  getsockopt(here, SOL_SOCKET, name, room, &size); close(here); }
static void switched(int name) { v = 1; ends(SOCK_DGRAM); setsockopt(pair[0], SOL_SOCKET, name, &v, sizeof v);
  close(pair[0]); close(pair[1]); }
static int walked(const char *path, const struct stat *found, int kind) { return 0; }
static void in_folder(char *path) { char before[PATH_MAX]; readlink("/proc/self/cwd", before, 1);
  chdir(path); getcwd(text, sizeof text); chdir("/"); }
static char *trees[] = {"/proc/self/task", 0};
static glob_t names;
static long found(void *library, char *name) { return ((long (*)(void *))dlsym(library, name))(0); }
static void handle(char *path) { struct file_handle *here = (void *)text; here->handle_bytes = 128;
  name_to_handle_at(AT_FDCWD, path, here, &v, 0); }
static void read_file(char *path) { int fd = open(path, O_RDONLY); n = read(fd, text, 99); close(fd); }
WAYS
__attribute__((constructor)) static void early(int count, char **words) {
  if (count > 1) ways[atoi(words[1])]();
}
int main() { puts("as it is"); return 0; }
"""
SEEN = {
    "input": [
        "poll(&input, 1, 0)", "ppoll(&input, 1, &none, 0)", "syscall(SYS_poll, &input, 1, 0)",
        "input.fd = copy(); poll(&input, 1, 0); close(input.fd)", "select(1, set_of(0), 0, 0, &no_time)",
        "pselect(1, set_of(0), 0, 0, &none, 0)",
        "v = copy(); select(v + 1, set_of(v), 0, 0, &no_time); close(v)",
        "watch(0)", "v = copy(); watch(v); close(v)", "v = copy(); ioctl(v, FIONREAD, &n); close(v)",
        "syscall(SYS_ioctl, 0, FIONREAD, &v)", "recv(0, text, 9, MSG_DONTWAIT)",
        "pipe(pair); tee(0, pair[1], 9, 0); close(pair[0]); close(pair[1])"],
    "process id": [
        "opendir(\"/proc\")", "opendir(\"/proc/self/fd\")", "opendir(\"/dev/fd/../task\")",
        "fdopendir(folder(\"/proc/self/task\"))",
        "v = folder(\"/proc/self\"); getdents64(v, text, 999); close(v)",
        "v = folder(\"/proc/self/task\"); syscall(SYS_getdents64, v, text, 999); close(v)",
        "scandirat(place(\"/proc/thread-self/\"), \"../../task\", (void *)text, 0, 0)",
        "ftw(\"/proc/self/task\", walked, 4)", "fts_read(fts_open(trees, FTS_PHYSICAL, 0))",
        "glob(\"/proc/self/task/*\", 0, 0, &names)", "realpath(\"/proc/self\", text)",
        "realpath(\"/proc/self/nothing/below\", text)", "canonicalize_file_name(\"/proc/self/fd\")",
        "readlink(\"/proc/thread-self\", text, 99)", "readlinkat(place(\"/proc\"), \"self\", text, 99)",
        "readlinkat(place(\"/proc/self\"), \"\", text, 99)",
        "syscall(SYS_readlink, \"/proc/self\", text, 99)",
        "syscall(SYS_readlinkat, AT_FDCWD, \"/proc/self\", text, 99)",
        "readlink(\"/dev/../proc/self\", text, 99)",
        "v = place(\"/proc/self/\"); sprintf(text, \"/proc/self/fd/%d\", v); readlink(text, text, 99);"
        " close(v)",
        "in_folder(\"/proc/self\")", "stat(\"/proc/self\", &status)", "lstat(\"/proc/self\", &status)",
        "statx(AT_FDCWD, \"/proc/self/task\", 0, STATX_ALL, &more)",
        "syscall(SYS_newfstatat, AT_FDCWD, \"/proc/self/maps\", &status, 0)", "handle(\"/proc/self/maps\")",
        "ends(SOCK_STREAM); bytes = 64; getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, text, &bytes)",
        "option(77)", "switched(SO_PASSCRED)", "handle_told(); raise(SIGUSR1)",
        "handle_told(); pthread_kill(pthread_self(), SIGUSR1)", "block(); sigwaitinfo(&one_signal, &info)",
        "block(); sigtimedwait(&one_signal, &info, &none)", "signalfd(-1, &one_signal, 0)",
        "pthread_getcpuclockid(pthread_self(), &own_clock)", "syscall(SYS_set_tid_address, &v)",
        "read_file(\"/proc/self/timers\")", "read_file(\"/proc/locks\")"],
    "random": [
        "fstat(0, &status)", "fstat(2, &status)", "fstatat(1, \"\", &status, AT_EMPTY_PATH)",
        "stat(\"/dev/stdin\", &status)", "stat(\"/proc/self/fd/0\", &status)",
        "readlink(\"/proc/self/fd/0\", text, 99)",
        "pipe(pair); fstat(pair[0], &status); close(pair[0]); close(pair[1])",
        "v = memfd_create(\"x\", 0); fstat(v, &status); close(v)", "option(SO_COOKIE)",
        "option(SO_INCOMING_CPU)",
        "sched_getcpu()", "syscall(SYS_getcpu, &v, 0, 0)"],
    "time": [
        "stat(\"/proc\", &status)", "switched(SO_TIMESTAMP)", "getrusage(RUSAGE_SELF, &usage)",
        "clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &none)", "read_file(\"/proc/pressure/cpu\")",
        "statvfs(\"/\", &room)", "statfs(\"/\", &system_room)",
        "v = open(\"/\", O_RDONLY); fstatvfs(v, &room); close(v)",
        "v = open(\"/\", O_RDONLY); fstatfs(v, &system_room); close(v)",
        "syscall(SYS_statfs, \"/\", &system_room)", "sysconf(_SC_AVPHYS_PAGES)", "get_avphys_pages()",
        "found(dlopen(\"libc.so.6\", RTLD_NOW | RTLD_NOLOAD), \"time\")"],
    "connection": [
        "v = socket(AF_INET, SOCK_STREAM, 0); listen(v, 1); close(v)"],
    "files": [
        "semget(ftok(\"/nothing\", 1), 0, 0)", "setxattr(\"/nothing\", \"user.x\", text, 1, 0)",
        "shm_unlink(\"/nothing\")"],
    "cannot be watched": ["kill(getppid(), 0)", "glob(\"/pro[c]/self/task/*\", 0, 0, &names)"],
}
CASES = [(way, kind) for kind, ways in SEEN.items() for way in ways]
HARMLESS = [
    "opendir(\"/usr\")", "opendir(\"/proc/sys\")", "readlink(\"/proc/self/exe\", text, 99)",
    "readlink(\"/etc/mtab\", text, 99)", "realpath(\"/usr/bin/../lib\", text)", "stat(\"/usr\", &status)",
    "v = open(\"/etc/passwd\", O_RDONLY); fstat(v, &status); close(v)", "getcwd(text, 999)",
    "pipe(pair); input.fd = pair[0]; poll(&input, 1, 0); close(pair[0]); close(pair[1])",
    "signal(SIGUSR1, untold); raise(SIGUSR1); signal(SIGUSR1, SIG_DFL)", "select(0, 0, 0, 0, &no_time)",
    "block(); sigtimedwait(&one_signal, 0, &none); sigprocmask(SIG_UNBLOCK, &one_signal, 0)",
    "ends(SOCK_STREAM); bytes = 64; getsockname(pair[0], (void *)&address, &bytes); close(pair[0]);"
    " close(pair[1])",
    "statvfs(\"/proc\", &room)", "statfs(\"/sys/fs/selinux\", &system_room)", "sysconf(_SC_NPROCESSORS_ONLN)",
    "glob(\"/etc/pass*\", 0, 0, &names); globfree(&names)", "stat(\"/proc/self/nothing\", &status)",
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    ways = [way for way, _ in CASES] + HARMLESS
    text = "".join(f"static void way_{at}(void) {{ {way}; }}\n" for at, way in enumerate(ways))
    text += f"static void (*ways[])(void) = {{ {', '.join(f'way_{at}' for at in range(len(ways)))} }};"
    return Folder(tmp_path_factory.mktemp("early")).compile("early.c", EARLY.replace("WAYS", text))


@pytest.mark.parametrize("at", range(len(CASES)), ids=[way for way, _ in CASES])
def test_a_constructor_that_is_told_so_is_noticed(program, at):
    with Zygote([program, str(at)], reset="rewind") as zygote:
        assert not zygote.stands
        assert CASES[at][1] in zygote.note(SHALLOWER)[0], zygote.notes


@pytest.mark.parametrize("at", range(len(HARMLESS)), ids=HARMLESS)
def test_what_is_the_same_for_all_is_harmless(program, at):
    words = [program, str(len(CASES) + at)]
    with Warm(words) as warm:
        assert warm.stands, warm.notes
        assert warm.ask(*words[1:], body=b"x").seen() == run_plainly(words, env=REQUEST_ENV).seen()


def test_a_library_that_finds_the_next_function_is_not_believed(folder):
    """It is loaded after the program's own, and so finds libc's."""
    library = folder.compile("wraps.c", r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
time_t drawn;
typedef time_t time_function(time_t *);
__attribute__((constructor)) static void early(void) {
  drawn = ((time_function *)dlsym(RTLD_NEXT, "time"))(0);
}
""", "-shared", "-fPIC")
    program = folder.compile("program.c", "extern long drawn; int main() { return drawn == 0; }", library)
    with Zygote([program], reset="rewind") as zygote:
        assert not zygote.stands
        assert "time" in zygote.note(SHALLOWER)[0], zygote.notes
