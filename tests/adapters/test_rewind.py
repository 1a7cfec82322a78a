"""reset=rewind: one worker answers again and again, each time like a process that was just started; after
each answer its zygote compares it with itself."""

import os
import shutil
import struct

import pytest

from acts import RAW_CALL
from driver import REQUEST_ENV, Warm, Zygote, adapters_dir, run_plainly
from harness.compiled import compile_program
from harness.processes import alive, wait_until
from harness.programs import UNSEEN_C

PERL, PYTHON = "/usr/bin/perl", "/usr/bin/python3"
TIMES = int(os.environ.get("CGIBRIDGE_TESTS_TIMES", "50"))


def rustc():
    return shutil.which("rustc", path=os.environ["PATH"] + ":" + os.path.expanduser("~/.cargo/bin"))


C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
static int calls;
static char *kept;
int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) printf("argv %s\n", argv[i]);
  for (char **one = environ; *one; ++one) printf("env %s\n", *one);
  printf("calls %d kept %d random %d\n", calls++, kept != 0, rand());
  kept = malloc(100000); memset(kept, 'x', 100000);
  for (int i = 0; i < 1000; ++i) { char *p = malloc(i); if (i % 3) free(p); }
  int c; while ((c = getchar()) != EOF) putchar(c);
  fprintf(stderr, "%s\n", getcwd(kept, 1000));
  return 3;
}
"""

CC = r"""
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>
static std::map<int, std::string> table = [] {
  std::map<int, std::string> made;
  for (int i = 0; i < 1000; ++i) made[i] = std::to_string(i);
  return made;
}();
struct Loud { ~Loud() { std::cout << "gone with " << table.size() << "\n"; } } static loud;
thread_local std::vector<int> calls;
int main(int argc, char **argv) {
  calls.push_back(1);
  static std::string once = "made in the request";
  std::cout << table.size() << " " << calls.size() << " " << once << "\n";
  once += " again"; table[2000] = argc > 1 ? argv[1] : ""; table.erase(7);
  auto left = std::make_unique<std::string>(100000, 'x').release();
  try { throw std::string("thrown"); } catch (std::string &text) { std::cout << text << "\n"; }
  for (std::string line; std::getline(std::cin, line);) std::cout << line << "\n";
  std::cerr << left->size() << "\n";
  return 4;
}
"""

RUST = r"""
use std::{collections::BTreeMap, env, io, io::Read, sync::Mutex};
static CALLS: Mutex<Vec<String>> = Mutex::new(Vec::new());
fn main() {
    let mut body = String::new();
    io::stdin().read_to_string(&mut body).unwrap();
    let mut calls = CALLS.lock().unwrap();
    calls.push(body.clone());
    let sorted: BTreeMap<String, String> = env::vars().collect();
    println!("{} {:?} {:?}", calls.len(), env::args().skip(1).collect::<Vec<_>>(), sorted);
    println!("{}", body);
    env::set_var("LEFT", "1");
    std::thread::spawn(|| println!("thread")).join().unwrap();
    eprintln!("{:?}", env::current_dir().unwrap());
    std::process::exit(5);
}
"""

SHELL = """
echo "$# $* $left $QUERY_STRING $PWD"; left=1; export LEFT=$left
read -r line; echo "got $line"
f() { echo "$QUERY_STRING" | tr a-z A-Z; }; f; (exit 3); echo $?
umask; umask 77; ulimit -n; set -f; trap 'echo the end' EXIT; cd /; exec 7>/dev/null
echo oops >&2; exit 9
"""

PERL_TEXT = r"""
use strict; use warnings; our ($left, %seen); my $mine = 0;
sub keep { ++$mine } END { print "END $?\n" } sub DESTROY { print "DESTROY\n" }
print "@ARGV ", $left // 'none', " ", keep(), " $| ", scalar keys %seen, "\n";
print "$_=$ENV{$_}\n" for sort keys %ENV;
$left = bless []; $seen{$_} = $_ x 10 for 1 .. 2000; $| = 1; $ENV{LEFT} = 1; $SIG{USR1} = 'IGNORE';
print while <STDIN>; print <DATA>; warn "careful\n"; chdir '/'; umask 077; exit 6;
__DATA__
data
"""

PYTHON_TEXT = """
import atexit, json, os, sys
calls = globals().get("calls", 0) + 1
json.left = getattr(json, "left", 0) + 1
class Loud:
    def __del__(self): print("gone")
loud, big = Loud(), [str(n) for n in range(20000)]
print(sys.argv[1:], calls, json.left, sorted(os.environ.items()), os.getcwd(), len(sys.path))
os.environ["LEFT"] = "1"; sys.path.append("left"); os.chdir("/"); os.umask(0o77)
atexit.register(print, "atexit")
print(sys.stdin.read()); print("oops", file=sys.stderr)
left_open = open("/dev/fd/1", "w"); left_open.write("left open\\n")
sys.exit(7)
"""


@pytest.fixture
def program(folder, needs):
    """program(name): the argv for a plain run, and how it is warmed."""
    def made(name):
        language, _, level = name.partition("-")
        if language in ("c", "cc"):
            argv = [folder.compile(f"x.{language}", C if language == "c" else CC)]
        elif language == "rust":
            if not rustc():
                pytest.skip("rustc is not installed")
            source = folder.script("x.rs", RUST)
            argv = [source[:-3]]
            compile_program(rustc(), source, argv[0], ["-O"])
        else:
            text = {"perl": PERL_TEXT, "python": PYTHON_TEXT}.get(language, SHELL)
            script = folder.script(f"x.{language}", text)
            needs(language if language != "python" else "python3")
            argv = [{"perl": PERL, "python": PYTHON}.get(language, f"/bin/{language}"), script]
        launch = {"perl-compiled": [PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge", argv[-1]],
                  "python-compiled": [PYTHON, f"{adapters_dir()}/python/start.py",
                                      "--preload=json", argv[-1]]}.get(name, argv)
        return argv, launch, level or "linked"
    return made


LANGUAGES = ["c", "cc", "rust", "bash", "dash", "perl-linked", "python-linked", "perl-compiled",
             "python-compiled"]
# dash always exits by _exit(), so each of its requests is its worker's last.
ALWAYS_GONE = {"dash"}


def answers_like_plain(program, name, times=TIMES, **options):
    argv, launch, level = program(name)
    cwd = os.path.dirname(argv[-1])
    bodies = [b"body\n", b"a longer body\n" * 100]
    words = [] if name == "rust" else ["a", "b c"]
    plain = [run_plainly([*argv, *words], body=body, cwd=cwd) for body in bodies]
    with Warm(launch, level=level, **options) as warm:
        assert (warm.reset, warm.weaker) == ("rewind", "")
        answers = []
        for n in range(times):
            answers.append(warm.ask(*words, body=bodies[n % 2], cwd=cwd))
            assert answers[-1].seen() == plain[n % 2].seen(), f"request {n}"
        if name not in ALWAYS_GONE:
            assert warm.retired == [] and warm.workers == 1
    return answers


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_answer_is_that_of_a_new_process(program, name):
    answers_like_plain(program, name)


def test_rust_sees_a_request_s_words(program):
    """Rust's library takes them before main(), so the program is started again."""
    argv, launch, level = program("rust")
    with Warm(launch, level=level) as warm:
        for words in (["a", "b c"], [], ["d"], []):
            plain = run_plainly([*argv, *words])
            assert warm.ask(*words).seen() == plain.seen(), words


def soft_dirty_works():
    """Whether this kernel tracks writes by soft-dirty bits; some are built without them."""
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("4")
    page = bytearray(b"x" * 65536)
    address = id(page)
    with open("/proc/self/pagemap", "rb") as pagemap:
        pagemap.seek(address // 4096 * 8)
        return bool(struct.unpack("=Q", pagemap.read(8))[0] >> 55 & 1)


def needs_tracking(tracking):
    release = tuple(int(part) for part in os.uname().release.split(".")[:2])
    if tracking == "scan" and release < (6, 7):
        pytest.skip(f"Linux {os.uname().release} has no PAGEMAP_SCAN (6.7)")
    if tracking == "soft-dirty" and not soft_dirty_works():
        pytest.skip("this kernel is built without CONFIG_MEM_SOFT_DIRTY: see `tests/run kernels`")


@pytest.mark.parametrize("tracking", ["compare", "scan", "soft-dirty"])
@pytest.mark.parametrize("name", ["c", "cc", "bash", "perl-compiled", "python-compiled"])
def test_every_way_to_find_changed_pages_finds_them(program, name, tracking):
    needs_tracking(tracking)
    answers = answers_like_plain(program, name, tracking=tracking)
    assert answers[0].tracking is None
    assert {answer.tracking for answer in answers[1:]} == {tracking}
    assert all(answer.pages > 0 for answer in answers[1:])


def test_the_way_is_chosen_by_the_library_itself(program):
    answers = answers_like_plain(program, "python-compiled", times=100)
    assert all(answer.tracking for answer in answers[1:])


def test_without_ready_the_next_request_may_wait_in_the_channel(program):
    argv, launch, level = program("perl-compiled")
    with Warm(launch, level=level, verify=False) as warm:
        texts = {warm.ask().stdout for _ in range(TIMES)}
        assert len(texts) == 1 and warm.workers == 1


def test_many_workers_are_rewound_side_by_side(program):
    argv, launch, level = program("python-compiled")
    plain = run_plainly([*argv, "a"]).seen()
    with Zygote(launch, level=level, reset="rewind") as zygote:
        workers = [zygote.worker() for _ in range(4)]
        for n in range(40):
            worker = workers[n * 7 % 4]
            assert worker.request([*launch, "a"], say_ready=True).seen() == plain
            assert zygote.verify(worker)[1] == ""


def test_a_request_in_a_memfd_and_then_a_short_one(program):
    argv, launch, level = program("c")
    long = {**REQUEST_ENV, **{f"HTTP_X_{i}": "v" * 2000 for i in range(100)}}
    with Warm(launch, level=level) as warm:
        for n in range(10):
            env = long if n % 2 else REQUEST_ENV
            assert warm.ask(env=env).seen() == run_plainly(argv, env=env).seen()
        assert warm.workers == 1


def test_a_worker_at_rest_ends_with_its_channel(program):
    argv, launch, level = program("c")
    with Warm(launch, level=level) as warm:
        warm.ask()
        worker = warm.current
        worker.channel.close()
        assert os.waitpid(worker.pid, 0)[1] == 0


def test_a_worker_at_rest_ends_with_the_bridge(program):
    """The only sign that it may get of the bridge's end is its parent's death."""
    argv, launch, level = program("c")
    reading, writing = os.pipe()
    bridge = os.fork()
    if bridge == 0:
        warm = Warm(launch, level=level)
        warm.ask()
        os.write(writing, b"%d" % warm.current.pid)
        os._exit(0)
    os.close(writing)
    os.waitpid(bridge, 0)
    with os.fdopen(reading, "rb") as file:
        pid = int(file.read())
    wait_until(lambda: not alive(pid), "the worker has ended", 30)


def test_verify_finds_what_differs(program):
    """A worker that is told to leave its memory as it is must fail the comparison."""
    argv, launch, level = program("c")
    with Zygote(launch, level=level, reset="rewind", without="memory") as zygote:
        worker = zygote.worker()
        worker.request(launch, say_ready=True)
        pages, difference = zygote.verify(worker)
        assert pages > 0 and difference != ""


def test_verify_finds_what_someone_else_wrote(program):
    argv, launch, level = program("c")
    with Zygote(launch, level=level, reset="rewind") as zygote:
        worker = zygote.worker()
        worker.request(launch, say_ready=True)
        assert zygote.verify(worker)[1] == ""
        for part, name in [("text", "r-xp"), ("data", "rw-p")]:
            lines = open(f"/proc/{worker.pid}/maps").read().splitlines()
            [line] = [line for line in lines if line.endswith(launch[0]) and name in line]
            start = int(line.split("-")[0], 16)
            with open(f"/proc/{worker.pid}/mem", "r+b", buffering=0) as memory:
                memory.seek(start + 64)
                before = memory.read(1)
                memory.seek(start + 64)
                memory.write(bytes([before[0] ^ 255]))
                assert zygote.verify(worker)[1] != "", part
                memory.seek(start + 64)
                memory.write(before)
            assert zygote.verify(worker)[1] == "", part


def test_verify_looks_at_no_page_that_is_not_there(folder):
    """For example an allocator's memory, which reserves a gigabyte in advance: comparing all of it took a
    minute."""
    program = folder.compile("wide.c", r"""
#include <stdio.h>
#include <sys/mman.h>
static char *wide;
__attribute__((constructor)) static void early(void) {
  wide = mmap(0, 1 << 30, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  wide[5] = 5;
}
int main(void) { printf("%d %d\n", wide[5]++, wide[9999999]++); return 0; }
""")
    with Zygote([program], reset="rewind") as zygote:
        worker = zygote.worker()
        for _ in range(3):
            assert worker.request([program], say_ready=True).text == "5 0\n"
            pages, difference = zygote.verify(worker)
            assert difference == "" and 0 < pages < 10_000


RAW = r"""
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
""" + RAW_CALL + r"""
int main() { %s; puts("done"); return 0; }
"""
UNNOTICED = {
    "a limit": "struct rlimit l = {99, 999}; raw(SYS_setrlimit, RLIMIT_NOFILE, (long)&l, 0, 0)",
    "a processor": "unsigned long one = 1; raw(SYS_sched_setaffinity, 0, 8, (long)&one, 0)",
    "a personality": "raw(SYS_personality, 0x0040000, 0, 0, 0)",
    "a root": 'raw(SYS_chroot, (long)"/usr", 0, 0, 0)',
    "a namespace": "raw(SYS_unshare, CLONE_NEWUTS, 0, 0, 0)",
    "a capability": "raw(SYS_prctl, PR_CAPBSET_DROP, CAP_SYS_MODULE, 0, 0)",
}


@pytest.mark.skipif(os.uname().machine != "x86_64" or os.getuid() != 0, reason="x86-64 and root only")
@pytest.mark.parametrize("name", UNNOTICED)
def test_verify_finds_what_was_done_behind_the_library_s_back(folder, name):
    """Done by a system-call instruction, in a program whose calls are not handed back. (State that the kernel
    shows to nobody else remains unseen: the flags of a default signal, whether capabilities are kept.)"""
    argv = [folder.compile("raw.c", UNSEEN_C + RAW % UNNOTICED[name])]
    with Zygote(argv, reset="rewind") as zygote:
        worker = zygote.worker()
        answer = worker.request(argv, say_ready=True)
        assert answer.text == "done\n"
        if answer.stays:
            assert zygote.verify(worker)[1] != ""


@pytest.mark.skipif(os.uname().machine != "x86_64" or os.getuid() != 0, reason="x86-64 and root only")
@pytest.mark.parametrize("name", UNNOTICED)
def test_what_is_done_by_an_instruction_is_put_back_or_retires(folder, name):
    argv = [folder.compile("raw.c", RAW % UNNOTICED[name], "-D_GNU_SOURCE")]
    with Warm(argv) as warm:
        for _ in range(3):
            assert warm.ask().text == "done\n"  # and verified, if the worker stays
