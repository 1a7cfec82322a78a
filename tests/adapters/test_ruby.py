"""The level `compiled` for Ruby: the real script, compiled by the real ruby, and not yet run."""

import os
import re
import time

import pytest

from driver import FILE, LAUNCH_ENV, REQUEST_ENV, SHALLOWER, WARNING, Warm, adapters_dir, run_plainly
from ruby import RUBY, command, refusal, ruby_zygote

pytestmark = pytest.mark.skipif(not os.path.exists(RUBY), reason="ruby is not installed")


def answers_like_plain(script, *switches, words=(), count=3, body=b"", env=None, launch_env=None,
                       preload="", code=None, cwd="/"):
    """Runs it in a worker that is forked for each request, and in one that rewinds."""
    plain = run_plainly([RUBY, *switches, script, *words], body=body, env=env, cwd=cwd)
    if code is not None:
        assert plain.code == code, plain.seen()
    with ruby_zygote(script, *switches, preload=preload, env=launch_env, cwd=cwd) as zygote:
        for _ in range(count):
            answer = zygote.worker().request([script, *words], body=body, env=env, cwd=cwd)
            assert answer.seen() == plain.seen()
    with Warm(command(script, *switches, preload=preload), level="compiled", env=launch_env,
              cwd=cwd) as warm:
        for _ in range(count):
            assert warm.ask(*words, body=body, env=env, cwd=cwd).seen() == plain.seen()
    return answer


def test_what_a_script_sees_of_itself(folder):
    script = folder.script("x.rb", """#!/usr/bin/ruby
require 'rbconfig'
p $0, $PROGRAM_NAME, __FILE__, __dir__, __FILE__ == $0, __LINE__, __method__, self, $;, $/, $,, $.
p ARGV, ARGV.map { |w| [w.encoding, w.frozen?] }, $*, ARGF.argv, $?
p ENV.to_h, ENV['QUERY_STRING'], `env | sort`
p ENV.method(:[]), ENV.method(:fetch).arity, method(:caller), Kernel.method(:caller)
p caller, caller(0), caller_locations(0).map(&:to_s), binding.local_variables
p TOPLEVEL_BINDING.local_variables
p $LOAD_PATH, $LOADED_FEATURES, $VERBOSE, $DEBUG, $-w, $!, $@, $~, $_
p Object.constants.sort, global_variables.sort, self.private_methods(false), Module.constants.size
p ENV.singleton_methods.sort, Kernel.private_instance_methods.sort, Object.new.private_methods.sort
p $stdin.inspect, $stdout.inspect, $stderr.sync, $stdout.sync, $stdin.fileno, $stdout.external_encoding
p $stdin.external_encoding, Encoding.default_external, Encoding.default_internal, $stdin.lineno
p __ENCODING__, ''.encoding, Thread.list.size, Thread.current == Thread.main, Thread.main.name
p Signal.list.keys.map { |s| [s, (trap(s, 'DEFAULT') rescue $!.class)] }
p Process.pid == $$, Dir.pwd, File.umask
p Dir.children('/proc/self/fd').map(&:to_i).sort.select { |n| n < 400 }, IO.sysopen('/dev/null')
p RubyVM::InstructionSequence.compile_option, Warning[:deprecated], ObjectSpace.each_object(TracePoint).count
p defined?(CGIBridge), defined?(x), Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < 5
p File.read('/proc/self/status')[/Sig(?:Blk|Ign|Cgt).*CapInh/m], Process.getrlimit(:NOFILE)
p DATA.read, DATA.lineno, DATA.path
x = 1.to_s * 2
warn 'careful' + x
puts $stdin.read
def f() raise ArgumentError, 'the end' end
f
__END__
some data
""")
    answers_like_plain(script, words=["a", "b c", "ü"], body=b"some\nbody\n", code=1)
    answers_like_plain(script, "-w", "-rset", "-Ilib", body=b"x")
    answers_like_plain(script, "--disable-gems", "-Ku")
    answers_like_plain(script, env={**REQUEST_ENV, "LC_ALL": "C.UTF-8"},
                       launch_env={**LAUNCH_ENV, "LC_ALL": "C.UTF-8"})


@pytest.mark.parametrize("end, code", [
    ("exit 3", 3), ("exit", 0), ("exit false", 1), ("exit! 4", 4), ("abort 'sorry'", 1),
    ("raise 'oops'", 1), ("begin; exit 5; ensure; puts 'ensured'; end", 5), ("throw :x", 1),
    ("at_exit { exit 6 }", 6), ("at_exit { puts $!.inspect; raise 'late' }; exit 2", None),
    ("Thread.report_on_exception = false; Thread.new { raise 'in a thread' }.join", 1),
    ("raise SystemExit", 0), ("return", 0),
    ("Process.kill :TERM, $$; sleep", -15), ("raise Interrupt", -2), ("raise SignalException, 'HUP'", -1),
    ("Process.kill :KILL, $$; sleep", -9), ("nil.no_such_method", 1),
    ("$stdout.close", None), ("STDOUT.reopen '/dev/null'; puts 1", 0),
    ("fork { exit 9 }; Process.wait; exit $?.exitstatus", 9), ("exec 'echo', 'another program'", 0),
    ("ObjectSpace.define_finalizer('x'.dup, proc { puts 'final' })", 0),
    ("$stderr.puts 'no'; Process.exit!(true)", 0), ("require 'no/such/library'", 1),
    ("BEGIN { puts 'first' }", 0),
    ("eval 'def x('", 1), ("Fiber.new { raise 'in a fiber' }.resume", 1), ("loop { raise StopIteration }", 0),
])
def test_each_way_to_end(folder, end, code):
    script = folder.script("x.rb", "puts 'begin'; at_exit { puts 'at exit'; $stderr.puts 'error' }\n"
                                   f"END {{ puts 'END' }}\n{end}\n")
    plain = run_plainly([RUBY, script])
    assert code is None or plain.code == code, plain.seen()
    with ruby_zygote(script) as zygote:
        for _ in range(2):
            assert zygote.worker().request([script]).seen() == plain.seen()
    with Warm(command(script), level="compiled") as warm:
        for _ in range(3):
            assert warm.ask().seen() == plain.seen()


def test_a_worker_answers_again_and_again(folder):
    script = folder.script("x.rb", """$n = ($n || 0) + 1; LEFT = [1] * 1000; def added; end
ObjectSpace.garbage_collect; `true`; system 'true'; srand 5; trap(:USR1) {}
at_exit { print 'end' }; print $n, ENV['QUERY_STRING'], $stdin.read; exit 7""")
    with Warm(command(script), level="compiled") as warm:
        for n in range(50):
            answer = warm.ask(body=b"body %d" % n)
            assert (answer.text, answer.code) == (f"1a=1&b=2body {n}end", 7)
        assert warm.workers == 1, warm.retired


def test_a_thread_of_a_request_costs_no_worker(folder):
    """Ruby before 3.3 keeps the system thread for some seconds, for its next thread: it ends with the
    request."""
    script = folder.script("x.rb", "print Thread.new { 5 }.value, Thread.list.size")
    with Warm(command(script), level="compiled") as warm:
        assert [warm.ask().text for _ in range(3)] == ["51"] * 3
        assert warm.retired == [] and warm.workers == 1


def test_data_is_read_from_its_start_in_every_worker(folder):
    rows = "".join(f"row {i} {'x' * 90}\n" for i in range(400))  # more than ruby reads ahead
    answers_like_plain(folder.script("x.rb", f"DATA.each_line {{ |l| puts l }}; p DATA.pos\n__END__\n{rows}"))


def test_switches_of_the_first_line(folder):
    answers_like_plain(folder.script("x.rb", "#!/usr/bin/ruby -n\nputs $_.upcase\n"), "-n",
                       body=b"one\ntwo\n")
    answers_like_plain(folder.script("y.rb", "# frozen_string_literal: true\np ''.frozen?, $VERBOSE, $DEBUG"),
                       "-W0")
    text = "p $:.first, $x.inspect, ARGV, ''.frozen?, Encoding.default_internal"
    answers_like_plain(folder.script("z.rb", text), "-I", "/usr/share", "-E", "UTF-8:ISO-8859-1",
                       "--enable=frozen-string-literal", words=["a"])


def test_words_that_ruby_makes_variables_of_start_the_program_anew(folder):
    script = folder.script("x.rb", "p $name, ARGV")
    plain = run_plainly([RUBY, "-s", script, "-name=x", "y"])
    with ruby_zygote(script, "-s") as zygote:
        assert zygote.worker().request([script, "-name=x", "y"]).seen() == plain.seen()
        assert zygote.worker().request([script]).seen() == run_plainly([RUBY, "-s", script]).seen()


def test_a_switch_that_changes_the_directory_is_not_borne(folder):
    assert "-C" in refusal(folder.script("x.rb", "p Dir.pwd"), "-C/usr")


def test_streams_and_their_buffers(folder):
    answers_like_plain(folder.script("x.rb", """
print 'no newline'; $stderr.print 'error '; STDOUT.write 'more'; $stdout.flush; system 'echo shell'
$stdout.sync = true; puts 'now'; $stdin.binmode; p $stdin.getc, $stdin.readline, $stdin.eof?, $stdin.read(3)
File.open('/proc/self/fd/1', 'w') { |f| f.puts 'by name' }; STDIN.each_byte { |b| print b, ' ' }
$left_open = File.open('/dev/stdout', 'w'); $left_open.print 'left open'
$stdout = $stderr; puts 'to stderr'
"""), body="äöü\nsecond line\nrest".encode())


def test_children_threads_and_programs_of_a_request(folder):
    answers_like_plain(folder.script("x.rb", """
require 'open3'
$stdout.sync = true
p `cat`, $?.exitstatus, system('exit 3'), $?.exitstatus, Open3.capture2('tr a-z A-Z', stdin_data: 'abc').first
p IO.popen(%w[echo popen], &:read); spawn('echo spawned'); p Process.wait.class
t = 4.times.map { |i| Thread.new { sleep 0.01; i * i } }; p t.map(&:value), Thread.list.size
r, w = IO.pipe; if fork then w.close; p r.read; Process.wait else r.close; w.write 'child'; w.close; exit! end
q = Queue.new; Thread.new { q << 1 }; p q.pop, Process.clock_gettime(Process::CLOCK_MONOTONIC) > 0
p (Timeout.timeout(0.05) { sleep } rescue $!.class) if require 'timeout'
trap('USR1') { puts 'trapped' }; Process.kill :USR1, $$; sleep 0.02; p IO.select([$stdin], nil, nil, 0).class
"""), body=b"the body")


def test_a_fork_that_returns_to_the_end_of_the_script(folder):
    answer = answers_like_plain(folder.script("x.rb", """
$stdout.sync = true; puts 'one'; pid = fork
if pid then Process.wait pid; puts 'parent' else puts 'child' end
END { puts 'end' }
"""))
    assert answer.done == 0


def test_a_signal_reaches_the_script_s_trap_in_every_request(folder):
    script = folder.script("x.rb", "trap(:TERM) { print 'trapped'; exit 8 }; Process.kill :TERM, $$; sleep 5")
    with Warm(command(script), level="compiled") as warm:
        answers = [warm.ask() for _ in range(3)]
    assert [(answer.text, answer.code) for answer in answers] == [("trapped", 8)] * 3


def test_a_resting_worker_goes_when_it_is_told_to(folder):
    """Ruby itself handles SIGTERM; the bridge also closes the worker's channel."""
    for reset in ("fork", "rewind"):
        with ruby_zygote(folder.script("x.rb", "puts 1"), reset=reset) as zygote:
            zygote.worker().close()


def test_random_numbers_differ(folder):
    script = folder.script("x.rb", """require 'securerandom'; require 'tmpdir'
print rand, ' ', Random.rand, ' ', Random.new.rand, ' ', [*1..99].shuffle.first(8).join, SecureRandom.hex,
  Random.seed, ' ', Dir::Tmpname.create('x') { |name| name }, ' ', Random.bytes(8).unpack1('H*')""")
    for reset in ("fork", "rewind"):
        for preload in ("", "securerandom,tmpdir"):
            with Warm(command(script, preload=preload), level="compiled", reset=reset, verify=False) as warm:
                texts = [warm.ask().text.split(" ") for _ in range(30)]
            assert all(len(set(column)) == 30 for column in zip(*texts)), (reset, preload)


def test_a_generator_with_a_seed_keeps_it(folder):
    folder.script("lib/seeded.rb", "SEEDED = Random.new(42)")
    script = folder.script("x.rb", "p SEEDED.rand(1000), SEEDED.seed")
    switches = [f"-I{folder.path}/lib", "-rseeded"]
    # Ruby still draws a seed, and throws it away.
    with Warm(command(script, *switches), level="compiled", accept="random,time,pid") as warm:
        warm.argv = [RUBY, *switches, script]
        for _ in range(3):
            assert warm.ask().seen() == run_plainly([RUBY, *switches, script]).seen()


@pytest.mark.parametrize("early, why", [
    ("$q = ENV['QUERY_STRING']", "QUERY_STRING"), ("$q = ENV.key?('HTTP_HOST')", "HTTP_HOST"),
    ("$q = ENV.fetch('CONTENT_LENGTH', 1)", "CONTENT_LENGTH"), ("ENV.each { }", "lists"),
    ("$all = ENV.to_h", "lists"), ("$all = ENV.map { |n, v| n }", "lists"), ("ENV['X'] = '1'", "writes"),
    ("ENV.delete 'PATH'", "writes"), ("puts 'early'", "prints"), ("STDERR.print 'early'", "prints"),
    ("$f = File.open('/dev/shm/cgibridge-test', 'w')", "changes files"),
    ("$s, w = IO.pipe; w.close", "a pipe"),
])
def test_an_early_look_at_the_request_is_noticed(folder, early, why):
    folder.script("lib/early.rb", early)
    assert why in refusal(folder.script("x.rb", "p 1"), f"-I{folder.path}/lib", "-rearly")


def test_a_library_of_the_first_line_that_starts_a_thread_is_not_forked(folder):
    folder.script("lib/early.rb", "Thread.new { sleep }")
    with ruby_zygote(folder.script("x.rb", "p 1"), f"-I{folder.path}/lib", "-rearly") as zygote:
        assert zygote.threads != 1


def test_variables_that_are_constant_for_a_program_may_be_read_early(folder):
    folder.script("lib/early.rb", "ROOT = ENV['DOCUMENT_ROOT'], ENV['RACK_ENV'], ENV.key?('PATH')")
    answers_like_plain(folder.script("x.rb", "p ROOT"), f"-I{folder.path}/lib", "-rearly")


@pytest.mark.parametrize("name, switches", [("MOOD", ["-rearly"]), ("LC_ALL", []), ("TZ", [])])
def test_a_request_whose_constant_differs_starts_the_program_anew(folder, name, switches):
    folder.script("lib/early.rb", "$mood = ENV['MOOD']")
    script = folder.script("x.rb", "puts [$mood, ARGV, $$, Encoding.default_external, Time.now.zone].inspect")
    switches = [f"-I{folder.path}/lib", *switches]
    env = {**REQUEST_ENV, name: {"TZ": "EST5"}.get(name, "C.UTF-8")}
    with ruby_zygote(script, *switches) as zygote:
        worker = zygote.worker()
        answer = worker.request([script, "w"], env=env)
        plain = run_plainly([RUBY, *switches, script, "w"], env=env)
        assert answer.text.replace(str(worker.pid), "N") == re.sub(r", \d+,", ", N,", plain.text)
        assert [kind for kind, _ in answer.notes] == [SHALLOWER]
        assert zygote.worker().request([script]).code == 0


def test_a_compile_error_is_ruby_s_own(folder):
    script = folder.script("x.rb", "def x(\n")
    with ruby_zygote(script) as zygote:
        assert not zygote.stands and not zygote.note(SHALLOWER)
        assert "syntax error" in zygote.log()
        assert zygote.process.wait(5) == 1


def test_what_the_compiler_warns_of_does_not_hinder(folder):
    script = folder.script("x.rb", "def f; unused = 1; end; puts 'ran'")
    with ruby_zygote(script, "-w") as zygote:
        assert zygote.worker().request([script]).text == "ran\n"
        assert "unused" in zygote.log()


def test_files_that_were_loaded_are_named(folder):
    folder.script("lib/early.rb", "Early = 1")
    script = folder.script("x.rb", "p 1")
    with ruby_zygote(script, f"-I{folder.path}/lib", "-rearly") as zygote:
        files = "\n".join(zygote.note(FILE)).split("\n")
        assert script in files and f"{folder.path}/lib/early.rb" in files


# -- libraries ahead ----------------------------------------------------------------------------

LIBRARIES = """require 'json'
require "erb"
require('time')
require 'net/http'
$:.unshift __dir__
require 'mine'
puts JSON.generate({ 'a' => 1 }), ERB.new('<%= 1 + 1 %>').result, Time.parse('2020-01-02').year
puts Net::HTTP.name, Mine::NAME, StringIO.name
exit 3
"""


def test_libraries_that_a_request_loads_are_reported_and_then_loaded_ahead(folder):
    folder.script("mine.rb", "module Mine; NAME = 'mine'; end\nrequire 'stringio'\nrequire 'ostruct'\n")
    script = folder.script("x.rb", LIBRARIES)
    plain = run_plainly([RUBY, script])
    with ruby_zygote(script) as zygote:
        first = zygote.worker().request([script])
    assert first.seen() == plain.seen() and plain.code == 3
    names = first.loaded()
    assert names[:4] == ["json", "erb", "time", "net/http"] and "ostruct" in names and "mine" not in names
    with ruby_zygote(script, preload=",".join(sorted(names))) as zygote:
        assert zygote.note(WARNING) == []
        files = "\n".join(zygote.note(FILE))
        second = zygote.worker().request([script])
    assert "/json.rb" in files and "/net/http.rb" in files
    assert second.loaded() == [] and second.seen() == plain.seen()
    answers_like_plain(script, preload=",".join(sorted(names)))


@pytest.mark.parametrize("asks", [
    "p defined?(JSON)", "p $LOADED_FEATURES.size", "p(require('json'))", "x = require 'json'",
    "gem 'json'", "Object.const_defined?(:JSON)", "ObjectSpace.count_objects", "puts $\".size"])
def test_nothing_is_learned_of_a_script_that_may_see_what_is_loaded(folder, asks):
    script = folder.script("x.rb", f"{asks}\nrequire 'ostruct'\n")
    with ruby_zygote(script) as zygote:
        assert zygote.worker().request([script]).loaded() == []


def test_nothing_is_learned_where_the_program_hides_a_library(folder):
    folder.script("lib/set.rb", "class Mine; end")
    script = folder.script("x.rb", "$:.unshift __dir__ + '/lib'\nrequire 'set'\nrequire 'json'\n")
    with ruby_zygote(script) as zygote:
        answer = zygote.worker().request([script])
    if any(name.endswith("/set.rb") for name in zygote.note(FILE)):
        pytest.skip("this ruby has loaded set by itself")
    assert answer.code == 0 and answer.loaded() == []


@pytest.mark.parametrize("text, learns", [
    ("ENV['MOOD'] = 'x'", False), ("ENV['MOOD'] ||= 'x'", False), ("ENV.update('MOOD' => 'x')", False),
    ("E = ENV; E['MOOD'] = 'x'", False), ("M = ENV['MOOD']; N = ENV.fetch('PATH') + ENV['PATH']", True),
    ("M = ENV['MOOD'] == 'x' || ENV['PATH'] =~ /x/", True)])
def test_nothing_is_learned_where_a_file_of_the_program_sets_variables(folder, text, learns):
    """A library that it loads afterwards may read them."""
    folder.script("settings.rb", text + "\n")
    script = folder.script("x.rb", "require_relative 'settings'\nrequire 'abbrev'\n")
    with ruby_zygote(script) as zygote:
        answer = zygote.worker().request([script])
    assert answer.code == 0 and ("abbrev" in answer.loaded()) == learns


def test_a_variable_is_not_named_by_a_longer_name(folder):
    folder.script("installed/quiet.rb", "M = [ENV['PATH'], ENV['N']]\n")
    script = folder.script("x.rb", "require 'quiet'\np M[0], $LOAD_PATH.size > 1, ENV['PATH_INFO'], :NAME\n")
    env = {**LAUNCH_ENV, "RUBYLIB": f"{folder.path}/installed"}
    with ruby_zygote(script, preload="quiet", env=env) as zygote:
        assert zygote.note(WARNING) == []
        assert "installed/quiet.rb" in "\n".join(zygote.note(FILE))
        env = {**REQUEST_ENV, "RUBYLIB": env["RUBYLIB"]}
        answer = zygote.worker().request([script], env=env)
    assert answer.seen() == run_plainly([RUBY, script], env=env).seen()


@pytest.mark.parametrize("text, why", [
    ("Q = ENV['QUERY_STRING']", "reads the environment's QUERY_STRING"), ("ALL = ENV.to_h", "lists"),
    ("ENV['X'] = '1'", "writes"), ("puts 'loaded'", "prints"), ("$stderr.puts 'loaded'", "prints"),
    ("Thread.new { sleep }", "thread"), ("raise 'no'", "fails to load (RuntimeError)"),
    ("HALF = 1; require 'nosuchlibrary'", "fails to load (LoadError)"),
    ("exit", "SystemExit"), ("def x(", "SyntaxError"), ("WHO = caller", "who loads it"),
    ("WHO = caller_locations.last", "who loads it"),
    ("M = ENV['MOOD']", "reads MOOD, which the program may set")])
def test_a_library_that_a_program_would_notice_is_left_out(folder, text, why):
    """The other library is loaded anyway, although it looks at its nearest callers."""
    folder.script("installed/noticed.rb", text + "\n")
    folder.script("installed/quiet.rb",
                  "\nQUIET = [caller(1, 1), caller(0, 1), caller_locations(0..0)].inspect\n")
    script = folder.script("x.rb", "# MOOD\nrequire 'quiet'\nputs QUIET\n")
    env = {**LAUNCH_ENV, "RUBYLIB": f"{folder.path}/installed"}
    with ruby_zygote(script, preload="noticed,quiet", env=env) as zygote:
        assert zygote.stands, zygote.log()
        warning, = zygote.note(WARNING)
        assert warning.startswith("noticed is not loaded ahead: it ") and why in warning
        files = "\n".join(zygote.note(FILE))
        assert "installed/quiet.rb" in files and "installed/noticed.rb" not in files
        env = {**REQUEST_ENV, "RUBYLIB": env["RUBYLIB"]}
        answer = zygote.worker().request([script], env=env)
    assert answer.seen() == run_plainly([RUBY, script], env=env).seen()


def test_a_library_that_is_missing_is_missing_in_the_request(folder):
    answers_like_plain(folder.script("x.rb", "require 'no_such_library'"), preload="no_such_library", code=1)


def test_a_library_of_the_program_s_own_folder_is_not_loaded_ahead(folder):
    folder.script("json.rb", "module JSON; MINE = 1; end")
    script = folder.script("x.rb", "$:.unshift __dir__\nrequire 'json'\np JSON.constants")
    answers_like_plain(script, preload="json")


def test_cgi_and_erb_with_a_form(folder):
    script = folder.script("x.rb", """#!/usr/bin/ruby
require 'cgi'
require 'erb'
cgi = CGI.new
name = ERB::Util.html_escape(cgi['name'])
cgi.out('type' => 'text/html', 'charset' => 'utf-8') { ERB.new('<h1><%= name %></h1>').result(binding) }
""")
    env = {**REQUEST_ENV, "REQUEST_METHOD": "POST", "CONTENT_LENGTH": "10",
           "CONTENT_TYPE": "application/x-www-form-urlencoded", "QUERY_STRING": ""}
    for preload in ("", "cgi,erb"):
        assert "a&amp;b" in answers_like_plain(script, env=env, body=b"name=a%26b", preload=preload).text


@pytest.mark.parametrize("size", [10, 99, 100, 101, 200, 30000])
def test_words_and_an_environment_of_any_length(folder, size):
    script = folder.script("x.rb", "p ARGV, ENV.to_h")
    answers_like_plain(script, words=["x" * size, "y"], env={**REQUEST_ENV, "LONG": "z" * size}, count=2)


def test_without_the_library_the_script_is_plain_cgi(folder):
    script = folder.script("x.rb", "p $0, ARGV, ENV.to_h, $LOADED_FEATURES, $LOAD_PATH\n"
                                   "p File.read('/proc/self/cmdline')")
    assert run_plainly([*command(script), "w"]).seen() == run_plainly([RUBY, script, "w"]).seen()


def test_without_the_library_and_without_a_request_nothing_runs(folder):
    script = folder.script("x.rb", "print 'ran'; END { print 'ended' }")
    assert run_plainly(command(script), env=LAUNCH_ENV).stdout == b""


def test_time_passes_between_the_zygote_and_the_request(folder):
    script = folder.script("x.rb", "print Time.now.to_i")
    with ruby_zygote(script) as zygote:
        worker = zygote.worker()
        time.sleep(1.1)
        sent = time.time()
        told = int(worker.request([script]).text)
    assert int(sent) <= told <= time.time()


def test_the_script_was_compiled_before_the_request(folder):
    script = folder.script("x.rb", "print __FILE__, __LINE__")
    with ruby_zygote(script) as zygote:
        os.unlink(script)
        assert zygote.worker().request([script]).text == script + "1"
