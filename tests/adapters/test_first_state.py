"""What a program finds when it begins, that a new process would find: its streams while it is loaded, the
words after its environment."""

import os
import signal

import pytest

from driver import Warm, run_plainly

STREAMS = r"""
    #include <errno.h>
    #include <fcntl.h>
    #include <stdio.h>
    #include <sys/ioctl.h>
    #include <sys/stat.h>
    #include <unistd.h>
    static char seen[3][200];
    __attribute__((constructor)) static void look(void) {
      for (int fd = 0; fd < 3; ++fd) {
        struct stat status;
        int waiting = -1, result = fstat(fd, &status);
        if (fd > 0) ioctl(fd, FIONREAD, &waiting); /* how much input there is, a request alone can tell */
        long at = lseek(fd, 0, SEEK_CUR);
        snprintf(seen[fd], sizeof seen[fd], "%d: %d %o %ld %s %d flags %o", fd, result,
                 status.st_mode & S_IFMT, at, errno == ESPIPE ? "no place" : "", waiting,
                 fcntl(fd, F_GETFL));
        errno = 0;
      }
    }
    void show(void) {
      for (int fd = 0; fd < 3; ++fd) puts(seen[fd]);
    }
    """


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_streams_are_pipes_while_a_program_is_loaded(folder, reset):
    """libgfortran decides then how it prints. (The log of a zygote under test is a file.)"""
    name = "libgfortran.so.5"
    shared = folder.compile("streams.c", STREAMS, "-shared", "-fPIC", f"-Wl,-soname,{name}")
    os.rename(shared, f"{folder.path}/{name}")
    text = "void show(void);\nint main(void) { show(); }"
    argv = [folder.compile("main.c", text, f"{folder.path}/{name}", f"-Wl,-rpath,{folder.path}")]
    wanted = run_plainly(argv).text.splitlines()[:2]
    with Warm(argv, reset=reset) as warm:
        for _ in range(2):
            assert warm.ask().text.splitlines()[:2] == wanted


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_the_auxiliary_vector_follows_the_environment(folder, reset):
    argv = [folder.compile("vector.c", r"""
        #include <elf.h>
        #include <stdio.h>
        int main(int argc, char **argv, char **envp) {
          while (*envp) ++envp;
          const Elf64_auxv_t *entry = (const Elf64_auxv_t *)(envp + 1);
          for (; entry->a_type != AT_NULL; ++entry)
            printf("%lu%s\n", (unsigned long)entry->a_type, entry->a_un.a_val ? "" : " is 0");
          return 0;
        }
        """)]
    wanted = run_plainly(argv).text
    assert len(wanted.splitlines()) > 10
    with Warm(argv, reset=reset) as warm:
        for _ in range(2):
            assert warm.ask().text == wanted
        # More words than fit beside those of most requests.
        assert warm.ask(env={f"NAME_{n}": "x" for n in range(600)}).text == wanted


def test_what_is_written_after_the_environment_is_gone(folder):
    """As programs do that want to be listed by another name."""
    argv = [folder.compile("writes.c", r"""
        #include <stdio.h>
        #include <string.h>
        int main(int argc, char **argv, char **envp) {
          char *end = argv[0];
          while (*envp) end = *envp++;
          end += strlen(end) + 1;
          printf("%.20s\n", end[0] == 'l' ? end : "nothing");
          strcpy(end, "left by a visitor");
          return 0;
        }
        """)]
    with Warm(argv) as warm:
        assert [warm.ask().text for _ in range(3)] == ["nothing\n"] * 3


def test_a_critical_section_of_a_request_is_not_the_kernel_s_later(folder):
    """rseq(2): a pointer that is left there is followed whenever the process is interrupted."""
    argv = [folder.compile("section.c", r"""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stddef.h>
        #include <stdint.h>
        #include <stdio.h>
        int main(void) {
          ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
          unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
          if (offset == NULL || size == NULL || *size == 0) return puts("none") < 0;
          uint64_t *section = (uint64_t *)((char *)__builtin_thread_pointer() + *offset + 8);
          printf("%d\n", *section != 0);
          fflush(stdout);
          *section = 0x1000;
          return 0;
        }
        """, "-ldl")]
    with Warm(argv) as warm:
        answers = [warm.ask() for _ in range(5)]
        assert len({answer.text for answer in answers}) == 1
        # Who is interrupted before its end dies, as in a process of its own.
        ends = [answer.code for answer in answers]
        assert set(ends) <= {0, -signal.SIGSEGV}
        assert warm.workers == 1 + ends[:-1].count(-signal.SIGSEGV), "they died at rest"
