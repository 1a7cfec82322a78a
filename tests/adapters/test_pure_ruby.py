"""What a Ruby library does while it is loaded in advance would be done once for all visitors. So its load is
watched, and a library that is not pure is left to the requests, and leaves nothing behind in the zygote."""

import os

import pytest

from driver import FILE, LAUNCH_ENV, REQUEST_ENV, WARNING, Warm, run_plainly
from ruby import RUBY, command, refusal, ruby_zygote

pytestmark = pytest.mark.skipif(not os.path.exists(RUBY), reason="ruby is not installed")
TIMES = 3

# The text of a library, and the word that names the reason why it is left to the requests.
IMPURE = {
    "a token": ("require 'securerandom'; KEY = SecureRandom.hex", "random"),
    "a number": ("KEY = rand", "random"),
    "a number of Random's": ("KEY = Random.rand", "random"),
    "a number of a new generator": ("KEY = Random.new.rand", "random"),
    "a number that is lost": ("Random.new.rand; KEY = 1", "random"),
    "bytes": ("KEY = Random.bytes(8).unpack1('H*')", "random"),
    "bytes of the kernel": ("KEY = Random.urandom(8).unpack1('H*')", "random"),
    "a seed": ("KEY = Random.seed", "random"),
    "a new seed": ("KEY = Random.new_seed", "random"),
    "a known seed": ("srand 42; KEY = 1", "random"),
    "a shuffle": ("KEY = [*1..50].shuffle.join", "random"),
    "a sample": ("KEY = (1..9**6).to_a.sample", "random"),
    "the device": ("KEY = File.binread('/dev/urandom', 8).unpack1('H*')", "random"),
    "a name of a file": ("require 'tempfile'; KEY = Dir::Tmpname.create('x') { |name| name }", "time"),
    "bytes of OpenSSL": ("require 'openssl'; KEY = OpenSSL::Random.random_bytes(8).unpack1('H*')", "random"),
    "a time": ("KEY = Time.now.to_f", "time"),
    "a new time": ("KEY = Time.new.to_f", "time"),
    "a clock": ("KEY = Process.clock_gettime(Process::CLOCK_REALTIME)", "time"),
    "a moment since the machine's start": ("KEY = Process.clock_gettime(Process::CLOCK_MONOTONIC)", "time"),
    "a moment by another name": ("class << Process; alias now clock_gettime; end\n"
                                "KEY = Process.now(1)", "time"),
    "a moment of the kernel's": ("now = +'x' * 16; syscall(228, 1, now); KEY = now.unpack('QQ')", "time"),
    "processor time": ("KEY = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)", "time"),
    "what it has used": ("KEY = Process.times.utime >= 0", "time"),
    "a day": ("require 'date'; KEY = Date.today.to_s", "time"),
    "a date": ("require 'date'; KEY = DateTime.now.strftime('%N')", "time"),
    "a pid": ("KEY = $$", "process id"),
    "a pid by name": ("KEY = Process.pid", "process id"),
    "a thread's number": ("KEY = Thread.current.native_thread_id > 1", "process id"),
    "a trace": ("T = TracePoint.new(:call) { $seen = 1 }; T.enable; KEY = 1", "what is traced"),
    "a profile": ("GC::Profiler.enable; KEY = 1", "the collector"),
    "its input": ("KEY = $stdin.read", "input"),
    "a line of input": ("KEY = gets.to_s.size", "input"),
    "the words": ("KEY = ARGV.dup.size", "ARGV"),
    "a word": ("KEY = ARGV[0].to_s", "ARGV"),
    "the words by another name": ("KEY = $*.size", "ARGV"),
    "output": ("puts 'X-Early: yes'; KEY = 1", "prints"),
    "output at once": ("$stdout.sync = true; print 'early'; KEY = 1", "prints"),
    "a warning": ("warn 'early'; KEY = 1", "prints"),
    "a child": ("KEY = `echo hello`.chomp", "process"),
    "a command": ("KEY = system('true')", "process"),
    "a child that stays": ("KEY = spawn('sleep 3') > 0", "process"),
    "a fork": ("KEY = Process.wait(fork { exit! }) > 0", "process"),
    "a pipe from a child": ("KEY = IO.popen('true', &:read)", "process"),
    "a connection": ("require 'socket'; KEY = (TCPSocket.new('127.0.0.1', 9) rescue 1)", "connection"),
    "a server": ("require 'socket'; KEY = TCPServer.new('127.0.0.1', 0).class", "connection"),
    "a datagram": ("require 'socket'; KEY = UDPSocket.new.send('x', 0, '127.0.0.1', 9)", "connection"),
    "a folder": ("Dir.mkdir('/tmp/cgibridge-ruby'); Dir.rmdir('/tmp/cgibridge-ruby'); KEY = 1",
                 "changes files"),
    "a file": ("File.write('/tmp/cgibridge-ruby', 'x'); File.unlink('/tmp/cgibridge-ruby'); KEY = 1",
               "changes files"),
    "a mode": ("File.chmod(0644, __FILE__); KEY = 1", "changes files"),
    "a lock": ("File.open(__FILE__) { |f| f.flock(File::LOCK_SH) }; KEY = 1", "flock"),
    "a lock of a region": ("File.open(__FILE__) { |f| f.fcntl(6, [0, 0, 0, 0, 0].pack('ssqql')) }; KEY = 1",
                           "fcntl"),
    "an exit handler": ("at_exit { print 'left' }; KEY = 1", "exit handler"),
    "an exit handler by name": ("Kernel.at_exit { print 'left' }; KEY = 1", "exit handler"),
    "a trap": ("trap('USR1') { }; KEY = 1", "signal"),
    "a trap that Ruby has": ("Signal.trap('INT', 'IGNORE'); KEY = 1", "signal"),
    "the mask of modes": ("File.umask(0777); KEY = 1", "mask"),
    "the folder": ("Dir.chdir('/usr'); KEY = 1", "folder"),
    "a limit": ("Process.setrlimit(:NOFILE, 200, Process.getrlimit(:NOFILE)[1]); KEY = 1", "limits"),
    "a thread": ("Thread.new { sleep }; KEY = 1", "thread"),
    "a thread that ended": ("KEY = Thread.new { 1 }.value", "thread"),
    "a pipe's end": ("KEEP, other = IO.pipe; other.close; KEY = 1", "descriptor"),
    "the request": ("KEY = ENV['QUERY_STRING']", "QUERY_STRING"),
    "the request by a kept method": ("GET = ENV.method(:[]); KEY = GET.call('QUERY_STRING')", "QUERY_STRING"),
    "the request by a method of all": ("KEY = Kernel.instance_method(:method).bind(ENV).call(:[]).unbind"
                                       ".bind(ENV).call('QUERY_STRING')", "QUERY_STRING"),
    "the request by an object": ("KEY = ENV[Struct.new(:to_str).new('QUERY_STRING')]", "no string"),
    "the request by a string": ("name = +'QUERY_STRING'; def name.match?(*) = false; KEY = ENV[name]",
                                "QUERY_STRING"),
    "an alias": ("class << ENV; alias_method :get, :[]; end; KEY = ENV.get('HOME')", "methods of ENV"),
    "another method": ("def ENV.[](name) = name == 'OWN' ? 1 : fetch(name, nil); KEY = ENV['OWN']",
                       "methods of ENV"),
    "a method around": ("M = Module.new { def [](name) = name == 'OWN' ? 1 : super }\n"
                        "ENV.singleton_class.prepend(M); KEY = ENV['OWN']", "methods of ENV"),
    "a method by an alias": ("class << ENV; alias plain fetch; def fetch(*w) = plain(*w) + '!'; end; "
                             "KEY = ENV.fetch('PATH')", "methods of ENV"),
    "no method": ("class << ENV; undef_method :to_h; end; KEY = ENV.respond_to?(:to_h)", "methods of ENV"),
    "another ENV": ("PLAIN = ENV; Object.send(:remove_const, :ENV); "
                    "ENV = Class.new { def [](name) = name == 'OWN' ? 1 : PLAIN[name] }.new\n"
                    "KEY = ENV['OWN']",
                    "methods of ENV"),
    "another ARGV": ("Object.send(:remove_const, :ARGV); ARGV = %w[a]; KEY = 1", "methods of ENV"),
    "another at_exit": ("module Kernel; def at_exit = 1; end; KEY = 1", "methods of ENV"),
    "all variables": ("KEY = ENV.to_h.size > 1", "lists"),
    "a variable that is set": ("ENV['TZ'] = 'EST5'; KEY = Time.at(0).hour", "writes"),
}
DIFFERS = {"a moment since the machine's start", "a moment by another name", "a moment of the kernel's",
           "processor time", "a token", "a number", "a number of Random's", "a number of a new generator",
           "bytes",
           "bytes of the kernel", "a seed", "a new seed", "a shuffle", "a sample", "the device",
           "bytes of OpenSSL", "a time", "a new time", "a clock", "a date", "a name of a file"}
DIFFERS_IN_PROCESSES = {"a pid", "a pid by name"}
SHOWS = """
require 'impure'
require 'pure'
puts [KEY, File.umask, Dir.pwd, Process.getrlimit(:NOFILE), Time.at(0).hour, PURE].inspect
"""


def zygote_with(folder, text, script=SHOWS, reset="rewind", accept="", names="impure,pure"):
    folder.script("installed/impure.rb", text + "\n")
    folder.script("installed/pure.rb", "require 'json'\nPURE = caller(0, 1).first[/pure.rb:2/]\n")
    path = folder.script("x.rb", script)
    env = {"RUBYLIB": f"{folder.path}/installed"}
    plain = run_plainly([RUBY, path], env={**REQUEST_ENV, **env})
    zygote = Warm(command(path, preload=names), level="compiled", reset=reset, accept=accept,
                  env={**LAUNCH_ENV, **env})
    zygote.argv = [RUBY, path]
    zygote.request_env = {**REQUEST_ENV, **env}
    return zygote, plain


def files_ahead(zygote):
    return "\n".join(zygote.note(FILE))


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("kind", IMPURE)
def test_a_library_that_does_it_is_left_to_the_requests(folder, kind, reset):
    text, why = IMPURE[kind]
    zygote, plain = zygote_with(folder, text, reset=reset)
    with zygote:
        assert zygote.stands and zygote.level == 3, (zygote.notes, zygote.log())
        warning, = zygote.note(WARNING)
        assert warning.startswith("impure is not loaded ahead: it ") and why in warning
        assert "/installed/pure.rb" in files_ahead(zygote)
        assert "/installed/impure.rb" not in files_ahead(zygote)
        answers = [zygote.ask(env=zygote.request_env) for _ in range(TIMES)]
    if kind in DIFFERS or kind in DIFFERS_IN_PROCESSES:
        assert {(answer.code, answer.stderr) for answer in answers} == {(0, plain.stderr)}
        if kind in DIFFERS or reset == "fork":
            assert len({answer.text for answer in answers}) == TIMES
    else:
        assert {answer.seen() for answer in answers} == {plain.seen()}


@pytest.mark.parametrize("kind", ["a token", "a number", "a time", "a pid", "a child"])
def test_the_place_is_named_though_another_file_s_function_did_it(folder, kind):
    folder.script("installed/deep.rb", "require 'securerandom'\nmodule Deep\n  def self.run() = yield\nend\n")
    text, why = IMPURE[kind]
    text = text.replace("KEY =", "k =")
    zygote, _ = zygote_with(folder, f"require 'deep'\nmodule Inner\n  Deep.run {{ {text} }}\nend\nKEY = 1")
    with zygote:
        assert f"at {folder.path}/installed/impure.rb line 3) while it is loaded" in zygote.note(WARNING)[0]


def test_what_the_operator_accepts_is_loaded_ahead(folder):
    zygote, _ = zygote_with(folder, "KEY = [Time.now.to_f, $$, rand]", accept="time,pid,random")
    with zygote:
        assert zygote.note(WARNING) == []
        assert len({zygote.ask(env=zygote.request_env).text for _ in range(TIMES)}) == 1
    zygote, _ = zygote_with(folder, "KEY = [Time.now.to_f, $$]", accept="pid")
    with zygote:
        assert "time" in zygote.note(WARNING)[0]
    zygote, _ = zygote_with(folder, "puts 'early'; KEY = 1", accept="output")
    with zygote:
        assert zygote.note(WARNING) == []


PURE = {
    "clocks that are kept": "NOW = Process.method(:clock_gettime)\nKEY = Process.clock_getres(1)",
    "waiting": "M = Mutex.new; C = ConditionVariable.new; KEY = M.synchronize { C.signal }.class",
    "a reading of files": "KEY = File.read(__FILE__).size + Dir.children(__dir__).size",
    "much garbage": "KEY = 200.times.map { |i| 'x' * 10000 + i.to_s }.size; GC.start",
    "a time of its own": "KEY = Time.at(0).utc.year",
    "a variable": "KEY = ENV['HOME'], ENV.fetch('DOCUMENT_ROOT', 1)",
    "functions that would": "def draw() = rand\ndef now() = Time.now\ndef pid() = $$\nKEY = 1",
    "mutexes and queues": "LOCK = Mutex.new; LOCK.synchronize { }; Q = Queue.new; Q << 1; KEY = Q.pop",
    "a fiber": "KEY = Fiber.new { 1 }.resume",
    "extending ARGV": "ARGV.extend(Comparable); KEY = 1",
}


KEEPS = """
KEPT = ENV.method(:[]), ENV.method(:fetch), ENV.method(:to_h), ENV.singleton_class.instance_method(:key?)
CALLER, EXIT, WORDS = Kernel.method(:caller), Kernel.method(:at_exit), ARGV.method(:size)
BLOCK = ENV.method(:values_at).to_proc
KEY = KEPT[0].call('PATH')
"""
CALLS_THEM = """
require 'impure'
get, fetch, all, has = KEPT
p get.call('QUERY_STRING'), fetch.call('QUERY_STRING') { 1 }, all.call == ENV.to_h
p has.bind(ENV).call('QUERY_STRING')
p BLOCK.call('HOME', 'HTTP_X'), (fetch.call('NONE') rescue $!.class), WORDS.call, KEY
p CALLER.call(0).first[/x.rb:[0-9]+/], (def f = CALLER.call(1); f.size)
EXIT.call { puts 'at exit' }
ENV['HTTP_X'] = 'mine'
p get.call('HTTP_X')
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_a_method_that_a_library_keeps_is_ruby_s_own_in_a_request(folder, reset):
    zygote, _ = zygote_with(folder, KEEPS, script=CALLS_THEM, reset=reset)
    with zygote:
        assert zygote.note(WARNING) == [] and "/installed/impure.rb" in files_ahead(zygote)
        for query in ("a", "b"):
            env = {**zygote.request_env, "QUERY_STRING": query, "HTTP_X": f"x{query}"}
            plain = run_plainly(zygote.argv, env=env)
            assert plain.code == 0 and query in plain.text, plain
            assert zygote.ask(env=env).seen() == plain.seen()


@pytest.mark.parametrize("kind", PURE)
def test_what_is_pure_is_loaded_ahead(folder, kind):
    zygote, plain = zygote_with(folder, PURE[kind])
    with zygote:
        assert zygote.note(WARNING) == []
        assert "/installed/impure.rb" in files_ahead(zygote)
        assert zygote.ask(env=zygote.request_env).seen() == plain.seen()


# The standard library is still loaded in advance: its random numbers are drawn afresh for each request.
@pytest.mark.parametrize("name", [
    "json", "erb", "cgi", "set", "time", "uri", "csv", "optparse", "date", "digest", "securerandom",
    "tempfile", "socket", "yaml", "net/http", "open-uri", "logger", "pstore", "fileutils", "tmpdir",
    "timeout", "zlib", "openssl", "stringio", "bigdecimal", "ostruct", "open3", "cgi/session",
    "resolv", "rexml/document",
    "webrick", "rack", "forwardable", "delegate", "shellwords", "benchmark", "pp", "io/console", "monitor",
    "ipaddr", "drb"])
def test_the_standard_library_stays_ahead(folder, name):
    script = folder.script("x.rb", f"begin\n  require '{name}'\nrescue LoadError\n  puts 'none'\nend\n"
                           "puts 1\n")
    plain = run_plainly([RUBY, script])
    if plain.text != "1\n":
        pytest.skip(f"no {name}")
    with Warm(command(script, preload=name), level="compiled") as zygote:
        assert zygote.note(WARNING) == []
        assert os.path.basename(name) in files_ahead(zygote)
        zygote.argv = [RUBY, script]
        assert zygote.ask().seen() == plain.seen()


def test_libraries_of_the_first_line_are_watched_as_well(folder):
    for text, why in (IMPURE[kind] for kind in ("a token", "a number", "a time", "a pid", "a child", "a file",
                                                "its input", "a known seed")):
        folder.script("lib/early.rb", text)
        told = refusal(folder.script("x.rb", "p KEY"), f"-I{folder.path}/lib", "-rearly")
        assert why in told and f"at {folder.path}/lib/early.rb line 1" in told
    folder.script("lib/early.rb", "KEY = Time.now.to_i")
    script = folder.script("x.rb", "p KEY")
    with ruby_zygote(script, f"-I{folder.path}/lib", "-rearly", accept="time") as zygote:
        assert zygote.stands


def test_a_library_of_the_first_line_that_changes_methods_costs_the_level(folder):
    for kind in ("an alias", "another method", "a method around", "a method by an alias", "no method",
                 "another ENV", "another ARGV", "another at_exit", "the request by a kept method"):
        text, why = IMPURE[kind]
        folder.script("lib/early.rb", text)
        assert why in refusal(folder.script("x.rb", "p KEY"), f"-I{folder.path}/lib", "-rearly"), kind


def test_words_that_a_library_of_the_first_line_looked_at_start_the_program_anew(folder):
    folder.script("lib/early.rb", "COUNT = ARGV.size")
    script = folder.script("x.rb", "p COUNT, ARGV")
    switches = [f"-I{folder.path}/lib", "-rearly"]
    for words in ([], ["a", "b"]):
        with ruby_zygote(script, *switches) as zygote:
            answer = zygote.worker().request([RUBY, *switches, script, *words])
        assert answer.seen() == run_plainly([RUBY, *switches, script, *words]).seen()


@pytest.mark.parametrize("text", [
    "KEY = [*ARGV]", "KEY, = ARGV", "KEY = [1] + ARGV", "KEY = [] <=> ARGV", "KEY = [ARGV].join(' ')",
    "def all(*words) = words\nKEY = all(*$*)", "KEY = File.read('/proc/self/cmdline').split(\"\\0\").last"])
def test_words_that_only_c_code_looked_at_start_the_program_anew(folder, text):
    zygote, _ = zygote_with(folder, text)
    with zygote:
        for words in ([], ["a"], ["b", "c"]):
            plain = run_plainly([*zygote.argv, *words], env=zygote.request_env)
            assert plain.code == 0 and zygote.ask(*words, env=zygote.request_env).seen() == plain.seen()


def test_a_library_of_the_environment_s_switches_is_watched(folder):
    folder.script("lib/early.rb", "KEY = rand")
    env = {"RUBYLIB": f"{folder.path}/lib", "RUBYOPT": "-rearly"}
    script = folder.script("x.rb", "p KEY")
    with ruby_zygote(script, env={**LAUNCH_ENV, **env}) as zygote:
        assert not zygote.stands and "random" in zygote.note(2)[0]
