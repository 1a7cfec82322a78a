"""reset=rewind and values that must never repeat: a snapshot also freezes random generators, so they are
seeded again for each request. Values that are the same in each CGI process stay the same."""

import pathlib
import shutil
import subprocess

import pytest

import ruby
from driver import Warm, Zygote, adapters_dir, run_plainly

PERL, PYTHON = "/usr/bin/perl", "/usr/bin/python3"
TOKENS, REQUESTS = 10_000, 100
EACH = TOKENS // REQUESTS

# Each prints EACH lines per generator, "name token".
PYTHON_TEXT = f"""
import email.generator, email.utils, io, os, random, secrets, ssl, tempfile, uuid
own = random.Random()
for _ in range({EACH}):
    print("random", random.random())
    print("getrandbits", random.getrandbits(64))
    print("Random", own.getrandbits(64))
    print("SystemRandom", random.SystemRandom().random())
    print("urandom", os.urandom(8).hex())
    print("getrandom", os.getrandom(8).hex())
    print("secrets", secrets.token_urlsafe(12))
    print("uuid1", uuid.uuid1())
    print("uuid4", uuid.uuid4())
    print("ssl", ssl.RAND_bytes(8).hex())
    print("tempfile", next(tempfile._get_candidate_names()))
    print("boundary", email.generator._make_boundary())
    print("msgid", email.utils.make_msgid(domain="x"))
"""
PRELOAD = "email.generator,email.utils,io,os,random,secrets,ssl,tempfile,uuid"

# Generators that existed at the checkpoint, made by modules that are loaded there.
PERL_TEXT = """
use File::Temp (); use CGI (); use Digest::SHA (); use POSIX ();
for (1 .. %d) {
  print "rand ", rand, "\\n"; print "int ", int(rand(1 << 53)), "\\n";
  print "temp ", join('', map { ('a' .. 'z')[rand 26] } 1 .. 12), "\\n";
  print "mktemp ", File::Temp::mktemp('XXXXXXXXXXXX'), "\\n";
  print "shuffled ", join('', sort { rand() <=> 0.5 } 'a' .. 'p'), rand, "\\n";
}
""" % EACH
PERL_EARLY = "BEGIN { our @early = map rand, 1 .. 5; }\n" + PERL_TEXT

RUBY_TEXT = """
require 'openssl'; require 'securerandom'; require 'tmpdir'
OWN = Random.new
NAMES = Dir::Tmpname.const_get(:RANDOM)
%d.times do
  puts "rand #{rand}", "Random #{Random.rand(1 << 60)}", "own #{OWN.rand}"
  puts "bytes #{Random.bytes(8).unpack1('H*')}", "openssl #{OpenSSL::Random.random_bytes(8).unpack1('H*')}"
  puts "urandom #{Random.urandom(8).unpack1('H*')}", "hex #{SecureRandom.hex}", "uuid #{SecureRandom.uuid}"
  puts "temporary #{NAMES.respond_to?(:rand) ? NAMES.rand : [NAMES.next, NAMES.next].join('-')}"
  puts "shuffled #{[*'a'..'z'].shuffle.join}", "seed #{Random.new_seed}"
end
""" % EACH

BASH_TEXT = """
for ((n = 0; n < %d; ++n)); do
  echo "SRANDOM $SRANDOM$SRANDOM"
  read -r uuid </proc/sys/kernel/random/uuid; echo "uuid $uuid"
done
echo "mktemp $(mktemp -u XXXXXXXXXXXXXXXX)"
""" % EACH

C_TEXT = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
int main() {
  for (int i = 0; i < %d; ++i) {
    uint64_t n; getrandom(&n, 8, 0); printf("getrandom %%lx\n", n);
    getentropy(&n, 8); printf("getentropy %%lx\n", n);
#if __GLIBC_PREREQ(2, 36)
    arc4random_buf(&n, 8); printf("arc4random %%lx\n", n);
#endif
    char name[] = "/tmp/XXXXXX"; mktemp(name);
  }
  return 0;
}""" % EACH

CC_TEXT = r"""
#include <cstdint>
#include <iostream>
#include <random>
int main() {
  std::random_device device;
  std::mt19937_64 engine{(uint64_t(device()) << 32) | device()};
  for (int i = 0; i < %d; ++i) {
    std::cout << "device " << ((uint64_t(device()) << 32) | device()) << "\n";
    std::cout << "seeded " << engine() << "\n";
  }
}""" % EACH


def draws_no_token_twice(warm, requests=REQUESTS):
    seen = {}
    for _ in range(requests):
        answer = warm.ask()
        assert answer.code == 0, answer.stderr
        for line in answer.text.splitlines():
            generator, token = line.split(" ", 1)
            seen.setdefault(generator, []).append(token)
    for generator, tokens in seen.items():
        assert len(set(tokens)) == len(tokens), f"{generator}: {len(tokens) - len(set(tokens))} repeats"
        assert len(tokens) >= TOKENS or generator == "mktemp"
    assert warm.workers == 1, warm.retired
    return seen


def test_python_s_tokens(folder):
    script = folder.script("x.py", PYTHON_TEXT)
    for preload in (PRELOAD, ""):
        with Warm([PYTHON, f"{adapters_dir()}/python/start.py", f"--preload={preload}", script],
                  level="compiled", verify=False) as warm:
            seen = draws_no_token_twice(warm)
            assert len(seen) == 13


@pytest.mark.parametrize("reset", ["rewind", "fork"])
@pytest.mark.parametrize("preload", ["multiprocessing.process", "multiprocessing.managers", ""])
def test_python_s_key_of_processes(folder, preload, reset):
    script = folder.script("x.py", "import multiprocessing.process as process\n"
                           "key = process.current_process().authkey\n"
                           "print(type(key).__name__, key.hex())")
    with Warm([PYTHON, f"{adapters_dir()}/python/start.py", f"--preload={preload}", script],
              level="compiled", reset=reset) as warm:
        keys = [warm.ask().text for _ in range(20)]
    assert len(set(keys)) == 20 and all(len(key.split()[1]) == 64 for key in keys)
    assert {key.split()[0] for key in keys} == {"AuthenticationString"}


def test_nothing_else_of_python_draws_when_it_is_loaded():
    """Such a number would be the same for all requests if the module is loaded in advance."""
    script = pathlib.Path(__file__).with_name("draws_at_import.py")
    done = subprocess.run([PYTHON, "-W", "ignore", script], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    # crypt tries each method with a salt, but keeps none.
    assert set(done.stdout.split()) - {"crypt"} == {"multiprocessing.process"}


@pytest.mark.parametrize("text", [PERL_TEXT, PERL_EARLY], ids=["fresh", "drawn from while compiling"])
def test_perl_s_tokens(folder, text):
    script = folder.script("x.pl", text)
    with Warm([PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge", script], level="compiled",
              verify=False) as warm:
        assert len(draws_no_token_twice(warm)) == 5


@pytest.mark.parametrize("preload", ["", "openssl,securerandom,tmpdir"], ids=["fresh", "loaded ahead"])
def test_ruby_s_tokens(folder, needs, preload):
    needs("ruby")
    script = folder.script("x.rb", RUBY_TEXT)
    with Warm(ruby.command(script, preload=preload), level="compiled", verify=False) as warm:
        assert len(draws_no_token_twice(warm)) == 11


def test_bash_s_tokens(folder, needs):
    needs("bash")
    with Warm(["/bin/bash", folder.script("x.sh", BASH_TEXT)], verify=False) as warm:
        draws_no_token_twice(warm)


def test_bash_s_small_random_numbers_differ_from_request_to_request(folder):
    """They are seeded by the clock and the process id; in one process, only by the clock."""
    script = folder.script("x.sh", "echo $RANDOM $RANDOM $RANDOM $RANDOM")
    with Warm(["/bin/bash", script], verify=False) as warm:
        drawn = [warm.ask().text for _ in range(REQUESTS)]
    assert len(set(drawn)) > 0.95 * REQUESTS


SEEDED = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **words) {
  struct timeval now = {0};
  if (count > 1) gettimeofday(&now, NULL);
  long seed = time(NULL) / 86400 ^ getpid() ^ now.tv_usec;
  if (count > 2) seed = time(NULL) * getpid();
  SEED;
  printf("%ld\n", RAND);
  return 0;
}
"""


@pytest.mark.parametrize("seed, rand", [("srand(seed)", "rand()"), ("srandom(seed)", "random()"),
                                        ("srand48(seed)", "lrand48()")])
def test_a_seed_made_of_the_process_id_is_used_once(folder, seed, rand):
    """Two visitors of one second would draw the same from it. An exact time is enough of a difference."""
    text = SEEDED.replace("SEED;", f"{seed};").replace("RAND", f"(long){rand}")
    program = folder.compile("seeded.c", text)
    with Warm([program], verify=False) as warm:
        assert len({warm.ask().text for _ in range(4)}) == warm.workers == 4
        assert {kind for kind, _ in warm.retired} == {"call"} and "process id" in warm.retired[0][1]
        assert len({warm.ask("exact").text for _ in range(4)}) == 4 and warm.workers == 5
        # One that is made of the second and the id all the same.
        assert len({warm.ask("exact", "second").text for _ in range(4)}) == 4 and warm.workers == 8


@pytest.mark.parametrize("text", ["srand(int(time / 86400) ^ $$); print rand()",
                                  "eval q{srand(int(time / 86400) ^ $$)}; print rand()"])
def test_a_seed_of_perl_s_made_of_the_process_id_is_used_once(folder, text):
    with Warm([PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge", folder.script("x.pl", text)],
              level="compiled", verify=False) as warm:
        warm.argv = [PERL, str(folder.path / "x.pl")]
        assert len({warm.ask().text for _ in range(4)}) == 4
        assert "process id" in warm.retired[0][1]


@pytest.mark.parametrize("shell", ["zsh", "ksh93"])
def test_a_shell_s_seed_made_of_the_process_id_is_used_once(folder, needs, shell):
    """These shells seed by an exact time when they start, and again when a script says so."""
    needs(shell)
    path = shutil.which(shell)
    script = folder.script("x", "RANDOM=$(($$ + 7)); echo $RANDOM $RANDOM\n" if shell == "zsh" else
                           "RANDOM=$$; echo $RANDOM $RANDOM\n")
    plain = folder.script("y", "echo $RANDOM $RANDOM\n")
    with Warm([path, script], verify=False) as warm:
        assert len({warm.ask().text for _ in range(4)}) == warm.workers == 4
    with Warm([path, plain], verify=False) as warm:
        assert len({warm.ask().text for _ in range(4)}) == 4 and warm.workers == 1


@pytest.mark.parametrize("level", ["linked", "compiled"])
@pytest.mark.parametrize("text", ["srand(SEED); print rand", "Random.srand(SEED); print rand",
                                  "print Random.new(SEED).rand", "print Class.new(Random).new(SEED).rand"])
def test_a_seed_of_ruby_s_made_of_the_process_id_is_used_once(folder, needs, text, level):
    """Ruby asks for the time exactly, whatever becomes of it."""
    needs("ruby")
    script = folder.script("x.rb", text.replace("SEED", "Time.now.to_i / 86400 ^ $$"))
    line = [ruby.RUBY, script] if level == "linked" else ruby.command(script)
    with Warm(line, level=level, verify=False) as warm:
        warm.argv = [ruby.RUBY, script]
        assert len({warm.ask().text for _ in range(4)}) == 4
        assert "process id" in warm.retired[0][1]


def test_ruby_s_generators_without_the_process_id_stay(folder, needs):
    needs("ruby")
    script = folder.script("x.rb", "srand(5); print rand, Random.new(7).rand, Random.method(:srand).arity\n"
                           "print Random.instance_method(:initialize).owner, $$ > 0, Process.pid > 0\n"
                           "print method(:srand).source_location.inspect, Process.method(:pid).arity\n")
    plain = run_plainly([ruby.RUBY, script])
    with Warm(ruby.command(script), level="compiled") as warm:
        warm.argv = [ruby.RUBY, script]
        assert {warm.ask().seen() for _ in range(3)} == {plain.seen()} and warm.workers == 1


LOADS_RUBY = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
  void *ruby = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  ((void (*)(void))dlsym(ruby, "ruby_init"))();
  int failed = 1;
  ((unsigned long (*)(const char *, int *))dlsym(ruby, "rb_eval_string_protect"))(words[2], &failed);
  return failed;
}
"""


def test_a_program_may_load_ruby_for_itself_alone(folder, needs):
    needs("ruby")
    libraries = list(pathlib.Path("/usr/lib").glob("*/libruby-*.so.*.*"))
    program = folder.compile("loads.c", LOADS_RUBY)
    words = (str(libraries[0]), "srand(5); STDOUT.write(rand, ' ', $$ > 0); STDOUT.flush")
    plain = run_plainly([program, *words])
    assert plain.text.endswith(" true") and plain.code == 0
    with Warm([program], verify=False) as warm:
        assert {warm.ask(*words).seen() for _ in range(2)} == {plain.seen()}


@pytest.mark.parametrize("name", ["x.c", "x.cc"])
def test_c_and_cplusplus_tokens(folder, name):
    program = folder.compile(name, C_TEXT if name == "x.c" else CC_TEXT)
    with Warm([program], verify=False) as warm:
        draws_no_token_twice(warm)


def test_openssl_s_tokens(needs):
    needs("openssl")
    with Warm(["openssl", "rand", "-hex", "16"], verify=False) as warm:
        drawn = [warm.ask().text for _ in range(REQUESTS)]
        assert len(set(drawn)) == REQUESTS and warm.workers == 1, warm.retired


def test_openssl_s_tokens_when_it_was_used_before_the_checkpoint(folder):
    """The snapshot contains its seeded generators."""
    text = r"""
#include <stdio.h>
int RAND_bytes(unsigned char *to, int n);
int RAND_priv_bytes(unsigned char *to, int n);
__attribute__((constructor)) static void early(void) { unsigned char b[8]; RAND_bytes(b, 8);
    RAND_priv_bytes(b, 8); }
int main() {
  unsigned long a, b; RAND_bytes((void *)&a, 8); RAND_priv_bytes((void *)&b, 8);
  printf("public %lx\nprivate %lx\n", a, b); return 0;
}"""
    try:
        program = folder.compile("early.c", text, "-l:libcrypto.so.3")
    except subprocess.CalledProcessError:
        pytest.skip("no libcrypto.so.3 to link with")
    for reset in ("rewind", "fork"):
        with Warm([program], verify=False, reset=reset, accept="random") as warm:
            lines = [line for _ in range(REQUESTS) for line in warm.ask().text.splitlines()]
        assert len(set(lines)) == 2 * REQUESTS, reset


def test_rand_is_that_of_each_new_process(folder):
    program = folder.compile("x.c", '#include <stdio.h>\n#include <stdlib.h>\n'
                             'int main() { int first = rand(); printf("%d %ld\\n", first, random()); '
                             'return 0; }')
    with Warm([program]) as warm:
        assert {warm.ask().text for _ in range(20)} == {"1804289383 846930886\n"}


def test_side_by_side_workers_draw_different_tokens(folder):
    script = folder.script("x.py", PYTHON_TEXT)
    argv = [PYTHON, f"{adapters_dir()}/python/start.py", f"--preload={PRELOAD}", script]
    with Zygote(argv, level="compiled", reset="rewind") as zygote:
        workers = [zygote.worker() for _ in range(4)]
        lines = [line for _ in range(5) for worker in workers
                 for line in worker.request(argv, say_ready=True).text.splitlines()]
    assert len(set(lines)) == len(lines) == 20 * 13 * EACH


KERNEL_S_BYTES = r"""
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
static void show(const unsigned char *bytes) {
  for (int i = 0; i < 16; ++i) printf("%02x", bytes[i]);
  puts("");
}
static unsigned long guard(void) {
#if defined(__x86_64__)
  unsigned long value; __asm__("mov %%fs:0x28, %0" : "=r"(value)); return value;
#else
  return 0;
#endif
}
int main(int argc, char **argv, char **envp) {
  const unsigned char *bytes = (const unsigned char *)getauxval(AT_RANDOM);
  while (*envp) ++envp;
  const unsigned long *word = (const unsigned long *)(envp + 1);
  while (*word != AT_RANDOM) word += 2;
  show(bytes);
  show((const unsigned char *)word[1]);
  printf("%lx\n", guard());
}
"""


@pytest.mark.parametrize("reset", ["rewind", "fork"])
@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["dynamic", "static"])
def test_the_kernel_s_random_bytes_are_each_request_s_own(folder, flags, reset):
    program = folder.compile("bytes.c", KERNEL_S_BYTES, "-fstack-protector-all", *flags)
    with Warm([program], reset=reset) as warm:
        answers = [warm.ask() for _ in range(20)]
    assert {answer.code for answer in answers} == {0}
    found = [answer.text.split() for answer in answers]
    assert all(one == other and int(one, 16) for one, other, _ in found)
    assert len({one for one, _, _ in found}) == 20
    if not flags:  # the stack's guard was made of them at libc's start, and is in the program's frames
        assert len({guard for _, _, guard in found}) == 1
    assert warm.retired == []


LATE_TEXT = r"""
#include <random>
extern "C" unsigned draw() { return std::random_device()(); }
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_the_tokens_of_a_library_that_comes_after_the_start(folder, reset):
    """It comes with libstdc++, which the interpreter does not have, and which only this library sees."""
    library = folder.compile("late.cc", LATE_TEXT, "-shared", "-fPIC")
    script = folder.script("x.py", f"import ctypes\nlate = ctypes.CDLL('{library}')\n"
                           "late.draw.restype = ctypes.c_uint\nprint(*[late.draw() for _ in range(4)])\n")
    with Warm([PYTHON, f"{adapters_dir()}/python/start.py", "--preload=", script],
              level="compiled", reset=reset) as warm:
        drawn = [number for _ in range(4) for number in warm.ask().text.split()]
        assert len(set(drawn)) == len(drawn) == 16, drawn
