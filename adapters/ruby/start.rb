# frozen_string_literal: true

# Stops a Ruby program at its checkpoint: the real script compiled by the real ruby, none of it run. Started
# by the bridge as
#
#     ruby -I<this folder>/preload=a,b,c -r<this folder>/start.rb SWITCHES SCRIPT
#
# The checkpoint library calls CGIBridge.stand between Ruby's compiler and the run of the script
# (adapters/checkpoint/ruby_run.c). There a fork() of Ruby's own is the checkpoint: so what Ruby puts right
# in a child is right in a worker, and nothing of ours is on the stack of the script.
module CGIBridge
  # What the interpreter itself and libc read of the environment while they start.
  READ_AT_START = %w[LANG LC_ALL LC_CTYPE TZ].freeze
  # Switches that take effect before the script runs, not in the process that runs it.
  EARLY_SWITCHES = /\A-(?:[CX]|x.)/
  # The constant CGIBridge is gone when the script runs.
  OWN = self

  class << self
    attr_reader :command, :watch

    # Where the library answers; told to the first caller that asks, and to no other after that.
    def open_call
      @call = File.readlink('/.cgibridge/open')
    rescue SystemCallError
      nil
    end

    def ask(what)
      File.readlink("#{@call}#{what}")
    rescue SystemCallError
      nil
    end

    def shallower(why)
      ask("note/shallower/#{why}") # ends a zygote
    end

    def begin
      @command = Command.new
      if !open_call
        return @command.run_plainly([]) if ENV['REQUEST_METHOD']

        $stderr.puts 'start.rb: no checkpoint library and no request'
        exit! 1
      end
      load "#{@command.folder}/ahead.rb"
      load "#{@command.folder}/again.rb" if (@is_again = ask('reset') == 'none')
      $LOAD_PATH.delete(@command.preload_word)
      @read = READ_AT_START.to_h { |name| [name, ENV[name]] }
      @learned = @pid = nil
      at_exit { finish($!) if @pid == Process.pid }
      @watch = Watch.new
      @written = Watch.bytes_written
      @features = $LOADED_FEATURES.size + 1 # including this file
      ask("watch/#{Ahead.renewed(@watch.ruby_s)}")
      ask('effects/refuse/before it runs')
      ask('ruby-run/CGIBridge.stand') or shallower('this ruby is not one that stops between compiling and running')
    end

    # Returns in a worker, with the request applied.
    def stand
      seen = ask('seen')
      @watch.take_off
      @has_words = @watch.has_words
      refuse_what_was_seen(seen)
      ahead = Ahead.new(@command, @watch)
      ahead.run
      @has_words ||= Ahead.name_words?($LOADED_FEATURES.drop(@features))
      @read.merge!(@watch.reads)
      @read['HOME'] = ENV['HOME'] if defined?(Gem) && Gem.instance_variable_get(:@user_home)
      leave_no_trace
      note_files
      @generators = unseeded_generators
      @learned = ahead.is_learning ? Learned.new(@command, ahead.text) : nil
      ask("note/folders/#{@learned.folders.join("\n")}") if @learned
      4.times { GC.start } # what is old by then is left alone by a request's collections
      ask('at-fork/compiled') or shallower('the checkpoint refused')
      Process.fork
      become_fresh
      Again.new(@command, @learned).run_until_the_end if @is_again
    end

    # After all exit handlers, because this one is registered first. Ruby would then run finalizers, close
    # files and give its memory back; the last of these is skipped, if the exit code is known.
    def finish(error)
      @learned&.report
      code = error.is_a?(SystemExit) ? error.status : 0
      ask("ruby-end/#{code}") if error.nil? || error.is_a?(SystemExit)
    end

    # Also called in a process that is used again.
    def take_request
      text = ask('whole/argv').b
      words = text == @command.usual ? [] : @command.words_behind_script(text)
      take_environment
      @read.each { |name, value| start_anew("ENV[#{name}]", words) if ENVIRONMENT[name] != value }
      start_anew('ARGV', words) if @has_words && !words.empty?
      @command.run_plainly(words) if !words.empty? && @command.takes_words
      ARGV.replace(words) unless words.empty? && ARGV.empty?
      ask('script')
    end

    private

    def refuse_what_was_seen(seen)
      shallower(@watch.trouble) if @watch.trouble
      early = @command.switches.grep(EARLY_SWITCHES).first
      early ||= @command.switches.grep(Again::LOOPS).first if @is_again
      shallower("the switch #{early}") if early
      shallower("#{seen} before it runs") unless seen.empty?
      # Otherwise it is the compiler that wrote: its warnings.
      return if $LOADED_FEATURES.size == @features || Watch.bytes_written == @written

      shallower('prints before it runs')
    end

    def leave_no_trace
      $LOADED_FEATURES.delete("#{@command.folder}/start.rb")
      # Ruby rebuilds its index of them at the next `require` of anything.
      again = respond_to?(:gem_original_require, true) ? :gem_original_require : :require
      send(again, 'enumerator')
      Object.send(:remove_const, :CGIBridge)
    end

    def note_files
      files = [File.expand_path(@command.script), *$LOADED_FEATURES.grep(%r{\A/[^\n]*\z})]
      # A gem that is installed later may be newer than a library that was loaded.
      files += Gem.path.map { |path| "#{path}/specifications" } if defined?(Gem)
      ask("note/file/#{files.map(&:b).join("\n")}")
    end

    # A generator that got no seed has drawn one of 128 bits.
    def unseeded_generators
      base = defined?(Random::Base) ? Random::Base : Random
      ObjectSpace.each_object(base).select { |one| one.seed >= 1 << 64 }
    end

    def become_fresh
      @pid = Process.pid
      take_request
      @generators.each { |one| one.send(:initialize) }
    end

    # The library's memory holds the environment of only one request.
    def take_environment
      return ask('environ/set') unless @is_again

      given = {}
      ask('whole/env').b.split("\0").each do |line|
        name, value = line.force_encoding(Encoding.find('locale')).split('=', 2)
        given[name] ||= value if value && !name.empty? # the first of two with one name counts
      end
      ENVIRONMENT.replace(given)
    end

    def start_anew(what, words)
      shallower("#{what} was read before the checkpoint, and the request's differs")
      @command.run_plainly(words)
    end
  end

  # The command line, and the commands that follow from it.
  class Command
    attr_reader :folder, :preload_word, :script, :switches, :usual

    def initialize
      @folder = __dir__
      @line = File.binread('/proc/self/cmdline').split("\0", -1)[0...-1]
      @preload_word = "#{@folder}/preload="
      at = @line.index { |word| word.start_with?("-I#{@preload_word}".b) }
      @preload_word = @line[at].byteslice(2..-1).force_encoding(Encoding.default_external)
      @line.slice!(at, 2)
      @launched = ENV.to_h
      @script = $0
      @switches = @line[1...-1]
      # A request's argv, if its query has no words.
      @usual = @line.map { |word| "#{word}\0" }.join.b
    end

    def preload
      @preload_word.delete_prefix("#{@folder}/preload=").split(',')
    end

    # Ruby turns them into variables (-s), before the script runs.
    def takes_words
      @switches.any? { |word| word.match?(/\A-[a-zA-Z]*s/n) }
    end

    def words_behind_script(text)
      words = text.split("\0", -1)[0...-1]
      at = words.index(@script.b) || 0
      words.drop(at + 1).map { |word| as_argument(word) }
    end

    # The string that Ruby makes of a word that main() got.
    def as_argument(word)
      external, internal = Encoding.default_external, Encoding.default_internal
      return word.freeze if external == Encoding::US_ASCII && !word.ascii_only?

      word.force_encoding(external)
      word = word.encode(internal) if internal && word.valid_encoding?
      word.freeze
    rescue EncodingError
      word.freeze
    end

    # As if this adapter had never run. If an environment is given, Ruby calls execve(), not execv().
    def run_plainly(words)
      exec({}, [File.readlink('/proc/self/exe'), @line[0]], *@line.drop(1), *words)
    end

    # A load cannot be undone in a process, so a new one starts.
    def start_over_without(name)
      names = (preload - [name]).join(',')
      ours = ["-I#{@folder}/preload=#{names}", "-r#{@folder}/start.rb"]
      OWN.ask('over')
      words = ours + @line.drop(1)
      exec(@launched, [File.readlink('/proc/self/exe'), @line[0]], *words, unsetenv_others: true)
    end
  end
end

CGIBridge.begin
