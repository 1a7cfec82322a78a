"""The reset `none` for Ruby: the process is reused, and the script is evaluated for each request."""

import os

import pytest

from driver import REQUEST_ENV, run_plainly
from ruby import RUBY, refusal, ruby_zygote

pytestmark = pytest.mark.skipif(not os.path.exists(RUBY), reason="ruby is not installed")


def asks_again(script, *requests, switches=()):
    """The answers of one worker, which is reused for each (words, further request options)."""
    with ruby_zygote(script, *switches, reset="none") as zygote:
        assert (zygote.reset, zygote.weaker) == ("none", ""), zygote.log()
        worker = zygote.worker()
        return [worker.request([script, *words], **more) for words, more in requests]


def test_a_process_that_is_used_again_keeps_its_state_and_gets_each_request(folder):
    script = folder.script("x.rb", """$count = ($count || 0) + 1
print $count, ' ', $$, ' ', $0 == __FILE__, ' ', ARGV.join(','), ' ', ENV['QUERY_STRING'], ' ',
  ENV.key?('ONCE'),
  ' ', Dir.pwd, ' ', binding.local_variable_defined?(:x), ' ', `printf %s "$QUERY_STRING"`, ' ', $stdin.gets
ENV['ONCE'] = 'mine'; x = 1; DATA.read
$stderr.puts "error #$count"
__END__
""")
    (folder.path / "deeper").mkdir()
    first, second, third = asks_again(
        script, (["a", "b"], {"body": b"one\nleft over\n", "env": {**REQUEST_ENV, "ONCE": "1"}}),
        ([], {"body": b"two\n", "cwd": str(folder.path)}),
        (["c"], {"body": b"three\n", "env": {**REQUEST_ENV, "QUERY_STRING": "q"}}))
    pid = first.text.split()[1]
    assert first.text == f"1 {pid} true a,b a=1&b=2 true / true a=1&b=2 one\n"
    assert second.text == f"2 {pid} true  a=1&b=2 false {folder.path} true a=1&b=2 two\n"
    assert third.text == f"3 {pid} true c q false / true q three\n"
    assert [one.stderr for one in (first, second, third)] == [b"error 1\n", b"error 2\n", b"error 3\n"]
    assert all(one.stays and one.done == 0 for one in (first, second, third))


@pytest.mark.parametrize("end, code", [
    ("exit 3", 3), ("exit", 0), ("abort", 1), ("raise 'oops'", 1), ("nil.no_such_method", 1),
    ("def f; raise ArgumentError, 'deep'; end; f", 1), ("begin; f; ensure; exit 4; end", 4), ("return", 0),
    ("throw :nothing", 1), ("warn 'careful'; STDOUT.print 'more'", 0)])
def test_an_end_is_that_of_the_request_and_not_of_the_process(folder, end, code):
    script = folder.script("x.rb", f"$n = ($n || 0) + 1; print $n; print STDIN.read\n{end}\n")
    plain = run_plainly([RUBY, script], body=b"body")
    assert plain.code == code, plain.seen()
    for n, answer in enumerate(asks_again(script, *[([], {"body": b"body"})] * 3), 1):
        assert (answer.stdout, answer.stderr, answer.done) == (
            plain.stdout.replace(b"1body", b"%dbody" % n), plain.stderr, code)
        assert answer.stays


def test_a_script_that_closes_a_stream_ends_its_worker(folder):
    answer, = asks_again(folder.script("x.rb", "print 'begin'; $stdin.close; exit 3"), ([], {}))
    assert (answer.text, answer.code, answer.stays) == ("begin", 3, False)


def test_data_and_a_child_of_a_script_used_again(folder):
    script = folder.script("x.rb", "$stdout.sync = true; print 'start '\n"
                                   "(print 'child '; exit 9) unless fork\nProcess.wait\n"
                                   "print $?.exitstatus, DATA.read\n__END__\n data")
    assert [one.text for one in asks_again(script, ([], {}), ([], {}))] == ["start child 9 data"] * 2


def test_exit_handlers_run_at_the_end_of_a_process_that_is_used_again(folder):
    script = folder.script("x.rb", f"at_exit {{ File.write('{folder.path}/ends', 'end', mode: 'a') }}")
    asks_again(script, ([], {}), ([], {}))
    assert (folder.path / "ends").read_text() == "endend"


def test_a_script_that_loops_by_a_switch_is_not_used_again(folder):
    assert "-n" in refusal(folder.script("x.rb", "puts $_"), "-n", reset="none")
