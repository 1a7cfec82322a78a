"""What a process holds, and keeps when it executes another program: the same whether a warm worker takes its
place or not."""

import pytest

from harness.executed import PROGRAM, WARM, answers, compare, differences, stood_in, warm_up
from harness.processes import wait_until

# What a program finds that was executed: in files, in itself, in its words and variables.
FOUND = r"""
    static int signals;
    static void count(int number) { (void)number; ++signals; }
    static void print_text(const char *text) {
      printf("\"");
      for (; *text; ++text) printf(isalnum((unsigned char)*text) ? "%c" : "\\u%04x", (unsigned char)*text);
      printf("\"");
    }
    static void print_all(const char *name, char **list) {
      printf("\"%s\": [", name);
      for (int i = 0; list[i] != NULL; ++i) { if (i) printf(", "); print_text(list[i]); }
      printf("], ");
    }
    static int by_child(int (*look)(void)) {
      int status;
      if (fork() == 0) _exit(look());
      wait(&status);
      return WEXITSTATUS(status);
    }
    static int lock_is_held(void) {
      struct flock all = {.l_type = F_WRLCK};
      int fd = open(LOCK, O_RDWR), held = fcntl(fd, F_GETLK, &all) == 0 && all.l_type != F_UNLCK;
      return held | (flock(fd, LOCK_EX | LOCK_NB) != 0) << 1;
    }
    static int lease_is_held(void) {
      return open(LOCK, O_RDWR | O_NONBLOCK) < 0 && errno == EWOULDBLOCK;
    }
    static void print_file(int fd) {
      struct f_owner_ex owner = {0, 0};
      fcntl(fd, F_GETOWN_EX, &owner);
      printf("\"fd %d\": [%d, %d, %d, %d], ", fd, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD),
             owner.type, owner.pid == 0 ? 0 : owner.pid == getpid() ? 1 : 2);
    }
    static void print_line(const char *name, const char *path) {
      char line[100] = "";
      FILE *file = fopen(path, "r");
      if (file == NULL || fgets(line, sizeof line, file) == NULL) return;
      fclose(file);
      printf("\"%s\": ", name);
      print_text(line);
      printf(", ");
    }
    int main(int argc, char **argv) {
      (void)argc;
      struct rlimit cpu;
      int policy = -1;
      char text[100] = "", number[12];
      signal(SIGIO, count);
      printf("Content-Type: application/json\n\n{");
      print_all("argv", argv);
      print_all("environment", environ);
      for (int fd = 0; fd < 20; ++fd) if (fcntl(fd, F_GETFD) >= 0) print_file(fd);
      int is_leased = by_child(lease_is_held); /* and then an open() waits for its end */
      printf("\"leased\": %d, \"locked\": %d, ", is_leased, is_leased ? 0 : by_child(lock_is_held));
      if (getenv("FIFO") != NULL) (void)!write(4, "x", 1);
      printf("\"signals\": %d, ", signals);
      sprintf(number, "%d", getpid());
      if (pread(3, text, sizeof text - 1, 0) > 0)
        printf("\"itself\": %d, ", strncmp(text, number, strlen(number)) == 0);
      syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0);
      getrlimit(RLIMIT_CPU, &cpu);
      print_line("oom", "/proc/self/oom_score_adj");
      print_line("slack", "/proc/self/timerslack_ns");
      /* A process that executes has used a part of its first second. */
      printf("\"own\": [%d, %ld, %d, %d, %d, %d, %d, %ld, %ld], ", policy, syscall(SYS_ioprio_get, 1, 0),
             getpriority(PRIO_PROCESS, 0), personality(0xffffffff), getpgrp() == getpid(),
             getsid(0) == getpid(), open("/dev/tty", O_RDWR), (long)cpu.rlim_cur / 5, (long)cpu.rlim_max / 5);
      printf("\"end\": 0}\n");
      return 0;
    }"""
# What another one did before.
DID = r"""
    #define DEED(name, ...) if (strcmp(deed, name) == 0) { __VA_ARGS__; }
    static int opened(int flags, int at) {
      int fd = open(LOCK, flags | O_CREAT, 0600);
      if (fd != at) { dup2(fd, at); close(fd); }
      return at;
    }
    int main(int argc, char **argv) {
      (void)argc;
      char *words[] = {"x", "y", NULL}, *list[100] = {NULL};
      const char *deed = getenv("HTTP_DEED");
      struct flock all = {.l_type = F_WRLCK};
      int ends[2], fd;
      if (deed == NULL) deed = "";
      DEED("lock on 0", fcntl(opened(O_RDWR, 0), F_SETLK, &all))
      DEED("lock on 2", fcntl(opened(O_RDWR, 2), F_SETLK, &all))
      DEED("lockf on 0", lockf(opened(O_RDWR, 0), F_LOCK, 0))
      DEED("lock on a pipe", pipe(ends); fcntl(4, F_SETLK, &all))
      DEED("lock by number", syscall(SYS_fcntl, opened(O_RDWR, 0), F_SETLK, &all))
      DEED("lock on a file that is 0 as well", opened(O_RDWR, 0);
           fcntl(opened(O_RDWR, 3), F_SETLK, &all))
      DEED("lease on 0", opened(O_RDONLY | O_TRUNC, 0); fcntl(0, F_SETLEASE, F_RDLCK))
      DEED("lease on 3", fcntl(opened(O_RDONLY, 3), F_SETLEASE, F_RDLCK))
      DEED("lease by a copy", opened(O_RDONLY, 3);
           fcntl(3, F_DUPFD, 7); fcntl(7, F_SETLEASE, F_RDLCK); close(7))
      DEED("notify", fcntl(open(".", O_RDONLY), F_NOTIFY, DN_CREATE | DN_MULTISHOT))
      DEED("owner", fcntl(0, F_SETOWN, getpid()))
      DEED("owner by ioctl", socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
           fd = getpid(); ioctl(3, FIOSETOWN, &fd))
      DEED("owner of a pipe", pipe(ends); fcntl(3, F_SETOWN, getpid()); fcntl(3, F_SETFL, O_ASYNC);
           setenv("FIFO", "1", 1))
      DEED("itself", open("/proc/self/stat", O_RDONLY))
      DEED("flock on 0", flock(opened(O_RDWR, 0), LOCK_EX))
      DEED("lock of an open file", fcntl(opened(O_RDWR, 0), F_OFD_SETLK, &all))
      DEED("lock on 3", fcntl(opened(O_RDWR, 3), F_SETLK, &all))
      DEED("lock on 3, closed at exec",
           fcntl(opened(O_RDWR, 3), F_SETLK, &all); fcntl(3, F_SETFD, FD_CLOEXEC))
      DEED("unblocked", fcntl(0, F_SETFL, O_NONBLOCK); pipe2(ends, O_NONBLOCK))
      DEED("no equals", list[0] = "A=1"; list[1] = "B"; list[2] = "C=3"; environ = list)
      DEED("no name", list[0] = "A=1"; list[1] = "=B"; environ = list)
      DEED("nothing", list[0] = ""; list[1] = "C=3"; environ = list)
      DEED("twice", list[0] = "A=1"; list[1] = "B=2"; list[2] = "A=3"; environ = list)
      DEED("two searched paths", list[0] = "PATH=/a"; list[1] = "PATH=/bin"; environ = list)
      DEED("odd", list[0] = "A=\n\t\xff=b";
           list[1] = "b c-d=e"; list[2] = "A1=="; list[3] = "AB="; environ = list)
      DEED("empty", environ = list)
      DEED("no name of its own", words[0] = "")
      DEED("odd words", words[0] = "a b"; words[1] = "\xff\"")
      DEED("empty words", words[0] = ""; words[1] = "")
      DEED("memory", unsigned long node = 1; syscall(SYS_set_mempolicy, 1, &node, 8))
      DEED("oom", fd = open("/proc/self/oom_score_adj", O_WRONLY); (void)!write(fd, "7", 1); close(fd))
      DEED("oom back", fd = open("/proc/self/oom_score_adj", O_RDWR); char was[10]; long n = read(fd, was, 9);
           (void)!pwrite(fd, "7", 1, 0); (void)!pwrite(fd, was, n, 0); close(fd))
      DEED("slack", prctl(PR_SET_TIMERSLACK, 77777))
      DEED("io", syscall(SYS_ioprio_set, 1, 0, 3 << 13))
      DEED("no random addresses", personality(ADDR_NO_RANDOMIZE))
      DEED("group", setpgid(0, getpgid(getppid())))
      DEED("limit", struct rlimit cpu = {5, 50}; setrlimit(RLIMIT_CPU, &cpu))
      DEED("limit back", struct rlimit cpu; getrlimit(RLIMIT_CPU, &cpu); cpu.rlim_cur -= 2;
           setrlimit(RLIMIT_CPU, &cpu); cpu.rlim_cur += 2; setrlimit(RLIMIT_CPU, &cpu))
      execv(TARGET, words);
      perror("exec");
      return 1;
    }"""
HEAD = r"""
    #define _GNU_SOURCE
    #include <ctype.h>
    #include <errno.h>
    #include <fcntl.h>
    #include <signal.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/file.h>
    #include <sys/ioctl.h>
    #include <sys/personality.h>
    #include <sys/prctl.h>
    #include <sys/resource.h>
    #include <sys/socket.h>
    #include <sys/syscall.h>
    #include <sys/wait.h>
    #include <unistd.h>
    extern char **environ;
    #pragma GCC diagnostic ignored "-Wunused-result"
    """
HANDED = ["", "flock on 0", "lock of an open file", "lock on 3", "lock on 3, closed at exec", "unblocked",
          "odd", "empty", "no name of its own", "odd words", "empty words", "oom back", "limit back"]
EXECUTED = ["lock on 0", "lock on 2", "lockf on 0", "lock on a pipe", "lock by number",
            "lock on a file that is 0 as well", "lease on 0", "lease on 3", "lease by a copy", "notify",
            "owner", "owner by ioctl", "owner of a pipe", "itself", "no equals", "no name", "nothing",
            "twice", "two searched paths", "memory", "oom", "slack", "io", "no random addresses",
            "group", "limit"]


def did(site, *flags):
    lock = site.folder / "lock"
    lock.touch(0o600)
    target = site.c("found", HEAD + FOUND, f'-DLOCK="{lock}"').rename(site.folder / "found")
    return site.c("did", HEAD + DID, f'-DLOCK="{lock}"', f'-DTARGET="{target}"', *flags)


@pytest.mark.parametrize("settings, flags", [("", []), ('limits = { cpu_time = "100s" }', []),
                                             ('reset = "fork"', []), ("", ["-static"])],
                         ids=["", "limited", "forked", "static"])
def test_a_process_keeps_what_it_holds(site, settings, flags):
    script = did(site, *flags)
    bridge = site.start_bridge(f"{WARM}\n{settings}", programs=PROGRAM)
    warm_up(bridge, script)
    wrong = {}
    for deed in HANDED + EXECUTED:
        if deed in HANDED:
            warm_up(bridge, script, HTTP_DEED=deed)
        before = stood_in(bridge, script)
        warm = answers(bridge, script, 2, HTTP_DEED=deed)
        count = stood_in(bridge, script) - before
        classic = compare(site, bridge, script, HTTP_DEED=deed)
        different = [difference for one in warm if (difference := differences(one, classic))]
        if different or count != (2 if deed in HANDED else 0):
            wrong[deed] = (count, different)
    assert wrong == {}


# Holds the lock; opens the locked file once more; tells whether it is still locked.
IN_TURN = r"""
    int main(void) {
      struct flock all = {.l_type = F_WRLCK};
      int fd = open(LOCK, O_RDWR | O_CREAT | FLAGS, 0600);
      if (NUMBER == 1) fcntl(fd, F_SETLK, &all);
      if (NUMBER < 3) execl(NEXT, NEXT, (char *)0);
      printf("Content-Type: text/plain\n\n");
      fflush(stdout);
      if (fork() == 0) {
        all.l_type = F_WRLCK;
        puts(fcntl(fd, F_SETLK, &all) == 0 ? "free" : "locked");
        return 0;
      }
      wait(NULL);
      return 0;
    }"""


@pytest.mark.parametrize("linked", [[], ["-static"]], ids=["", "static"])
@pytest.mark.parametrize("flags, said", [("O_CLOEXEC", b"free\n"), ("0", b"locked\n")])
def test_a_lock_ends_with_a_copy_that_is_closed_when_the_second_one_executes(site, flags, said, linked):
    lock, following = site.folder / "lock", "none"
    for number, own in ((3, "O_CLOEXEC"), (2, flags), (1, "0")):
        script = site.c(f"turn{number}", HEAD + IN_TURN, f'-DLOCK="{lock}"', f'-DNEXT="{following}"',
                        f"-DNUMBER={number}", f"-DFLAGS={own}", *linked)
        following = script
    bridge = site.start_bridge(WARM, programs=PROGRAM)
    warm_up(bridge, script)

    def both_stand_in():
        bridge.request(script)
        rows = [row for row in bridge.status()["programs"] if " > " in row["path"]]
        return len(rows) == 2 and all(row["requests"] > 2 for row in rows)
    wait_until(both_stand_in, "the second one is executed itself")
    assert [bridge.request(script).body for _ in range(3)] == [said] * 3
    site.cgibridge("mode", "x", "classic", "--config", bridge.config)
    assert bridge.request(script).body == said
