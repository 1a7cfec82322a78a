"""Programs that execute another one by other ways than libc's usual functions, and with much to pass on."""

import pytest

from harness.executed import PROGRAM, WARM, answers, compare, differences, stood_in, warm_up

# What it was given: how much, a sum of it, and by which names it was found.
TARGET = r"""
    #include <stdio.h>
    #include <string.h>
    #include <sys/auxv.h>
    extern char **environ;
    static unsigned long sum = 5381, strings, bytes;
    static void add(char **list) {
      for (; *list != NULL; ++list, ++strings)
        for (const char *at = *list; ; ++at) {
          sum = sum * 33 + (unsigned char)*at;
          ++bytes;
          if (*at == '\0') break;
        }
    }
    int main(int argc, char **argv) {
      char name[20] = "";
      FILE *file = fopen("/proc/self/comm", "r");
      if (file == NULL || fscanf(file, "%19s", name) != 1) return 1;
      add(argv);
      add(environ);
      printf("Content-Type: application/json\n\n{\"argc\": %d, \"strings\": %lu, \"bytes\": %lu, "
             "\"sum\": %lu, \"name\": \"%s\", \"file\": \"%s\"}\n", argc, strings, bytes, sum, name,
             (const char *)getauxval(AT_EXECFN));
      return 0;
    }"""
WAYS = r"""
    #define _GNU_SOURCE
    #include <errno.h>
    #include <fcntl.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    extern char **environ;
    enum { kMany = 6000 };
    static char *words[kMany + 1] = {"x", "a b", ""};
    static void set(int count, size_t bytes) {
      char name[20], *value = calloc(1, bytes);
      memset(value, 'v', bytes - 1);
      for (int i = 0; i < count; ++i) {
        sprintf(name, "LONG%d", i);
        value[i % (bytes - 1)] = 'w';
        setenv(name, value, 1);
      }
      free(value);
    }
    #define DEED(name, ...) if (strcmp(deed, name) == 0) { __VA_ARGS__; }
    int main(void) {
      const char *deed = getenv("HTTP_DEED");
      if (deed == NULL) deed = "";
      DEED("number", syscall(SYS_execve, TARGET, words, environ))
      DEED("number, nowhere", if (syscall(SYS_execve, "/nowhere", words, environ) != -1) return 3;
           if (errno != ENOENT) return 4)
      DEED("number, nonsense", syscall(SYS_execve, 9, words, environ); syscall(SYS_execve, TARGET, 9, 8);
           if (errno != EFAULT) return 4)
      DEED("number at", syscall(SYS_execveat, AT_FDCWD, TARGET, words, environ, 0))
      DEED("at", execveat(AT_FDCWD, TARGET, words, environ, 0))
      DEED("at no folder", execveat(-1, TARGET, words, environ, AT_EMPTY_PATH))
      DEED("at a folder", execveat(open(PLACE, O_PATH | O_CLOEXEC), "found", words, environ, 0))
      DEED("at, no link", execveat(AT_FDCWD, TARGET, words, environ, AT_SYMLINK_NOFOLLOW))
      DEED("by descriptor", fexecve(open(TARGET, O_RDONLY | O_CLOEXEC), words, environ))
      DEED("a long word", words[1] = calloc(1, 120000); memset(words[1], 'a', 119999))
      DEED("many words", for (int i = 1; i < kMany; ++i) words[i] = "word")
      DEED("much", set(15, 120000))
      DEED("too long a word", set(1, 131072))
      DEED("too much", set(18, 120000))
      execv(TARGET, words);
      printf("Status: 500\nContent-Type: text/plain\n\n%s\n", strerror(errno));
      return 0;
    }"""
HANDED = ["number", "number, nowhere", "number, nonsense", "number at", "at", "at no folder", "a long word",
          "many words", "much"]
EXECUTED = ["at a folder", "at, no link", "by descriptor", "too long a word", "too much"]


@pytest.mark.parametrize("reset, flags", [("rewind", []), ("fork", []), ("rewind", ["-static"])],
                         ids=["rewind", "fork", "static"])
def test_the_same_is_found_in_whatever_way_it_is_executed(site, reset, flags):
    target = site.c("found", TARGET).rename(site.folder / "found")
    script = site.c("ways", WAYS, f'-DTARGET="{target}"', f'-DPLACE="{site.folder}"', "-Wno-nonnull", *flags)
    bridge = site.start_bridge(f'{WARM}\nreset = "{reset}"', programs=PROGRAM)
    wrong = {}
    warm_up(bridge, script)
    for deed in HANDED + EXECUTED:
        bridge.wait_warm(script)
        before = stood_in(bridge, script)
        warm = answers(bridge, script, 1, HTTP_DEED=deed)[0]
        count = stood_in(bridge, script) - before
        classic = compare(site, bridge, script, HTTP_DEED=deed)
        if differences(warm, classic) or count != (1 if deed in HANDED else 0):
            wrong[deed] = (count, warm, classic)
        warm_up(bridge, script)
    assert wrong == {}


# Sends what the library sends for long strings, with a descriptor that never ends, or may change.
FORGER = """#!/usr/bin/python3
import os, socket, struct, time
channel = None
for fd in range(500, 520):
    try:
        one = socket.socket(fileno=os.dup(fd))
    except OSError:
        continue
    if one.type == socket.SOCK_SEQPACKET:
        channel = one
what = os.environ["QUERY_STRING"].replace("-", " ")
print("Content-Type: text/plain\\n\\nhello", flush=True)
if what:
    memfd = os.memfd_create("x", os.MFD_ALLOW_SEALING)
    os.write(memfd, b"/\\0/bin/true\\0x\\0")
    fds = {"a pipe": os.pipe(), "open": [memfd], "none": [], "many": [memfd] * 9}[what]
    body = struct.pack("QQQIIII", 1, 0, 0, 1, 0, 0, 0)
    packet = struct.pack("IHHI", 0x43474942, 6, 12, len(body)) + body
    try:
        socket.send_fds(channel, [packet], list(fds))
    except OSError as error:
        print(error)
    time.sleep(0.3)
"""


@pytest.mark.parametrize("what", ["a pipe", "open", "none", "many"])
def test_the_bridge_reads_no_strings_that_may_change_or_never_come(site, what):
    forger = site.script("forger", FORGER)
    bridge = site.start_bridge(WARM)
    bridge.allow_log("killed by|broken off")
    bridge.request(forger)
    bridge.wait_warm(forger)
    bridge.request(forger, query=what.replace(" ", "-"))
    bridge.expect_log("an execute without its strings")
    assert bridge.request(forger).body.startswith(b"hello\n")
    bridge.wait_idle()


def test_a_program_that_has_to_start_anew_is_not_executed_by_itself(site):
    script = site.c("x", r"""
        #include <stdio.h>
        static char **kept;
        __attribute__((constructor)) static void first(int argc, char **argv) { (void)argc; kept = argv; }
        int main(void) { printf("Content-Type: text/plain\n\n%s\n", kept[1] ? kept[1] : ""); return 0; }""")
    bridge = site.start_bridge(WARM)
    bridge.request(script)
    for number in range(3):
        bridge.wait_warm(script)
        assert bridge.request(script, query=f"a{number}").body == f"a{number}\n".encode()
    assert [row["path"] for row in bridge.status()["programs"]] == [str(script)]
