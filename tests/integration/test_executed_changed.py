"""What a process keeps when it executes another program, and what had changed before its checkpoint."""

import time

import pytest

from harness.executed import PROGRAM, WARM, answers, compare, differences, stood_in
from test_executed import wrapper  # noqa: F401

# What is changed for all requests, before the first one comes.
OF_LOAD = {
    "perl, umask": "#!/usr/bin/perl\nBEGIN {{ umask 027 }} exec '{target}', 'a';\n",
    "perl, nice": "#!/usr/bin/perl\nBEGIN {{ setpriority 0, 0, 3 }} exec '{target}', 'a';\n",
    "a wrapper, nice": "#!/usr/bin/env -S nice -n 3 perl\nexec '{target}', 'a';\n",
}


def keeps_what_it_changed(site, script, settings=""):
    bridge = site.start_bridge(WARM, programs=PROGRAM + settings)
    classic = compare(site, bridge, script)
    bridge.request(script)
    for _ in range(10):
        bridge.wait_warm(script)
        assert differences(answers(bridge, script, 1)[0], classic) == {}
        time.sleep(0.1)
    assert stood_in(bridge, script) == 0
    return bridge


@pytest.mark.parametrize("name", OF_LOAD)
def test_what_was_changed_before_the_checkpoint_is_kept(site, wrapper, name):  # noqa: F811
    target = site.folder / "elsewhere" / "target"
    keeps_what_it_changed(site, site.script("x", OF_LOAD[name].format(target=target)))


def test_what_a_constructor_changed_is_kept(site, wrapper):  # noqa: F811
    keeps_what_it_changed(site, site.c("x", f"""
        #include <sys/stat.h>
        #include <unistd.h>
        __attribute__((constructor)) static void first(void) {{ umask(027); }}
        int main(void) {{ execl("{site.folder}/elsewhere/target", "x", (char *)0); return 1; }}"""))


def test_what_a_wrapper_changed_that_executes_the_interpreter_is_kept(site, wrapper):  # noqa: F811
    perl = site.c("perl", """
        #include <sys/stat.h>
        #include <unistd.h>
        int main(int argc, char **argv) { (void)argc; umask(027); return execv("/usr/bin/perl", argv); }""")
    script = site.script("x.pl", f"exec '{site.folder}/elsewhere/target', 'a';\n")
    bridge = keeps_what_it_changed(site, script, f'interpreter = "{perl}"\n')
    assert bridge.program(script)["level"] == "compiled"
