"""reset=rewind: files that were mapped at the checkpoint and that a request unmaps, as libc does with those
of a locale that the program has finished with, are mapped again, if they still are the same files."""

import shutil

import pytest

from driver import LAUNCH_ENV, REQUEST_ENV, Warm, adapters_dir, run_plainly
from python import python_argv

LOCALE = "/usr/lib/locale/C.utf8"
PROGRAM = r"""
#define _GNU_SOURCE
#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
static uintptr_t find(const char *name) {
  char line[4200];
  FILE *maps = fopen("/proc/self/maps", "r");
  unsigned long start = 0;
  while (fgets(line, sizeof line, maps) && (!strstr(line, name) || sscanf(line, "%lx", &start) != 1)) {}
  fclose(maps);
  return start;
}
static uintptr_t place;
static locale_t early;
__attribute__((constructor)) static void speak(void) {
  early = newlocale(LC_ALL_MASK, "C.UTF-8", 0);
  place = find("/LC_CTYPE");
}
static void map(int protection, int flags) {
  mmap((void *)place, 4096, protection, flags | MAP_ANONYMOUS, -1, 0);
}
int main(int argc, char **argv) {
  const char *deed = argc > 1 ? argv[1] : "";
  printf("%s\n", nl_langinfo_l(CODESET, early));
  if (*deed) freelocale(early);
  printf("%d\n", place != 0 && place == find("/LC_CTYPE"));
  if (!strcmp(deed, "and again")) early = newlocale(LC_ALL_MASK, "C.UTF-8", 0);
  if (!strcmp(deed, "memory there")) map(3, MAP_PRIVATE);
  if (!strcmp(deed, "shared memory there")) map(3, MAP_SHARED);
  if (!strcmp(deed, "code there")) map(7, MAP_PRIVATE);
  return 0;
}
"""


@pytest.fixture
def locales(folder):
    """A folder of locales of the test's own."""
    try:
        shutil.copytree(LOCALE, folder.path / "locales" / "C.utf8")
    except FileNotFoundError:
        pytest.skip("no " + LOCALE)
    return {"LOCPATH": str(folder.path / "locales")}


def test_they_are_mapped_again(folder, locales):
    program = folder.compile("speaks.c", PROGRAM)
    environments = {"env": {**LAUNCH_ENV, **locales}}, {"env": {**REQUEST_ENV, **locales}}
    deeds = ["free", "and again", "memory there", "shared memory there", "code there", ""]
    plain = {deed: run_plainly([program, deed], **environments[1]).seen() for deed in deeds}
    assert (plain[""][0], plain["free"][0]) == (b"UTF-8\n1\n", b"UTF-8\n0\n")
    with Warm([program], **environments[0]) as warm:
        assert warm.reset == "rewind", warm.weaker
        for deed in [*deeds, *deeds]:
            assert warm.ask(deed, **environments[1]).seen() == plain[deed], deed
        assert (warm.workers, warm.retired) == (1, [])


@pytest.mark.parametrize("deed", ["replace", "remove"])
def test_other_files_retire_the_worker(folder, locales, deed):
    program = folder.compile("speaks.c", PROGRAM)
    file = folder.path / "locales" / "C.utf8" / "LC_CTYPE"
    with Warm([program], env={**LAUNCH_ENV, **locales}) as warm:
        assert warm.ask("free", env={**REQUEST_ENV, **locales}).retirement is None
        if deed == "replace":
            shutil.copy(file, folder.path / "new")
            (folder.path / "new").rename(file)
        else:
            file.unlink()
        assert warm.ask("free", env={**REQUEST_ENV, **locales}).retirement == "mappings"


PERL = ["/usr/bin/perl", f"-I{adapters_dir()}/perl", "-MCGIBridge"]
SCRIPTS = {
    "perl": ("use POSIX 'locale_h'; print setlocale(LC_ALL, 'C');",
             lambda script: [*PERL, script]),
    "python3": ("import locale as l; print(l.setlocale(l.LC_ALL, 'C'), l.localeconv())", python_argv),
}


@pytest.mark.parametrize("language", SCRIPTS)
def test_a_script_may_choose_another_locale(folder, language):
    text, command = SCRIPTS[language]
    script = folder.script("x", text)
    env = {"LANG": "C.UTF-8"}
    plain = run_plainly(["/usr/bin/" + language, script], env={**REQUEST_ENV, **env})
    with Warm(command(script), level="compiled", env={**LAUNCH_ENV, **env}) as warm:
        for _ in range(4):
            assert warm.ask(env={**REQUEST_ENV, **env}).seen() == plain.seen()
        assert (warm.workers, warm.retired) == (1, [])
