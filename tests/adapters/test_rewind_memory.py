"""reset=rewind and memory: whatever a request did to its mappings, the next one has those of the checkpoint,
with their content, and nothing from the request before."""

import os
import secrets

import pytest

from driver import REQUEST_ENV, Warm, adapters_dir, answers_in_one_worker, run_plainly

PERL, PYTHON = "/usr/bin/perl", "/usr/bin/python3"

# Mappings that exist at the checkpoint, and what a separate process finds in them.
C = r"""
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#define PAGE 4096
static char data[16 * PAGE] __attribute__((aligned(PAGE))) = {1};
static char bss[16 * PAGE] __attribute__((aligned(PAGE)));
static const char constant[2 * PAGE] __attribute__((aligned(PAGE))) = {2};
static char *mapped, *broken, *allocated, *reserved, *read_only, *file;
static unsigned long top;
__attribute__((constructor)) static void before(void) {
  mapped = mmap(0, 64 * PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  reserved = mmap(0, 64 * PAGE, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  read_only = mmap(0, 4 * PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(read_only, 3, 4 * PAGE); mprotect(read_only, 4 * PAGE, PROT_READ);
  file = mmap(0, 4 * PAGE, 3, MAP_PRIVATE, open("/proc/self/exe", O_RDONLY), 0); close(3);
  broken = sbrk(64 * PAGE); allocated = malloc(100000);
  data[PAGE + 9] = 7;
  memset(mapped, 4, 32 * PAGE); memset(broken, 5, 64 * PAGE); memset(allocated, 6, 100000);
}
static unsigned sum(const char *from, size_t n) {
  unsigned s = 0; for (size_t i = 0; i < n; ++i) s = s * 31 + (unsigned char)from[i]; return s;
}
/* The mapping of an address. The kernel may show one that was mapped again in two lines. */
static void lines(const char *of) {
  FILE *f = fopen("/proc/self/maps", "r"); char line[999], how[9], before[9] = "";
  unsigned long a, b, inode, start = 0, end = 0, of_file = 0;
  for (int is_line = 1; is_line;) {
    is_line = fgets(line, sizeof line, f) && sscanf(line, "%lx-%lx %s %*s %*s %lu", &a, &b, how, &inode) == 4;
    if (is_line && a == end && !strcmp(how, before) && inode == of_file) { end = b; continue; }
    if ((unsigned long)of >= start && (unsigned long)of < end)
      printf("%s %ld pages\n", before, (end - start) / PAGE > 64 ? -1 : (long)((end - start) / PAGE));
    start = a; end = b; of_file = inode; strcpy(before, how);
  }
  fclose(f);
}
static void look(void) {
  printf("%x %x %x\n", sum(data, sizeof data), sum(bss, sizeof bss), sum(constant, sizeof constant));
  printf("%x %x %x\n", sum(mapped, 64 * PAGE), sum(broken, 64 * PAGE), sum(allocated, 100000));
  printf("%x %x\n", sum(read_only, 4 * PAGE), sum(file, 4 * PAGE));
  lines(reserved); lines(read_only); lines(data); lines(bss); lines((char *)look);
  unsigned long now = (unsigned long)sbrk(0);
  printf("break moved %d\n", (long)(now - (unsigned long)broken) > 200 * PAGE);
  char *fresh = malloc(50000); printf("fresh %d\n", fresh[100] == 'L' || fresh[40000] == 'L'); free(fresh);
  char *more = sbrk(0); more = sbrk(16 * PAGE); printf("more %x\n", sum(more, 16 * PAGE));
  fflush(stdout);
}
static volatile unsigned seen; /* so that what is only read is read */
static int deep(int n) { volatile char page[PAGE]; memset((char *)page, 'L', PAGE);
    return n ? deep(n - 1) + page[0] : 0; }
"""

# name: what a request does after its check
DEEDS = {
    "nothing": "",
    "writes everywhere": "memset(data, 'L', sizeof data); memset(bss, 'L', sizeof bss); memset(mapped, "
                         "'L', 64 * PAGE);"
                         "memset(broken, 'L', 64 * PAGE); memset(allocated, 'L', 100000); memset(file, "
                         "'L', 4 * PAGE);",
    "writes a byte in one page of each": "data[5 * PAGE] = 9; bss[7 * PAGE] = 9; mapped[40 * PAGE] = 9; "
                                         "file[9] = 9;",
    "200 MiB of small pieces": "for (int i = 0; i < 1600000; ++i) memset(malloc(112), 'L', 112);",
    "200 MiB at once": "char *p = malloc(200 << 20); memset(p, 'L', 200 << 20);",
    "200 MiB, given back": "char *p = malloc(200 << 20); memset(p, 'L', 200 << 20); free(p); malloc_trim(0);",
    "moves the break up": "memset(sbrk(4 << 20), 'L', 4 << 20);",
    "moves the break below the checkpoint's": "brk(broken + 8 * PAGE);",
    "moves the break down and up": "brk(broken + 8 * PAGE); brk(broken + 64 * PAGE);",
    "unmaps a mapping": "munmap(mapped, 64 * PAGE);",
    "unmaps the middle of a mapping": "munmap(mapped + 8 * PAGE, 8 * PAGE);",
    "unmaps what could not be read": "munmap(reserved, 64 * PAGE);",
    "unmaps data": "munmap(data + 4 * PAGE, 4 * PAGE);",
    "unmaps a constant": "munmap((char *)constant, PAGE);",
    "replaces what could only be read by as much":
        "munmap(read_only, 4 * PAGE); char *p = mmap(read_only, 4 * PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS | "
        "MAP_FIXED, -1, 0); memset(p, 'L', 4 * PAGE); mprotect(p, 4 * PAGE, PROT_READ);",
    "maps over what could only be read":
        "char *p = mmap(0, 4 * PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); memset(p, 'L', 4 * PAGE); "
        "mprotect(p, 4 * PAGE, PROT_READ); "
        "mremap(p, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, read_only);",
    "replaces a constant by another file's": 'munmap((char *)constant, PAGE); mmap((char *)constant, PAGE, '
                                             'PROT_READ, MAP_PRIVATE | MAP_FIXED, open("/bin/sh", 0), 0);',
    "replaces it by the calls' numbers":
        "syscall(SYS_munmap, read_only, 4 * PAGE); "
        "char *p = (char *)syscall(SYS_mmap, read_only, 4 * PAGE, 3, MAP_PRIVATE | "
        "MAP_ANONYMOUS | MAP_FIXED, -1, 0); memset(p, 'L', 4 * PAGE); "
        "syscall(SYS_mprotect, p, 4 * PAGE, PROT_READ);",
    "moves what could only be read away and back":
        "char *p = mmap(0, 8 * PAGE, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);"
        "mremap(read_only, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, p); mprotect(p, 4 * PAGE, 3);"
        "memset(p, 'L', 4 * PAGE); mprotect(p, 4 * PAGE, 1);"
        "mremap(p, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, read_only);",
    "maps over a mapping": "mmap(mapped, 16 * PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);",
    "maps over data": "memset(mmap(data + PAGE, PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), "
                      "'L', PAGE);",
    "maps a file over data": 'mmap(bss, 4 * PAGE, 3, MAP_PRIVATE | MAP_FIXED, open("/proc/self/exe", 0), 0);',
    "maps shared memory over data": "mmap(data, 4 * PAGE, 3, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);",
    "maps a file where memory was": 'munmap(mapped, 16 * PAGE); mmap(mapped, 16 * PAGE, 5, MAP_PRIVATE | '
                                    'MAP_FIXED_NOREPLACE, open("/proc/self/exe", 0), 0);',
    "maps a file over memory": 'mmap(mapped + PAGE, 4 * PAGE, 3, MAP_PRIVATE | MAP_FIXED, '
                               'open("/proc/self/exe", 0), 0);',
    "maps shared memory where memory was": "munmap(mapped, 64 * PAGE); memset(mmap(mapped, 64 * PAGE, 3, "
                                           "MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), 'L', "
                                           "64 * PAGE);",
    "maps a file where room was reserved": "munmap(reserved, 8 * PAGE); mmap(reserved, 8 * PAGE, 1, "
                                           "MAP_PRIVATE | MAP_FIXED_NOREPLACE, "
                                           'open("/proc/self/exe", 0), 0);',
    "makes data readable only": "mprotect(data, 4 * PAGE, PROT_READ);",
    "makes data inaccessible": "mprotect(bss, 16 * PAGE, PROT_NONE);",
    "makes what was readable only writable": "mprotect(read_only, 4 * PAGE, 3); memset(read_only, 'L', 4 * "
                                             "PAGE);",
    "writes there and protects it again": "mprotect(read_only, 4 * PAGE, 3); memset(read_only, 'L', 4 * "
                                          "PAGE);"
                                          "mprotect(read_only, 4 * PAGE, PROT_READ);",
    "writes to a constant": "mprotect((char *)constant, PAGE, 3); memset((char *)constant, 'L', PAGE);"
                            "mprotect((char *)constant, PAGE, PROT_READ);",
    "writes to its own code": "volatile char *p = (char *)((uintptr_t)deep & -PAGE); mprotect((void *)p, "
                              "2 * PAGE, 7); p[0] ^= 1; p[0] ^= 1; mprotect((void *)p, 2 * PAGE, 5);",
    "makes what was reserved usable": "mprotect(reserved, 8 * PAGE, 3); memset(reserved, 'L', 8 * PAGE);",
    "moves a mapping": "mremap(mapped, 64 * PAGE, 64 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, "
                       "mmap(0, 128 * PAGE, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));",
    "moves a part of a mapping": "mremap(mapped + PAGE, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, "
                                 "mmap(0, 8 * PAGE, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));",
    "lets a mapping grow": "memset(mremap(mapped, 64 * PAGE, 512 * PAGE, MREMAP_MAYMOVE), 'L', 512 * PAGE);",
    "lets a mapping shrink": "mremap(mapped, 64 * PAGE, 8 * PAGE, 0);",
    "gives pages back": "madvise(mapped, 64 * PAGE, MADV_DONTNEED); madvise(bss, 16 * PAGE, MADV_DONTNEED);"
                        "madvise(data, 16 * PAGE, MADV_DONTNEED); madvise(broken, 64 * PAGE, MADV_DONTNEED);",
    "gives pages back and reads them": "madvise(mapped, 64 * PAGE, MADV_DONTNEED); "
                                       "seen = sum(mapped, 64 * PAGE);",
    "gives pages back by the call's number": "syscall(SYS_madvise, mapped, 64 * PAGE, MADV_DONTNEED); "
                                             "seen = sum(mapped, 64 * PAGE);",
    "gives a file's pages back": "syscall(SYS_madvise, data, 16 * PAGE, MADV_DONTNEED); "
                                 "seen = sum(data, 2 * PAGE);",
    "gives pages back some day": "madvise(mapped, 64 * PAGE, MADV_FREE);",
    "maps anew what is then made writable": "mmap(mapped, 16 * PAGE, 0, MAP_PRIVATE | MAP_ANONYMOUS | "
                                            "MAP_FIXED, -1, 0); mprotect(mapped, 16 * PAGE, 3); "
                                            "seen = sum(mapped, 64 * PAGE);",
    "writes between changes of protection":
        "mprotect(mapped, 64 * PAGE, 0); mprotect(mapped, 64 * PAGE, 3); mapped[9 * PAGE] = 'L';"
        "mprotect(mapped, 64 * PAGE, 1); mprotect(mapped + 8 * PAGE, PAGE, 3); mapped[8 * PAGE] = 'L';"
        "mprotect(mapped + 8 * PAGE, PAGE, 0);",
    "gives back what it has written": "memset(mapped, 'L', 64 * PAGE); memset(data, 'L', 4 * PAGE);"
                                      "madvise(mapped, 64 * PAGE, MADV_DONTNEED);"
                                      "madvise(data, 2 * PAGE, MADV_DONTNEED); mapped[3 * PAGE] = 'L';"
                                      "seen = sum(mapped + PAGE, PAGE);",
    "protects by the call's number": "syscall(SYS_mprotect, bss, 16 * PAGE, PROT_READ);",
    "advises on children": "madvise(mapped, 64 * PAGE, MADV_DONTFORK); madvise(data, PAGE, MADV_WIPEONFORK);",
    "advises on huge pages": "madvise(mapped, 64 * PAGE, MADV_HUGEPAGE); madvise(bss, PAGE, MADV_DONTDUMP);",
    "maps many": "for (int i = 0; i < 3000; ++i) mmap(0, PAGE << (i % 2), 3 - i % 3, MAP_PRIVATE | "
                 "MAP_ANONYMOUS, -1, 0);",
    "maps some hundred": "for (int i = 0; i < 500; ++i) mmap(0, PAGE << (i % 2), 3 - i % 3, "
                         "MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);",
    "maps beside a mapping": "for (int i = -4; i < 5; ++i) mmap(mapped + i * 64 * PAGE, 64 * PAGE, 3, "
                             "MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);",
    "locks and unlocks": "mlock(mapped, 64 * PAGE); munlock(mapped, 64 * PAGE);",
    "a deep stack": "deep(1500);",
    "a stack that may grow on": "struct rlimit l = {64 << 20, RLIM_INFINITY}; setrlimit(RLIMIT_STACK, &l); "
                                "deep(12000);",
    "a mapping that grows down": "char *p = mmap(0, 8 * PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS | "
                                 "MAP_GROWSDOWN, -1, 0);"
                                 "memset(p, 'L', 8 * PAGE);",
    "a key of memory": "int k = pkey_alloc(0, 0); if (k > 0) pkey_mprotect(bss, PAGE, 3, k);",
    "malloc told otherwise": "mallopt(M_MMAP_THRESHOLD, 1 << 20); mallopt(M_ARENA_MAX, 3); "
                             "mallopt(M_TRIM_THRESHOLD, -1);",
    "a name for a mapping": 'syscall(SYS_prctl, 0x53564d41, 0, mapped, 64 * PAGE, "left");',
}


def compile_deed(folder, deed):
    return [folder.compile("deed.c", C + "int main() { look(); %s; return 0; }" % deed, "-D_GNU_SOURCE")]


@pytest.mark.parametrize("tracking", ["compare", "auto"])
@pytest.mark.parametrize("name", DEEDS)
def test_what_a_request_may_do_to_its_mappings(folder, name, tracking):
    argv = compile_deed(folder, DEEDS[name])
    plain = run_plainly(argv)
    assert plain.code == 0, plain.stderr
    with Warm(argv, tracking=tracking) as warm:
        for n in range(4):
            answer = warm.ask()
            assert (answer.text, answer.code) == (plain.text, 0), (n, warm.retired)
            assert answer.retirement in (None, "mappings", "call"), answer.reason
    if name in ("nothing", "writes everywhere", "200 MiB of small pieces", "200 MiB at once", "a deep stack",
                "moves the break up", "unmaps a mapping", "makes data readable only", "gives pages back",
                "gives pages back and reads them", "gives a file's pages back", "gives pages back some day",
                "makes data inaccessible", "writes between changes of protection",
                "gives back what it has written", "makes what was reserved usable",
                "maps a file where memory was", "maps a file over memory",
                "maps shared memory where memory was", "maps a file where room was reserved"):
        assert warm.retired == []


def memory_of(pid, field, file="status"):
    """In KiB. Rss in smaps_rollup is counted page by page; VmRSS is a sum over the processors and can be
    wrong by some hundred KiB."""
    for line in open(f"/proc/{pid}/{file}"):
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise AssertionError(field)


@pytest.mark.parametrize("name", ["200 MiB of small pieces", "200 MiB at once", "a stack that may grow on",
                                  "maps some hundred"])
def test_memory_that_a_request_took_is_given_back(folder, name):
    with Warm(compile_deed(folder, DEEDS[name])) as warm:
        for _ in range(3):
            warm.ask()
        pid = warm.current.pid
        assert memory_of(pid, "VmRSS") < 30_000 and memory_of(pid, "VmSize") < 60_000
        assert len(open(f"/proc/{pid}/maps").readlines()) < 100


def test_a_worker_s_memory_is_flat(folder):
    argv = compile_deed(folder, DEEDS["writes everywhere"])
    with Warm(argv, verify=False) as warm:
        sizes = []
        for n in range(600):
            warm.verifies = n % 100 == 99  # it is at rest then
            warm.ask()
            if warm.verifies:
                pid = warm.current.pid
                sizes.append((memory_of(pid, "Rss", "smaps_rollup"), memory_of(pid, "VmSize"),
                              len(os.listdir(f"/proc/{pid}/fd"))))
        assert warm.workers == 1
    assert max(size[0] for size in sizes) - sizes[1][0] < 300, sizes
    assert len({size[1:] for size in sizes[1:]}) == 1, sizes


SPY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static int same(const unsigned char *at, const char *masked, size_t n) {
  for (size_t i = 0; i < n; ++i) if (at[i] != ((unsigned char)masked[i] ^ 0x55)) return 0;
  return 1;
}
static void scan(const char *masked) { /* the secret itself is never in this process */
  size_t n = strlen(masked); unsigned long a, b; char how[8], line[999]; int found = 0, areas = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx %7s", &a, &b, how) != 3 || how[0] != 'r' || strstr(line, "[v")) continue;
    if (how[1] != 'w' && how[3] == 'p' && strchr(line, '/') ) continue;
    ++areas;
    for (const unsigned char *p = (void *)a; p + n <= (unsigned char *)b; ++p)
      if (*p == ((unsigned char)masked[0] ^ 0x55) && same(p, masked, n)) { ++found; printf("found in %s",
          line); }
  }
  printf("found %d in %s\n", found, areas > 3 ? "all" : "too few");
}
static void fill(char *to, size_t size, const char *with) {
  size_t n = strlen(with); for (size_t i = 0; i + n < size; i += n) memcpy(to + i, with, n);
}
static int on_stack(const char *with, int depth) {
  volatile char room[8192]; fill((char *)room, sizeof room, with);
  return depth ? on_stack(with, depth - 1) + room[0] : 0;
}
static _Thread_local char of_thread[256]; static char in_bss[256], in_data[256] = "x";
int main(int argc, char **argv) {
  char body[9999] = ""; fread(body, 1, sizeof body - 1, stdin);
  if (strcmp(getenv("QUERY_STRING"), "spy") == 0) { scan(body); return 0; }
  fill(in_bss, 256, body); fill(in_data, 256, body); fill(of_thread, 256, body); on_stack(body, 100);
  for (int i = 0; i < 200; ++i) { fill(malloc(i * 97), i * 97, body); char *p = malloc(5000); fill(p,
      5000, body); free(p); }
  fill(sbrk(1 << 20), 1 << 20, body);
  fill(mmap(0, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1 << 20, body);
  fill(mmap(0, 1 << 20, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1 << 20, body);
  setvbuf(stdout, malloc(1 << 16), _IOFBF, 1 << 16);
  for (int i = 0; i < 100; ++i) printf("%s\n", body);
  setenv("LEFT", body, 1); putenv(strdup(body));
  if (getenv("QUERY_STRING")[0] == '_') { fflush(stdout); _exit(0); }
  return 0;
}
"""

SPY_PERL = r"""
my $body = do { local $/; <STDIN> } // '';
if ($ENV{QUERY_STRING} eq 'spy') {
  my ($found, $areas) = (0, 0);
  open my $maps, '<', '/proc/self/maps'; my @lines = <$maps>;
  open my $memory, '<:raw', '/proc/self/mem';
  for (grep / rw/, @lines) {
    my ($from, $to) = /^(\w+)-(\w+)/; $_ = hex for $from, $to; ++$areas;
    sysseek $memory, $from, 0; sysread $memory, my $piece, $to - $from or next;
    $piece ^= 'U' x length $piece;
    $found += () = $piece =~ /\Q$body\E/g;
  }
  print "found $found in ", $areas > 3 ? 'all' : 'too few', "\n";
} else {
  our @kept = map { "$_$body" } 1 .. 500; our %kept = map { ($_ => $body) } @kept; $main::{$body} = 1;
  $ENV{LEFT} = $body; $0 = $body; print "$body\n" for 1 .. 100; my $re = qr/$body/; local $_ = $body; /(.*)/s;
}
"""

SPY_PYTHON = r"""
import os, re, sys
body = sys.stdin.buffer.read()
if os.environ["QUERY_STRING"] == "spy":
    found = areas = 0
    table = bytes(n ^ 0x55 for n in range(256))
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps.readlines():
            if " rw" in line:
                start, end = (int(part, 16) for part in line.split()[0].split("-"))
                memory.seek(start)
                areas += 1
                found += memory.read(end - start).translate(table).count(body)
    print("found", found, "in", "all" if areas > 3 else "too few")
else:
    text = body.decode()
    kept = [f"{n}{text}" for n in range(500)]
    os.environ["LEFT"] = text; sys.intern(text); re.compile(text); globals()[text] = text
    sys.modules[text] = os; os.left = text
    for _ in range(100): print(text)
"""


@pytest.mark.parametrize("name", ["c", "perl", "python"])
@pytest.mark.parametrize("reset", ["rewind", "fork"])
def test_a_secret_of_the_request_before_is_nowhere_in_memory(folder, name, reset):
    """It searches all memory that can be read and written, with a mask over the secret."""
    if name == "c":
        launch, level = [folder.compile("spy.c", SPY, "-D_GNU_SOURCE")], "linked"
    elif name == "perl":
        script = folder.script("spy.pl", SPY_PERL)
        launch, level = [PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge", script], "compiled"
    else:
        script = folder.script("spy.py", SPY_PYTHON)
        launch, level = [PYTHON, f"{adapters_dir()}/python/start.py", "--preload=re", script], "compiled"
    secret = secrets.token_hex(20).encode()
    masked = bytes(one ^ 0x55 for one in secret)
    told = {**REQUEST_ENV, "QUERY_STRING": "tell", "HTTP_COOKIE": "x" * 30000 + secret.decode() * 20}
    with Warm(launch, level=level, reset=reset) as warm:
        for n in range(3):
            answer = warm.ask(secret.decode(), body=secret, env=told)
            assert answer.stdout.count(secret) == 100
            spied = warm.ask(body=masked, env={**REQUEST_ENV, "QUERY_STRING": "spy"})
            assert spied.text == "found 0 in all\n", (n, spied.text)
            # It does find what it searches for in the request that it received itself.
            own = {**REQUEST_ENV, "QUERY_STRING": "spy", "HTTP_COOKIE": secret.decode()}
            assert "found 0" not in warm.ask(body=masked, env=own).text
        if reset == "rewind":  # who opens the memory of the process costs the worker
            spies = 0 if name == "c" else 6
            assert [kind for kind, _ in warm.retired] == ["call"] * spies
            assert warm.workers <= 1 + spies


def test_of_a_large_worker_only_what_changed_is_put_back(folder):
    """The worker has 64 MiB at the checkpoint, and a request writes to one page."""
    program = folder.compile("large.c", """
#include <stdlib.h>
#include <string.h>
static char *all;
__attribute__((constructor)) static void before(void) { all = malloc(64 << 20); memset(all, 1, 64 << 20); }
int main() { all[30 << 20] = 2; return 0; }""")
    with Warm([program], verify=False) as warm:
        for _ in range(200):
            assert warm.ask().code == 0
        assert all(warm.ask().pages < 200 for _ in range(51)) and warm.workers == 1


KEY = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
static int key;
static char *page;
__attribute__((constructor)) static void allocate(void) {
  key = pkey_alloc(0, 0);
  page = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
int main(void) {
  if (key < 0) { puts("none here"); return 0; }
  printf("%d", pkey_mprotect(page, 4096, 3, key) == 0 ? ++page[0] : -errno);
  pkey_mprotect(page, 4096, 3, 0);
  printf(" %d", pkey_free(key));
  printf(" %d\n", pkey_free(99) != 0 && errno == EINVAL);
}
"""


def test_a_key_of_the_checkpoint_may_be_freed(folder):
    """As V8 does at its end."""
    argv = [folder.compile("key.c", KEY)]
    answers_in_one_worker(argv, run_plainly(argv))


# What is the engine's, beside the program's own: a mapping that the program has not made.
OVERRUN = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static int count = 7;
int main(int argc, char **argv) {
  char line[400];
  FILE *maps = argc > 1 ? fopen("/proc/self/maps", "r") : NULL;
  printf("%d\n", count++);
  fflush(stdout);
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    char *end, *start = (char *)strtoul(line, &end, 16);
    size_t bytes = strtoul(end + 1, &end, 16) - (size_t)start;
    int is_plain = strncmp(end, " rw-p", 5) == 0 && strchr(line, '/') == NULL && strchr(line, '[') == NULL;
    if (is_plain && bytes >= 1 << 18) madvise(start, atoi(argv[1]) * 4096, MADV_DONTNEED);
  }
  _exit(0);
}
"""


@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["dynamic", "static"])
def test_what_a_program_drops_beyond_its_own_memory_costs_the_worker(folder, flags):
    argv = [folder.compile("overrun.c", OVERRUN, *flags)]
    with Warm(argv, verify=False) as warm:
        for pages in ("1", "2", "4", "8"):
            assert warm.ask().text == "7\n"
            answer = warm.ask(pages)
            assert answer.text == "7\n" and not answer.stays
            assert warm.ask().text == "7\n"
