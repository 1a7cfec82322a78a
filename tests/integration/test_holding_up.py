"""A program that turns against the bridge itself costs nobody else an answer."""

import pytest

from harness import processes, programs
from harness.site import PROJECT

INCLUDES = f"-I{PROJECT}/bridge"

# Finds the channel to the bridge, as any program can.
CHANNEL_C = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "message/wire.h"
static int channel(void) {
  int found = -1;
  for (int fd = 3; fd < 4096; ++fd) {
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET) found = fd;
  }
  return found;
}
static long raw_clone(long flags) {
  long result;
  register long r10 __asm__("r10") = 0;
  register long r8 __asm__("r8") = 0;
  __asm__ volatile("syscall" : "=a"(result) : "a"(56), "D"(flags), "S"(0), "d"(0), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}
static int gone_on(void) { return access(GATE, F_OK) == 0; }
"""


def hostile(site, name, text):
    """A C program; it goes on as long as the file `gate` is there."""
    gate = site.folder / "gate"
    gate.touch()
    return site.c(name, CHANNEL_C.replace("GATE", f'"{gate}"') + text, INCLUDES), gate


def expect_neighbours(site, bridge, gate):
    """Others are answered while the program goes on."""
    hello = programs.hello(site)
    for _ in range(10):
        assert bridge.request(hello).body == b"hello\n"
    assert gate.exists()
    gate.unlink()


def lives(script):
    return [pid for pid in map(int, processes.processes())
            if processes.command_of(pid).startswith(str(script))]


# A module that is loaded ahead answers what nobody asked.
FORGED_JS = """
const fs = require("fs");
const message = Buffer.alloc(24);
message.writeUInt32LE(0x43474942, 0); message.writeUInt16LE(5, 4); message.writeUInt16LE(TYPE, 6);
message.writeUInt32LE(BYTES, 8); message.writeBigUInt64LE(1n, 12);
for (let fd = 3; fd < 1024; fd++) try { fs.writeSync(fd, message.subarray(0, 12 + BYTES)) } catch (e) {}
"""


@pytest.mark.parametrize("type, size", [(3, 8), (9, 12), (5, 8), (6, 8)],
                         ids=["fork failed", "verified", "ready", "done"])
def test_an_answer_that_nobody_asked_for_costs_only_its_process(site, type, size):
    module = site.script("forged.js", FORGED_JS.replace("TYPE", str(type)).replace("BYTES", str(size)))
    script = site.script("x.js", '#!/usr/bin/node\nconsole.log("Content-Type: text/plain\\n\\nhello");\n')
    bridge = site.start_bridge(f'preload = ["{module}"]')
    bridge.allow_log(".")
    for _ in range(5):
        assert bridge.request(script).body == b"hello\n"
    assert bridge.request(programs.hello(site)).body == b"hello\n"


@pytest.mark.parametrize("settings", ['mode = "classic"', 'reset = "rewind"'])
def test_children_that_ask_to_be_traced_hold_up_nobody(site, settings):
    """They are children of the bridge, and it has to let each of them go on after each signal."""
    script, gate = hostile(site, "traced", r"""
        #include <signal.h>
        #include <sys/ptrace.h>
        int main(void) {
          puts("Content-Type: text/plain\n\nok");
          fflush(stdout);
          for (int i = 0; i < 48; ++i) {
            if (raw_clone(0x8000 | SIGCHLD) != 0) continue;
            setsid();
            close(0); close(1); close(2);
            for (long k = 0; gone_on() && k < 20000000; ++k) {
              ptrace(PTRACE_TRACEME, 0, 0, 0);
              kill(getpid(), SIGWINCH);
            }
            _exit(0);
          }
          _exit(0);
        }
        """)
    bridge = site.start_bridge(settings)
    bridge.allow_log(".")
    bridge.request(script)
    expect_neighbours(site, bridge, gate)


def test_children_that_go_on_answering_for_a_fastcgi_program_hold_up_nobody(site):
    script, gate = hostile(site, "flood", r"""
        #include <signal.h>
        static unsigned char out[8 + 16376] = {1, 6, 0, 1, 16376 >> 8, 16376 & 255};
        static void all(int fd, void *bytes, size_t count) {
          for (size_t done = 0; done < count;) {
            ssize_t got = read(fd, (char *)bytes + done, count - done);
            if (got <= 0) _exit(0);
            done += got;
          }
        }
        int main(void) {
          signal(SIGPIPE, SIG_IGN);
          int peer = accept(0, 0, 0);
          for (;;) {
            unsigned char head[8], body[70000];
            all(peer, head, 8);
            all(peer, body, (head[4] << 8 | head[5]) + head[6]);
            if (head[1] == 9) write(peer, "\1\12\0\0\0\0\0\0", 8);
            if (head[1] != 5 || head[4] + head[5] != 0) continue;
            memcpy(out + 8, "Content-Type: text/plain\n\n", 26);
            for (int i = 0; i < 12; ++i) {
              if (fork() != 0) continue;
              setsid();
              for (long k = 0; gone_on() && k < 100000; ++k) send(peer, out, sizeof out, MSG_NOSIGNAL);
              _exit(0);
            }
            usleep(200000);
            kill(getpid(), SIGKILL);
          }
        }
        """)
    bridge = site.start_bridge(programs=f'[[program]]\nmatch = "{script}"\nlaunch = "fastcgi"\n'
                               'workers = { min = 1 }\n')
    bridge.allow_log(".")
    with bridge.connect() as peer:
        peer.start(script)
        expect_neighbours(site, bridge, gate)


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_workers_that_say_they_are_done_and_stay_do_not_pile_up(site, reset):
    script, gate = hostile(site, "early", r"""
        #include <signal.h>
        int main(void) {
          const char *query = getenv("QUERY_STRING");
          printf("Content-Type: text/plain\n\nok\n");
          fflush(stdout);
          int fd = channel();
          if (fd < 0 || query == NULL || *query != 'r') return 0;
          struct { struct message_header head; struct message_done done; } __attribute__((packed)) packet = {
              {MESSAGE_MAGIC, MESSAGE_VERSION, MESSAGE_DONE, sizeof(struct message_done)}, {0}};
          packet.done.request_id = strtoul(query + 1, NULL, 10);
          send(fd, &packet, sizeof packet, 0);
          signal(SIGTERM, SIG_IGN);
          for (long k = 0; gone_on() && k < 1000; ++k) usleep(100000);
          _exit(0);
        }
        """)
    bridge = site.start_bridge(f'reset = "{reset}"\nworkers = {{ max = 2, spare = 1 }}\n')
    bridge.allow_log(".")
    bridge.request(script)
    bridge.wait_warm(script)
    for number in range(1, 40):
        bridge.request(script, query=f"r{number}")
        assert len(lives(script)) < 12, number
    expect_neighbours(site, bridge, gate)


def test_a_flood_of_notes_ends_its_process(site):
    """Sent by a constructor, before the checkpoint."""
    script, gate = hostile(site, "notes", r"""
        __attribute__((constructor)) static void pose(void) {
          int fd = channel();
          if (fd < 0) return;
          struct { struct message_header head; struct message_note note; char text[40]; } packet;
          memset(&packet, 'x', sizeof packet);
          packet.head = (struct message_header){MESSAGE_MAGIC, MESSAGE_VERSION, MESSAGE_NOTE,
                                                sizeof packet - sizeof packet.head};
          packet.note = (struct message_note){NOTE_WARNING, sizeof packet.text};
          while (gone_on() && send(fd, &packet, sizeof packet, MSG_NOSIGNAL) >= 0) {
          }
          _exit(0);
        }
        int main(void) { puts("Content-Type: text/plain\n\nok"); return 0; }
        """)
    bridge = site.start_bridge('mode = "persistent"')
    bridge.allow_log(".")
    bridge.request(script)
    bridge.expect_log("it says more than any does")
    expect_neighbours(site, bridge, gate)


LUA = "print('Content-Type: text/plain\\n\\n' .. math.random(1 << 40))\n"


@pytest.mark.parametrize("name", ["lua", "interpreter"])
def test_lua_is_known_by_its_content(site, name):
    """Its generator starts from an address, which all workers have in common."""
    lua = "/usr/bin/lua5.4"
    own = site.folder / name
    own.write_bytes(open(lua, "rb").read())
    own.chmod(0o755)
    script = site.script("draw", f"#!{own}\n{LUA}")
    bridge = site.start_bridge('mode = "persistent"')
    assert len({bridge.request(script).body for _ in range(10)}) == 10
    assert "Lua 5.4" in bridge.program(script)["level_reason"]


def test_a_question_mark_in_a_name_is_no_query(site):
    """nginx compares its rules with the name as it is; a visitor writes it as %3F."""
    programs.hello(site, "admin")
    bridge = site.start_bridge('mode = "classic"')
    bridge.allow_log("admin")
    location = f"""
        location ~ ^/cgi-bin/admin(/|$) {{ deny all; }}
        location /cgi-bin/ {{
          include /etc/nginx/fastcgi_params;
          fastcgi_param SCRIPT_FILENAME {site.folder}$fastcgi_script_name;
          fastcgi_pass bridge;
        }}
        """
    nginx = site.start_nginx(bridge, locations=location)
    assert nginx.send_request("/cgi-bin/admin").status == 403
    assert nginx.send_request("/cgi-bin/admin%3Fx?x").status == 404


@pytest.mark.parametrize("backend_type", [None, "GENERIC"])
def test_apache_s_rules_are_about_the_program_that_runs(site, backend_type):
    """Neither "%3F" nor "%25" in a name, with whatever follows it, leads to a program that Apache forbids."""
    programs.hello(site, "admin")
    bridge = site.start_bridge('mode = "classic"')
    bridge.allow_log("adm")
    apache = site.start_apache(bridge, backend_type=backend_type,
                               extra='<Files "admin">\n  Require all denied\n</Files>')
    assert apache.send_request("/cgi-bin/admin").status == 403
    for name in ("admin%3Fx?x", f"adm%2569n{site.cgi_bin}/admin", "adm%2569n/admin"):
        assert apache.send_request("/cgi-bin/" + name).status in (403, 404), name
