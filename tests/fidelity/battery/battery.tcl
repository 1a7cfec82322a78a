#!/usr/bin/tclsh
# The leak battery in Tcl; battery.h explains it. kind NAME {leaks under} {look} {leave}.
proc kind {name leaks_under look leave} {
    global names looks leaves
    lappend names $name
    dict set looks $name $look
    dict set leaves $name $leave
}
set names {}

proc descriptors {} {
    set found {}
    foreach path [glob -directory /proc/self/fd -tails *] { if {$path > 2 && $path < 500} { lappend found $path } }
    # One of them is the listed folder itself.
    return [llength $found]
}
if {[info commands original] eq ""} { proc original {} { return original } }
if {[info commands ::oo::kept] eq ""} { oo::class create ::oo::kept { method word {} { return original } } }

# These belong to the last operation, so they come first.
kind error_info none { expr {[info exists ::errorInfo] && [string match *left_over* $::errorInfo]} } { catch { error left_over } }
kind error_code none { expr {[info exists ::errorCode] && $::errorCode eq "LEFT"} } { set ::errorCode LEFT }
# Variables and names
kind variable none { info exists ::left } { set ::left 1 }
kind array none { array size ::left_array } { array set ::left_array {a 1 b 2} }
kind array_element none { array size ::looks_array } { set ::looks_array(left) 1 }
kind list_appended none { expr {[info exists ::left_list] ? [llength $::left_list] : 0} } { lappend ::left_list 1 2 3 }
kind variable_of_a_namespace none { info exists ::Left::here } { namespace eval ::Left { variable here 1 } }
kind namespace none { namespace exists ::LeftSpace } { namespace eval ::LeftSpace {} }
kind namespace_path none { namespace path } { namespace path ::tcl::mathop }
kind namespace_unknown none { namespace unknown } { namespace unknown left }
kind namespace_export none { namespace eval ::tcl::mathfunc { namespace export } } { namespace eval ::tcl::mathfunc { namespace export left } }
kind import none { info commands ::one } { namespace eval ::Exporter { namespace export one; proc one {} {} }; namespace import ::Exporter::one }
kind ensemble none { info commands ::left_ensemble } { namespace eval ::LeftEnsemble { namespace ensemble create -command ::left_ensemble } }
kind upvar none { expr {[info exists ::aliased] ? $::aliased : ""} } { set ::behind 1; upvar #0 ::behind ::aliased }
kind variable_traced none { trace info variable ::names } { trace add variable ::names read list }
kind command_traced none { trace info command ::original } { trace add command ::original delete list }
kind execution_traced none { trace info execution ::original } { trace add execution ::original enter list }
kind procedure none { info commands ::left_proc } { proc ::left_proc {} {} }
kind procedure_replaced none { original } { proc ::original {} { return left } }
kind procedure_renamed none { info commands ::renamed_left } { rename ::original ::renamed_left }
kind builtin_replaced none { string length [info body original] } { proc ::original {} { return "a longer body than before" } }
kind builtin_renamed none { info commands ::lreverse } { rename ::lreverse ::reverse_left }
kind unknown_replaced none { string match *left* [info body ::unknown] } { proc ::unknown args { return left } }
kind command_hidden none { interp hidden {} } { interp hide {} lrepeat }
kind alias_of_a_command none { lsearch -inline [interp aliases {}] *alias_left } { interp alias {} ::alias_left {} list }
kind child_interpreter none { interp exists left } { interp create left }
kind safe_interpreter none { interp exists safe_left } { interp create -safe safe_left }
kind recursion_limit none { interp recursionlimit {} } { interp recursionlimit {} 777 }
kind background_handler none { interp bgerror {} } { interp bgerror {} left_handler }
kind debug_frames none { interp debug {} -frame } { interp debug {} -frame 1 }
kind class none { info object isa object ::LeftClass } { oo::class create ::LeftClass }
kind method_replaced none { [set one [::oo::kept new]] word } { oo::define ::oo::kept method word {} { return left } }
kind object none { llength [info class instances ::oo::object] } { oo::object create ::left_object }
kind coroutine none { info commands ::left_coroutine } { coroutine ::left_coroutine apply {{} { yield; yield }} }
kind precision none { expr {1.0 / 3} } { set ::tcl_precision 4 }
kind random_seeded {} { expr {rand() == 0.5591537554558151} } { expr {srand(2399)} }
kind arguments {} { list $::argc $::argv } { lappend ::argv left; set ::argc 9 }
kind program_name none { file tail $::argv0 } { set ::argv0 left }
kind interactive none { set ::tcl_interactive } { set ::tcl_interactive 1 }
kind platform none { set ::tcl_platform(platform) } { set ::tcl_platform(platform) left }
# Packages
kind package_provided none { package provide left } { package provide left 1.0 }
kind package_available none { package versions left_one } { package ifneeded left_one 1.0 {} }
kind package_unknown none { package unknown } { package unknown left }
kind package_prefer none { package prefer } { package prefer latest }
kind auto_path none { lsearch $::auto_path /left } { lappend ::auto_path /left }
kind auto_index none { info exists ::auto_index(left) } { set ::auto_index(left) {} }
kind executables_cached none { info exists ::auto_execs(left) } { set ::auto_execs(left) x }
kind package_loaded none { llength [info commands ::platform::identify] } { package require platform }
# Time and text
kind time_zone {} { clock format 0 -format %Z } { set ::env(TZ) LEFT5 }
kind clock_loaded none { info exists ::tcl::clock::left } { namespace eval ::tcl::clock { variable left 1 } }
kind system_encoding {} { encoding system } { encoding system iso8859-2 }
kind encoding_folders none { encoding dirs } { encoding dirs /left }
# The event loop
kind timer none { llength [after info] } { after 100000 list }
kind idle_command none { lsearch -all [lmap one [after info] { lindex [after info $one] 1 }] idle } { after idle list }
kind file_event none { fileevent stdin readable } { fileevent stdin readable list }
kind event_thread {} { llength [glob /proc/self/task/*] } { after 1 { set ::waited 1 }; vwait ::waited }
# Channels
kind channel none { llength [chan names] } { open /dev/null }
kind channel_of_a_command {} { llength [chan names] } { open "|true" }
kind output_buffered none { fconfigure stdout -buffering } { fconfigure stdout -buffering none }
kind output_encoded none { fconfigure stdout -encoding } { fconfigure stdout -encoding iso8859-4 }
kind output_translated none { fconfigure stdout -translation } { fconfigure stdout -translation crlf }
kind input_translated none { fconfigure stdin -eofchar } { fconfigure stdin -eofchar x }
kind input_encoded none { fconfigure stdin -encoding } { fconfigure stdin -encoding iso8859-3 }
kind input_buffer none { fconfigure stdin -buffersize } { fconfigure stdin -buffersize 77 }
kind input_rest {} { gets stdin } { gets stdin }
kind errors_buffered none { fconfigure stderr -buffering } { fconfigure stderr -buffering full }
kind output_closed {} { lsearch [chan names] stdout } { flush stdout; close stdout }
# The process
kind variable_of_the_environment {} { info exists ::env(LEFT) } { set ::env(LEFT) 1 }
kind variable_removed {} { info exists ::env(PATH) } { unset ::env(PATH) }
kind directory {} { pwd } { cd /usr }
kind home {} { file normalize ~ } { set ::env(HOME) /left }
kind descriptor {} { descriptors } { set ::left_channel [open /dev/null] }
kind child {} { llength [read [set file [open /proc/[pid]/task/[pid]/children]]][close $file] } { exec sleep 0.05 & }
kind memory_grown none { expr {[info exists ::large] ? [string length $::large] : 0} } { set ::large [string repeat x 20000000] }
kind name name { set file [open /proc/self/comm]; string match left* [read $file][close $file] } { set file [open /proc/self/comm w]; puts $file left; close $file }

proc leave {name} { if {[dict exists $::leaves $name]} { uplevel #0 [dict get $::leaves $name] } }

set query [expr {[info exists env(QUERY_STRING)] ? $env(QUERY_STRING) : ""}]
if {[string match again=* $query]} { leave [string range $query 6 end] }
set seen "Content-Type: text/plain\n\n"
foreach name $names {
    if {[catch { uplevel #0 [dict get $looks $name] } found]} { set found "error: $found" }
    append seen "$name: $found\n"
}
puts -nonewline $seen
leave $query
