"""The level `linked`: any dynamic executable, stopped before main()."""

import os
import subprocess

import pytest

from driver import LAUNCH_ENV, REQUEST_ENV, SHALLOWER, Zygote, library, run_plainly

HELLO = r"""
#include <stdio.h>
#include <stdlib.h>
extern char **environ;
int main(int argc, char **argv, char **envp) {
  for (int i = 0; i < argc; ++i) printf("argv %s\n", argv[i]);
  for (char **one = environ; *one; ++one) printf("env %s\n", *one);
  printf("same %d query %s random %d %d\n", envp == environ, getenv("QUERY_STRING"), rand(),
         rand());
  int c; while ((c = getchar()) != EOF) putchar(c);
  return 3;
}
"""


def answers_like_plain(argv, count=3, cwd="/", env=None, body=b""):
    plain = run_plainly(argv, env=env, cwd=cwd, body=body)
    with Zygote(argv) as zygote:
        assert zygote.threads == 1
        for _ in range(count):
            answer = zygote.worker().request(argv, env=env, cwd=cwd, body=body)
            assert answer.seen() == plain.seen()
    return answer


def test_a_c_program_answers_as_if_just_started(folder):
    answer = answers_like_plain([folder.compile("hello.c", HELLO), "two words", ""], body=b"body")
    assert answer.done == 3


def test_the_current_directory_is_the_requests(folder):
    program = folder.compile("where.c", '#include <unistd.h>\n#include <stdio.h>\n'
                             'int main() { char b[999]; puts(getcwd(b, 999)); }')
    answers_like_plain([program], cwd=str(folder.path))


def test_a_missing_directory_ends_the_request(folder):
    with Zygote(["/bin/true"]) as zygote:
        answer = zygote.worker().request(["/bin/true"], cwd=str(folder.path / "none"))
    assert answer.code != 0 and b"cannot enter" in answer.stderr


def test_a_huge_environment_travels_in_a_memfd(folder):
    env = {**REQUEST_ENV, **{f"HTTP_X_{i}": "v" * 2000 for i in range(500)}}
    argv = [folder.compile("hello.c", HELLO), *["word"] * 600]
    answers_like_plain(argv, env=env)


def test_the_launch_variables_are_gone_for_constructors_and_children(folder):
    program = folder.compile("env.cc", r"""
#include <cstdio>
#include <cstdlib>
static int seen = getenv("LD_PRELOAD") != nullptr || getenv("CGIBRIDGE_CHECKPOINT") != nullptr;
int main() { printf("%d\n", seen); fflush(stdout);
  return system("env | grep -c -e PRELOAD -e CGIBRIDGE"); }
""")
    answers_like_plain([program])


def test_other_preloaded_libraries_stay(folder):
    other = folder.script("other.c", "")
    shared = str(folder.path / "other.so")
    subprocess.run(["gcc", "-shared", "-o", shared, other], check=True)
    program = folder.compile("seen.cc", '#include <cstdio>\n#include <cstdlib>\n'
                             'static const char *seen = getenv("LD_PRELOAD");\n'
                             'int main() { puts(seen ? seen : "none"); }')
    for list_, left in [(f"{shared}:{library()}", shared), (f"{library()} {shared}", shared),
                        (library(), "none")]:
        with Zygote([program], preload=list_) as zygote:
            assert zygote.worker().request([program]).text == left + "\n"


def test_without_the_variable_the_library_does_nothing():
    process = subprocess.run(["/usr/bin/env"], env={"LD_PRELOAD": library(), "A": "b"},
                             capture_output=True)
    assert process.stdout.decode().splitlines() == [f"LD_PRELOAD={library()}", "A=b"]


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_a_shell_script_answers_like_plain(folder, needs, shell):
    needs(shell)
    script = folder.script("x.sh", """
trap 'echo trap' EXIT
read -r line; echo "got $line"; echo "args $*"
f() { echo "$QUERY_STRING" | tr a-z A-Z; }; f; (exit 3); echo $?; umask; ulimit -n; pwd
ls -l /proc/self/fd | awk 'NR > 1 { print $9 }'
exec 7>/dev/null; ls /proc/self/fd
echo oops >&2; exit 9
""")
    interpreter = "/bin/" + shell
    answers_like_plain([interpreter, script, "a", "b c"], body=b"line\n")


def test_cplusplus_constructors_and_destructors_run_once(folder):
    program = folder.compile("life.cc", r"""
#include <iostream>
#include <map>
#include <string>
struct Loud { ~Loud() { std::cout << "destroyed\n"; } } loud;
std::map<int, std::string> table = {{1, "one"}};
int main() { table[2] = "two"; std::cout << table.size() << table[1];
  atexit([] { puts("atexit"); });
  std::cout << std::flush; return 0; }
""")
    answers_like_plain([program])


def test_a_library_s_own_end_runs_before_done(folder):
    """The output of a shared library's destructor belongs to the answer."""
    source = folder.script("lib.c", '#include <stdio.h>\nvoid touch(void) {}\n'
                           '__attribute__((destructor)) void late(void) { puts("library"); }')
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(folder.path / "liblate.so"), source],
                   check=True)
    program = folder.compile("main.c", "void touch(void); int main() { touch(); return 0; }",
                             f"-L{folder.path}", "-llate", f"-Wl,-rpath,{folder.path}")
    assert answers_like_plain([program]).stdout == b"library\n"


@pytest.mark.parametrize("end, code, done", [
    ("exit(4)", 4, 4), ("return 5", 5, 5), ("_exit(6)", 6, None), ("abort()", -6, None),
    ("raise(9)", -9, None), ("exit(256 + 7)", 7, 7)])
def test_every_end_has_its_code(folder, end, code, done):
    program = folder.compile("end.c", """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main() { puts("x"); fflush(stdout); %s; }""" % end)
    answer = answers_like_plain([program], count=1)
    assert (answer.code, answer.done) == (code, done)


def test_new_descriptors_start_at_3(folder):
    program = folder.compile("fds.c", '#include <fcntl.h>\n#include <stdio.h>\n'
                             'int main() { printf("%d\\n", open("/dev/null", 0)); }')
    answers_like_plain([program])


def test_a_program_may_close_every_descriptor(folder):
    program = folder.compile("close.c", '#include <unistd.h>\nint main() { write(1, "x", 1);'
                             'for (int i = 3; i < 4096; ++i) close(i); return 2; }')
    assert answers_like_plain([program]).done is None


def test_a_reused_channel_number_is_not_written_to(folder):
    """DONE must not be written to one of the program's files."""
    file = str(folder.path / "file")
    program = folder.compile("reuse.c", r"""
#include <fcntl.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int fd = open(argv[1], O_CREAT | O_WRONLY, 0600);
  for (int i = 3; i < 2000; ++i) if (i != fd) dup2(fd, i);
  return 0;
}""")
    answers_like_plain([program, file])
    assert os.path.getsize(file) == 0


def test_a_forked_child_that_reaches_the_end_sends_nothing(folder):
    program = folder.compile("fork.c", '#include <stdio.h>\n#include <unistd.h>\n'
                             '#include <sys/wait.h>\nint main() { puts("once"); fflush(stdout);'
                             'if (fork() == 0) { puts("child"); return 1; }'
                             'wait(0); puts("parent");'
                             'return 2; }')
    assert answers_like_plain([program]).done == 2


def test_exec_in_mid_request(folder):
    script = folder.script("exec.sh", "echo first; exec /bin/sh -c 'ls /proc/self/fd; exit 4'")
    answer = answers_like_plain(["/bin/sh", script])
    assert (answer.code, answer.done) == (4, None)


def test_a_daemon_left_behind_does_not_hold_the_answer(folder):
    """It holds the request's streams, and ends only after the answer."""
    fifo = f"{folder.path}/fifo"
    os.mkfifo(fifo)
    script = folder.script("daemon.sh", f"echo answer; cat {fifo} & exit 0")
    with Zygote(["/bin/bash", script]) as zygote:
        answer = zygote.worker().request(["/bin/bash", script])
    assert (answer.text, answer.done) == ("answer\n", 0)
    subprocess.run(["sh", "-c", f": >{fifo}"], timeout=60, check=True)


def test_signals_are_as_in_a_fresh_process(folder):
    script = folder.script("signals.sh", "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status\n"
                           "kill -PIPE $$")
    plain = subprocess.Popen(["/bin/sh", script], stdout=subprocess.PIPE, restore_signals=True)
    text = plain.communicate()[0]
    with Zygote(["/bin/sh", script]) as zygote:
        answer = zygote.worker().request(["/bin/sh", script])
    assert (answer.stdout, answer.code) == (text, -13)


def test_a_worker_leads_its_own_process_group():
    script = ["/bin/sh", "-c", "ps -o pgid= -p $$ | tr -d ' '; echo $$"]
    with Zygote(script) as zygote:
        group, pid = zygote.worker().request(script).text.split()
    assert group == pid


def test_getpid_and_threads_work_in_a_worker(folder):
    program = folder.compile("threads.c", r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static pthread_mutex_t mutex;
static void *work(void *p) {
  pthread_mutex_lock(&mutex); puts("thread"); pthread_mutex_unlock(&mutex); return 0;
}
int main() {
  pthread_mutexattr_t kind; pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &kind);
  pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex);
  pthread_t one; pthread_create(&one, 0, work, 0); pthread_join(one, 0);
  printf("%d %d\n", getpid() == syscall(SYS_gettid), gettid() == getpid());
  /* An error-checking mutex knows its owner by the id that libc keeps. */
  pthread_mutex_lock(&mutex); printf("%d\n", pthread_mutex_lock(&mutex)); return 0;
}""", "-pthread")
    answers_like_plain([program])


def test_the_program_s_fork_handlers_run_in_the_worker(folder):
    program = folder.compile("atfork.cc", r"""
#include <cstdio>
#include <pthread.h>
static int children = 0, prepared = 0;
static int registered = pthread_atfork([] { ++prepared; }, [] {}, [] { ++children; });
int main() { printf("%d %d\n", prepared, children); }
""")
    with Zygote([program]) as zygote:
        first, second = [zygote.worker().request([program]).text for _ in range(2)]
    assert (first, second) == ("1 1\n", "2 1\n")


def test_openssl_draws_other_numbers_in_each_worker(folder, needs):
    needs("openssl")
    argv = ["openssl", "rand", "-hex", "16"]
    with Zygote(argv) as zygote:
        drawn = {zygote.worker().request(argv).text for _ in range(20)}
    assert len(drawn) == 20


@pytest.mark.parametrize("act, why", [
    ('getenv("QUERY_STRING") != 0', "QUERY_STRING"), ('getenv("HTTP_COOKIE") != 0', "HTTP_COOKIE"),
    ("socket(AF_UNIX, SOCK_STREAM, 0)", "descriptor"), ("alarm(100)", "timer"),
    ('open("/tmp/cgibridge-test", O_CREAT | O_RDWR, 0600) + unlink("/tmp/cgibridge-test")', "changes files"),
    ("dup2(open(\"/etc/passwd\", 0), 0)", "descriptor 0"), ("fork() || (pause(), 1)", "starts a process"),
    ("mmap(0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != 0", "shared")])
def test_what_a_constructor_must_not_do_is_noticed(folder, act, why):
    program = folder.compile("early.cc", """
#include <cstdlib>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
static int early = (prctl(PR_SET_PDEATHSIG, SIGKILL), %s);
int main() {}
""" % act.replace("(pause(), 1)", "(prctl(PR_SET_PDEATHSIG, SIGKILL), sleep(3), 1)"))
    with Zygote([program]) as zygote:
        assert not zygote.stands
        assert why in zygote.note(SHALLOWER)[0]


def test_a_program_with_a_thread_that_does_not_rest_is_not_forked(folder):
    program = folder.compile("early.cc", """
#include <pthread.h>
#include <unistd.h>
static pthread_t one;
static void *work(void *) { for (;;) sleep(1); }
static int started = pthread_create(&one, nullptr, work, nullptr);
int main() {}
""", "-pthread")
    with Zygote([program]) as zygote:
        assert zygote.threads == 2
        with pytest.raises(AssertionError, match="2 threads"):
            zygote.worker()


def test_a_file_open_for_reading_has_its_own_offset_in_each_worker(folder):
    file = folder.script("input", "abcdef")
    program = folder.compile("data.cc", r"""
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>
static int skipped = (open("%s", O_RDONLY), lseek(3, 2, SEEK_SET));
int main() { char text[9] = ""; read(3, text, 8); puts(text); }
""" % file)
    assert answers_like_plain([program]).text == "cdef\n"


def test_an_idle_worker_ends_with_its_channel():
    with Zygote(["/bin/true"]) as zygote:
        worker = zygote.worker()
        worker.channel.close()
        assert os.waitpid(worker.pid, 0)[1] == 0


def test_a_zygote_ends_with_its_channel_and_leaves_a_running_request(folder):
    argv = ["/bin/sh", "-c", "sleep 0.3; echo late"]
    zygote = Zygote(argv)
    worker = zygote.worker()
    zygote.channel.close()
    assert zygote.process.wait(20) == 0
    assert worker.request(argv).text == "late\n"


def test_the_program_s_name_is_the_request_s(folder):
    program = folder.compile("name.c", "#include <errno.h>\n#include <error.h>\n"
                             'int main() { error(0, 0, "%s", program_invocation_short_name); }',
                             "-D_GNU_SOURCE")
    answers_like_plain([program])


def test_launch_env_is_not_mixed_into_the_requests(folder):
    with Zygote(["/usr/bin/env"], env={**LAUNCH_ENV, "ONLY_AT_LAUNCH": "1"}) as zygote:
        assert "ONLY_AT_LAUNCH" not in zygote.worker().request(["env"]).text


DRAWS = r"""
#include <sys/random.h>
static char key[8];
__attribute__((constructor)) static void early(void) { getrandom(key, 8, 0); }
"""


def test_what_the_operator_preloads_may_draw_at_its_start_but_no_program_of_a_like_name(folder):
    """The program is named checkpoint, and libcgibridge_checkpoint.so is among the preloaded libraries."""
    program = folder.compile("checkpoint.c", DRAWS + "int main() {}")
    with Zygote([program]) as zygote:
        assert not zygote.stands and "draws random numbers" in zygote.note(SHALLOWER)[0]
    drawing = folder.compile("drawing.so.c", DRAWS, "-shared", "-fPIC")
    with Zygote(["/bin/true"], preload=f"{library()}:{drawing}") as zygote:
        assert zygote.stands
