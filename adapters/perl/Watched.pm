# What replaces @ARGV, %ENV and $^T while the script compiles, and records reads and writes.

package CGIBridge::Words;

BEGIN { ${^WARNING_BITS} = '' }    # see CGIBridge.pm

sub TIEARRAY  { my ($class, @words) = @_; bless \@words, $class }
sub FETCHSIZE { $CGIBridge::words_read = 1; scalar @{ $_[0] } }
sub FETCH     { $CGIBridge::words_read = 1; $_[0][$_[1]] }
sub EXISTS    { $CGIBridge::words_read = 1; exists $_[0][$_[1]] }
sub SHIFT     { $CGIBridge::words_read = 1; shift @{ $_[0] } }
sub POP       { $CGIBridge::words_read = 1; pop @{ $_[0] } }

sub SPLICE {
    my ($words, $at, $count, @new) = @_;
    $CGIBridge::words_read = 1;
    $CGIBridge::words_written = 1 if @new;
    return splice @$words, $at // 0, $count // @$words, @new;
}

sub STORE     { $CGIBridge::words_written = 1; $_[0][$_[1]] = $_[2] }
sub STORESIZE { $CGIBridge::words_written = 1; $#{ $_[0] } = $_[1] - 1 }
sub DELETE    { $CGIBridge::words_read = $CGIBridge::words_written = 1; delete $_[0][$_[1]] }
sub CLEAR     { $CGIBridge::words_written = 1; @{ $_[0] } = () }
sub PUSH      { my ($words, @more) = @_; $CGIBridge::words_written = 1; push @$words, @more }
sub UNSHIFT   { my ($words, @more) = @_; $CGIBridge::words_written = 1; unshift @$words, @more }
sub EXTEND    { }
sub UNTIE     { }
sub DESTROY   { }

package CGIBridge::Time;

# $^T: perl's start, which is the zygote's.

sub TIESCALAR { bless {}, shift }
sub FETCH     { $CGIBridge::time_read = 1; undef }
sub STORE     { $CGIBridge::time_written = 1 }
sub UNTIE     { }
sub DESTROY   { }

package CGIBridge::Environment;

# %ENV as the script sees it while compiling; the real one is kept underneath.

sub TIEHASH { bless {}, shift }

sub note_read {
    my ($name) = @_;
    return if $CGIBridge::cleared || $CGIBridge::changed{$name};
    $CGIBridge::read{$name} = $CGIBridge::environment->{$name};
}

# It returns the value; but a script may delete a variable so that its children do not get it, and only
# requests that have it differ.
sub DELETE {
    my $name = $_[1];
    $CGIBridge::only_deleted{$name} = 1 unless exists $CGIBridge::read{$name};
    note_read($name);
    ++$CGIBridge::writes;
    $CGIBridge::changed{$name} = 1;
    return delete $CGIBridge::environment->{$name};
}

# CGI::Fast goes through all names and throws them away: up to 2.15 the last one is undef, 2.17 keeps none.
sub keeps_nothing {
    my (undef, $path, $line) = caller 1;
    return 0 unless $path =~ m{/CGI/Fast\.pm$};
    local $!;
    open my $file, '<:raw', $path or return 0;
    read $file, my $text, 4096;
    return ((split /\n/, $text)[$line - 1] // '') =~ /^while \(\((?:\$ignore)?\) = each %ENV\) \{ \}$/;
}

sub FETCH    { note_read($_[1]); $CGIBridge::environment->{ $_[1] } }
sub EXISTS   { note_read($_[1]); exists $CGIBridge::environment->{ $_[1] } }
sub STORE    { ++$CGIBridge::writes; $CGIBridge::changed{ $_[1] } = 1; $CGIBridge::environment->{ $_[1] } = $_[2] }
sub CLEAR    { ++$CGIBridge::writes; $CGIBridge::cleared = 1; %$CGIBridge::environment = () }
sub SCALAR   { $CGIBridge::listed = 1; scalar %$CGIBridge::environment }
sub FIRSTKEY {
    $CGIBridge::listed = 1 unless keeps_nothing();
    keys %$CGIBridge::environment;
    return each %$CGIBridge::environment;
}
sub NEXTKEY  { each %$CGIBridge::environment }

1;
