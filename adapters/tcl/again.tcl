# The reset `none`, for programs written for it: the interpreter is used again. It sources the script for
# each request, in a coroutine, which `exit` leaves; request, directory and streams are replaced, nothing
# else. Sourced by init.tcl; its value is what runs after the checkpoint and does not return.

return {{call take} {
    namespace eval ::tcl::cgibridge {}
    rename ::exit ::tcl::cgibridge::end
    proc ::exit {{code 0}} {
        # What C code called (a sort's -command) cannot be left: then the process ends.
        catch { if {[info coroutine] eq "::tcl::cgibridge::request"} { yieldto return -level 0 $code } }
        ::tcl::cgibridge::end $code
    }
    proc ::tcl::cgibridge::run {script encoding} {
        if {![catch { uplevel #0 [list source {*}$encoding $script] } message options]} { return 0 }
        # As tclsh shows it, without our own frames.
        set text [dict get $options -errorinfo]
        set last [string last "(file \"$script\" line " $text]
        puts stderr [string range $text 0 [expr {$last < 0 ? "end" : [string first ) $text $last]}]]
        return 1
    }
    set words [split [read [set file [open /proc/self/cmdline]]][close $file] \0]
    set encoding [expr {[lindex $words 1] eq "-encoding" ? [lrange $words 1 2] : {}}]
    set script $::argv0
    set ::tcl_rcFileName ~/.tclshrc    ;# tclsh would have set it
    while 1 {
        set code [coroutine ::tcl::cgibridge::request ::tcl::cgibridge::run $script $encoding]
        if {[info commands ::tcl::cgibridge::request] ne ""} { rename ::tcl::cgibridge::request {} }
        foreach stream {stdout stderr} {
            if {[catch { flush $stream }]} { ::tcl::cgibridge::end $code }
        }
        if {![string is integer -strict $code]} { set code 1 }
        # What was read ahead of this request's body.
        if {[catch { read stdin [chan pending input stdin] }]} { ::tcl::cgibridge::end $code }
        if {[catch { ::tcl::file::readlink ${call}next/[expr {$code & 255}] }]} { ::tcl::cgibridge::end 0 }
        {*}$take
    }
}}
