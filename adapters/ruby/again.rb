# frozen_string_literal: true

# The reset `none`, for programs written for it: the process is used again, and the script, compiled
# once more, is evaluated for each request. Request, directory and streams are replaced, and DATA is
# at its start; nothing else.
module CGIBridge
  class Again
    # Switches that put a loop around the script, which is not part of what can be compiled by itself.
    LOOPS = /\A-[a-zA-Z0]*[np]/.freeze

    def initialize(command, learned)
      @command = command
      @learned = learned
      @script = RubyVM::InstructionSequence.compile_file(command.script)
      @data_begins = DATA.pos if Object.const_defined?(:DATA)
    end

    # Ends by an exit of Ruby's own: at the worker's end, in a child that the script forked, or when the
    # script closed a stream, which cannot be reopened as the same stream.
    def run_until_the_end
      worker = Process.pid
      loop do
        code = run_once
        exit code if Process.pid != worker || [STDIN, STDOUT, STDERR].any?(&:closed?)
        renew_streams
        @learned&.report
        exit 0 unless OWN.ask("next/#{code}")
        OWN.take_request
        rewind_data
      end
    end

    private

    def run_once
      @script.eval
      0
    rescue SystemExit => error
      error.status
    rescue SignalException
      raise
    rescue Exception => error
      show(error)
      1
    end

    # Shows an uncaught error as the interpreter does, without the frames below the script.
    def show(error)
      text = error.full_message(highlight: false, order: :top)
      ours = %r{(?:^\tfrom (?:#{Regexp.escape(@command.folder)}/|\(?eval|<internal:).*\n?)+\z}
      $stderr.write(text.sub(ours, ''))
    end

    # What was read ahead belongs to the last request.
    def renew_streams
      STDIN.reopen('/dev/null')
      [STDOUT, STDERR].each(&:flush)
      $stdout.flush unless $stdout.equal?(STDOUT) || !$stdout.respond_to?(:flush)
    end

    def rewind_data
      return unless @data_begins

      DATA.reopen(@command.script) if DATA.closed?
      DATA.pos = @data_begins
      DATA.lineno = 0
    end
  end
end
