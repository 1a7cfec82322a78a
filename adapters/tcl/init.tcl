# Stops a Tcl program at its checkpoint: the interpreter is running, what the program is known to load is
# loaded, and the main script is not even opened. Started by the bridge as
#
#     TCL_LIBRARY=<this folder> CGIBRIDGE_PRELOAD=a/1.0,b/2.3,clock.tcl tclsh SWITCHES SCRIPT
#
# tclsh sources $TCL_LIBRARY/init.tcl before it opens its script. This one sources the real init.tcl and
# waits; then tclsh continues as always, so the script, its errors and its end are tclsh's own. Without the
# checkpoint library the script runs as plain CGI. Nothing of this is left when the script runs, except what
# notes what it loads: two traces, and the namespace that they use.

namespace eval ::tcl::cgibridge {

# Variables of the environment that were read; each value is a list of one or of none. These are read by C
# code.
variable reads {LANG {} LC_ALL {} LC_CTYPE {} TCL_LIBRARY {}}
variable preload {} files {} folders_of_modules {} touched {} culprit {} launched {} made {}

# Where the library answers; told to the first caller that asks, and to no other after that.
variable call {}
catch { set call [file readlink /.cgibridge/open] }
proc ask {what} { ::tcl::file::readlink $::tcl::cgibridge::call$what }
proc command_line {} {
    set file [open /proc/self/cmdline rb]
    return [lrange [split [read $file][close $file] \0] 0 end-1]
}

# -- what is looked at until the checkpoint ------------------------------------------------------------
proc is_of_request {name} {
    regexp {^(REQUEST|HTTP|REMOTE|CONTENT|REDIRECT)_|^(QUERY_STRING|PATH_INFO|PATH_TRANSLATED|AUTH_TYPE|HTTPS|DOCUMENT_URI|UNIQUE_ID|SCRIPT_URI|SCRIPT_URL|COOKIE)$} $name
}

proc value_of {name} { expr {[info exists ::env($name)] ? [list $::env($name)] : {}} }
proc looked {array name operation} {
    variable reads
    variable touched
    if {$operation eq "read"} {
        dict set reads $name [value_of $name]
        if {[is_of_request $name]} { set touched "reads the environment's $name" }
    } else {
        set touched "[expr {$operation eq "array" ? "lists" : "writes"}] the environment"
    }
}

proc looked_at_words args { set ::tcl::cgibridge::touched "looks at the query's words (argv)" }

# The array's traces do not see a look through a link to one of its elements.
proc linked {command operation} {
    foreach word $command {
        if {![regexp {^(.*)\((.*)\)$} $word - array name]} continue
        if {[namespace tail $array] eq "env" || [is_of_request $name]} {
            set ::tcl::cgibridge::touched "links to the environment's $name"
        }
    }
}

# Another interpreter has an environment of its own, which is watched like the first one's, by commands that
# are gone afterwards.
proc made_interpreter {command code path operation} {
    if {$code != 0 || ![string match c* [lindex $command 1]]} return
    lappend ::tcl::cgibridge::made $path
    foreach {name target} {looked looked made made_deeper} {
        interp alias $path ::tcl::cgibridge_$name {} ::tcl::cgibridge::$target
    }
    trace_in $path add
}

proc made_deeper {command operation} {
    if {[string match c* [lindex $command 1]]} { set ::tcl::cgibridge::touched "makes an interpreter in another" }
}

proc trace_in {path begin_or_end} {
    interp eval $path [list trace $begin_or_end execution ::interp enter ::tcl::cgibridge_made]
    if {[interp issafe $path]} return
    interp eval $path [list trace $begin_or_end variable ::env {read array write unset} ::tcl::cgibridge_looked]
}

# What those leave that are still there; or "".
proc left_in_interpreters {} {
    variable made
    foreach path $made {
        if {![interp exists $path]} continue
        if {[catch { trace_in $path remove; interp eval $path {after info} } timers]} {
            return "makes an interpreter that cannot be watched"
        }
        if {$timers ne ""} { return "leaves a timer" }
        foreach name {looked made} { interp alias $path ::tcl::cgibridge_$name {} }
    }
    set made {}
    return ""
}

# The innermost file after which something was seen is the one that did it.
proc loaded {command code result operation} {
    variable culprit
    catch { if {$culprit eq "" && [ask seen] ne ""} { set culprit [lindex $command end] } }
}

proc loading {command operation} {
    foreach word [lsearch -all -inline $command /*] { dict set ::tcl::cgibridge::files $word 1 }
}

proc watches {begin_or_end} {
    trace $begin_or_end variable ::env {read array write unset} ::tcl::cgibridge::looked
    foreach one {::argv ::argc} { trace $begin_or_end variable $one read ::tcl::cgibridge::looked_at_words }
    foreach one {source load} {
        trace $begin_or_end execution $one enter ::tcl::cgibridge::loading
        trace $begin_or_end execution $one leave ::tcl::cgibridge::loaded
    }
    foreach one {::upvar ::tcl::namespace::upvar} {
        trace $begin_or_end execution $one enter ::tcl::cgibridge::linked
    }
    trace $begin_or_end execution ::interp leave ::tcl::cgibridge::made_interpreter
    unset -nocomplain ::errorInfo ::errorCode
}

# -- what is loaded ahead ------------------------------------------------------------------------------
# A package, or a file of Tcl's own library that it loads by itself.
proc command_for {name} {
    lassign [split $name /] package version
    if {$name eq "clock.tcl"} { return {clock format 0} }
    if {[string match *.tcl $name]} { return [list source $::tcl_library/$name] }
    if {$version eq ""} { return [list package require $package] }
    return [list package require -exact $package $version]
}

# One package in two versions is left to the requests.
proc load_ahead {names} {
    foreach name $names {
        if {[llength [lsearch -all $names [lindex [split $name /] 0]/*]] > 1} continue
        set trouble [trouble_of $name [command_for $name]]
        if {$trouble eq ""} continue
        ask "note/warning/$name is not loaded ahead: it $trouble"
        start_over_with [lsearch -all -inline -not -exact $names $name]
    }
}

# What it did that a program would notice. Tcl cannot be asked whether numbers were drawn, or srand()
# called: after a seed that nobody else knows, the next number is the first one again, if nothing was.
proc trouble_of {name command} {
    variable touched {}
    variable culprit {}
    set before [held]
    set shared [shared_state]
    set commands [concat [info commands ::*] [info commands ::tcl::mathfunc::*]]
    binary scan [ask random] nu seed
    expr {srand($seed)}
    set first [expr {rand()}]
    expr {srand($seed)}
    ask watch
    # Before the package changes anything outside, the library starts the process over.
    ask "effects/without/CGIBRIDGE_PRELOAD=\n$name\nwhile it is loaded"
    interp hide {} exit    ;# to leave would end the zygote
    watch_commands add $commands
    set failed [catch { uplevel #0 $command } error]
    watch_commands remove $commands
    if {[info commands ::exit] eq ""} { interp expose {} exit }
    foreach stream {stdout stderr} { catch { flush $stream } }
    if {$touched ne ""} { return $touched }
    if {[after info] ne ""} { return "leaves a timer" }
    if {[set left [left_in_interpreters]] ne ""} { return $left }
    set seen [ask seen]
    if {$seen ne "" && $culprit ne ""} { append seen ", in $culprit" }
    if {$seen ne ""} { return "$seen while it is loaded" }
    if {$failed} { return "fails to load: $error" }
    if {rand() != $first && [catch { ask accepts/random }]} { return "draws random numbers, or seeds them" }
    set now [shared_state]
    dict for {name value} $shared {
        if {![dict exists $now $name] || [dict get $now $name] ne $value} { return "changes $name" }
    }
    if {[held] ne $before} { return "starts a thread, or leaves a file open" }
    return [ask left]
}

# What is the same for all packages, so that a request would notice a change of it that was made by one which
# it does not load. What is new since then is not compared: like new commands, it takes nothing away.
proc shared_state {} {
    set state [list "the system's encoding" [encoding system] tcl_precision [precision] \
        bgerror [interp bgerror {}] "the script's name" [info script] \
        "the limit of recursion" [interp recursionlimit {}] "where encodings are" [encoding dirs] \
        "what finds packages" [list [package unknown] [::tcl::tm::path list]] \
        "what finds commands" [namespace eval :: { namespace unknown }]]
    foreach stream {stdin stdout stderr} { lappend state $stream [fconfigure $stream] }
    foreach command [info commands ::*] {
        set name "the command [namespace tail $command]"
        lappend state $name [trace info execution $command]
        if {![namespace ensemble exists $command]} continue
        dict for {word target} [namespace ensemble configure $command -map] { lappend state "$name $word" $target }
    }
    foreach variable [info vars ::*] {
        set name [namespace tail $variable]
        if {$name in {argc argv auto_index auto_path env errorCode errorInfo tcl_precision}} continue
        lappend state "the variable $name" [list [trace info variable $variable] [expr {
            [array exists $variable] ? [array get $variable] : [info exists $variable] ? [set $variable] : {} }]]
    }
    return $state
}

# The variable is there only after somebody has asked for it.
proc precision {} {
    set was_there [info vars ::tcl_precision]
    set digits $::tcl_precision
    if {$was_there eq ""} { unset ::tcl_precision }
    return $digits
}

# A command that is replaced, by a procedure, an alias or C code, is deleted before.
proc replaced {command name operation} {
    set ::tcl::cgibridge::touched "replaces the command [namespace tail $command]"
}

proc watch_commands {begin_or_end commands} {
    foreach command $commands {
        catch { trace $begin_or_end command $command {rename delete} ::tcl::cgibridge::replaced }
    }
}

proc held {} { list [llength [glob /proc/self/task/*]] [llength [glob /proc/self/fd/*]] }

# Nothing can be unloaded, so a new process starts, launched as this one was.
proc start_over_with {names} {
    variable launched
    variable folder
    watches remove
    array unset ::env *
    array set ::env [list {*}$launched TCL_LIBRARY $folder CGIBRIDGE_PRELOAD [join $names ,]]
    ask over/exec
}

# What the script loads is noted from a namespace that stays, by two traces.
proc learn {} {
    variable folders_of_modules
    variable call
    ask note/folders/\n[join [list {*}$::auto_path {*}$folders_of_modules $::tcl_library] \n]
    foreach name [package names] {
        if {![catch { package present $name }]} { dict set ::tcl::file::cgibridge::known $name 1 }
    }
    set ::tcl::file::cgibridge::folder [file dirname [file normalize $::argv0]]/
    set ::tcl::file::cgibridge::paths [list $::auto_path $folders_of_modules]
    set ::tcl::file::cgibridge::library $::tcl_library
    set ::tcl::file::cgibridge::call $call
    foreach command {package source} {
        trace add execution $command leave [list ::tcl::file::cgibridge::note $command]
    }
    # A script may replace the commands that are used there: before that it ends.
    set end [list ::tcl::namespace::ensemble configure ::tcl::file::cgibridge::note \
        -map {package ::tcl::file::cgibridge::nothing source ::tcl::file::cgibridge::nothing}]
    foreach command {catch expr foreach if lassign lindex llength lrange lsearch package return set split} {
        trace add command $command {rename delete} [list ::tcl::namespace::eval :: "$end;#"]
    }
}

# -- to the checkpoint, and from there to the script ---------------------------------------------------
# Where Tcl looks first if no variable names another place. Elsewhere another interpreter finds it without our
# help; but TclOO counts on from the objects that are made for that one.
proc library {} {
    set folder [::tcl::pkgconfig get scriptdir,runtime]
    if {[file exists $folder/init.tcl]} { return $folder }
    interp create cgibridge
    set folder [cgibridge eval set tcl_library]
    interp delete cgibridge
    return $folder
}

proc boot {} {
    variable reads
    variable preload [value_of CGIBRIDGE_PRELOAD] folder $::tcl_library launched [array get ::env]
    unset -nocomplain ::env(TCL_LIBRARY) ::env(CGIBRIDGE_PRELOAD)
    # Without a slash, tclsh was found by a search of PATH.
    if {![string match */* [lindex [command_line] 0]]} { dict set reads PATH {} }
    foreach name [dict keys $reads] { dict set reads $name [value_of $name] }
    watches add
    set ::tcl_library [library]
    uplevel #0 [list source $::tcl_library/init.tcl]
    # As if nobody had asked yet: Tcl loads this by itself.
    source $::tcl_library/tm.tcl
    variable folders_of_modules [::tcl::tm::path list]
    namespace delete ::tcl::tm
}

# Returns what is needed after the checkpoint.
proc prepare {} {
    variable preload
    variable reads
    variable folder
    set path $::auto_path
    load_ahead [split [lindex $preload 0] ,]
    ask "effects/refuse/after its packages are loaded"    ;# what these have left may still end
    set ::auto_path $path
    foreach name [dict keys $reads] {
        if {[is_of_request $name]} { ask "note/shallower/$name is read before the checkpoint" }
    }
    # A folder changes when a package is added to it. The text begins with a line's end, because Tcl turns
    # two slashes into one.
    set folders [expr {$preload eq {{}} ? {} : [concat $::auto_path [tcl::tm::path list]]}]
    ask note/file/\n[join [list {*}[dict keys $::tcl::cgibridge::files] {*}$folders /etc/localtime] \n]
    set usual [join [command_line] \0]\0
    if {[ask learn] ne "none"} learn else { namespace delete ::tcl::file::cgibridge }
    watches remove
    array unset ::env *    ;# otherwise the order of its names would show how they were added
    set again [expr {[ask reset] eq "none" ? [source $folder/again.tcl] : ""}]
    variable call
    return [list $call $reads $usual [encoding system] $again]
}

# Applies the request that came.
variable take {{call reads usual system} {
    encoding system iso8859-1    ;# to get bytes unchanged
    binary scan [::tcl::file::readlink ${call}random] n seed
    expr {srand($seed)}
    lassign {} ::argv words
    set text [::tcl::file::readlink ${call}argv]
    if {$text ne $usual} {
        while {[set piece [::tcl::file::readlink ${call}argv]] ne ""} { append text $piece }
        set words [lrange [split $text \0] 0 end-1]
        set script [lsearch -exact $words [encoding convertto $system $::argv0]]
        set words [lrange $words [expr {max($script, 0) + 1}] end]
    }
    encoding system $system
    foreach word $words { lappend ::argv [encoding convertfrom $system $word] }
    set ::argc [llength $::argv]
    ::tcl::file::readlink ${call}environ/set
    array size ::env    ;# makes Tcl read it
    dict for {name value} $reads {
        if {$value eq [expr {[info exists ::env($name)] ? [list $::env($name)] : {}}]} continue
        ::tcl::file::readlink "${call}anew/$name was read before the checkpoint, and the request's differs"
    }
    ::tcl::file::readlink ${call}script
}}

}

# -- what stays ----------------------------------------------------------------------------------------
namespace eval ::tcl::file::cgibridge {

variable call {} known {} folder {} paths {} library {}

# A package is learned if it was found where the interpreter looks by itself, outside the program's folder.
# An index that is found there may name folders below its own (tcllib's does).
proc is_usual {} {
    lassign $::tcl::file::cgibridge::paths folders modules
    set own [lrange $::auto_path 0 [llength $folders]-1]
    if {$own ne [lrange $folders 0 end] || $modules ne [::tcl::tm::path list]} { return 0 }
    foreach more [lrange $::auto_path [llength $folders] end] {
        set is_inside 0
        foreach one $folders { if {[::tcl::string::first $one/ $more] == 0} { set is_inside 1 } }
        if {!$is_inside} { return 0 }
    }
    return 1
}

proc note_loaded {name file} {
    catch { ::tcl::file::readlink ${::tcl::file::cgibridge::call}note/loaded/$name\n$file }
}

proc note_package {command code version operation} {
    if {$code != 0 || ![::tcl::string::match r* [lindex $command 1]]} return
    set name [lindex $command [expr {[lindex $command 2] eq "-exact" ? 3 : 2}]]
    if {[::tcl::dict::exists $::tcl::file::cgibridge::known $name] || ![is_usual]} return
    set script [package ifneeded $name $version]
    if {[::tcl::string::first $::tcl::file::cgibridge::folder $script] >= 0} return
    note_loaded $name/$version [lsearch -inline [split $script " \t\n;\[\]{}\""] /*]
}

proc note_source {command code result operation} {
    set file [lindex $command end]
    if {$code != 0 || [::tcl::file::dirname $file] ne $::tcl::file::cgibridge::library} return
    note_loaded [::tcl::file::tail $file] $file
}

proc nothing args {}
namespace ensemble create -command ::tcl::file::cgibridge::note \
    -map {package ::tcl::file::cgibridge::note_package source ::tcl::file::cgibridge::note_source}

}

try {
    if {$::tcl::cgibridge::call eq "" && ![info exists ::env(REQUEST_METHOD)]} {
        error "no checkpoint library and no request"
    }
    ::tcl::cgibridge::boot
    if {$::tcl::cgibridge::call eq ""} {
        ::tcl::cgibridge::watches remove
        namespace delete ::tcl::cgibridge ::tcl::file::cgibridge
    } else {
        apply {{take call reads usual system again} {
            namespace delete ::tcl::cgibridge
            ::tcl::file::readlink ${call}checkpoint/compiled
            apply $take $call $reads $usual $system
            if {$again ne ""} { apply $again $call [list apply $take $call $reads $usual $system] }
        }} $::tcl::cgibridge::take {*}[::tcl::cgibridge::prepare]
    }
} on error {message options} {
    # tclsh would look for another library, and go on to the script.
    puts stderr [dict get $options -errorinfo]
    exit 1
}
