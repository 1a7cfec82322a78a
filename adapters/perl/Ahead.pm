package CGIBridge;

# Modules loaded ahead, and the ways to start over. It is loaded only where it is needed,
# because all that perl has ever compiled is looked through at the end of each request.

BEGIN { ${^WARNING_BITS} = '' }    # see CGIBridge.pm

our (%read, %before_all, %known, %changed, @preload, @usual_folders, @launched_as, @sent, $environment,
    $listed, $writes, $words_read, $words_written, $time_read, $time_written, $warned, $watch, $is_ahead,
    $is_doomed, $is_booted, $is_again, $later, $misused, $folder, $start_over);

# What is the same for all modules, so that a request would notice a change of it that was made by one which
# it does not load.
sub shared_state {
    return (
        '@INC' => join(' ', @INC), '$0' => $0, '$/' => $/, '$\\' => $\, '$,' => $,, '$"' => $", '$;' => $;,
        '$^W' => $^W, '$|' => $|, 'the selected handle' => select,
        'the layers of STDIN' => join(' ', PerlIO::get_layers(\*STDIN)),
        'the layers of STDOUT' => join(' ', PerlIO::get_layers(\*STDOUT)),
        'the layers of STDERR' => join(' ', PerlIO::get_layers(\*STDERR)),
        'its standard streams' => streams_now());
}

sub changed_state {
    my (%before) = @_;
    my %now = shared_state();
    my ($changed) = sort grep { ($before{$_} // "\0") ne ($now{$_} // "\0") } keys %now;
    return defined $changed ? "changes $changed" : undef;
}

# Nothing can be unloaded: if one is impure, perl starts over without it. The others are loaded first all
# the same, to find all impure ones, and with them the modules that load one of those. What an impure one has
# loaded is then loaded a second time, and may warn about its functions, or fail: the next start judges that.
sub load_ahead {
    my %before = (%read);
    my $by_script = $words_read;
    my (%impure, %twice, @places, $with_places);
    my $leave_out = sub {
        $later = $with_places if @places;
        start_over_without(%impure) if %impure || @places;
    };
    local $is_ahead = 1;
    watch_words();
    for my $module (grep { !exists $INC{file_of($_)} } @preload) {
        my ($written, $writes_before) = (tell STDOUT, $writes);
        my %there = map { ($_ => 1) } keys %INC;
        (%read, $listed, $words_read, $words_written, $time_read, $time_written, $warned, $misused) = ();
        my %shared = shared_state();
        ask($watch);
        # What was found before is left out first: without it, this module may load otherwise.
        local $start_over = sub {
            $leave_out->();
            my $why = trouble($written, $writes_before) // 'changes something';
            start_over_without($module => "$why while it is loaded");
        };
        my $hooked = require_ahead(file_of($module));
        my $why = trouble($written, $writes_before) // $hooked // changed_state(%shared);
        my @loaded = grep { !$there{$_} } keys %INC;
        $why = undef if ($why // '') =~ /^(?:warns|prints|fails)/ && grep { $twice{$_} } @loaded;
        if (defined $why) {
            my $word = word_putting_off(\@places, $why);
            defined $word ? $with_places = $word : ($impure{$module} = "$why while it is loaded");
            my %bound = map { (file_of($_) => 1) } @DynaLoader::dl_modules;
            delete @INC{grep { !$bound{$_} } @loaded};
            @twice{@loaded} = (1) x @loaded;
            $is_doomed = 1;
        }
        %before = (%read, %before);
    }
    untie @main::ARGV;
    $leave_out->();
    %read = %before;
    ($words_read, $words_written) = ($by_script);
}

# Returns what the script's handlers would have noticed, which are not there meanwhile.
sub require_ahead {
    my ($file) = @_;
    my $ours = sub { $warned = 'warns' };
    local ($@, $_, $!, $SIG{__DIE__});
    local $SIG{__WARN__} = $ours;
    # What one that fails has defined until then cannot be taken back.
    eval { require $file } or return 'fails';
    my $is_hooked = defined $SIG{__DIE__} || ($SIG{__WARN__} // '') ne $ours;
    return $is_hooked ? 'sets $SIG{__DIE__} or $SIG{__WARN__}' : undef;
}

sub start_over_without {
    my %impure = @_;
    ask("note/warning/$_ is not loaded ahead: it $impure{$_}") for sort keys %impure;
    start_over(grep { !exists $impure{$_} } @preload);
}

# The word for import() with which the statement is put off, too, that a reason names, if that can be; or nothing.
# Its place is added to the others.
sub word_putting_off {
    my ($places, $why) = @_;
    need_later();
    my $place = place_in($why) // return;
    my $word = later_with(@$places, $place) // return;
    push @$places, $place;
    return $word;
}

sub start_over_putting_nothing_off {
    $later = ':later=';
    start_over(@preload);
}

sub start_over {
    my $words = join ',', ($is_booted ? ':booted' : ()), $later // (), @_;
    my @command = @launched_as;
    $_ = length $words ? "-MCGIBridge=$words" : '-MCGIBridge' for @command[ours_in(@command)];
    *main::ENV = $environment;    # with -T perl executes nothing otherwise
    %$environment = map { ($_ => $before_all{$_} =~ /(.*)/s) } keys %before_all;
    @command = map { /(.*)/s } @command;
    ask('over');    # what a BEGIN block did to the process will be done again
    exec { $command[0] } @command;
}

# The script is left to the requests, with the modules that it loads for itself; those of perl's own that it
# loads are loaded ahead, if perl finds the same file without the script.
sub start_over_booted {
    my ($why) = @_;
    shallower($why) if $is_again;
    if (defined(my $word = word_putting_off([], $why))) {
        $later = $word;
        start_over(@preload);
    }
    $later = undef if ($later // '') ne ':later=';    # of modules that may not be loaded ahead
    ask("note/level/the script $why");
    my %wanted = map { ($_ => 1) } @preload;
    for my $file (sort grep { m{^\w+(?:/\w+)*\.pm$} } keys %INC) {
        my ($folder) = grep { -e "$_/$file" } @usual_folders;
        next unless defined $folder && $INC{$file} eq "$folder/$file" && !$known{$file};
        (my $name = substr $file, 0, -3) =~ s{/}{::}g;
        $wanted{$name} = 1;
    }
    $is_booted = 1;
    start_over(sort keys %wanted);
}

sub start_anew {
    my ($why, @words) = @_;
    ask("note/shallower/$why");
    my @command = map { /(.*)/s } plain_command(), @words;
    # What was done to %ENV while compiling will be done again. With -T perl executes nothing that is tainted.
    my %sent = map { split /=/, $_, 2 } reverse grep { /^[^=]+=/ } @sent;
    %$environment = map { ($_ => $sent{$_} =~ /(.*)/s) } keys %sent;
    exec { $command[0] } @command;
}

1;
