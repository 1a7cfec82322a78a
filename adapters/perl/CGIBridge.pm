package CGIBridge;

# Stops a Perl program at its checkpoint: the real script compiled by the real perl, its run phase not
# begun. Started by the bridge as
#
#     perl -I<this folder> -MCGIBridge=MODULE,... SWITCHES SCRIPT
#
# Our INIT block is the first that perl sees, and INIT blocks run first in, first out: so it runs after
# every BEGIN, UNITCHECK and CHECK block of the script and its modules, and before any other INIT block.
# (CHECK blocks would not do: perl also runs them for a script that did not compile.) Without the checkpoint
# library the script runs as plain CGI.
#
# While the script compiles it is watched: %ENV here, the rest by the library. If it reads a variable of the
# request there, draws a number, asks for the time or prints something, the result would be the same for
# everybody. Then perl starts over and stops less deep: before the script's first line, which each request
# then compiles for itself, with those of the modules loaded that the script asked for and that do none of
# this. The value of any other variable that was read is compared with the request's; if it differs, the
# worker starts the program again. After the script the modules are loaded that requests are known to load,
# with the script's own @INC, if they are pure.

# What runs for each request writes to memory that the workers share, or that is put back afterwards; so
# what the zygote can do once is not done there.

# None of our warnings is the script's: under -w they would reach its handlers, and so its page.
BEGIN { ${^WARNING_BITS} = '' }

our (%read, %changed, $cleared, $listed, $environment, %launched, $usual, %known, @usual_folders,
    $learn, @preload, $is_again, $is_booted, $is_ahead, $is_doomed, $words_read, $words_written, $time_read,
    $time_written, $warned, @sent, %only_deleted, $watched, $words, $streams, $is_accepted, $takes_switches, $later, $misused, @used, $start_over);
our ($script, $writes) = ($0, 0);

# Where the library answers; told to the first caller that asks, and to no other after that.
our $call = readlink '/.cgibridge/open';

sub ask { defined $call ? readlink "$call$_[0]" : undef }

# An answer comes in pieces. All but the last one fill perl's buffer, which has PATH_MAX bytes, less two.
sub ask_all {
    my $text = my $piece = readlink "$call$_[0]";
    while (length $piece == 4094) {
        $piece = readlink "$call$_[0]";
        $text .= $piece;
    }
    return $text;
}

sub is_of_request {
    return $_[0] =~ /^(?:REQUEST_|HTTP_|REMOTE_|CONTENT_|REDIRECT_)
                    |^(?:QUERY_STRING|PATH_INFO|PATH_TRANSLATED|AUTH_TYPE|HTTPS|DOCUMENT_URI
                        |UNIQUE_ID|SCRIPT_URI|SCRIPT_URL|COOKIE)$/x;
}

sub shallower { ask("note/shallower/$_[0]") }    # ends a zygote

sub watch_environment {
    $environment = \%ENV;
    tie my %watched, 'CGIBridge::Environment';
    *main::ENV = $watched = \%watched;
}

# The request's words; there are none yet.
sub watch_words {
    $words = \@main::ARGV;
    tie @main::ARGV, 'CGIBridge::Words', @main::ARGV;
}

# What the script has put in the place of what is watched would be undone at the checkpoint.
sub replaced {
    return '%ENV' if $watched != \%main::ENV || ref tied %main::ENV ne 'CGIBridge::Environment';
    return '@ARGV' if $words != \@main::ARGV || ref tied @main::ARGV ne 'CGIBridge::Words';
    return '$^T' if ref tied $^T ne 'CGIBridge::Time';
    return tied *STDOUT ? 'STDOUT' : undef;
}

# What a request replaces: what each standard stream is, which descriptors are copies of one, and the flags of
# its open file. The library's own descriptors are above.
sub streams_now {
    my @now = map { readlink "/proc/self/fd/$_" } 0 .. 2;
    my %is_stream = map { ($_ => 1) } grep { defined } @now;
    if (opendir my $numbers, '/proc/self/fd') {
        my @open = sort { $a <=> $b } grep { /^\d+$/ && $_ > 2 && $_ < 500 } readdir $numbers;
        push @now, grep { $is_stream{ readlink("/proc/self/fd/$_") // '' } } @open;
    }
    for my $fd (0 .. 2) {
        open my $file, '<:raw', "/proc/self/fdinfo/$fd" or next;
        local $/;
        push @now, scalar(<$file>) =~ /^(flags:.*)/m;
    }
    return join ' ', map { $_ // 'closed' } @now;
}

sub ours_in { grep { $_[$_] =~ /^-MCGIBridge(?:=|$)/ } 1 .. $#_ }

sub file_of { (my $file = "$_[0].pm") =~ s{::}{/}g; $file }

# Why what was just loaded must be left to the requests.
sub trouble {
    my ($written, $writes_before) = @_;
    my ($name) = sort grep { is_of_request($_) && !$only_deleted{$_} } keys %read;
    return "reads \$ENV{$name}" if defined $name;
    return 'lists all of %ENV' if $listed;
    return 'writes %ENV' if $writes != $writes_before;
    my $replaced = replaced();
    return "replaces $replaced" if defined $replaced;
    return 'prints' if tell STDOUT != $written;
    return $misused if defined $misused;
    # What an impure module left in the process is also found with each later module: these are judged by
    # the calls that were seen.
    my $seen = ask('seen');
    return $seen if length $seen && (!$is_doomed || $seen =~ /\(/);
    my $left = $is_ahead && !$is_doomed ? ask('left') : '';
    return $left if length $left;
    return 'changes @ARGV' if $words_written;
    return 'looks at @ARGV' if $is_ahead && $words_read;
    return 'changes $^T' if $time_written;
    return 'reads $^T' if $time_read && !defined ask('accepts/time');
    return $warned;
}

sub refuse_what_was_seen {
    # /dev/null has a position, which counts the bytes written. The script may change its own %ENV.
    my $why = streams_now() ne $streams ? 'changes its standard streams' : trouble(0, $writes);
    leave_to_requests($why) if defined $why;
}

sub leave_to_requests {
    need_rest();
    start_over_booted("$_[0] while compiling");
}

# The library calls it before the first call by which a load would change a file, connect or start a process:
# that would be done for nobody. Returns if perl could not be started again.
sub before_effect {
    return if $is_booted && !defined $start_over;
    local ($@, $!, $SIG{__DIE__}, $SIG{__WARN__});
    eval { defined $start_over ? $start_over->() : leave_to_requests(trouble(0, $writes)) };
}

# The files that are part of the checkpoint, so that a change of one is noticed.
sub note_files {
    my @files = grep { defined && !ref && m{^/} && !/\n/ } values %INC;
    ask('note/file/' . join "\n", @files) if @files;
    ask('note/folders/' . join "\n", folders_of_modules());
}

sub folders_of_modules { $learn eq 'all' ? grep { !ref && m{^/} && !/\n/ } @INC : @usual_folders }

sub words_after {
    my ($script, @words) = @_;
    for my $i (0 .. $#words) {
        return @words[$i + 1 .. $#words] if $words[$i] eq $script;
    }
    return @words[1 .. $#words];
}

sub command_line {
    open my $file, '<:raw', '/proc/self/cmdline' or return;
    local $/;
    return strings_of(scalar <$file>);
}

# Each ends with a NUL; the last ones may be empty.
sub strings_of {
    my @strings = split /\0/, $_[0], -1;
    pop @strings;
    return @strings;
}

# As perl itself takes its words: under -CA they are text, and may be none.
sub take_words {
    my @words = @_;
    go_anew('perl makes variables of words (-s)', @words) if $takes_switches && @words && $words[0] =~ /^-/;
    if (${^UNICODE} & 32 && (!(${^UNICODE} & 64) || ${^UTF8LOCALE})) {
        for my $word (@words) {
            utf8::decode($word) or go_anew('a word of the request is no text (-CA)', @_);
            utf8::upgrade($word);
        }
    }
    @main::ARGV = @words;
}

# With -s perl makes variables of words, before it compiles the script. It does not tell whether it has that
# switch: what only looks like one costs a start for words that look like switches.
sub may_have_switch_s {
    return 1 if grep { /^-.*s/ } @_;
    open my $file, '<:raw', $script or return 0;
    read $file, my $text, 4096;
    return $text =~ /^#!.*perl.*\s-\S*s/m;
}

# The command that would have run this program without us.
sub plain_command {
    my @words = command_line();
    my ($ours) = ours_in(@words);
    return unless $ours && $words[$ours - 1] =~ /^-I/;
    splice @words, $ours - 1, 2;
    return @words;
}

# Perl and C see a change of %ENV at once, so only what differs from the launch is set. What is not as simple
# (a variable twice, one without a name or a value, one of the launch that is missing) shows in the counts.
sub take_environment {
    @sent = split /\0/, ask_all('env');
    return take_all() if $cleared || %changed;
    my ($launched, $new, $name, $value) = (0, 0);
    for (@sent) {
        if (exists $launched{$_}) {
            $launched++;
            next;
        }
        ($name, $value) = split /=/, $_, 2;
        $ENV{$name} = $value // return take_all();
        $new++;
    }
    take_all() if $launched != keys %launched || keys %ENV != $launched + $new || exists $ENV{''};
}

# The first of two variables with one name counts. What the script itself did to %ENV while compiling is
# kept.
sub take_all {
    my %new;
    for (@sent) {
        my ($name, $value) = split /=/, $_, 2;
        $new{$name} = $value if defined $value && $name ne '' && !exists $new{$name};
    }
    %new = () if $cleared;
    delete @new{ keys %changed };
    delete @ENV{ grep { !exists $new{$_} && !$changed{$_} } keys %ENV } unless $cleared;
    @ENV{ keys %new } = values %new;
}

sub checkpoint {
    my $errno = $! + 0;
    if (!defined $call) {
        *main::ENV = $environment;
        return if exists $ENV{REQUEST_METHOD};
        # Launched by a bridge, but on an interpreter that does not load the library.
        # exec, unlike exit, leaves without the script's END blocks.
        print STDERR "CGIBridge: no checkpoint library and no request\n";
        exec { '/bin/false' } 'false';
    }
    refuse_what_was_seen();
    stand('compiled', $errno);
}

# Returns in a worker, with the errno that perl has there: a die would use it as exit code.
sub stand {
    my ($level, $errno) = @_;
    untie @main::ARGV;
    if (@preload) {
        need_rest();
        load_ahead();
    }
    if (defined $later && !hold_put_off()) {
        need_rest();
        start_over_putting_nothing_off();
    }
    untie $^T;
    *main::ENV = $environment;
    keep_year();
    note_files();
    prepare();
    defined ask("checkpoint/$level") or shallower("the checkpoint refused: $!");
    become_fresh();
    seed() if $is_accepted && !defined $ENV{PERL_RAND_SEED};
    go_anew('a time that a module has kept cannot be set', @main::ARGV) if defined $later && !run_put_off();
    ask('script');
    $! = $errno;
}

sub remember_environment {
    %launched = map { ($_ . '=' . ($ENV{$_} // '') => 1) } keys %ENV;
}

# What the zygote and a request have in common: lines of the environment, and argv.
sub prepare {
    remember_environment();
    my @command = plain_command();
    $usual = join '', map { "$_\0" } @command;
    $takes_switches = may_have_switch_s(@command);
    $is_accepted = defined ask('accepts/random');
    %known = map { ($_ => 1) } keys %INC;
}

# Modules of perl's own folders that the request loaded are loaded ahead by the next generation; those of
# other folders, such as the program's own, only if the operator said so. They are named in the order in which
# they were begun, because a module may not do without, or with, what others have defined before it.
sub note_loaded {
    my ($begun, %place) = 0;
    $place{$_} //= $begun++ for split /\n/, ask_all('opened');
    my @loaded = grep { !$known{$_} && defined $place{$INC{$_} // ''} } keys %INC;
    for my $file (sort { $place{$INC{$a}} <=> $place{$INC{$b}} } @loaded) {
        my $path = $INC{$file};
        next unless $file =~ m{^\w+(?:/\w+)*\.pm$} && defined $path && !ref $path;
        next unless $learn eq 'all' || grep { $path eq "$_/$file" } @usual_folders;
        (my $name = substr $file, 0, -3) =~ s{/}{::}g;
        ask("note/loaded/$name\n$path");
    }
}

sub go_anew {
    need_rest();
    start_anew(@_);
}

sub differs { "$_[0] was read while compiling, and the request's differs" }

# The value that the request sent under a name; of two the first counts.
sub sent {
    my $begin = "$_[0]=";
    for (@sent) { return substr $_, length $begin if index($_, $begin) == 0 }
    return undef;
}

sub become_fresh {
    my $text = ask_all('argv');
    my @words = $text eq $usual ? () : words_after($script, strings_of($text));
    take_environment();
    for my $name (keys %read) {
        my ($then, $now) = ($read{$name}, sent($name));    # whatever the script has made of it since
        go_anew(differs("\$ENV{$name}"), @words) if defined $then ? !defined $now || $then ne $now : defined $now;
    }
    go_anew(differs('@ARGV'), @words) if $words_read && @words;
    take_words(@words);
    $^T = time;
    go_anew(differs('the year (by Time::Local)'), @words) if defined $year && $year != (localtime $^T)[5];
    @sent = ();
}

our ($folder) = __FILE__ =~ m{^(.*)/};
@INC = grep { ref || $_ ne $folder } @INC;
require "$folder/$_.pm" for qw(Watched Renewed);
delete @INC{ 'CGIBridge.pm', map { "$folder/$_.pm" } qw(Watched Renewed) };

# PERL5LIB may name the program's folder.
my ($programs) = $0 =~ m{^(.*/)};
@usual_folders = grep { !ref && m{^/} && !(defined $programs && index("$_/", $programs) == 0) } @INC;
# What this file itself looks at, a request does not keep: descriptors, and the numbers of their pipes.
our ($launched_at, $watch, $time_local, $year) = (time, 'watch/' . __FILE__);
leave_what_is_renewed() if defined $call;
our %before_all = %ENV;
our @launched_as = command_line();
$learn = ask('learn') // 'installed';

INIT { checkpoint() unless $is_booted }

# The last END block to run, because it is the first that perl sees.
END {
    if (defined $usual && $learn ne 'none' && keys %INC != keys %known) {
        local ($!, $@, $_);
        note_loaded();
    }
}

watch_environment();
if (defined $call) {
    watch_words();
    tie $^T, 'CGIBridge::Time';    # its value stays real
    $streams = streams_now();
    ask('effects');
}

# It is compiled after the script, which may have replaced perl's functions.
sub need_rest {
    delete local @CORE::GLOBAL::{ keys %CORE::GLOBAL:: };
    require "$folder/Ahead.pm";
    delete $INC{"$folder/Ahead.pm"};
}

sub need_later {
    require "$folder/Later.pm";
    delete $INC{"$folder/Later.pm"};
}

# Called before the script's first line.
sub import {
    (undef, @preload) = @_;
    $is_booted = @preload && $preload[0] eq ':booted' && shift @preload;
    $later = shift @preload if @preload && $preload[0] =~ /^:later=/;
    if (defined $later) {
        need_later();
        put_off();
    }
    return stand('booted', 0) if $is_booted;
    $is_again = (ask('reset') // '') eq 'none';
    if ($is_again) {
        require "$folder/Again.pm";
        use_again();
    }
    %known = map { ($_ => 1) } keys %INC;
    use_up_places();
    ask($watch);
}

# What lives until the end is destroyed in the order of its places. The script would get those that our code has
# left, the last one first.
sub use_up_places { $used[$_] = undef for 0 .. 199 }

1;
