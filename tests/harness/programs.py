"""Small CGI programs that several tests use. Each function writes one into a site's cgi-bin."""

import json

# A thread's function: no signal ends it, not even one that libc's calls leave alone.
DEAF_THREAD_C = r"""
    #include <pthread.h>
    #include <signal.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    static volatile int runs;
    static void *sleep_on(void *unused) {
      unsigned long all = ~0ul;
      syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8);
      runs = 1;
      sleep(60);
      return unused;
    }
    """


# In front of a C program: its calls are not handed back (calls/clean.h), and only verify sees what it does by
# an instruction of its own.
UNSEEN_C = r"""
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
__attribute__((constructor)) static void finds(void) { dlvsym(RTLD_DEFAULT, "puts", "GLIBC_2.2.5"); }
"""


def hello(site, name="hello", text="hello"):
    return site.sh(name, f"printf 'Content-Type: text/plain\\n\\n{text}\\n'\n")


def report(site, name="report"):
    """Answers with JSON: argv, env, cwd, body (as text) and pid."""
    return site.python(name, """
        import json, os, sys
        body = sys.stdin.buffer.read()
        answer = json.dumps({"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(),
                             "body": body.decode("latin-1"), "pid": os.getpid()})
        sys.stdout.write("Content-Type: application/json\\n\\n" + answer)
        """)


def reported(response):
    """The decoded answer of report()."""
    return json.loads(response.body)


def echo(site, name="echo"):
    """Answers with the request body, piece by piece as it arrives."""
    return site.perl(name, """
        use strict; use warnings;
        binmode STDIN; binmode STDOUT; $| = 1;
        print "Content-Type: application/octet-stream\\r\\n\\r\\n";
        while (sysread STDIN, my $piece, 65536) { syswrite STDOUT, $piece; }
        """)


def sleeper(site, name="sleeper", notes=None):
    """Prints `started PID` and sleeps for a minute, or for the time in ?N; writes its pid to notes."""
    note = f'echo $$ >> "{notes}"' if notes else ""
    return site.sh(name, f"""
        {note}
        printf 'Content-Type: text/plain\\n\\nstarted %s\\n' $$
        sleep "${{QUERY_STRING:-60}}"
        echo ended
        """)


def pid(site, name="pid"):
    """Answers with its pid."""
    return site.sh(name, "printf 'Content-Type: text/plain\\n\\n%s\\n' $$\n")
