"""Some of the kernel's files say what its calls would return: random numbers, a clock, an id. A program that
reads one while it loads would share it with all visitors, whatever name it has for the file."""

import os

import pytest

from driver import (LAUNCH_ENV, REQUEST_ENV, SHALLOWER, WARNING, Warm, Zygote, adapters_dir, run_plainly)
from ruby import RUBY, command

PYTHON, PERL = "/usr/bin/python3", "/usr/bin/perl"
TIMES = 4

EARLY = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static unsigned char text[4096];
static int bytes;
static int in(const char *folder, const char *name) {
  return openat(open(folder, O_PATH | O_DIRECTORY), name, O_RDONLY); }
static int how(const char *name) {
  struct open_how how = {.flags = O_RDONLY}; return syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof how); }
static int there(const char *folder, const char *name) { chdir(folder); int fd = open(name, O_RDONLY);
  chdir("/"); return fd; }
static int own(const char *name) { char path[99]; snprintf(path, 99, "/proc/%d/%s", getppid(), name);
  return open(path, O_RDONLY); }
__attribute__((constructor)) static void early(void) {
  int fd = OPENED;
  bytes = fd < 0 ? -1 : (int)read(fd, text, 8);
  close(fd);
  for (fd = 3; fd < 9; ++fd) close(fd);
}
int main() { printf("%d\n", bytes); return bytes < 0; }
"""

NAMED = {
    "open(\"/dev/urandom\", O_RDONLY)": "random",
    "open(\"/dev/../dev/urandom\", O_RDONLY)": "random",
    "open(\"//dev/./urandom\", O_RDONLY)": "random",
    "open(\"/proc/self/root/dev/random\", O_RDONLY)": "random",
    "open(LINK, O_RDONLY)": "random",
    "in(\"/dev\", \"urandom\")": "random",
    "in(\"/\", \"dev/urandom\")": "random",
    "there(\"/dev\", \"urandom\")": "random",
    "how(\"/dev/urandom\")": "random",
    "fileno(fopen(\"/dev/.//urandom\", \"r\"))": "random",
    "open(\"/proc/../proc/sys/kernel/random/uuid\", O_RDONLY)": "random",
    "in(\"/proc/sys/kernel\", \"random/uuid\")": "random",
    "open(\"/proc/./uptime\", O_RDONLY)": "time",
    "open(\"/proc/self/root/proc/uptime\", O_RDONLY)": "time",
    "open(\"/proc/loadavg\", O_RDONLY)": "time", "open(\"/proc/stat\", O_RDONLY)": "time",
    "open(\"/proc/thread-self/stat\", O_RDONLY)": "process id",
    "open(\"/proc/self/../self/status\", O_RDONLY)": "process id",
    "open(\"/proc/self/environ\", O_RDONLY)": "input",
    "in(\"/proc/self\", \"stat\")": "process id", "own(\"stat\")": "process id",
    "open(\"/proc/self/sched\", O_RDONLY)": "process id",
    "open(\"/proc/self/schedstat\", O_RDONLY)": "time",
    "open(\"/proc/self/fdinfo/0\", O_RDONLY)": "process id",
    "open(\"/proc/self/statm\", O_RDONLY)": "process id",
    "open(\"/proc/net/dev\", O_RDONLY)": "process id",
    "open(\"/proc/sys/fs/file-nr\", O_RDONLY)": "time", "open(\"/proc/cgroups\", O_RDONLY)": "time",
    "open(\"/sys/class/net/lo/statistics/rx_bytes\", O_RDONLY)": "time",
    "open(\"/dev/stdin\", O_RDONLY)": "input", "open(\"/proc/self/fd/0\", O_RDONLY)": "input",
}


def compiled(folder, opened):
    os.symlink("/dev/urandom", folder.path / "link")
    return folder.compile("early.c", EARLY.replace("OPENED", opened), f"-DLINK=\"{folder.path}/link\"")


@pytest.mark.parametrize("opened", NAMED)
def test_a_native_program_that_opens_it_before_main_is_not_warm(folder, opened):
    if "/sys/" in opened and not os.path.exists("/sys/class"):
        pytest.skip("there is no /sys here")
    program = compiled(folder, opened)
    assert run_plainly([program]).code == 0
    with Zygote([program], reset="rewind") as zygote:
        assert not zygote.stands
        assert NAMED[opened] in zygote.note(SHALLOWER)[0], zygote.notes


COUNTS = [f"/sys/fs/cgroup/{name}" for name in (
    "cpu.stat", "cpu/cpu.stat", "cpuacct/cpuacct.usage", "memory.current", "memory/memory.usage_in_bytes",
    "memory.stat", "cgroup.procs", "cpu.pressure")]


@pytest.mark.parametrize("name", COUNTS)
def test_what_a_cgroup_counts_is_noticed(folder, name):
    if not os.path.exists(name):
        pytest.skip(f"there is no {name} here")
    with Zygote([compiled(folder, f"open(\"{name}\", O_RDONLY)")]) as zygote:
        assert not zygote.stands
        assert "time" in zygote.note(SHALLOWER)[0], zygote.notes


@pytest.mark.parametrize("name", [
    "/dev/null", "/dev/zero", "/proc/cpuinfo", "/proc/meminfo", "/proc/self/maps", "/proc/version",
    "/proc/self/exe", "/proc/sys/kernel/random/boot_id", "/sys/devices/system/cpu/online",
    "/proc/sys/vm/overcommit_memory", "/proc/self/cgroup", "/proc/self/mountinfo", "/proc/filesystems",
    "/proc/self/limits", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    "/sys/fs/cgroup/cpuset.cpus.effective", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "/sys/kernel/mm/transparent_hugepage/enabled"])
def test_what_describes_the_machine_is_harmless(folder, name):
    if not os.path.exists(name):
        pytest.skip(f"there is no {name} here")
    with Warm([compiled(folder, f"open(\"{name}\", O_RDONLY)")]) as warm:
        assert warm.stands, warm.notes
        assert warm.ask().code == 0


PYTHON_READS = {
    "a device": "open('/dev/../dev/urandom', 'rb', 0).read(8).hex()",
    "a relative name": "os.read(os.open('urandom', os.O_RDONLY, dir_fd=os.open('/dev', os.O_PATH)), 8).hex()",
    "a uuid": "open('/proc/self/root/proc/sys/kernel/random/uuid').read()",
    "a clock": "open('/proc/thread-self/schedstat').read()",
}


@pytest.mark.parametrize("kind", PYTHON_READS)
def test_a_python_module_that_reads_it_is_not_loaded_ahead(folder, kind):
    folder.script("lib/reads.py", f"import os\nkey = {PYTHON_READS[kind]}\n")
    script = folder.script("x.py", "import reads\nprint(reads.key.strip())\n")
    env = {"PYTHONPATH": str(folder.path / "lib")}
    with Warm([PYTHON, f"{adapters_dir()}/python/start.py", "--preload=reads", script], level="compiled",
              env={**LAUNCH_ENV, **env}) as zygote:
        assert zygote.stands, (zygote.notes, zygote.log())
        assert any("reads" in text and ("random" in text or "time" in text)
                   for text in zygote.note(WARNING)), zygote.notes
        zygote.argv = [PYTHON, script]
        assert len({zygote.ask(env={**REQUEST_ENV, **env}).text for _ in range(TIMES)}) == TIMES


@pytest.mark.parametrize("text", ["open('/proc/self/fdinfo/0').read()", "open('/proc/sys/fs/file-nr').read()",
                                  "os.statvfs('/').f_bfree", "os.sysconf('SC_AVPHYS_PAGES')"])
def test_a_python_module_that_is_told_what_changes_is_not_loaded_ahead(folder, text):
    folder.script("lib/reads.py", f"import os\nkey = {text}\n")
    script = folder.script("x.py", "import reads\nprint(reads.key != '')\n")
    with Warm([PYTHON, f"{adapters_dir()}/python/start.py", "--preload=reads", script], level="compiled",
              env={**LAUNCH_ENV, "PYTHONPATH": str(folder.path / "lib")}) as zygote:
        assert zygote.stands, (zygote.notes, zygote.log())
        assert "reads" in zygote.note(WARNING)[0], zygote.notes


def test_a_perl_script_that_reads_it_while_it_compiles_is_compiled_in_each_request(folder):
    os.symlink("/dev/urandom", folder.path / "link")
    script = folder.script("x.pl", f"BEGIN {{ open my $f, '<:raw', '{folder.path}/link' or die; "
                           "sysread $f, our $key, 8 }\nprint unpack('H*', $main::key), \"\\n\";\n")
    with Warm([PERL, f"-I{adapters_dir()}/perl", "-MCGIBridge", script], level="compiled") as zygote:
        assert zygote.stands and zygote.level == 2, (zygote.notes, zygote.log())
        zygote.argv = [PERL, script]
        assert len({zygote.ask().text for _ in range(TIMES)}) == TIMES


@pytest.mark.skipif(not os.path.exists(RUBY), reason="ruby is not installed")
def test_a_ruby_library_that_reads_it_is_not_loaded_ahead(folder):
    folder.script("installed/reads.rb", "KEY = File.binread('/dev/./urandom', 8).unpack1('H*')\n")
    script = folder.script("x.rb", "require 'reads'\nputs KEY\n")
    env = {"RUBYLIB": str(folder.path / "installed")}
    with Warm(command(script, preload="reads"), level="compiled", env={**LAUNCH_ENV, **env}) as zygote:
        assert any("reads" in text and "random" in text for text in zygote.note(WARNING)), zygote.notes
        zygote.argv = [RUBY, script]
        assert len({zygote.ask(env={**REQUEST_ENV, **env}).text for _ in range(TIMES)}) == TIMES
