package CGIBridge;

# The reset `none`, for programs written for it: the process is used again. The script is compiled into a
# sub, which runs for each request; request, directory and streams are replaced, nothing else.
#
# A source filter gives perl one line instead of the script, so that the loop is perl's main program: what
# the script does is in perl's run phase and not in an eval, and after an error that nobody caught perl
# itself ends.

BEGIN { ${^WARNING_BITS} = '' }    # see CGIBridge.pm

use Filter::Util::Call ();

our ($script, $exit_code, $data);

sub use_again {
    my $source = read_script();
    $source =~ s/^__(?:END|DATA)__[ \t\r]*\n(.*)//ms and $data = $1;
    *CORE::GLOBAL::exit = \&exit_of_request;
    # =pod and =cut end whatever the script may have begun.
    my ($name) = $0 =~ /(.*)/s;    # under -T it is tainted
    $script = compile("package main; sub {\n#line 1 \"$name\"\n$source\n;\n\n=pod\n\n=cut\n\n}");
    if (!$script) {
        print STDERR $@;
        CORE::exit(255);
    }
    my $given;
    Filter::Util::Call::filter_add(sub { $_ = "CGIBridge::run_again();\n"; return !$given++ });
}

sub read_script {
    open my $file, '<', $0 or return '';
    local $/;
    return scalar(<$file>) =~ /(.*)/s && $1;
}

sub run_again {
    my $worker = $$;
    while (1) {
        run_once();
        flush_output();
        last unless defined ask("next/$exit_code");
        renew_stream(\*STDIN, '<&=', 0);
        renew_stream(\*STDOUT, '>&=', 1);
        renew_stream(\*STDERR, '>&=', 2);
        become_next();
    }
    CORE::exit($$ == $worker ? 0 : $exit_code);
}

# The script sees @ARGV as its @_, so that `shift` does what it does outside a sub.
sub run_once {
    $exit_code = $! = $? = 0;
    my $name = 'main::DATA';    # written out here, perl would warn that the script does not use it
    open *$name, '<', \$data if defined $data;
    local *_ = \@main::ARGV;
CGIBRIDGE_REQUEST: { &$script }
}

# Leaves everything that is running, evals too. What perl calls from C (a sort's block, DESTROY) cannot be
# left that way: then the process ends.
sub exit_of_request(;$) {
    $exit_code = @_ && defined $_[0] ? $_[0] & 255 : 0;
    no warnings 'exiting';
    local $@;
    eval { local $SIG{__DIE__}; last CGIBRIDGE_REQUEST };
    CORE::exit($exit_code);
}

sub flush_output {
    for my $handle (\*STDERR, \*STDOUT) {
        my $selected = select $handle;
        my $always = $|;
        $| = 1;
        $| = $always;
        select $selected;
    }
}

# Without what was read ahead, and without the layers that the script pushed.
sub renew_stream {
    my ($handle, $mode, $fd) = @_;
    my @layers = grep { $_ ne 'unix' && $_ ne 'utf8' } PerlIO::get_layers($handle);
    binmode $handle, ':pop' x @layers . ':perlio' if defined fileno $handle;
    open $handle, $mode, $fd;    # the same handle, no longer at its end
}

sub become_next {
    my $text = ask_all('argv');
    remember_environment();
    take_environment();
    take_words($text eq $usual ? () : words_after($0, strings_of($text)));
    $^T = time;
    ask('script');
}

# Last: it must see none of our lexicals.
sub compile { eval $_[0] }

1;
