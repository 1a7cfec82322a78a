# frozen_string_literal: true

# What the zygote loads ahead of the requests, the watch that makes sure no request would notice it, and
# what is learned from a request.
module CGIBridge
  REQUEST_NAME = /\A(?:REQUEST_|HTTP_|REMOTE_|CONTENT_|REDIRECT_)|
                  \A(?:QUERY_STRING|PATH_INFO|PATH_TRANSLATED|AUTH_TYPE|HTTPS|DOCUMENT_URI|
                       UNIQUE_ID|SCRIPT_URI|SCRIPT_URL|COOKIE)\z/x.freeze

  # A library may give the constants' names to something else.
  ENVIRONMENT = ENV
  WORDS = ARGV

  # Notices looks at the environment, at the request's words, at exit handlers, and at who loads a library,
  # by methods that replace Ruby's own. The rest is watched by the checkpoint library.
  class Watch
    READERS = %i[[] fetch key? has_key? include? member? assoc values_at slice].freeze
    WRITERS = %i[[]= store delete delete_if keep_if clear reject! select! filter! shift replace update
                 merge! freeze].freeze
    HARMLESS = %i[to_s].freeze

    # reads: name -> value or nil, of all that was read; trouble: why what was loaded is not kept;
    # has_words: whether ARGV was read; has_exits: whether an exit handler was left.
    attr_reader :reads, :ruby_s
    attr_accessor :trouble, :has_words, :has_exits

    def self.bytes_written
      [$stdout, $stderr, STDOUT, STDERR].each(&:flush)
      File.read('/proc/self/io')[/^wchar: (\d+)/, 1]
    end

    def self.two_frames_on(start)
      return start + 2 unless start.is_a?(Range)

      last = start.end
      Range.new(start.begin + 2, last && last >= 0 ? last + 2 : last, start.exclude_end?)
    end

    def initialize
      @reads = {}
      @own = []
      @of_words = []
      @ruby_s = $LOAD_PATH.find { |folder| File.exist?("#{folder}/English.rb") }
      put_on
    end

    def put_on
      environment = ENVIRONMENT.singleton_class
      @is_on = true
      @read = environment.instance_method(:[]).bind(ENVIRONMENT)
      (environment.instance_methods(false) - HARMLESS).each { |name| stand_in_for_environment(environment, name) }
      [Kernel, Kernel.singleton_class].each do |owner|
        %i[caller caller_locations].each { |name| stand_in_for_caller(owner, name) }
        stand_in_for_exit(owner)
      end
      (Array.instance_methods(false) + %i[dup clone]).each { |name| stand_in_for_words(name) }
      stand_in_for_number if Thread.method_defined?(:native_thread_id)
      @standing = methods_standing
    end

    # What was put on must be there still, and by no other name: what a library has put in its place would be
    # lost, and an alias would stay.
    def look_at_methods
      @trouble ||= 'changes methods of ENV, of ARGV, or of Kernel' if methods_standing != @standing
    end

    # A library may have kept a method of ours, which then does what Ruby's own does.
    def take_off
      look_at_methods
      @is_on = false
      silently do
        @own.each do |owner, name, method, is_private|
          owner.send(:define_method, name, method)
          owner.send(:private, name) if is_private
        end
        @of_words.each { |name| WORDS.singleton_class.send(:remove_method, name) }
      end
      @own.clear
      @of_words.clear
    end

    private

    # Including what stands before Ruby's own, and ours by other names. A library may add methods: `pp` does.
    def methods_standing
      environment = ENVIRONMENT.singleton_class
      before = environment.ancestors.take_while { |one| one != environment }
      names = environment.instance_methods(false) + environment.private_instance_methods(false)
      ours = names.sort.select { |name| environment.instance_method(name).source_location&.first == __FILE__ }
      standing = @own + @of_words.map { |name| [WORDS.singleton_class, name] }
      [ENV.__id__, ARGV.__id__, before, ours, standing.map { |owner, name| owner.instance_method(name) }]
    rescue NameError
      nil # one was undefined
    end

    # Ruby warns about methods that are defined again.
    def silently
      verbose = $VERBOSE
      $VERBOSE = nil
      yield
    ensure
      $VERBOSE = verbose
    end

    def stand_in(owner, name, &body)
      is_private = owner.private_method_defined?(name)
      @own << [owner, name, owner.instance_method(name), is_private]
      silently { owner.send(:define_method, name, &body) }
      owner.send(:private, name) if is_private
    end

    def stand_in_for_environment(owner, name)
      watch = self
      method = owner.instance_method(name).bind(ENVIRONMENT)
      stand_in(owner, name) do |*words, &block|
        watch.send(:look_at_environment, name, words)
        method.call(*words, &block)
      end
    end

    def look_at_environment(name, words)
      return unless @is_on

      if WRITERS.include?(name)
        @trouble ||= 'writes the environment'
      elsif READERS.include?(name)
        (name == :fetch ? words.first(1) : words).each { |word| look_at_variable(word) }
      else
        @trouble ||= 'lists the environment'
      end
    end

    # Of a string, only its bytes count, not its methods.
    def look_at_variable(name)
      return @trouble ||= 'reads the environment by a name that is no string' unless String === name

      name = String.new(name).b
      @reads[name] = @read.call(name)
      @trouble ||= "reads the environment's #{name}" if REQUEST_NAME.match?(name)
    end

    # Two frames of this file are in between: the body's, and that of the method's call.
    def stand_in_for_caller(owner, name)
      watch = self
      method = owner.instance_method(name)
      stand_in(owner, name) do |start = 1, *length|
        found = method.bind(self).call(Watch.two_frames_on(start), *length)
        watch.send(:look_at_caller, found)
        found
      end
    end

    def stand_in_for_exit(owner)
      watch = self
      method = owner.instance_method(:at_exit)
      stand_in(owner, :at_exit) do |&block|
        watch.has_exits = true
        method.bind(self).call(&block)
      end
    end

    # Ruby knows it, and does not ask the kernel.
    def stand_in_for_number
      watch = self
      method = Thread.instance_method(:native_thread_id)
      stand_in(Thread, :native_thread_id) do
        watch.trouble ||= 'asks for its process id'
        method.bind(self).call
      end
    end

    def stand_in_for_words(name)
      watch = self
      method = WORDS.method(name)
      @of_words << name
      WORDS.define_singleton_method(name) do |*words, &block|
        watch.has_words = true
        method.call(*words, &block)
      end
    end

    # Ruby's own library looks at its nearest caller only.
    def look_at_caller(found)
      return unless @is_on

      own = "#{OWN.command.folder}/"
      return unless found && found.any? { |one| one.to_s.start_with?(own) }
      return if @ruby_s && found.first.to_s.start_with?(@ruby_s)

      @trouble ||= 'looks at who loads it'
    end
  end

  # Loads the libraries that the bridge learned, and notices what else each one does.
  class Ahead
    # A script that may ask what is loaded would see the libraries loaded ahead.
    ASKS = /\$"|LOADED_FEATURES|defined\?[\s(]*(?:::)?[A-Z]|const(?:ant)?s?_defined\?|\.constants\b|
            ObjectSpace|^\s*gem[\s(]|[Bb]undler|autoload|
            (?:[=(?&|!]|\b(?:if|unless|and|or|not|p|puts|print|return))[ \t]*require\b/x.freeze
    NAMED = /^\s*require[\s(]+(["'])([\w\/.-]+)\1/.freeze

    # These make generators, which are seeded again for each request, or test whether they can.
    def self.renewed(ruby_s)
      %w[tmpdir securerandom].map { |name| "#{ruby_s}/#{name}.rb" }.join("\n")
    end

    attr_reader :text, :is_learning

    # Whether a library may have looked at the query's words: a splat, or Array#+, calls none of ARGV's methods.
    def self.name_words?(features)
      features.any? do |path|
        path.end_with?('.rb') && File.file?(path) && File.binread(path).match?(/\bARG[VF]\b|\$\*|cmdline/n)
      end
    end

    def self.names_in(text)
      text.scan(NAMED).map { |_, name| name.delete_suffix('.rb').delete_suffix('.so') }
    end

    def initialize(command, watch)
      @command = command
      @watch = watch
      @text = File.binread(command.script)
      @is_learning = !@text.match?(ASKS)
    end

    def run
      named = Ahead.names_in(@text)
      names = @command.preload
      names = names.sort_by.with_index { |name, at| [named.index(name) || named.size, at] }
      return if names.empty?

      @watch.put_on
      @threads = Ahead.threads
      names.each do |name|
        trouble = load_ahead(name) or next
        OWN.ask("note/warning/#{name} is not loaded ahead: it #{trouble}")
        @watch.take_off
        @command.start_over_without(name)
      end
      OWN.ask('effects/refuse/after its libraries are loaded') # what these have left may still end
      @watch.take_off
    end

    # What is the same for all libraries, so that a request would notice a change of it that was made by one
    # which it does not load.
    def self.shared_state
      {
        '$stdin' => $stdin.__id__, '$stdout' => $stdout.__id__, '$stderr' => $stderr.__id__, '$0' => $0,
        '$/' => $/, '$,' => $,, '$;' => $;, '$\\' => $\, '$VERBOSE' => $VERBOSE, '$DEBUG' => $DEBUG,
        'the encodings' => [Encoding.default_external, Encoding.default_internal].map(&:to_s),
        "the streams' modes" => [STDIN, STDOUT, STDERR].map do |one|
          [one.sync, one.external_encoding.to_s, one.internal_encoding.to_s]
        end,
        'what errors in threads do' => [Thread.abort_on_exception, Thread.report_on_exception],
        'the collector' => [GC.enable.tap { |was_off| GC.disable if was_off }, GC.stress, GC::Profiler.enabled?],
        'what is traced' => TracePoint.stat.values
      }
    end

    # The number of the process's threads; one may be Ruby's own (from 3.3 on).
    def self.threads
      Dir.children('/proc/self/task').size
    end

    private

    # Returns what it does that a program would notice, or nil.
    def load_ahead(name)
      return nil if is_programs_own(name)

      @watch.trouble = nil
      @watch.has_words = @watch.has_exits = false
      known = @watch.reads.keys
      written = Watch.bytes_written
      shared = Ahead.shared_state
      OWN.ask("watch/#{Ahead.renewed(@watch.ruby_s)}")
      # Before it changes anything outside, the checkpoint library starts the process over.
      OWN.ask("effects/without/-I#{@command.folder}/preload=\n#{name}\nwhile it is loaded")
      begin
        require name
      rescue Exception => error
        # One that is missing leaves nothing: the program gets the same error, if it asks. What another
        # has done until it failed cannot be taken back.
        is_missing = error.is_a?(LoadError) && error.path == name
        return "fails to load (#{error.class})" unless is_missing
      end
      chosen = (@watch.reads.keys - known).find { |variable| names?(variable) }
      return "reads #{chosen}, which the program may set" if chosen
      @watch.look_at_methods
      changed = Ahead.shared_state.find { |part, value| shared[part] != value }
      @watch.trouble || trouble_of_process(written) || (changed && "changes #{changed[0]}")
    end

    # A longer name that contains it ($LOAD_PATH, PATH_INFO) is another variable's.
    def names?(variable)
      @text.match?(/(?:(?<![A-Za-z0-9_])|(?<=\\[a-z]))#{Regexp.escape(variable.b)}(?![A-Za-z0-9_])/n)
    end

    # What the checkpoint library saw.
    def trouble_of_process(written)
      seen = OWN.ask('seen') # first: what follows lists threads itself
      return 'starts a thread' if Ahead.threads > @threads # for one, Ruby may write to its own eventfd

      now = Watch.bytes_written
      return "#{seen} while it is loaded" unless seen.empty?

      left = OWN.ask('left') # first: Ruby may have written for a thread that has ended
      return left unless left.empty?
      return 'prints while it is loaded' if now != written && !OWN.ask('accepts/output')
      return 'leaves an exit handler' if @watch.has_exits

      "looks at the query's words (ARGV)" if @watch.has_words
    end

    def is_programs_own(name)
      folder = File.dirname(File.expand_path(@command.script))
      ['', '/lib'].any? { |below| %w[.rb .so].any? { |ending| File.exist?("#{folder}#{below}/#{name}#{ending}") } }
    end
  end

  # Finds the libraries of Ruby's own folders, or of gems, that a request loaded, and tells the bridge.
  class Learned
    NOTES_MAX = 1000
    # Where a variable is set, or ENV gets another name. (A file that hands it to others mostly wants it read.)
    SETS = /(?<![=!<>])=\s*(?:::)?ENV\b(?!\s*[.\[])|\bENV\b\s*(?:\[[^\]\n]*\]\s*(?:\|\||&&|[-+*]|<<)?=(?![=~])|
            \.\s*(?:\[\]=|store|update|merge!|replace|delete|delete_if|clear|keep_if|
            reject!|select!|filter!|shift|send|public_send|__send__|tap|then|instance_eval)(?![\w?]))/x.freeze

    def initialize(command, text)
      @script_folder = File.join(File.dirname(File.expand_path(command.script)), '')
      @named = Ahead.names_in(text)
      @known = $LOADED_FEATURES.dup
      given = command.switches.grep(/\A-I/).map { |word| File.expand_path(word.delete_prefix('-I')) }
      @usual = ($LOAD_PATH.map(&:to_s) - given).map { |folder| File.join(folder, '') }
    end

    # Where a library has to be.
    def folders
      @usual + gem_folders
    end

    def report
      return if $LOADED_FEATURES.size == @known.size

      paths = $LOADED_FEATURES - @known
      names_to_tell(paths).first(NOTES_MAX).each do |name|
        path = paths.find { |one| name_of(one, folder_of(one).to_s) == name }
        OWN.ask("note/loaded/#{name}\n#{path}")
      end
    rescue StandardError
      nil # nobody may notice that anything is learned
    end

    private

    # A file of the program's own with the name of a library of Ruby's, which would be loaded ahead in its
    # place.
    def names_to_tell(paths)
      return [] if paths.any? { |path| path.include?('/bundler') }

      libraries, own = paths.partition { |path| folder_of(path) }
      return [] if own.any? { |path| hides_another(path) || may_set_variables(path) }

      names = libraries.map { |path| name_of(path, folder_of(path)) }
      named = @named + own.select { |path| path.end_with?('.rb') }.flat_map { |path| Ahead.names_in(File.binread(path)) }
      (named & names) | names.reject { |name| name.include?('/') }
    end

    # A library that it loads afterwards may read them; ahead, it would read the launch's. The script itself is
    # searched for their names.
    def may_set_variables(path)
      path.end_with?('.rb') && File.binread(path).match?(SETS)
    end

    def folder_of(path)
      return nil if path.start_with?(@script_folder)

      library_folders.find { |folder| path.start_with?(folder) }
    end

    def gem_folders
      defined?(Gem) ? Gem.path.map { |folder| File.join(folder, '') } : []
    end

    def library_folders
      @library_folders ||= begin
        of_gems = $LOAD_PATH.map { |folder| File.join(folder.to_s, '') }.select { |one| one.start_with?(*gem_folders) }
        # The innermost first.
        (of_gems | @usual).sort_by { |folder| -folder.size }
      end
    end

    def name_of(path, folder)
      path.delete_prefix(folder).delete_suffix('.rb').delete_suffix('.so')
    end

    # A file of the program's own that replaces a library of Ruby's.
    def hides_another(path)
      folder = $LOAD_PATH.map { |one| File.join(one.to_s, '') }.find { |one| path.start_with?(one) }
      return false unless folder

      name = name_of(path, folder)
      @usual.any? { |one| %w[.rb .so].any? { |ending| File.exist?("#{one}#{name}#{ending}") } }
    end
  end
end
