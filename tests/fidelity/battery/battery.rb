#!/usr/bin/ruby
# The leak battery in Ruby; battery.h explains it. kind :name, 'leaks under', look, leave.
require 'bigdecimal'
require 'coverage'
require 'csv'
require 'date'
require 'digest'
require 'erb'
require 'etc'
require 'forwardable'
require 'json'
require 'logger'
require 'monitor'
require 'net/http'
require 'objspace'
require 'observer'
require 'open3'
require 'optparse'
require 'ostruct'
require 'securerandom'
require 'set'
require 'socket'
require 'stringio'
require 'tempfile'
require 'time'
require 'timeout'
require 'uri'
require 'yaml'
require 'zlib'

$looks = {}
$leaves = {}
def kind(name, _leaks_under, look, leave)
  $looks[name.to_s] = look
  $leaves[name.to_s] = leave
end

def silently
  verbose = $VERBOSE
  $VERBOSE = nil
  yield
ensure
  $VERBOSE = verbose
end

def status(word)
  File.readlines('/proc/self/status').grep(/^#{word}/).map { |line| line.split.drop(1) }
end

def descriptors
  Dir.children('/proc/self/fd').map(&:to_i).select { |fd| fd > 2 && fd < 500 }.sort
end

def locks
  Dir.glob('/proc/self/fdinfo/*').sum { |path| (File.readlines(path) rescue []).grep(/^lock:/).size }
end

def child_left
  Process.waitpid(-1, Process::WNOHANG) ? 'one' : 'one that runs'
rescue Errno::ECHILD
  nil
end

def start_child(seconds)
  fork do
    [$stdin, $stdout, $stderr].each(&:close)
    sleep seconds
    exit!
  end
  sleep 0.005
end

def temporary
  file = Tempfile.create('left')
  File.unlink(file.path)
  file
end

def collector_is_off
  GC.enable.tap { |was_off| GC.disable if was_off }
end

$held ||= Mutex.new
$kept ||= []
$watched ||= 1

# These belong to the last operation, so they come first.
kind :child_status, 'none', -> { $?&.exitstatus }, -> { system 'exit 77' }
kind :line_number, 'none', -> { $. }, -> { $. = 77 }
kind :last_match, '', -> { $~ }, -> { 'left' =~ /e/ }
# Variables, constants, methods
kind :global_variable, 'none', -> { $left }, -> { $left = 1 }
kind :global_alias, 'none', -> { global_variables.include?(:$left_alias) }, -> { eval 'alias $left_alias $stdout' }
kind :global_traced, 'none', -> { trace_var(:$watched, proc {}); untrace_var(:$watched).size }, -> { trace_var(:$watched, proc {}) }
kind :variable_of_main, 'none', -> { instance_variable_get(:@left) }, -> { instance_variable_set(:@left, 1) }
kind :method_of_main, 'none', -> { singleton_methods.size }, -> { define_singleton_method(:left) {} }
kind :local_of_main, '', -> { TOPLEVEL_BINDING.local_variable_defined?(:left) }, -> { TOPLEVEL_BINDING.local_variable_set(:left, 1) }
kind :constant, 'none', -> { Object.const_defined?(:LEFT) }, -> { Object.const_set(:LEFT, 1) }
kind :constant_changed, 'none', -> { Math::PI.to_i }, -> { silently { Math.const_set(:PI, 99) } }
kind :constant_removed, 'none', -> { Object.const_defined?(:Observable) }, -> { Object.send(:remove_const, :Observable) }
kind :constant_private, 'none', -> { (Digest::Base ? 1 : 0) rescue 'private' }, -> { Digest.send(:private_constant, :Base) }
kind :constant_to_load, 'none', -> { Object.autoload?(:LeftLater) }, -> { Object.autoload(:LeftLater, '/left.rb') }
kind :class_variable, 'none', -> { String.class_variable_defined?(:@@left) }, -> { String.class_variable_set(:@@left, 1) }
kind :variable_of_a_class, 'none', -> { JSON.instance_variable_get(:@left) }, -> { JSON.instance_variable_set(:@left, 1) }
kind :method_added, 'none', -> { ''.respond_to?(:left) }, -> { String.define_method(:left) {} }
kind :method_redefined, 'none', -> { 'left'.swapcase }, -> { silently { String.define_method(:swapcase) { 'other' } } }
kind :method_removed, 'none', -> { [].respond_to?(:flatten!) }, -> { Array.undef_method(:flatten!) }
kind :method_alias, 'none', -> { [].respond_to?(:left_size) }, -> { Array.alias_method(:left_size, :size) }
kind :method_visible, 'none', -> { Object.public_method_defined?(:srand) }, -> { Kernel.send(:public, :srand) }
kind :method_of_a_library, 'none', -> { JSON.generate([1]) }, -> { silently { JSON.define_singleton_method(:generate) { |*| 'left' } } }
kind :operator_redefined, 'none', -> { 7 % 4 }, -> { silently { Integer.define_method(:%) { |_| 99 } } }
kind :module_included, 'none', -> { Array.include?(Comparable) }, -> { Array.include(Comparable) }
kind :module_prepended, 'none', -> { Set.ancestors.first == Set }, -> { Set.prepend(Module.new) }
kind :method_missing, 'none', -> { nil.left rescue $!.class }, -> { NilClass.define_method(:method_missing) { |*| 'left' } }
kind :singleton_method, 'none', -> { ENV.singleton_methods.include?(:left) }, -> { ENV.define_singleton_method(:left) {} }
kind :hook_of_classes, 'none', -> { $inherited = nil; Class.new(OpenStruct); $inherited },
     -> { OpenStruct.define_singleton_method(:inherited) { |_| $inherited = 1 } }
kind :hook_of_warnings, 'none', -> { Warning.method(:warn).owner == Warning },
     -> { Warning.singleton_class.prepend(Module.new { def warn(*) end }) }
kind :frozen, 'none', -> { Comparable.frozen? }, -> { Comparable.freeze }
kind :struct_named, 'none', -> { Struct.const_defined?(:Left) }, -> { Struct.new('Left', :x) }
kind :require_replaced, 'none', -> { Kernel.ancestors.size }, -> { Kernel.prepend(Module.new { def require(name) super end }) }
kind :file_loaded, 'none', -> { $LOADED_FEATURES.include?('/left.rb') }, -> { $LOADED_FEATURES << '/left.rb' }
kind :file_forgotten, '', -> { $LOADED_FEATURES.grep(/ostruct.rb/).size }, -> { $LOADED_FEATURES.delete_if { |path| path.end_with?('ostruct.rb') } }
kind :load_path, 'none', -> { $LOAD_PATH.include?('/left') }, -> { $LOAD_PATH << '/left' }
kind :gem_paths, 'none', -> { Gem.dir == '/left' }, -> { Gem.paths = { 'GEM_HOME' => '/left', 'GEM_PATH' => '/left' } }
# The interpreter
kind :encoding, 'none', -> { Encoding.default_external }, -> { silently { Encoding.default_external = 'ISO-8859-2' } }
kind :encoding_internal, 'none', -> { Encoding.default_internal }, -> { silently { Encoding.default_internal = 'UTF-16LE' } }
kind :input_separator, 'none', -> { $/ }, -> { silently { $/ = 'left' } }
kind :output_separator, 'none', -> { $\ }, -> { silently { $\ = 'left' } }
kind :field_separator, 'none', -> { $; }, -> { silently { $; = 'left' } }
kind :list_separator, 'none', -> { $, }, -> { silently { $, = 'left' } }
kind :verbose, 'none', -> { $VERBOSE }, -> { $VERBOSE = nil }
kind :debug, 'none', -> { $DEBUG }, -> { $DEBUG = 1 }
kind :warnings, 'none', -> { Warning[:experimental] }, -> { Warning[:experimental] = false }
kind :program_name, 'none', -> { $0[/battery/] }, -> { $0 = 'left' }
kind :process_title, 'none', -> { File.binread('/proc/self/cmdline').include?('left title') }, -> { Process.setproctitle('left title') }
kind :arguments, '', -> { ARGV.size }, -> { ARGV << 'left' }
kind :argument_files, 'none', -> { ARGF.lineno }, -> { ARGF.lineno = 7 }
kind :random, 'none', -> { rand == Random.new(42).rand }, -> { srand 42 }
kind :collector, 'none', -> { collector_is_off }, -> { GC.disable }
kind :collector_measured, 'none', -> { GC.respond_to?(:measure_total_time) && GC.measure_total_time }, -> { GC.measure_total_time = false }
kind :compiler, 'none', -> { RubyVM::InstructionSequence.compile_option[:frozen_string_literal] },
     -> { RubyVM::InstructionSequence.compile_option = { frozen_string_literal: true } }
kind :trace, 'none', -> { ObjectSpace.each_object(TracePoint).count(&:enabled?) }, -> { $trace = TracePoint.new(:class) {}.tap(&:enable) }
kind :allocations_traced, 'none', -> { ObjectSpace.allocation_sourcefile(Object.new) ? 1 : 0 }, -> { ObjectSpace.trace_object_allocations_start }
kind :coverage, 'none', -> { Coverage.running? }, -> { Coverage.start }
kind :weak_map, 'none', -> { ($weak ||= ObjectSpace::WeakMap.new).size }, -> { $weak[$kept] = $held }
kind :heap, 'none', -> { status('VmRSS').flatten[0].to_i > 150_000 }, -> { mib = 200; $heap = 'x' * (mib << 20) }
# Threads
kind :thread, 'none', -> { [Thread.list.size, status('Threads')] }, -> { Thread.new { sleep } }
kind :thread_variable, 'none', -> { Thread.current.thread_variable_get(:left) }, -> { Thread.current.thread_variable_set(:left, 1) }
kind :fiber_variable, 'none', -> { Thread.current[:left] }, -> { Thread.current[:left] = 1 }
kind :thread_name, 'none', -> { Thread.current.name == 'left' }, -> { Thread.current.name = 'left' }
kind :thread_priority, 'none', -> { Thread.current.priority }, -> { Thread.current.priority = 2 }
kind :thread_reports, 'none', -> { Thread.report_on_exception }, -> { Thread.report_on_exception = false }
kind :thread_aborts, 'none', -> { Thread.abort_on_exception }, -> { Thread.abort_on_exception = true }
kind :thread_group, 'none', -> { ThreadGroup::Default.enclosed? }, -> { ThreadGroup::Default.enclose }
kind :mutex, 'none', -> { $held.locked? }, -> { $held.lock }
kind :kept_object, 'none', -> { $kept.size }, -> { $kept << 1 }
# Libraries
kind :json_id, 'none', -> { JSON.create_id }, -> { JSON.create_id = 'left' }
kind :json_options, 'none', -> { JSON.load_default_options[:max_nesting] }, -> { JSON.load_default_options[:max_nesting] = 7 }
kind :uri_schemes, 'none', -> { URI.scheme_list.key?('LEFT') }, -> { URI.register_scheme('LEFT', URI::Generic) }
kind :yaml_types, 'none', -> { YAML.load('!<tag:left,1:x> 1').to_s }, -> { YAML.add_domain_type('left,1', 'x') { 'left' } }
kind :csv_converters, 'none', -> { CSV::Converters.key?(:left) }, -> { CSV::Converters[:left] = proc {} }
kind :decimal_limit, 'none', -> { BigDecimal.limit }, -> { BigDecimal.limit(5) }
kind :decimal_mode, 'none', -> { BigDecimal.mode(BigDecimal::ROUND_MODE) }, -> { BigDecimal.mode(BigDecimal::ROUND_MODE, :up) }
kind :reverse_lookup, 'none', -> { BasicSocket.do_not_reverse_lookup }, -> { BasicSocket.do_not_reverse_lookup = false }
kind :users_read, 'none', -> { Etc.getpwent.name.tap { Etc.endpwent } }, -> { Etc.getpwent }
kind :options_accepted, 'none', -> { OptionParser::Acceptables.const_defined?(:Left) }, -> { OptionParser::Acceptables.const_set(:Left, 1) }
# Streams and descriptors
kind :stdout_sync, 'none', -> { $stdout.sync }, -> { $stdout.sync = true }
kind :stdout_replaced, 'none', -> { $stdout.equal?(STDOUT) }, -> { $stdout = StringIO.new }
kind :stderr_replaced, 'none', -> { $stderr.equal?(STDERR) }, -> { $stderr = StringIO.new }
kind :stdout_encoding, 'none', -> { $stdout.external_encoding }, -> { $stdout.set_encoding('UTF-16BE') }
kind :stdout_closed, '', -> { STDOUT.closed? }, -> { STDOUT.close }
kind :stdout_method, 'none', -> { STDOUT.singleton_methods.size }, -> { STDOUT.define_singleton_method(:left) {} }
kind :stdin_rest, '', -> { STDIN.closed? ? 0 : STDIN.read.size }, -> { STDIN.gets }
kind :stdin_closed, '', -> { STDIN.closed? }, -> { STDIN.close }
kind :data_position, '', -> { DATA.gets }, -> { DATA.gets }
kind :data_closed, '', -> { DATA.closed? }, -> { DATA.close }
kind :descriptor, 'none', -> { descriptors.size }, -> { IO.sysopen('/dev/null') }
kind :descriptor_inherited, 'none', -> { descriptors.size }, -> { $dup = STDERR.dup; $dup.close_on_exec = false }
kind :file_left_open, 'none', -> { $file.class }, -> { $file = File.open('/dev/null', 'w'); $file.print 1 }
kind :folder_left_open, 'none', -> { $folder.class }, -> { $folder = Dir.open('/'); $folder.read }
kind :socket, 'none', -> { $sockets.class }, -> { $sockets = UNIXSocket.pair }
kind :pipe, 'none', -> { $pipe.class }, -> { $pipe = IO.pipe }
kind :lock, 'none', -> { locks }, -> { ($kept << temporary).last.flock(File::LOCK_EX) }
# The process
kind :environment, '', -> { ENV['LEFT'] }, -> { ENV['LEFT'] = '1' }
kind :environment_changed, '', -> { ENV['GATEWAY_INTERFACE'] }, -> { ENV['GATEWAY_INTERFACE'] = 'left' }
kind :environment_cleared, '', -> { ENV.size }, -> { ENV.clear }
kind :environment_of_children, '', -> { `printf %s "$LEFTC"` }, -> { ENV['LEFTC'] = '1' }
kind :time_zone, '', -> { Time.at(0).zone }, -> { ENV['TZ'] = 'LFT5'; Time.at(0).zone }
kind :directory, '', -> { Dir.pwd }, -> { Dir.chdir('/usr') }
kind :umask, 'none', -> { File.umask }, -> { File.umask(0o777) }
kind :signal_handler, 'none', -> { status('SigCgt') }, -> { trap('USR1') {}; trap('URG') {} }
kind :signal_ignored, 'none', -> { status('SigIgn') }, -> { trap('USR2', 'IGNORE') }
kind :signal_default, 'none', -> { status('SigCgt') }, -> { trap('INT', 'SYSTEM_DEFAULT') }
kind :exit_trap, 'none', -> { trap('EXIT', 'DEFAULT').class }, -> { trap('EXIT') {} }
kind :limit, 'none', -> { Process.getrlimit(:NOFILE) }, -> { Process.setrlimit(:NOFILE, 777, Process.getrlimit(:NOFILE)[1]) }
kind :limit_for_good, 'none', -> { Process.getrlimit(:MSGQUEUE) }, -> { Process.setrlimit(:MSGQUEUE, 77, 77) }
kind :nice, 'none', -> { Process.getpriority(Process::PRIO_PROCESS, 0) },
     -> { Process.setpriority(Process::PRIO_PROCESS, 0, Process.getpriority(Process::PRIO_PROCESS, 0) + 1) }
kind :name, 'none', -> { File.read('/proc/self/comm') == "left\n" }, -> { File.write('/proc/self/comm', 'left') }
kind :child, 'none', -> { $child = child_left }, -> { start_child(0.1) }
kind :child_that_ended, 'none', -> { $child }, -> { start_child(0) }
kind :process_group, 'none', -> { Process.getpgrp == Process.pid }, -> { Process.setpgid(0, Process.getpgid(Process.ppid)) }
kind :user, 'none', -> { [Process.uid, Process.euid] }, -> { Process::Sys.setuid(65534) }
kind :groups, 'none', -> { Process.groups }, -> { Process.groups = [65534] }
kind :root_folder, '', -> { File.exist?('/etc/passwd') }, -> { Dir.chroot('/usr') }

def leave(name)
  $leaves[name]&.call
end

query = ENV['QUERY_STRING'].to_s
leave(query.delete_prefix('again=')) if query.start_with?('again=')
seen = $looks.map do |name, look|
  found = begin
    look.call
  rescue StandardError => error
    error.class
  end
  "#{name}: #{found.inspect}\n"
end
answer = IO.for_fd(1, autoclose: false)
answer.syswrite("Content-Type: text/plain\n\n" + seen.join)
leave(query)
__END__
first line
second line
