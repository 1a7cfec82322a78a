# Statements of modules that are run again for each request, because they keep the time (`my $now = time;`) or seed perl's
# generator by it. It is loaded only where there is such a statement.
#
# A call of later() is inserted behind the statement, in what perl reads of the file (`insert/` of the library). The
# statement itself runs while the module is loaded, as always. What it has set is tied until the checkpoint: if it is read or
# set there, its value has gone elsewhere, and nothing is put off.

package CGIBridge;

BEGIN { ${^WARNING_BITS} = '' }    # see CGIBridge.pm

our ($later, $watch, $misused, %changed, $cleared, @put_off);
my $places_max = 8;
my ($known_seed, $is_seeded) = (1, 0);
our $kept = 0;    # objects that stand for what such a statement has set
my (@places, %is_place);    # { at => "PATH line N", ran => how often, is_wrong }; "PATH line N"

# ---- which statements ----

my $name = qr/[A-Za-z_]\w*(?:::\w+)*/;
my $own = qr/(?!(?:ARGV|INC|ENV|_)\b)$name/;    # what is not perl's
my $variable = qr/[\$\@]$own/;
my $text = qr/'[\w\s:.,%-]*'|"[\w\s:.,%-]*"/;
my $function = qr/\b(?:time|localtime|gmtime|int|scalar|sprintf|join)\b/;
my $term = qr/$function|\$\$(?!\w)|\$$own\[\d+\]|$variable|\b\d+(?:\.\d+)?\b|$text/;
my $expression = qr/(?:$term|[-+*%^|.,()\s]|<<\s*\d+|>>\s*\d+|\[\d+\])+/;
my $list = qr/\(\s*(?:$variable|undef)(?:\s*,\s*(?:$variable|undef))*\s*,?\s*\)/;
my $assignment = qr/(?:(?:my|our)\b\s*)?($variable|$list)\s*=(?![=~])\s*($expression)/;
my $seeding = qr/srand\b\s*($expression)/;
# Mojo::Util keeps whether there is such a clock, and not what it says.
my $clock = qr/Time::HiRes::clock_gettime\(Time::HiRes::CLOCK_\w+(?:\(\))?\)/;
my $is_there = qr/^\s*use constant $name => (?:!!eval \{ $clock \}|eval \{ !!$clock \});/;

# What to insert there, and behind how many bytes; "" if it keeps no time; or nothing. Other statements have to
# stand in front of it and after it: it is a statement of its own then, and what the call returns goes nowhere.
sub call_behind {
    my ($path, $line, $number) = @_;
    open my $file, '<:raw', $path or return;
    my @lines = <$file>;
    return if $line > @lines || grep { /^__DATA__\b/ } @lines;
    return (0, '') if $lines[$line - 1] =~ $is_there;
    my ($before) = grep { /^\s*[^\s#]/ } reverse @lines[0 .. $line - 2];
    my ($behind) = grep { /^\s*[^\s#]/ } @lines[$line .. $#lines];
    return if defined $before && $before !~ /[;{}]\s*(?:#.*)?$/;
    return if !defined $behind || $behind =~ /^(?:\s*\}|=|__END__)/;
    return unless $lines[$line - 1] =~ /^(\s*(?:$assignment|$seeding)\s*;)\s*(?:#.*)?$/;
    my ($statement, $left, $value, $seed) = ($1, $2, $3 // $4, $4);
    my $offset = length $statement;
    $offset += length for @lines[0 .. $line - 2];
    my %used = map { (m{^\$($name)\[} ? "\\\@$1" : "\\$_") => 1 }
        grep { defined && /^[\$\@][A-Za-z_]/ } $value =~ /$text|(\$$own\[|$variable)/g;
    my @targets = map { $_ eq 'undef' ? $_ : "\\$_" } ($left // '') =~ /$variable|undef/g;
    my $how = defined $seed ? 'seed' : $left =~ /^[(\@]/ ? 'list' : 'scalar';
    $how = 'draw' if defined $seed && $value =~ /\$\$/;
    my $call = join ',', $number, "'$how'", "sub{$value}", '[' . join(',', sort keys %used) . ']', @targets;
    return ($offset, "CGIBridge::later($call);");
}

sub places_in { map { [split /\n/] } split /\n\n/, pack 'H*', substr $_[0], length ':later=' }

# The word for import() with which these are put off, too, if each can be; or nothing. Once one has turned out not
# to be what it looked like, none is.
sub later_with {
    my @new = @_;
    my @all = defined $later ? places_in($later) : ();
    return if defined $later && !@all;
    for my $place (@new) {
        return if grep { $_->[0] eq $place->[0] && $_->[1] == $place->[1] } @all;
        return unless () = call_behind(@$place, 0);
        push @all, $place;
    }
    return if @all > $places_max;
    return ':later=' . unpack 'H*', join "\n\n", map { join "\n", @$_ } @all;
}

# The place in a module that a reason names, if it is one of what can be put off.
sub place_in {
    my ($why) = @_;
    my $does = qr/asks for the time|asks for its process id|seeds random numbers|uses a time that it has kept/;
    return unless $why =~ m{^$does \((?:\w+, )?at (/[^\n]*) line (\d+)\)};
    my ($path, $line) = ($1, $2);
    return unless grep { defined && !ref && $_ eq $path } values %INC;
    return [$path, $line];
}

# ---- until the checkpoint ----

# Before any of the files is read.
sub put_off {
    my %calls;
    $watch .= "\n" . __FILE__;
    for my $place (places_in($later)) {
        my ($path, $line) = @$place;
        my ($offset, $call) = call_behind($path, $line, scalar @places);
        push @places, { at => "$path line $line", ran => 0 };
        next unless defined $call;
        $watch .= "\n$path line $line";
        $is_place{"$path line $line"} = 1;
        length $call ? $calls{$path}{$offset} = $call : ($places[-1]{ran} = 1);
    }
    for my $path (keys %calls) {
        ask("insert/$_/$calls{$path}{$_}$path") for sort { $a <=> $b } keys %{ $calls{$path} };
    }
}

sub tied_as { ref $_[0] eq 'ARRAY' ? tied @{ $_[0] } : tied ${ $_[0] } }

sub is_kept { ref(tied_as($_[0])) =~ /^CGIBridge::Kept/ }

# Called behind the statement, which has run. It has to be the file's own, outside of all subs, and what it has used
# must be what others have put off.
sub later {
    my ($number, $how, $code, $used, @targets) = @_;
    my ($package, $path, $line) = caller;
    my $place = $places[$number];
    $place->{ran}++;
    $place->{is_wrong} = 1 if $place->{at} ne "$path line $line" || !(caller 1)[7] || replaces_functions($package);
    $place->{is_wrong} = 1 if grep { defined && tied_as($_) } @targets;
    $place->{is_wrong} = 1 if grep { !is_kept($_) } @$used;
    return 1 if $place->{is_wrong};
    push @put_off, [$how, $code, @targets];
    if (!@targets) {
        srand $known_seed;
        $is_seeded = 1;
    }
    for my $target (grep { defined } @targets) {
        ref $target eq 'ARRAY' ? tie @$target, 'CGIBridge::KeptList', @$target : tie $$target, 'CGIBridge::Kept', $$target;
    }
    return 1;
}

# Those of Time::localtime and others may keep something, too. Time::HiRes's do not.
sub replaces_functions {
    my ($package) = @_;
    for my $function (qw(time localtime gmtime int sprintf join)) {
        for my $where ($package, 'CORE::GLOBAL') {
            next unless exists ${"${where}::"}{$function} && defined &{"${where}::$function"};
            return 1 unless $function eq 'time' && exists $INC{'Time/HiRes.pm'};
            return 1 unless \&{"${where}::time"} == \&Time::HiRes::time;
        }
    }
    return 0;
}

# Whether a number was drawn since, by a library: what perl's own operation draws is noticed.
sub was_drawn_from {
    my ($next, undef) = (rand, srand $known_seed);
    return $next != rand;
}

# Last before the checkpoint: returns whether each statement has run once, and was what it looked like.
sub hold_put_off {
    for my $target (grep { defined } map { @$_[2 .. $#$_] } @put_off) {
        return 0 if !is_kept($target);
        ref $target eq 'ARRAY' ? untie @$target : untie $$target;
    }
    return 0 if $kept > 0;    # somebody has a reference to an element
    return 0 if $is_seeded && was_drawn_from();
    return 0 if $cleared || $changed{TZ};    # local times would be others than where it ran
    return !grep { $_->{ran} != 1 || $_->{is_wrong} } @places;
}

sub note_use {
    my (undef, $path, $line) = caller 1;
    $misused //= "uses a time that it has kept (at $path line $line)" unless $is_place{"$path line $line"};
}

# ---- in a request ----

# Returns whether all could be set.
sub run_put_off {
    local ($!, $@, $SIG{__DIE__});
    my $are_set = eval {
        run_again_for_request(@$_) for @put_off;
        1;
    };
    @put_off = ();
    return $are_set;
}

sub run_again_for_request {
    my ($how, $code, @targets) = @_;
    if    ($how eq 'draw')   { seed() }
    elsif ($how eq 'seed')   { srand $code->() }
    elsif ($how eq 'scalar') { ${ $targets[0] } = $code->() }
    else {
        my @values = $code->();
        for my $target (@targets) {
            if    (!defined $target)       { shift @values }
            elsif (ref $target eq 'ARRAY') { @$target = splice @values }
            else                           { $$target = shift @values }
        }
    }
}

# ---- what such a statement has set, until the checkpoint ----

package CGIBridge::Kept;

sub TIESCALAR { ++$CGIBridge::kept; bless [$_[1]], $_[0] }
sub FETCH     { CGIBridge::note_use(); $_[0][0] }
sub STORE     { $CGIBridge::misused //= 'changes a time that it has kept' }
sub UNTIE     { }
sub DESTROY   { --$CGIBridge::kept }

package CGIBridge::KeptList;

sub TIEARRAY  { ++$CGIBridge::kept; my ($class, @values) = @_; bless \@values, $class }
sub FETCHSIZE { CGIBridge::note_use(); scalar @{ $_[0] } }
sub FETCH     { CGIBridge::note_use(); $_[0][$_[1]] }
sub EXISTS    { CGIBridge::note_use(); exists $_[0][$_[1]] }
sub UNTIE     { }
sub DESTROY   { --$CGIBridge::kept }

for my $change (qw(STORE STORESIZE CLEAR PUSH POP SHIFT UNSHIFT SPLICE DELETE EXTEND)) {
    *$change = sub { $CGIBridge::misused //= 'changes a time that it has kept'; undef };
}

1;
