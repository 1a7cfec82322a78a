#!/usr/bin/perl
# The leak battery in Perl; battery.h explains it. kind NAME => 'leaks under', look, leave.
no strict;
no warnings;
use B ();
use Carp ();
use Config;
use Cwd ();
use DBI;
use Data::Dumper ();
use Encode ();
use Errno ();
use Fcntl qw(:flock :mode F_GETFD F_SETFD);
use File::Find ();
use File::Temp ();
use Getopt::Long ();
use IO::Handle;
use List::Util ();
use MIME::Base64 ();
use POSIX ();
use Scalar::Util ();
use Socket;
use Storable ();
use Sys::Hostname ();
use Text::Wrap ();
use Tie::Hash;
use Time::HiRes ();
use Time::Local ();

our (@names, %look, %leave);
@names = ();

sub kind {
    my ($name, $leaks_under, $look, $leave) = @_;
    push @names, $name;
    ($look{$name}, $leave{$name}) = ($look, $leave);
}

sub status {
    open my $lines, '<', '/proc/self/status';
    return join ' ', map { s/\s+/ /gr } grep { /^$_[0]/ } <$lines>;
}

sub descriptors {
    opendir my $folder, '/proc/self/fd';
    return join ' ', sort grep { $_ > 2 && $_ < 500 && $_ != fileno $folder } readdir $folder;
}

sub locked {
    my $held = 0;
    for (glob '/proc/self/fdinfo/*') { open my $lines, '<', $_ or next; $held += grep { /^lock:/ } <$lines> }
    return $held;
}

sub start_child {
    my $pid = fork;
    if (!$pid) { POSIX::close($_) for 0 .. 2; Time::HiRes::sleep($_[0]); POSIX::_exit(0) }
    Time::HiRes::sleep(0.005);
}

sub limit { my $line = qx(ulimit $_[0];); chomp $line; $line }

my $closed_over = 0;
sub closed_over { $closed_over += $_[0] }
our %walked;
%walked = map { $_ => 1 } 1 .. 9 unless %walked;
our $text ||= 'aXbXc';
our @sorted;
our $localised ||= 'global';
sub replaced { 'original' }

# These belong to the last operation, so they come first.
kind last_read_handle => 'none', sub { $. || 0 },
  sub { open Lines, '<', '/etc/passwd'; <Lines>; <Lines> };
kind eval_error => 'none', sub { $@ }, sub { eval { die 'left' } };
# Variables and names
kind package_variable => 'none', sub { $main::left }, sub { $main::left = 1 };
kind package_array => 'none', sub { scalar @main::left }, sub { push @main::left, 1 };
kind package_hash => 'none', sub { scalar keys %main::left }, sub { $main::left{1} = 1 };
kind other_package => 'none', sub { $Other::Package::left }, sub { $Other::Package::left = 1 };
kind lexical => 'none', sub { closed_over(0) }, sub { closed_over(1) };
kind state_variable => 'none', sub { counter(0) }, sub { counter(1) };
{ use feature 'state'; sub counter { state $n = 5; $n += $_[0] } }
kind symbol => 'none', sub { defined &main::made ? 1 : 0 }, sub { *main::made = sub { 1 } };
kind symbol_removed => 'none', sub { exists $main::{replaced} }, sub { delete $main::{replaced} };
kind function_replaced => 'none', sub { replaced() }, sub { *replaced = sub { 'left' } };
kind function_of_a_module => 'none', sub { List::Util::sum(1, 2) }, sub { *List::Util::sum = sub { 'left' } };
kind builtin_replaced => 'none', sub { eval 'hex("10")' },
  sub { *CORE::GLOBAL::hex = sub { 'left' } };
kind method_added => 'none', sub { Tie::StdHash->can('left') ? 1 : 0 }, sub { *Tie::StdHash::left = sub { } };
kind parents => 'none', sub { "@Tie::StdHash::ISA" }, sub { push @Tie::StdHash::ISA, 'Left' };
kind overloads => 'none', sub { overload::Method('Carp', '""') ? 1 : 0 },
  sub { eval q{package Carp; use overload '""' => sub { 'left' }; 1} };
kind constants_redefined => 'none', sub { eval 'POSIX::EINTR()' }, sub { *POSIX::EINTR = sub { 99 } };
kind aliased => 'none', sub { $main::alias }, sub { *main::alias = \'left' };
kind tied => 'none', sub { tied %main::tied ? 1 : 0 }, sub { tie %main::tied, 'Tie::StdHash' };
kind localised => 'none', sub { $localised }, sub { $localised = 'left' };
kind iterator => 'none', sub { scalar(() = each_rest()) }, sub { each %walked };
sub each_rest { my @rest; while (my ($key) = each %walked) { push @rest, $key } @rest }
kind position => 'none', sub { pos($text) }, sub { $text =~ /X/g };
kind match => '', sub { "$1$&" }, sub { 'left' =~ /(.)(eft)/ };
kind string_eval => 'none', sub { $Left::x }, sub { eval q($Left::x = 1) };
kind weakened => 'none', sub { defined $main::weak ? 1 : 0 },
  sub { $main::strong = [1]; Scalar::Util::weaken($main::weak = $main::strong) };
# Special variables
kind input_separator => 'none', sub { defined $/ ? length $/ : 'undef' }, sub { undef $/ };
kind output_separator => 'none', sub { defined $\ ? $\ : 'undef' }, sub { $\ = 'left' };
kind field_separator => 'none', sub { defined $, ? $, : 'undef' }, sub { $, = 'left' };
kind list_separator => 'none', sub { $" }, sub { $" = 'left' };
kind subscript_separator => 'none', sub { ord $; }, sub { $; = 'left' };
kind underscore => 'none', sub { defined $main::_ ? 1 : 0 }, sub { $main::_ = 'left' };
kind autoflush => 'none', sub { $| }, sub { $| = 1 };
kind selected_handle => 'none', sub { select }, sub { open Left, '>', '/dev/null'; select Left };
kind program_name => 'none', sub { $0 =~ /battery/ ? 1 : 0 }, sub { $0 = 'left' };
kind arguments => '', sub { scalar @ARGV }, sub { push @ARGV, 'left' };
kind system_error => '', sub { 0 + $! == Errno::E2BIG() ? 1 : 0 }, sub { $! = Errno::E2BIG() };
kind child_error => '', sub { $? }, sub { $? = 77 };
kind warn_switch => 'none', sub { $^W }, sub { $^W = 1 };
kind debug_switch => 'none', sub { $^P }, sub { $^P = 0x10 };
kind in_place_edit => 'none', sub { defined $^I ? 1 : 0 }, sub { $^I = '.left' };
kind start_time => '', sub { time - $^T < 100 ? 1 : 0 }, sub { $^T = 1 };
kind hints => 'none', sub { $^H{left} }, sub { $^H{left} = 1 };
kind warn_handler => 'none', sub { ref $SIG{__WARN__} }, sub { $SIG{__WARN__} = sub { } };
kind die_handler => 'none', sub { ref $SIG{__DIE__} }, sub { $SIG{__DIE__} = sub { } };
kind format_name => 'none', sub { "$~ $^ $= $-" }, sub { $~ = 'LEFT'; $= = 7 };
kind format_accumulator => 'none', sub { length $^A }, sub { formline('@<<<', 'left') };
kind sort_variables => 'none', sub { defined $main::a ? 1 : 0 }, sub { $main::a = 1 };
# Modules
kind loaded_file => 'none', sub { $INC{'left.pm'} }, sub { $INC{'left.pm'} = 1 };
# A module from perl's own folders is loaded in advance for all requests; the kinds below check what it keeps.
kind loaded_module => 'none', sub { $INC{'Left.pm'} ? 1 : 0 },
  sub { open my $file, '<', \"package Left; 1"; unshift @INC, sub { $_[1] eq 'Left.pm' ? $file : () }; require Left; shift @INC };
kind unloaded_module => 'none', sub { $INC{'Carp.pm'} ? 1 : 0 }, sub { delete $INC{'Carp.pm'} };
kind search_path => 'none', sub { scalar grep { $_ eq '/left' } @INC }, sub { push @INC, '/left' };
kind search_hook => 'none', sub { scalar grep { ref } @INC }, sub { push @INC, sub { } };
kind dumper_settings => 'none', sub { $Data::Dumper::Indent }, sub { $Data::Dumper::Indent = 0 };
kind carp_settings => 'none', sub { $Carp::Verbose }, sub { $Carp::Verbose = 1 };
kind getopt_settings => 'none', sub { $Getopt::Long::ignorecase }, sub { Getopt::Long::Configure('no_ignore_case') };
kind storable_settings => 'none', sub { $Storable::canonical }, sub { $Storable::canonical = 1 };
kind wrap_settings => 'none', sub { $Text::Wrap::columns }, sub { $Text::Wrap::columns = 7 };
kind encodings => 'none', sub { Encode::find_encoding('left-code') ? 1 : 0 },
  sub { Encode::define_alias('left-code' => 'utf-8') };
kind database_handle => 'none', sub { defined $main::db ? 1 : 0 },
  sub { $main::db = DBI->connect('dbi:SQLite:dbname=:memory:'); $main::db->do('create table t (x)') };
kind database_trace => 'none', sub { DBI->trace }, sub { DBI->trace(1, '/dev/null') };
kind database_drivers => 'none', sub { scalar grep { $_ eq 'Mem' } keys %{{DBI->installed_drivers}} },
  sub { DBI->install_driver('Mem') };
kind random => 'none', sub { sprintf('%.6f', rand) eq '0.744525' ? 1 : 0 }, sub { srand 42 };
kind signals_of_posix => 'none', sub { ref $SIG{HUP} },
  sub { POSIX::sigaction(POSIX::SIGHUP(), POSIX::SigAction->new(sub { })) };
# Handles
kind handle_left_open => 'none', sub { fileno(Kept) // 'none' }, sub { open Kept, '>', '/dev/null'; print Kept 1 };
kind layer_of_stdout => '', sub { join ' ', PerlIO::get_layers(STDOUT) }, sub { binmode STDOUT, ':utf8' };
kind layer_of_stdin => '', sub { join ' ', PerlIO::get_layers(STDIN) }, sub { binmode STDIN, ':crlf' };
kind stdout_duplicated => 'none', sub { fileno(Copy) // 'none' }, sub { open Copy, '>&', \*STDOUT };
kind stdout_closed => '', sub { fileno STDOUT }, sub { close STDOUT };
kind stdin_rest => '', sub { my $n = read STDIN, my $rest, 999; $n }, sub { scalar <STDIN> };
kind data_position => '', sub { scalar <DATA> }, sub { scalar <DATA> };
kind folder_open => 'none', sub { telldir(Folder) // 'none' }, sub { opendir Folder, '/'; readdir Folder };
kind socket => 'none', sub { descriptors() }, sub { socketpair A, B, AF_UNIX, SOCK_STREAM, 0 };
kind pipe => 'none', sub { descriptors() }, sub { pipe C, D };
kind descriptor => 'none', sub { descriptors() }, sub { POSIX::dup(2) };
kind lock => 'none', sub { locked() },
  sub { my $file = File::Temp->new; open Locked, '>&', $file; flock Locked, LOCK_EX };
kind temporary_folder => 'none', sub { scalar keys %File::Temp::FILES_CREATED_BY_OBJECT },
  sub { $File::Temp::FILES_CREATED_BY_OBJECT{1} = 1 };
# The process
kind environment => '', sub { $ENV{LEFT} }, sub { $ENV{LEFT} = 1 };
kind environment_of_children => '', sub { qx(printf %s "\$LEFTC") }, sub { $ENV{LEFTC} = 1 };
kind environment_localised => '', sub { $ENV{GATEWAY_INTERFACE} }, sub { $ENV{GATEWAY_INTERFACE} = 'left' };
kind directory => '', sub { Cwd::getcwd() }, sub { chdir '/usr' };
kind umask => 'none', sub { umask }, sub { umask 0777 };
kind signal_handler => 'none', sub { ref $SIG{USR1} || $SIG{USR1} }, sub { $SIG{USR1} = sub { } };
kind signal_ignored => 'none', sub { status('SigIgn') }, sub { $SIG{USR2} = 'IGNORE' };
kind signal_mask => 'none', sub { status('SigBlk') },
  sub { POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(POSIX::SIGHUP())) };
kind signal_pending => 'none', sub { status('S..Pnd') },
  sub { POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(POSIX::SIGURG())); kill URG => $$ };
kind alarm => 'none', sub { alarm 0 }, sub { alarm 1000 };
kind timer => 'none', sub { (Time::HiRes::setitimer(Time::HiRes::ITIMER_PROF(), 0))[0] // 0 },
  sub { Time::HiRes::setitimer(Time::HiRes::ITIMER_PROF(), 1000, 5) };
kind locale => 'none', sub { POSIX::setlocale(POSIX::LC_ALL()) }, sub { POSIX::setlocale(POSIX::LC_ALL(), 'C.UTF-8') };
kind time_zone => 'none', sub { join ' ', POSIX::tzname() }, sub { $ENV{TZ} = 'LEFT5'; POSIX::tzset() };
kind limit => 'none', sub { limit('-Sn') }, sub { setrlimit(7, 777) };
kind nice => 'none', sub { getpriority 0, 0 }, sub { setpriority 0, 0, 1 + getpriority 0, 0 };
kind name => 'none', sub { open my $f, '<', '/proc/self/comm'; <$f> eq "left\n" ? 1 : 0 },
  sub { open my $f, '>', '/proc/self/comm'; print $f 'left' };
kind heap => 'none', sub { status('VmRSS') =~ /(\d+)/ && $1 > 150_000 ? 1 : 0 },
  sub { my $mib = 200; $main::heap = 'x' x ($mib << 20) };
kind child => 'none', sub { our $child = waitpid(-1, POSIX::WNOHANG()) >= 0 ? 1 : 0 }, sub { start_child(0.1) };
kind child_that_ended => 'none', sub { our $child }, sub { start_child(0) };
kind process_group => 'none', sub { getpgrp == $$ ? 1 : 0 }, sub { setpgrp 0, getpgrp getppid };
kind user => 'none', sub { "$< $>" }, sub { POSIX::setuid(65534) };
kind groups => 'none', sub { $) }, sub { $) = '0 65534' };
kind root_folder => 'none', sub { -e '/etc/passwd' ? 1 : 0 }, sub { chroot '/usr' };

sub setrlimit {
    my ($which, $soft) = @_;
    my $now = pack 'QQ', 0, 0;
    syscall(302, 0, $which, 0, $now);
    syscall(302, 0, $which, pack('QQ', $soft, (unpack 'QQ', $now)[1]), 0);
}

my $query = $ENV{QUERY_STRING} // '';
if ($query =~ /^again=(.*)/ && $leave{$1}) { $leave{$1}->() }
my @seen;
for my $name (@names) {
    my $found = $look{$name}->();
    push @seen, "$name: " . ($found // 'undef') =~ s/\s+/ /gr;
}
{
    my $answer = "Content-Type: text/plain\n\n" . join('', map { "$_\n" } @seen);
    syscall 1, 1, $answer, length $answer;
}
$leave{$query}->() if $leave{$query};
__DATA__
first line
