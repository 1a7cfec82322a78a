"""C, C++ and Rust programs at `linked`: 200 requests each in one worker, comparing it with its zygote after
each reset. What their runtimes keep beside plain memory is put back, too; what cannot be put back (threads)
ends the worker, with its reason, and never shows."""

import ctypes.util
import pathlib
import re
import subprocess

import pytest

from driver import Warm, Zygote, run_plainly
from harness.compiled import compile_program

TIMES = 200
RUSTC = pathlib.Path("/usr/bin/rustc")


def rust(folder, text):
    if not RUSTC.exists():
        pytest.skip(f"no {RUSTC}")
    source = folder.script("program.rs", text)
    program = source.removesuffix(".rs")
    compile_program(RUSTC, source, program, ["--edition", "2021", "-O"])
    return program


def always_rewinds(program, times=TIMES, body=b"body\n", joins=False):
    """Every answer is that of a new process, and one worker gives them all. joins: the program waits for
    threads. The kernel wakes the waiting thread before the other one is gone, and a worker does not wait long
    for that; on a busy machine that costs a worker now and then."""
    plain = run_plainly([program], body=body)
    assert run_plainly([program], body=body).seen() == plain.seen(), "it always answers the same"
    with Warm([program]) as zygote:
        assert (zygote.reset, zygote.weaker) == ("rewind", "")
        for _ in range(times):
            assert zygote.ask(body=body).seen() == plain.seen()
        assert zygote.retired == [] or joins and {why for why, _ in zygote.retired} == {"threads"}
        assert zygote.workers <= 1 + len(zygote.retired) <= 1 + times // 20
    assert plain.stdout
    return plain


class TestCPlusPlus:
    def test_static_objects_live_once_a_request(self, folder):
        always_rewinds(folder.compile("statics.cc", r"""
#include <cstdio>
#include <string>
#include <vector>
static std::vector<std::string> order;
struct Loud {
  std::string name;
  explicit Loud(const char *text) : name(text) { order.push_back("made " + name); }
  ~Loud() { std::printf("gone %s\n", name.c_str()); }
};
static Loud first("first");
__attribute__((constructor(200))) static void early() { std::setvbuf(stdout, nullptr, _IOFBF, 1 << 14); }
__attribute__((destructor)) static void late() { std::puts("late"); }
Loud &lazy() { static Loud made("lazy"); return made; }
int main() {
  lazy().name += "!";
  first.name += "?";
  static int calls; ++calls;
  for (auto &line : order) std::printf("%s\n", line.c_str());
  std::printf("calls %d\n", calls);
  std::at_quick_exit([] { std::puts("quick"); });
  std::atexit([] { std::puts("atexit"); });
  return calls;
}
"""))

    def test_thread_local_objects_are_destroyed_at_the_end_and_made_anew(self, folder):
        always_rewinds(folder.compile("tls.cc", r"""
#include <cstdio>
#include <string>
#include <thread>
struct Loud {
  std::string text;
  ~Loud() { std::printf("gone %s\n", text.c_str()); }
};
thread_local Loud loud{"new"};
thread_local int count = 40;
int main() {
  loud.text += " main";
  ++count;
  std::thread([] { loud.text += " thread"; std::printf("%d\n", ++count); }).join();
  std::printf("%d %s\n", count, loud.text.c_str());
}
""", "-pthread"), joins=True)

    def test_exceptions_of_every_kind(self, folder):
        always_rewinds(folder.compile("throws.cc", r"""
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <vector>
struct Base { virtual ~Base() {} };
struct Derived : Base {};
static int depth(int n) {
  struct Guard {
    int n;
    ~Guard() { if (n == 3) std::printf("unwound, %d in flight\n", std::uncaught_exceptions()); }
  } guard{n};
  if (n == 0) throw std::runtime_error("deep");
  return depth(n - 1);
}
int main() {
  try { depth(50); } catch (std::exception &e) { std::printf("%s\n", e.what()); }
  try { std::vector<int>().at(3); } catch (std::out_of_range &) { std::puts("range"); }
  try { Base base; dynamic_cast<Derived &>(base); } catch (std::bad_cast &) { std::puts("cast"); }
  try { (void)new char[1ull << 62]; } catch (std::bad_alloc &) { std::puts("alloc"); }
  std::exception_ptr kept;
  try { throw 7; } catch (...) { kept = std::current_exception(); }
  try { std::rethrow_exception(kept); } catch (int n) { std::printf("%d\n", n + std::uncaught_exceptions()); }
  std::set_terminate([] { std::puts("terminated"); std::fflush(stdout); std::_Exit(9); });
  return 0;
}
"""))

    def test_an_uncaught_exception_ends_the_process_only(self, folder):
        program = folder.compile("uncaught.cc", r"""
#include <cstdio>
#include <stdexcept>
int main() { std::puts("begun"); std::fflush(stdout); throw std::runtime_error("for nobody"); }
""")
        plain = run_plainly([program])
        with Warm([program]) as zygote:
            for _ in range(5):
                answer = zygote.ask()
                assert answer.seen() == plain.seen()
                assert answer.code == -6 and b"for nobody" in answer.stderr

    def test_threads_that_were_joined_leave_nothing(self, folder):
        always_rewinds(folder.compile("joined.cc", r"""
#include <atomic>
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>
#include <vector>
static std::mutex lock;
static std::once_flag once;
static std::atomic<int> sum;
int main() {
  std::call_once(once, [] { sum += 1000; });
  std::vector<std::thread> all;
  for (int n = 0; n < 4; ++n) all.emplace_back([n] { std::lock_guard hold(lock); sum += n; });
  for (auto &one : all) one.join();
  auto later = std::async(std::launch::async, [] { return sum.load(); });
  std::printf("%d\n", later.get());
}
""", "-pthread"), joins=True)

    def test_a_thread_left_running_ends_with_its_request(self, folder):
        always_rewinds(folder.compile("running.cc", r"""
#include <chrono>
#include <cstdio>
#include <thread>
int main() {
  std::thread([] { for (;;) std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();
  std::puts("answered");
}
""", "-pthread"))

    def test_a_thread_before_main_is_refused_with_its_reason(self, folder):
        program = folder.compile("early.cc", r"""
#include <chrono>
#include <cstdio>
#include <thread>
static std::thread early([] { for (;;) std::this_thread::sleep_for(std::chrono::hours(1)); });
int main() { std::puts("answered"); std::fflush(stdout); early.detach(); }
""", "-pthread")
        with Zygote([program]) as zygote:
            assert not zygote.stands or zygote.threads > 1
            if not zygote.stands:
                assert "thread" in "".join(text for _, text in zygote.notes)

    def test_a_thread_joined_before_main_is_no_hindrance(self, folder):
        always_rewinds(folder.compile("early.cc", r"""
#include <cstdio>
#include <thread>
static int found = [] { int n = 0; std::thread([&n] { n = 42; }).join(); return n; }();
int main() { std::printf("%d\n", found++); }
""", "-pthread"))

    def test_random_device_and_what_it_seeds_never_repeat(self, folder):
        program = folder.compile("random.cc", r"""
#include <iostream>
#include <random>
static std::random_device device;
static std::mt19937_64 fixed;
int main() {
  std::mt19937_64 seeded(device());
  std::cout << fixed() << " " << seeded() << " " << std::random_device()() << std::random_device()() << "\n";
}
""")
        with Warm([program]) as zygote:
            seen = [zygote.ask().text.split() for _ in range(TIMES)]
            assert zygote.workers == 1
        assert len({fixed for fixed, _, _ in seen}) == 1, "one with a fixed seed begins anew"
        assert len({seeded for _, seeded, _ in seen}) == TIMES
        assert len({device for _, _, device in seen}) == TIMES

    def test_streams_locale_and_memory_resources_begin_anew(self, folder):
        always_rewinds(folder.compile("streams.cc", r"""
#include <clocale>
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <locale>
#include <memory_resource>
#include <sstream>
static std::pmr::unsynchronized_pool_resource pool;
static std::pmr::vector<int> kept(&pool);
int main() {
  std::cout << std::cout.flags() << " " << std::cout.precision() << " " << std::locale().name() << " "
            << kept.capacity() << " " << (std::pmr::get_default_resource() == &pool) << "\n";
  kept.resize(100000);
  std::pmr::set_default_resource(&pool);
  std::cout << std::hex << std::setprecision(3) << 255 << " " << 3.14159 << "\n";
  std::locale::global(std::locale(std::locale::classic(), new std::numpunct<char>(1)));
  std::cout.imbue(std::locale());
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::getline(std::cin, line)) std::cout << line << "\n";
  std::cin.exceptions(std::ios::badbit);
}
"""))


class TestAllocators:
    @pytest.mark.parametrize("library", ["jemalloc", "mimalloc"])
    def test_another_allocator_is_put_back(self, folder, library):
        if ctypes.util.find_library(library) is None:
            pytest.skip(f"no lib{library}")
        found = subprocess.run(["gcc", f"-print-file-name=lib{library}.so"], capture_output=True, text=True)
        if "/" not in found.stdout:
            pytest.skip(f"no lib{library}-dev")
        program = folder.compile("allocates.c", r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *kept[100];
int main() {
  unsigned sum = 0;
  for (int i = 0; i < 100; ++i) {
    sum += kept[i] != NULL;
    kept[i] = malloc(1 << (i % 18));
    memset(kept[i], i, 1 << (i % 18));
  }
  char *big = malloc(8 << 20);
  for (int i = 0; i < 8 << 20; i += 4096) { sum += big[i] != 0; big[i] = 'x'; }
  char *zero = calloc(1, 1 << 20);
  for (int i = 0; i < 1 << 20; ++i) sum += zero[i];
  memset(zero, 'z', 1 << 20);
  free(zero); free(big);
  for (int i = 0; i < 50; ++i) free(kept[i]);
  kept[3] = realloc(NULL, 300000);
  printf("%u\n", sum);
}
""", "-Wl,--no-as-needed", f"-l{library}")
        needed = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
        assert f"lib{library}" in needed
        always_rewinds(program)

    def test_glibc_s_own_with_arenas_of_threads(self, folder):
        always_rewinds(folder.compile("arenas.c", r"""
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *work(void *unused) {
  char *all[64];
  for (int i = 0; i < 64; ++i) memset(all[i] = malloc(40000), 'x', 40000);
  for (int i = 0; i < 64; i += 2) free(all[i]);
  return all[1];
}
int main() {
  pthread_t threads[4];
  void *left;
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], &left);
  mallopt(M_ARENA_MAX, 1);
  struct mallinfo2 now = mallinfo2();
  printf("%d %zu\n", ((char *)left)[0], now.hblks);
}
""", "-pthread"), joins=True)


class TestSignalStacks:
    STACK = r"""
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char place[1 << 16];
static sigjmp_buf back;
static void on_overflow(int number, siginfo_t *info, void *context) { siglongjmp(back, number); }
static int down(int n) {
  volatile char much[4096];
  memset((char *)much, n, sizeof much);
  return down(n + 1) + much[n % 9];
}
int main() {
  stack_t before;
  sigaltstack(NULL, &before);
  struct sigaction old;
  sigaction(SIGSEGV, NULL, &old);
  printf("stack %d handler %d\n", before.ss_flags == SS_DISABLE, old.sa_handler != SIG_DFL);
  stack_t ours = {.ss_sp = place, .ss_size = sizeof place};
  sigaltstack(&ours, NULL);
  struct sigaction action = {.sa_sigaction = on_overflow, .sa_flags = SA_ONSTACK | SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  int caught = sigsetjmp(back, 1);
  if (caught == 0) down(0);
  printf("caught %d\n", caught == SIGSEGV);
  END
}
"""

    def test_an_overflow_that_was_caught_on_one_leaves_nothing(self, folder):
        always_rewinds(folder.compile("stack.c", self.STACK.replace("END", "return 0;")), times=50)

    def test_an_exit_from_within_one_leaves_nothing(self, folder):
        text = self.STACK.replace("END", "return 0;").replace(
            "siglongjmp(back, number);", 'puts("leaves from there"); exit(5);')
        assert always_rewinds(folder.compile("stack.c", text), times=50).code == 5

    def test_one_that_stood_before_main_stands_again(self, folder):
        always_rewinds(folder.compile("early.c", r"""
#include <signal.h>
#include <stdio.h>
static char early[1 << 16], late[1 << 16];
static void look(int n) {
  char here;
  printf("on %s\n", &here >= early && &here < early + sizeof early ? "early" : "another");
  fflush(stdout);
}
__attribute__((constructor)) static void begin(void) {
  stack_t stack = {.ss_sp = early, .ss_size = sizeof early};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = look, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
}
int main() {
  raise(SIGUSR1);
  stack_t stack = {.ss_sp = late, .ss_size = sizeof late};
  sigaltstack(&stack, NULL);
  raise(SIGUSR1);
  signal(SIGUSR1, SIG_IGN);
}
"""))


class TestRust:
    def test_its_runtime_s_own_state_is_put_back(self, folder):
        """The program makes a signal stack and handlers in main(), and TLS with destructors."""
        always_rewinds(rust(folder, r"""
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once};
struct Loud(&'static str);
impl Drop for Loud {
    fn drop(&mut self) {
        println!("gone {}", self.0);
    }
}
static CALLS: AtomicUsize = AtomicUsize::new(0);
static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
static ONCE: Once = Once::new();
thread_local! {
    static LOCAL: RefCell<BTreeMap<usize, Loud>> = RefCell::new(BTreeMap::new());
}
fn main() {
    ONCE.call_once(|| println!("once"));
    let calls = CALLS.fetch_add(1, Ordering::SeqCst);
    LOCAL.with(|map| {
        let mut map = map.borrow_mut();
        println!("{} in the map", map.len());
        map.insert(1, Loud("local"));
    });
    let _here = Loud("here");
    let mut body = String::new();
    std::io::stdin().read_to_string(&mut body).unwrap();
    let mut lines = LINES.lock().unwrap();
    lines.push(body);
    println!("{} {:?} {:?}", calls, lines, std::env::args().count());
    std::env::set_var("SET_BY_IT", "yes");
    std::env::set_current_dir("/tmp").unwrap();
    std::panic::set_hook(Box::new(|_| println!("own hook")));
    let caught = std::panic::catch_unwind(|| panic!("caught"));
    print!("{} {}", caught.is_err(), std::thread::panicking());
    std::io::stdout().flush().unwrap();
    print!(" unflushed");
}
"""))

    def test_threads_channels_and_scopes_that_ended(self, folder):
        always_rewinds(rust(folder, r"""
use std::sync::mpsc;
use std::thread;
fn main() {
    let (tell, hear) = mpsc::channel();
    let mut all = Vec::new();
    for n in 0..4 {
        let tell = tell.clone();
        all.push(thread::spawn(move || tell.send(n * n).unwrap()));
    }
    drop(tell);
    for one in all { one.join().unwrap(); }
    println!("{}", hear.iter().sum::<i32>());
    println!("{}", thread::scope(|scope| scope.spawn(|| 7).join().unwrap()));
    let named = thread::Builder::new().name("named".into());
    let failed = named.spawn(|| std::panic::resume_unwind(Box::new(1))).unwrap();
    println!("{}", failed.join().map(|_: ()| ()).is_err());
}
"""), joins=True)

    def test_a_thread_left_running_ends_with_its_request(self, folder):
        always_rewinds(rust(folder, r"""
fn main() {
    std::thread::spawn(|| loop { std::thread::park(); });
    println!("answered");
}
"""))

    def test_a_panic_has_its_code_and_its_words(self, folder):
        program = rust(folder, 'fn main() { println!("begun"); panic!("for nobody"); }\n')
        # Newer Rust (1.96) names the thread's number too: it is that of the process which answers.
        number = re.compile(rb"(?<=thread 'main' )\((\d+)\) ")
        plain = run_plainly([program])
        assert plain.code == 101
        with Warm([program]) as zygote:
            for _ in range(20):
                answer = zygote.ask()
                named = number.search(answer.stderr)
                assert bool(named) == bool(number.search(plain.stderr))
                assert named is None or int(named[1]) == zygote.current.pid
                answer.stderr, wanted = number.sub(b"", answer.stderr), number.sub(b"", plain.stderr)
                assert answer.seen() == (plain.stdout, wanted, plain.code)

    def test_hash_seeds_never_repeat(self, folder):
        program = rust(folder, r"""
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
fn main() { println!("{}", RandomState::new().build_hasher().finish()); }
""")
        with Warm([program]) as zygote:
            assert len({zygote.ask().text for _ in range(TIMES)}) == TIMES
            assert zygote.workers == 1

    def test_an_overflow_of_the_stack_ends_the_process_only(self, folder):
        program = rust(folder, r"""
#[inline(never)]
fn down(n: u64) -> u64 {
    let much = [n; 512];
    let seen = unsafe { std::ptr::read_volatile(&much[(n % 7) as usize]) };
    down(n + 1) + seen + much.iter().sum::<u64>()
}
fn main() { println!("begun"); println!("{}", down(0)); }
""")
        plain = run_plainly([program])
        assert plain.code == -6 and b"overflowed its stack" in plain.stderr
        with Warm([program]) as zygote:
            for _ in range(5):
                answer = zygote.ask()
                assert (answer.stdout, answer.code) == (plain.stdout, plain.code)
                assert b"overflowed its stack" in answer.stderr
