# Stops a Tcl program at its checkpoint: the interpreter is up, what the program is known to load is
# loaded, and the main script is not even opened. Started by the bridge as
#
#     TCL_LIBRARY=<this folder> CGIBRIDGE_PRELOAD=a/1.0,b/2.3,clock.tcl tclsh SWITCHES SCRIPT
#
# tclsh sources $TCL_LIBRARY/init.tcl before it looks at its script. This one sources the real init.tcl
# and waits; then tclsh goes on as always, so the script, its errors and its end are tclsh's own.
# Without the checkpoint library the script runs as plain CGI. Nothing of this is left when the script
# runs, but two traces that note what it loads.

namespace eval ::tcl::cgibridge {

# Of the environment, with values as a list of one or of none. These are read by C code.
variable reads {LANG {} LC_ALL {} LC_CTYPE {} TCL_LIBRARY {}}
variable preload {} files {} folders_of_modules {} touched {}

# Where the library answers; told to the first who asks, and to nobody after that.
variable call {}
catch { set call [file readlink /.cgibridge/open] }
proc ask {what} { file readlink $::tcl::cgibridge::call$what }
proc command_line {} {
    set file [open /proc/self/cmdline rb]
    return [lrange [split [read $file][close $file] \0] 0 end-1]
}

# -- what is looked at until the checkpoint ------------------------------------------------------------
proc is_of_request {name} {
    regexp {^(REQUEST|HTTP|REMOTE|CONTENT|REDIRECT)_|^(QUERY_STRING|PATH_INFO|PATH_TRANSLATED|AUTH_TYPE|HTTPS|DOCUMENT_URI|UNIQUE_ID|SCRIPT_URI|SCRIPT_URL|COOKIE)$} $name
}

proc value_of {name} { expr {[info exists ::env($name)] ? [list $::env($name)] : {}} }
# In our interpreter, and in one in which a package is tried.
proc looked {value array name operation} {
    variable reads
    variable touched
    if {$operation eq "read"} {
        dict set reads $name $value
        if {[is_of_request $name]} { set touched "reads the environment's $name" }
    } else {
        set touched "[expr {$operation eq "array" ? "lists" : "writes"}] the environment"
    }
}

proc looked_here {array name operation} { looked [value_of $name] $array $name $operation }
proc loading {command operation} {
    foreach word [lsearch -all -inline $command /*] { dict set ::tcl::cgibridge::files $word 1 }
}

proc watches {begin_or_end} {
    trace $begin_or_end variable ::env {read array write unset} ::tcl::cgibridge::looked_here
    foreach one {source load} { trace $begin_or_end execution $one enter ::tcl::cgibridge::loading }
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
        set trouble [try_out [command_for $name]]
        if {$trouble ne ""} { ask "note/warning/$name is not loaded ahead: it $trouble" ; continue }
        catch { uplevel #0 [command_for $name] }
    }
}

# In an interpreter of its own, since nothing can be unloaded. Returns what a program would notice.
proc try_out {command} {
    variable touched {}
    variable reads
    set before [list [held] $reads]
    interp create cgibridge
    interp alias cgibridge looked {} ::tcl::cgibridge::looked
    interp alias cgibridge printed {} set ::tcl::cgibridge::touched "prints while it is loaded"
    cgibridge eval {
        trace add variable env {read array write unset} {apply {{array name operation} {
            looked [expr {[info exists ::env($name)] ? [list $::env($name)] : {}}] $array $name $operation
        }}}
        trace add execution puts enter {apply {{command operation} {
            if {[lindex $command end-1] in {puts -nonewline stdout stderr}} printed
        }}}
    }
    if {[catch { cgibridge eval $command } error] && $touched eq ""} { set touched "fails to load: $error" }
    if {$touched eq "" && [held] ne [lindex $before 0]} { set touched "starts a thread, or leaves a file open" }
    interp delete cgibridge
    if {$touched ne ""} { set reads [lindex $before 1] }
    return $touched
}

proc held {} { list [llength [glob /proc/self/task/*]] [llength [glob /proc/self/fd/*]] }
# Packages are learned that were found where the interpreter looks by itself, outside of the program's
# folder.
proc learn {} {
    set known {}
    foreach name [package names] { if {![catch { package present $name }]} { dict set known $name 1 } }
    set folder [file dirname [file normalize $::argv0]]/
    set paths [list $::auto_path $::tcl::cgibridge::folders_of_modules]
    variable call
    ask note/folders/\n[join [list {*}$::auto_path {*}$::tcl::cgibridge::folders_of_modules $::tcl_library] \n]
    trace add execution package leave [list apply {{call known folder paths command code version operation} {
        if {$code != 0 || ![string match r* [lindex $command 1]]} return
        set name [lindex $command [expr {[lindex $command 2] eq "-exact" ? 3 : 2}]]
        if {[dict exists $known $name] || $paths ne [list $::auto_path [tcl::tm::path list]]} return
        set script [package ifneeded $name $version]
        if {[string first $folder $script] >= 0} return
        set file [lsearch -inline [split $script " \t\n;\[\]{}\""] /*]
        catch { file readlink ${call}note/loaded/$name/$version\n$file }
    }} $call $known $folder $paths]
    trace add execution source leave [list apply {{call library command code result operation} {
        set file [lindex $command end]
        if {$code != 0 || [file dirname $file] ne $library} return
        catch { file readlink ${call}note/loaded/[file tail $file]\n$file }
    }} $call $::tcl_library]
}

# -- to the checkpoint, and from there to the script ---------------------------------------------------
proc boot {} {
    variable reads
    variable preload [value_of CGIBRIDGE_PRELOAD] folder $::tcl_library
    unset -nocomplain ::env(TCL_LIBRARY) ::env(CGIBRIDGE_PRELOAD)
    # Without a slash, tclsh was searched for.
    if {![string match */* [lindex [command_line] 0]]} { dict set reads PATH {} }
    foreach name [dict keys $reads] { dict set reads $name [value_of $name] }
    watches add
    # Another interpreter finds the library without our help.
    interp create cgibridge
    set ::tcl_library [cgibridge eval set tcl_library]
    variable folders_of_modules [cgibridge eval tcl::tm::path list]
    interp delete cgibridge
    uplevel #0 [list source $::tcl_library/init.tcl]
}

# Returns what is needed behind the checkpoint.
proc prepare {} {
    variable preload
    variable reads
    variable folder
    load_ahead [split [lindex $preload 0] ,]
    foreach name [dict keys $reads] {
        if {[is_of_request $name]} { ask "note/shallower/$name is read before the checkpoint" }
    }
    # A folder changes when a package is added to it. Begins with a line's end: Tcl makes one slash of two.
    set folders [expr {$preload eq {{}} ? {} : [concat $::auto_path [tcl::tm::path list]]}]
    ask note/file/\n[join [list {*}[dict keys $::tcl::cgibridge::files] {*}$folders /etc/localtime] \n]
    set usual [join [command_line] \0]\0
    if {[ask learn] ne "none"} learn
    watches remove
    array unset ::env *    ;# or the order of its names would tell how they came into it
    set again [expr {[ask reset] eq "none" ? [source $folder/again.tcl] : ""}]
    variable call
    return [list $call $reads $usual [encoding system] $again]
}

# Takes the request that came.
variable take {{call reads usual system} {
    encoding system iso8859-1    ;# for bytes as they are
    binary scan [file readlink ${call}random] n seed
    expr {srand($seed)}
    lassign {} ::argv words
    set text [file readlink ${call}argv]
    if {$text ne $usual} {
        while {[set piece [file readlink ${call}argv]] ne ""} { append text $piece }
        set words [lrange [split $text \0] 0 end-1]
        set script [lsearch -exact $words [encoding convertto $system $::argv0]]
        set words [lrange $words [expr {max($script, 0) + 1}] end]
    }
    encoding system $system
    foreach word $words { lappend ::argv [encoding convertfrom $system $word] }
    set ::argc [llength $::argv]
    file readlink ${call}environ/set
    array size ::env    ;# has Tcl read it
    dict for {name value} $reads {
        if {$value eq [expr {[info exists ::env($name)] ? [list $::env($name)] : {}}]} continue
        file readlink "${call}anew/$name was read before the checkpoint, and the request's differs"
    }
    file readlink ${call}script
}}

}

try {
    if {$::tcl::cgibridge::call eq "" && ![info exists ::env(REQUEST_METHOD)]} {
        error "no checkpoint library and no request"
    }
    ::tcl::cgibridge::boot
    if {$::tcl::cgibridge::call eq ""} {
        ::tcl::cgibridge::watches remove
        namespace delete ::tcl::cgibridge
    } else {
        apply {{take call reads usual system again} {
            namespace delete ::tcl::cgibridge
            file readlink ${call}checkpoint/compiled
            apply $take $call $reads $usual $system
            if {$again ne ""} { apply $again $call [list apply $take $call $reads $usual $system] }
        }} $::tcl::cgibridge::take {*}[::tcl::cgibridge::prepare]
    }
} on error {message options} {
    # tclsh would look for another library, and go on to the script.
    puts stderr [dict get $options -errorinfo]
    exit 1
}
