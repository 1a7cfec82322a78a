"""The leak battery: each program looks for what the request before it left, then leaves it. In
persistent mode it must find what classic finds: nothing."""

import pytest

# name: statements that print what they find, then change it. PROBE prints `clean` or what it found.
PYTHON = {
    "global": "found = globals().get('left'); left = 1",
    "module-attribute": "import json; found = getattr(json, 'left', None); json.left = 1",
    "builtins": "import builtins; found = getattr(builtins, 'left', None); builtins.left = 1",
    "cwd": "import os; found = None if os.getcwd() == os.path.dirname(__file__) else os.getcwd(); "
           "os.chdir('/')",
    "umask": "import os; old = os.umask(0o777); found = old if old == 0o777 else None",
    "environ": "import os; found = os.environ.get('LEFT'); os.environ['LEFT'] = '1'",
    "putenv": "import os, subprocess; found = subprocess.run(['/bin/sh', '-c', 'printf %s \"$LEFT\"'], "
              "capture_output=True, text=True).stdout; os.putenv('LEFT', '1')",
    "timezone": "import os, time; found = os.environ.get('TZ') == 'XXX-5' or None; "
                "os.environ['TZ'] = 'XXX-5'; time.tzset()",
    "signal-handler": "import signal; h = signal.getsignal(signal.SIGUSR1); "
                      "found = None if h == signal.SIG_DFL else h; "
                      "signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
    "signal-mask": "import signal; m = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2]); "
                   "found = m or None",
    "alarm": "import signal; found = signal.alarm(1000) or None",
    "itimer": "import signal; t = signal.setitimer(signal.ITIMER_REAL, 1000); found = t[0] or None",
    # 500 is the worker's own channel, closed in whatever the program starts.
    "descriptor": "import os; found = [n for n in os.listdir('/proc/self/fd') if 3 < int(n) < 500] "
                  "or None; "
                  "[os.dup(1) for _ in range(5)]",
    "rlimit": "import resource as r; s, h = r.getrlimit(r.RLIMIT_CORE); "
              "found = 'limit' if h == 12345 else None; r.setrlimit(r.RLIMIT_CORE, (12345, 12345))",
    "nice": "import os; n = os.nice(0); found = n or None; os.nice(3)",
    "child": "import os; found = None\ntry:\n  found = os.waitpid(-1, os.WNOHANG)\nexcept "
             "ChildProcessError: pass\nif os.fork() == 0: os._exit(0)",
    "thread": "import threading, time; found = threading.active_count() - 1 or None; "
              "threading.Thread(target=time.sleep, args=(0.05,), daemon=True).start()",
    "locale": "import locale; l = locale.setlocale(locale.LC_NUMERIC); "
              "found = None if l in ('C', 'C.UTF-8') else l; "
              "locale.setlocale(locale.LC_ALL, 'C')",
    "heap": "import gc; found = None; left = bytearray(50_000_000)",
    "path": "import sys; found = '/left' if '/left' in sys.path else None; sys.path.append('/left')",
    "argv": "import sys; found = None if len(sys.argv) == 1 else sys.argv; sys.argv.append('left')",
    "atexit": "import atexit; found = None; atexit.register(lambda: None)",
    "prctl-name": "n = open('/proc/self/comm').read(); found = 'left' if n == 'left\\n' else None; "
                  "open('/proc/self/comm', 'w').write('left')",
    "group": "import os; g = os.getpgrp(); found = None if g == os.getpid() else g",
    "session": "import os; found = None; os.fork() or (os.setsid(), os._exit(0))",
    "stdin-rest": "import sys; found = sys.stdin.read() or None",
    "lock": "import fcntl, os; f = open(os.path.dirname(__file__) + '/lock', 'w'); "
            "fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB); found = None",
    "decimal": "import decimal; p = decimal.getcontext().prec; found = p if p == 5 else None; "
               "decimal.getcontext().prec = 5",
    "warnings": "import warnings; found = len([f for f in warnings.filters if f[0] == 'error']) or None;"
                " warnings.simplefilter('error')",
}

PERL = {
    "package-variable": "$found = $main::left; $main::left = 1;",
    "closure": "my $x; sub keep { $x = 1 } $found = $x; keep();",
    "environment": "$found = $ENV{LEFT}; $ENV{LEFT} = 1;",
    "cwd": "use Cwd; $found = getcwd() eq '/' ? '/' : undef; chdir '/';",
    "umask": "my $u = umask 0777; $found = $u == 0777 ? $u : undef;",
    "sig": "$found = $SIG{USR1}; $SIG{USR1} = 'IGNORE';",
    "inc": "$found = $INC{'left.pm'}; $INC{'left.pm'} = 1;",
    "input-separator": "$found = defined $/ ? undef : 'undef'; undef $/;",
    "output-separator": "$found = $,; $, = '';",
    "autoflush": "$found = $| ? 'flush' : undef; $| = 1;",
    "program-name": "$found = $0 eq 'left' ? $0 : undef; $0 = 'left';",
    "alarm": "$found = alarm(1000) || undef;",
    "end-block": "$found = undef; END { $main::ended++ }",
    "data": "$found = <DATA> eq \"first line\\n\" ? undef : 'moved';",
    "srand": "$found = undef; srand 42;",
    "symbol-table": "$found = defined &main::made ? 'made' : undef; *main::made = sub { 1 };",
    "inc-path": "$found = (grep { $_ eq '/left' } @INC) ? '/left' : undef; push @INC, '/left';",
    "string-eval": "$found = eval q(defined $Left::x ? 'x' : undef); eval q($Left::x = 1);",
}

SHELL = {
    "variable": 'found=$left; left=1',
    "exported": 'found=$LEFT; export LEFT=1',
    "function": 'found=$(command -v left); left() { :; }',
    "cwd": '[ "$PWD" = / ] && found=$PWD; cd /',
    "umask": '[ "$(umask)" = 0777 ] && found=umask; umask 777',
    "trap": 'found=$(trap -p); trap : USR1',
    "options": 'case $- in *u*) found=$-;; esac; set -u',
    "limit": '[ "$(ulimit -n)" = 99 ] && found=limit; ulimit -n 99',
    "descriptor": '(exec >&7) 2>/dev/null && found=fd; exec 7>&1',
    "arguments": 'found=$*; set -- left',
    "job": 'found=$(jobs); sleep 0.05 &',
}

C = {
    "static": "static int left; found = left; left = 1;",
    "heap": 'char *p = malloc(64); found = memcmp(p, "left", 4) == 0; memcpy(p, "left", 4);',
    "environ": 'found = getenv("LEFT") != 0; setenv("LEFT", "1", 1);',
    "rand": "found = rand() != 1804289383;",
    "stdio-mode": "found = 0; setvbuf(stdout, 0, _IONBF, 0);",
    "brk": "found = 0; if (sbrk(1 << 20) == (void *)-1) found = 1;",
}


def check(bridge, script):
    bridge.request(script)
    bridge.wait_warm(script)
    for n in range(6):
        response = bridge.request(script)
        assert (response.status, response.body) == (200, b"clean\n"), f"request {n}"


@pytest.fixture
def bridge(site):
    bridge = site.start_bridge('mode = "persistent"\nworkers = { max = 2, spare = 1 }')
    bridge.allow_log("leak")
    return bridge


@pytest.mark.parametrize("name", PYTHON)
def test_python(site, bridge, name):
    script = site.script("leak", "#!/usr/bin/python3\n" + PYTHON[name] + """
print("Content-Type: text/plain\\n\\n" + ("clean" if not found else "found %r" % (found,)))
""")
    check(bridge, script)


@pytest.mark.parametrize("name", PERL)
def test_perl(site, bridge, name):
    script = site.script("leak", "#!/usr/bin/perl\nmy $found;\n" + PERL[name] + """
print "Content-Type: text/plain\\n\\n" . ($found ? "found $found" : "clean") . "\\n";
__DATA__
first line
""")
    check(bridge, script)


@pytest.mark.parametrize("name", SHELL)
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_shell(site, bridge, shell, name):
    if name == "trap" and shell == "/bin/sh":
        pytest.skip("dash has no trap -p")
    script = site.script("leak", f"#!{shell}\nfound=\n{SHELL[name]}\n" + """
if [ -n "$found" ]; then found="found $found"; else found=clean; fi
printf 'Content-Type: text/plain\\n\\n%s\\n' "$found"
""")
    check(bridge, script)


@pytest.mark.parametrize("name", C)
def test_c(site, bridge, name):
    script = site.c("leak", """
        #define _GNU_SOURCE
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        int main(void) {
          int found = 0;
          %s
          puts("Content-Type: text/plain\\n");
          puts(found ? "found" : "clean");
          return 0;
        }
        """ % C[name], "-O0", "-Wno-unused-result")
    check(bridge, script)
