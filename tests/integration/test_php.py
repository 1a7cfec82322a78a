"""PHP: php-cgi as a pool of FastCGI processes, by first line and by `match` with `interpreter`: the same
answers as plain CGI, and what one request leaves for the next."""

import hashlib
import os
import pathlib
import shutil

import pytest

from harness import processes
from harness.processes import wait_until

PHP_CGI = "/usr/bin/php-cgi"
SYSINFO = pathlib.Path("/usr/share/phpsysinfo")

pytestmark = pytest.mark.skipif(not pathlib.Path(PHP_CGI).exists(), reason="no php-cgi")

ONE = 'mode = "persistent"\nworkers = { max = 1, spare = 1 }\n'
BY_MATCH = '[[program]]\nmatch = "*.php"\ninterpreter = "/usr/bin/php-cgi"\n'

REPORT = r"""
    <?php
    header('Content-Type: application/json');
    header('X-Own: value');
    if (($_GET['status'] ?? '') != '') http_response_code((int)$_GET['status']);
    $server = $_SERVER;
    foreach (['REQUEST_TIME', 'REQUEST_TIME_FLOAT'] as $name) unset($server[$name]);
    # As CGI php-cgi sees the query's words and its own command line; by FastCGI there is none.
    foreach (['argv', 'argc', 'PHP_SELF', 'FCGI_ROLE', 'PHP_FCGI_CHILDREN', 'PHP_FCGI_MAX_REQUESTS',
              'CONTENT_LENGTH', 'CONTENT_TYPE', 'PWD', 'SHLVL', '_'] as $name) unset($server[$name]);
    ksort($server);
    echo json_encode(['server' => $server, 'get' => $_GET, 'post' => $_POST, 'cookie' => $_COOKIE,
                      'body' => sha1(file_get_contents('php://input')), 'cwd' => getcwd(),
                      'script' => $_SERVER['SCRIPT_FILENAME'], 'file' => __FILE__,
                      'home' => getenv('COLOUR')], JSON_PRETTY_PRINT), "\n";
    """

PID = "<?php header('Content-Type: text/plain'); echo getmypid(), \"\\n\";"


def first_line(site, name, text, mode=0o755):
    return site.script(name, "#!/usr/bin/php-cgi\n" + text.lstrip("\n"), mode)


class TestFindingIt:
    @pytest.mark.parametrize("interpreter", ["php-cgi", pathlib.Path("/usr/bin/php-cgi").resolve().name],
                             ids=["php-cgi", "with its version"])
    def test_a_first_line_is_enough(self, site, interpreter):
        script = site.script("pid.php", f"#!/usr/bin/{interpreter}\n{PID}")
        bridge = site.start_bridge(ONE)
        pids = {bridge.request(script).body for _ in range(10)}
        assert len(pids) == 1 and int(pids.pop()) > 1
        entry = bridge.program(script)
        assert (entry["level"], entry["requests_classic"]) == ("fastcgi", 0)

    def test_a_file_that_is_not_executable_is_run_by_its_interpreter(self, site):
        script = site.script("pid.php", PID, 0o644)
        bridge = site.start_bridge(ONE, BY_MATCH)
        assert len({bridge.request(script).body for _ in range(5)}) == 1
        assert bridge.program(script)["level"] == "fastcgi"
        bridge.command("mode", script, "classic")
        assert len({bridge.request(script).body for _ in range(5)}) == 5

    def test_without_an_interpreter_it_is_refused_also_once_it_was_run(self, site):
        script = site.script("pid.php", PID, 0o644)
        bridge = site.start_bridge(ONE, BY_MATCH)
        assert bridge.request(script).status == 200
        site.rewrite_config(ONE)
        bridge.hangup()
        wait_until(lambda: bridge.request(script).status == 403, "it is refused")
        bridge.expect_log("is not executable")

    def test_what_does_not_match_still_needs_its_x_bit(self, site):
        script = site.sh("plain", "echo", 0o644)
        bridge = site.start_bridge(ONE, BY_MATCH)
        assert bridge.request(script).status == 403
        bridge.expect_log("is not executable")

    @pytest.mark.parametrize("how", ["first line", "interpreter"])
    def test_it_is_known_by_what_it_is_and_not_by_its_name(self, site, how):
        """Debian's `php8.2` and others' `/opt/.../php` may be either; neither is run to find out."""
        folder = site.folder / "opt"
        folder.mkdir()
        php = folder / "php8.2"

        def install(kind):
            fresh = folder / "fresh"
            shutil.copy2(shutil.which(kind), fresh)
            fresh.rename(php)
        install("php-cgi")
        script = site.script("pid.php", (f"#!{php}\n" if how == "first line" else "") + PID)
        match = f'[[program]]\nmatch = "*.php"\ninterpreter = "{php}"\n'
        bridge = site.start_bridge(ONE, match if how == "interpreter" else "")
        assert len({bridge.request(script).body for _ in range(5)}) == 1
        assert bridge.program(script)["level"] == "fastcgi"
        if not shutil.which("php"):
            return
        # The next version is the command-line one, which does not contain the word FastCGI.
        install("php")
        bridge.allow_log("no proper answer|no head|status 502|: 502: ")
        wait_until(lambda: bridge.request(script) and bridge.program(script)["level"] == "linked",
                   "it is no longer taken for one that speaks FastCGI")

    def test_php_can_be_warm_as_a_cgi_program_too(self, site):
        script = first_line(site, "pid.php", PID)
        bridge = site.start_bridge('mode = "persistent"\nlaunch = "cgi"\nreset = "fork"\n')
        bridge.request(script)
        assert bridge.wait_warm(script)["level"] == "linked"
        assert bridge.answered_by(script) == "persistent"


class TestSameAsCgi:
    ASKED = [dict(), dict(query="a=1&b[]=x&b[]=y"), dict(method="HEAD"), dict(query="status=404"),
             dict(method="POST", body=b"name=value&other=%20x",
                  CONTENT_TYPE="application/x-www-form-urlencoded"),
             dict(method="POST", body=os.urandom(1 << 20), CONTENT_TYPE="application/octet-stream"),
             dict(HTTP_COOKIE="a=b; c=d", HTTP_X_OWN="y"), dict(SCRIPT_NAME="/other/name"),
             dict(path_info="/more/path", query="x=y"), dict(REDIRECT_STATUS=None)]

    @staticmethod
    def answers(bridge, script, asked):
        found = []
        for one in asked:
            one = dict(one)
            path = str(script) + one.pop("path_info", "")
            answer = bridge.request(path, **one)
            found.append((answer.status, answer.head, answer.body))
        return found

    @pytest.mark.parametrize("how", ["first line", "match"])
    def test_a_hundred_requests_are_the_same(self, site, how):
        script = (first_line(site, "report.php", REPORT) if how == "first line"
                  else site.script("report.php", REPORT, 0o644))
        bridge = site.start_bridge('mode = "classic"\nenv = { COLOUR = "blue" }\n',
                                   BY_MATCH if how == "match" else "")
        wanted = self.answers(bridge, script, self.ASKED)
        assert all(status in (200, 404) for status, _, _ in wanted), wanted
        bridge.command("mode", script, "persistent")
        for _ in range(10):
            assert self.answers(bridge, script, self.ASKED) == wanted
        assert bridge.program(script)["requests_persistent"] == 100

    def test_split_divides_between_plain_cgi_and_the_pool(self, site):
        script = first_line(site, "pid.php", PID)
        bridge = site.start_bridge('mode = "split"\nsplit = { persistent = 50 }\n')
        for _ in range(20):
            assert bridge.request(script).status == 200
        entry = bridge.program(script)
        assert (entry["requests_classic"], entry["requests_persistent"]) == (10, 10)
        assert entry["arm"] == "split/none"

    @pytest.mark.skipif(not SYSINFO.exists(), reason="no phpsysinfo")
    def test_a_real_program_answers_the_same_bytes(self, site):
        folder = site.cgi_bin / "phpsysinfo"
        shutil.copytree(SYSINFO, folder, symlinks=False, ignore_dangling_symlinks=True)
        shutil.copy2("/etc/phpsysinfo/phpsysinfo.ini", folder / "phpsysinfo.ini")
        bridge = site.start_bridge('mode = "classic"\n', BY_MATCH)
        asked = [("index.php", "disp=dynamic"), ("js.php", "name=jquery"), ("js.php", "name=phpsysinfo"),
                 ("language/language.php", "lang=en"), ("language/language.php", "lang=de"),
                 ("index.php", "")]

        def answers():
            return [(answer.status, hashlib.sha1(answer.body).hexdigest(), len(answer.body))
                    for name, query in asked for answer in [bridge.request(folder / name, query=query)]]
        wanted = answers()
        assert all(status == 200 for status, _, _ in wanted), wanted
        assert sum(length for _, _, length in wanted) > 50_000
        bridge.command("reload")
        site.rewrite_config('mode = "persistent"\n', BY_MATCH)
        bridge.hangup()
        for _ in range(5):
            assert answers() == wanted
        assert bridge.program(folder / "index.php")["requests_persistent"] > 0


class TestLife:
    def test_a_worker_is_replaced_after_max_requests_of_ours_not_of_phps(self, site):
        script = first_line(site, "pid.php", PID)
        bridge = site.start_bridge(
            'mode = "persistent"\n'
            'workers = { max = 1, spare = 1, max_requests = 600 }\n')
        pids = [bridge.request(script).body for _ in range(540)]  # at most 10 % sooner
        assert len(set(pids)) == 1, "php-cgi itself leaves after 500"
        assert len({bridge.request(script).body for _ in range(70)}) == 2

    def test_one_process_is_one_worker(self, site):
        script = first_line(site, "pid.php", PID)
        bridge = site.start_bridge(ONE + 'env = { PHP_FCGI_CHILDREN = "7" }\n')
        pid = int(bridge.request(script).body)
        assert processes.children_of(bridge.pid) == [pid] and not processes.children_of(pid)

    def test_a_changed_script_answers_at_once(self, site):
        first_line(site, "text.php", "one")
        bridge = site.start_bridge(ONE)
        script = site.cgi_bin / "text.php"
        assert bridge.request(script).body == b"one"
        for text in ("two", "three", "four"):
            first_line(site, "text.php", text)
            assert bridge.request(script).body == text.encode()

    def test_an_error_in_the_script_is_its_own_answer(self, site):
        script = first_line(site, "bad.php", "<?php this is no php")
        bridge = site.start_bridge(ONE)
        answer = bridge.request(script)
        assert answer.status == 500 and b"PHP Parse error" in answer.stderr
        bridge.expect_log("stderr: PHP Parse error")

    def test_a_script_that_never_ends_is_ended(self, site):
        script = first_line(site, "loop.php", "<?php if ($_GET) while (true) ; echo getmypid();")
        bridge = site.start_bridge(ONE + 'timeouts = { request = "3s", kill_grace = "200ms" }\n')
        pid = int(bridge.request(script).body)
        assert bridge.request(script, query="x=1").status == 504
        bridge.expect_log("timeouts.request")
        wait_until(lambda: not processes.alive(pid), "its process is gone")
        assert bridge.request(script).status == 200

    # The bridge reads the first 16 KiB of an answer in another way than the rest; php-cgi adds 8 bytes at a
    # time to what is requested.
    def test_answers_of_every_length_come_whole(self, site):
        script = first_line(site, "long.php", "<?php echo str_repeat('x', (int)$_GET['n']);")
        bridge = site.start_bridge(ONE)
        for count in [*range(16384 - 144, 16384 - 32, 8), 65536, 100, 300_000, 16384, 0]:
            answer = bridge.request(script, query=f"n={count}")
            assert (answer.status, len(answer.body)) == (200, count)

    def test_a_long_answer_reaches_a_slow_client_whole(self, site):
        script = first_line(site, "long.php", """
            <?php for ($i = 0; $i < 1024; $i++) echo str_repeat(chr(65 + $i % 26), 4096);""".strip())
        bridge = site.start_bridge(ONE)
        body = bridge.request(script).body
        assert len(body) == 4 << 20 and body[:4096] == b"A" * 4096


# What a request does, and what the next one checks. php-cgi itself puts these back.
PUT_BACK = {
    "environment": ("putenv('LEFT=1');", "getenv('LEFT')"),
    "TZ": ("putenv('TZ=Asia/Tokyo'); date_default_timezone_set('Asia/Tokyo');",
           "[getenv('TZ'), date_default_timezone_get(), date('H', 0)]"),
    "locale": ("setlocale(LC_ALL, 'C.UTF-8');", "setlocale(LC_ALL, 0)"),
    "umask": ("umask(0);", "umask()"),
    "folder": ("chdir('/');", "getcwd()"),
    "setting": ("ini_set('precision', '3'); ini_set('memory_limit', '1G');",
                "[ini_get('precision'), ini_get('memory_limit')]"),
    "include path": ("set_include_path('/');", "get_include_path()"),
    "time limit": ("set_time_limit(1);", "ini_get('max_execution_time')"),
    "global": ("$GLOBALS['left'] = 1;", "$GLOBALS['left'] ?? null"),
    "static": ("f();", "f()"),
    "class": ("eval('class Left {}');", "class_exists('Left')"),
    "constant": ("define('LEFT', 1);", "defined('LEFT')"),
    "handler": ("set_error_handler(fn() => true);", "set_error_handler(null)"),
    "shutdown": ("register_shutdown_function(function () { echo 'left'; });", "1"),
    "buffer": ("ob_start(); ob_start();", "ob_get_level()"),
    "wrapper": ("stream_wrapper_unregister('file');", "in_array('file', stream_get_wrappers())"),
    "random": ("mt_srand(1);", "mt_rand() === (mt_srand(1) ?? mt_rand())"),
    "encoding": ("mb_internal_encoding('EUC-JP');", "mb_internal_encoding()"),
    "file": ("fopen(__FILE__, 'r');", "count(glob('/proc/self/fd/*'))"),
    "lock": ("flock(fopen(__FILE__, 'r'), LOCK_EX);", "flock(fopen(__FILE__, 'r'), LOCK_EX | LOCK_NB)"),
    "header": ("header('X-Left: 1');", "headers_list()"),
    "ignored abort": ("ignore_user_abort(true);", "ignore_user_abort()"),
    "error level": ("error_reporting(0);", "error_reporting()"),
}
# What it does not put back; the bridge notices that a process has changed, and replaces it.
REPLACED = {
    "priority": ("proc_nice(5);", "pcntl_getpriority()"),
}

BATTERY = """
    <?php
    function f() {{ static $count = 0; return ++$count; }}
    header('Content-Type: text/plain');
    if (isset($_GET['leave'])) {{ {leave} echo 'done'; exit; }}
    echo json_encode({look}), ' ', getmypid();
    """


class TestWhatARequestLeaves:
    @pytest.mark.parametrize("kind", PUT_BACK)
    def test_php_puts_back(self, site, kind):
        leave, look = PUT_BACK[kind]
        script = first_line(site, "battery.php", BATTERY.format(leave=leave, look=look))
        bridge = site.start_bridge(ONE)
        wanted, pid = bridge.request(script).body.rsplit(b" ", 1)
        for _ in range(3):
            bridge.request(script, query="leave=1")
            assert bridge.request(script).body.rsplit(b" ", 1) == [wanted, pid]

    def test_the_bridge_replaces_a_process_whose_priority_changed(self, site):
        leave, look = REPLACED["priority"]
        script = first_line(site, "battery.php", BATTERY.format(leave=leave, look=look))
        bridge = site.start_bridge(ONE)
        wanted, pid = bridge.request(script).body.rsplit(b" ", 1)
        assert bridge.request(script, query="leave=1").body.strip() == b"done"
        seen, other = bridge.request(script).body.rsplit(b" ", 1)
        assert seen == wanted and other != pid
        assert bridge.program(script)["retired"]["limits"] == 1
