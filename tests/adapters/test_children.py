"""reset=rewind: what processes that a request makes have of the worker, and can do to it."""

import os
import platform

import pytest

from driver import Warm, run_plainly

INCLUDES = r"""
    #define _GNU_SOURCE
    #include <fcntl.h>
    #include <sched.h>
    #include <signal.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/prctl.h>
    #include <sys/resource.h>
    #include <sys/stat.h>
    #include <sys/syscall.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static long by_instruction(long number, long flags) {
    #if defined(__x86_64__)
      long result;
      register long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0;
      __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(flags), "S"(0), "d"(0), "r"(r10), "r"(r8)
                       : "rcx", "r11", "memory");
      return result;
    #else
      return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    #endif
    }
    """

WAYS = {
    "fork": "fork()",
    "_Fork": "_Fork()",
    "fork by number": "syscall(SYS_fork)",
    "clone by number": "syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)",
    "fork by an instruction": "by_instruction(SYS_fork, 0)",
    "clone by an instruction": "by_instruction(SYS_clone, SIGCHLD)",
    "fork by a later instruction": "(umask(022), by_instruction(SYS_getpriority, 0), "
                                   "by_instruction(SYS_fork, 0))",
    "clone": "clone(child, stack + sizeof stack, SIGCHLD, 0)",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_child_has_none_of_the_library_s_descriptors(folder, way):
    """Whatever rights it gives up, they would let it read and write the worker's memory."""
    argv = [folder.compile("child.c", INCLUDES + r"""
        static char stack[65536];
        static int child(void *unused) {
          char path[64], target[256];
          for (int fd = 3; fd < 1024; ++fd) {
            snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
            ssize_t size = readlink(path, target, sizeof target);
            if (size > 0) printf("%d: %.*s\n", fd, (int)size, target);
          }
          printf("done\n");
          fflush(stdout);
          _exit(0);
        }
        int main(void) {
          if (""" + WAYS[way] + r""" == 0) child(NULL);
          wait(NULL);
          return 0;
        }
        """)]
    with Warm(argv) as warm:
        answers = [warm.ask() for _ in range(3)]
        assert [answer.text for answer in answers] == ["done\n"] * 3
        assert not warm.retired, warm.retired


UNSEEN = {
    "after a mask": "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, NULL);",
    "after a child": 'system("true");',
    "": "",
}


@pytest.mark.parametrize("how", ["by_instruction(SYS_fork, 0)", "fork()"])
@pytest.mark.parametrize("before", UNSEEN)
def test_who_outlives_the_request_has_nothing_of_it_or_costs_the_worker(folder, before, how):
    """While no call is handed back, a child that an instruction makes is not seen, and keeps everything."""
    argv = [folder.compile("daemon.c", INCLUDES + r"""
        int main(void) {
          """ + UNSEEN[before] + r"""
          if (""" + how + r""" == 0) {
            setsid();
            if (""" + how + r""" != 0) by_instruction(SYS_exit_group, 0);
            for (int i = 0; i < 3; ++i) close(i);
            usleep(700000);
            _exit(0);
          }
          wait(NULL);
          puts("end");
          return 0;
        }
        """)]
    unseen = before and how != "fork()" and platform.machine() == "x86_64"
    with Warm(argv) as warm:
        for _ in range(2):
            answer = warm.ask()
            assert answer.text == "end\n"
            assert answer.retirement == ("children" if unseen else None), answer.reason


@pytest.mark.parametrize("flags", ["CLONE_FILES", "CLONE_FS", "CLONE_FILES | CLONE_FS"])
def test_a_grandchild_that_shares_descriptors_or_the_folder_costs_the_worker(folder, flags):
    argv = [folder.compile("sharer.c", INCLUDES + r"""
        static char stack[65536];
        static int spy(void *unused) {
          usleep(300000);
          chdir("/usr");
          umask(0777);
          dprintf(1, "the spy's words\n");
          close(0);
          return 0;
        }
        static int child(void *unused) {
          static char more[65536];
          setsid();
          clone(spy, more + sizeof more, """ + flags + r""", 0);
          _exit(0);
        }
        int main(void) {
          char folder[256];
          clone(child, stack + sizeof stack, SIGCHLD | """ + flags + r""", 0);
          wait(NULL);
          printf("%s %o\n", getcwd(folder, sizeof folder), umask(0));
          return 0;
        }
        """)]
    with Warm(argv) as warm:
        wanted = warm.ask().seen()
        assert [why for why, _ in warm.retired] == ["children"]
        for _ in range(3):
            assert warm.ask().seen() == wanted


def test_a_grandchild_that_hardly_reads_is_seen_in_the_group(folder):
    """The priority of its input and output is that of what the library looks for."""
    argv = [folder.compile("idle.c", INCLUDES + r"""
        int main(void) {
          if (fork() == 0) {
            syscall(SYS_ioprio_set, 1, 0, 3 << 13);
            if (fork() == 0) { for (int i = 0; i < 3; ++i) close(i); sleep(2); }
            _exit(0);
          }
          wait(NULL);
          printf("%d\n", getpgrp() == getpid());
          return 0;
        }
        """)]
    with Warm(argv) as warm:
        assert warm.ask().text == "1\n"
        assert [why for why, _ in warm.retired] == ["children"]
        assert warm.ask().text == "1\n"


def test_a_session_keyring_that_a_child_gives_its_parent_costs_the_worker(folder):
    argv = [folder.compile("keyring.c", INCLUDES + r"""
        #include <linux/keyctl.h>
        int main(void) {
          fflush(stdout);
          if (fork() == 0) {
            printf("%s\n", syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user",
                                   "cgibridge-visitor", 0) > 0 ? "found" : "none");
            fflush(stdout);
            syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, "left");
            long key = syscall(SYS_add_key, "user", "cgibridge-visitor", "x", 1,
                               KEY_SPEC_SESSION_KEYRING);
            _exit(key < 0 || syscall(SYS_keyctl, KEYCTL_SESSION_TO_PARENT) != 0);
          }
          int status;
          wait(&status);
          return WEXITSTATUS(status);
        }
        """)]
    if run_plainly(argv).code != 0:
        pytest.skip("no keyrings here")
    with Warm(argv) as warm:
        assert [warm.ask().text for _ in range(3)] == ["none\n"] * 3


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
def test_users_that_were_changed_and_changed_back_leave_nothing(folder):
    """The kernel clears what it keeps for the parent's death and for dumps."""
    argv = [folder.compile("users.c", INCLUDES + r"""
        int main(void) {
          int signal_number = 0;
          prctl(PR_GET_PDEATHSIG, &signal_number);
          printf("%d %d\n", prctl(PR_GET_DUMPABLE), signal_number);
          fflush(stdout);
          return seteuid(65534) != 0 || seteuid(0) != 0;
        }
        """)]
    with Warm(argv) as warm:
        answers = [warm.ask() for _ in range(4)]
        assert len({answer.text for answer in answers}) == 1
        assert answers[0].text.startswith("1 ") and answers[0].code == 0


def test_a_filter_beside_another_costs_the_worker(folder):
    """The kernel says that there is one; it was there before, and filters add up."""
    argv = [folder.compile("filters.c", INCLUDES + r"""
        #include <linux/filter.h>
        #include <linux/seccomp.h>
        static void add_filter(void) {
          struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
          struct sock_fprog program = {1, &all};
          if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) abort();
        }
        int main(void) {
          char line[256];
          FILE *status = fopen("/proc/self/status", "r");
          while (fgets(line, sizeof line, status))
            if (strncmp(line, "Seccomp", 7) == 0) fputs(line, stdout);
          add_filter();
          return 0;
        }
        """), ]
    starter = folder.compile("filtered.c", INCLUDES + r"""
        #include <linux/filter.h>
        #include <linux/seccomp.h>
        int main(int argc, char **argv) {
          struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
          struct sock_fprog program = {1, &all};
          prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
          if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) abort();
          setenv("LD_PRELOAD", getenv("THE_LIBRARY"), 1);
          unsetenv("THE_LIBRARY");
          execv(argv[1], argv + 1);
          return 127;
        }
        """)
    with filtered(starter, argv) as warm:
        wanted = warm.ask().text
        assert "Seccomp:\t2" in wanted
        assert [why for why, _ in warm.retired] == ["identity"]
        for _ in range(3):
            assert warm.ask().text == wanted


def filtered(starter, argv):
    """A zygote that has a filter already. The starter itself is no zygote."""
    from driver import LAUNCH_ENV, library
    warm = Warm([starter, *argv], env={**LAUNCH_ENV, "THE_LIBRARY": library()}, preload="/nonexistent.so")
    warm.argv = argv
    return warm
