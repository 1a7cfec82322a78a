#!/bin/bash
# The leak battery in bash; battery.h explains it. kind NAME 'LEAKS UNDER', then its look and
# its leave. They use builtins where possible, because a look runs often.
kinds=()
kind() { kinds+=("$1"); }

kind last_status ''; look_last_status() { echo "$first_status"; }; leave_last_status() { return 77; }
kind last_job 'memory'; look_last_job() { echo "${!:-none}"; }; leave_last_job() { sleep 0 & wait; }
kind variable ''; look_variable() { echo "$left"; }; leave_variable() { left=1; }
kind variable_exported ''; look_variable_exported() { echo "$LEFT ${LEFT@a}"; }; leave_variable_exported() { export LEFT=1; }
kind array ''; look_array() { echo "${#left_array[@]}"; }; leave_array() { left_array=(1 2 3); }
kind map ''; look_map() { echo "${#left_map[@]}"; }; leave_map() { declare -gA left_map=([a]=1); }
kind integer ''; look_integer() { local -; left_integer=1+1; echo "$left_integer"; unset left_integer; }
leave_integer() { declare -gi left_integer; }
kind readonly ''; look_readonly() { (unset left_readonly) 2>/dev/null; echo $?; }; leave_readonly() { readonly left_readonly=1; }
kind reference ''; look_reference() { [[ -R left_reference ]]; echo $?; }; leave_reference() { declare -gn left_reference=HOME; }
kind lower_case ''; look_lower_case() { left_lower=ABC; echo "$left_lower"; }; leave_lower_case() { declare -gl left_lower; }
kind function ''; look_function() { type -t left_function; }; leave_function() { left_function() { :; }; }
kind function_exported ''; look_function_exported() { declare -Fx; }; leave_function_exported() { exported() { :; }; export -f exported; }
kind function_over_a_builtin ''; look_function_over_a_builtin() { type -t umask; }; leave_function_over_a_builtin() { umask() { :; }; }
kind function_not_found ''; look_function_not_found() { type -t command_not_found_handle; }
leave_function_not_found() { command_not_found_handle() { :; }; }
kind builtin_disabled 'memory'; look_builtin_disabled() { type -t times; }; leave_builtin_disabled() { enable -n times; }
kind alias 'memory'; look_alias() { alias; }; leave_alias() { alias left=true; }
kind words ''; look_words() { echo "$words"; }; leave_words() { words='left over'; }
kind trap_of_a_signal ''; look_trap_of_a_signal() { trap -p USR1; }; leave_trap_of_a_signal() { trap : USR1; }
kind trap_of_the_end ''; look_trap_of_the_end() { trap -p EXIT; }; leave_trap_of_the_end() { trap : EXIT; }
kind trap_of_each_command ''; leave_trap_of_each_command() { trap : DEBUG; }
kind trap_of_errors ''; leave_trap_of_errors() { trap : ERR; }
kind trap_of_returns ''; leave_trap_of_returns() { trap : RETURN; }
kind signal_ignored 'signals'; look_signal_ignored() { status SigIgn; }; leave_signal_ignored() { trap '' USR2; }
kind option_of_unset 'memory'; look_option_of_unset() { [[ -o nounset ]]; echo $?; }; leave_option_of_unset() { set -u; }
kind option_of_errors 'memory'; look_option_of_errors() { [[ -o errexit ]]; echo $?; }; leave_option_of_errors() { set -e; }
kind option_of_patterns 'memory'; look_option_of_patterns() { echo /etc/pass*d; }; leave_option_of_patterns() { set -f; }
kind option_of_pipes 'memory'; look_option_of_pipes() { [[ -o pipefail ]]; echo $?; }; leave_option_of_pipes() { set -o pipefail; }
kind option_of_clobbering 'memory'; look_option_of_clobbering() { [[ -o noclobber ]]; echo $?; }; leave_option_of_clobbering() { set -C; }
kind option_of_exports 'memory'; look_option_of_exports() { [[ -o allexport ]]; echo $?; }; leave_option_of_exports() { set -a; }
kind option_of_jobs ''; look_option_of_jobs() { [[ -o monitor ]]; echo $?; }; leave_option_of_jobs() { set -m; }
kind option_of_posix 'memory'; look_option_of_posix() { [[ -o posix ]]; echo $?; }; leave_option_of_posix() { set -o posix; }
kind option_of_braces 'memory'; look_option_of_braces() { echo {a,b}; }; leave_option_of_braces() { set +B; }
kind option_of_hashing 'memory'; look_option_of_hashing() { [[ -o hashall ]]; echo $?; }; leave_option_of_hashing() { set +h; }
kind shopt_of_empty_patterns 'memory'; look_shopt_of_empty_patterns() { echo /nothing*; }; leave_shopt_of_empty_patterns() { shopt -s nullglob; }
kind shopt_of_dots ''; look_shopt_of_dots() { shopt dotglob; }; leave_shopt_of_dots() { shopt -s dotglob; }
kind shopt_of_cases 'memory'; look_shopt_of_cases() { [[ A == a ]]; echo $?; }; leave_shopt_of_cases() { shopt -s nocasematch; }
kind shopt_of_patterns 'memory'; look_shopt_of_patterns() { shopt extglob; }; leave_shopt_of_patterns() { shopt -s extglob; }
kind shopt_of_aliases ''; look_shopt_of_aliases() { shopt expand_aliases; }; leave_shopt_of_aliases() { shopt -s expand_aliases; }
kind shopt_of_the_last_pipe 'memory'; look_shopt_of_the_last_pipe() { shopt lastpipe; }; leave_shopt_of_the_last_pipe() { shopt -s lastpipe; }
kind separators ''; look_separators() { printf '%q\n' "$IFS"; }; leave_separators() { IFS=L; }
kind prompt ''; look_prompt() { echo "$PS4"; }; leave_prompt() { PS4=left; }
kind search_path ''; look_search_path() { echo "$PATH"; }; leave_search_path() { PATH=/usr/bin:/bin:/left; }
kind commands_hashed 'memory'; look_commands_hashed() { hash -t left 2>&1 | : ; hash 2>&1; }; leave_commands_hashed() { hash -p /bin/true left; }
kind completions 'memory'; look_completions() { complete; }; leave_completions() { complete -W left left; }
kind history 'memory'; look_history() { history; }; leave_history() { set -o history; history -s left; set +o history; }
kind option_index ''; look_option_index() { echo "$OPTIND"; }; leave_option_index() { OPTIND=5; }
kind option_within_a_word ''; look_option_within_a_word() { local one; getopts abc one -abc; echo "$one"; OPTIND=1; }
leave_option_within_a_word() { local one; OPTIND=1; getopts abc one -abc; }
kind match ''; look_match() { echo "${BASH_REMATCH[0]}"; }; leave_match() { [[ left =~ l(.)ft ]]; }
kind random_seeded ''; look_random_seeded() { [[ $RANDOM$RANDOM == 1777226794 ]]; echo $?; }; leave_random_seeded() { RANDOM=42; }
kind random_as_a_variable ''; look_random_as_a_variable() { local -i n=$RANDOM m=$RANDOM k=$RANDOM; ((n == m && m == k)); echo $?; }
leave_random_as_a_variable() { unset RANDOM; RANDOM=7; }
kind seconds 'memory'; look_seconds() { ((SECONDS < 1000)); echo $?; }; leave_seconds() { SECONDS=5000; }
kind line_number ''; look_line_number() { ((LINENO < 1000)); echo $?; }; leave_line_number() { unset LINENO; LINENO=5000; }
kind nesting ''; look_nesting() { echo "${FUNCNEST:-none}"; }; leave_nesting() { FUNCNEST=50; }
kind timeout ''; look_timeout() { echo "${TMOUT:-none}"; }; leave_timeout() { TMOUT=50; }
kind patterns_ignored ''; look_patterns_ignored() { echo "${GLOBIGNORE:-none}"; }; leave_patterns_ignored() { GLOBIGNORE=left; }
kind locale ''; look_locale() { local e; printf -v e '\303\251'; echo "${#e}"; }; leave_locale() { LC_ALL=C.UTF-8; }
kind time_zone ''; look_time_zone() { printf '%(%z)T\n' 0; }; leave_time_zone() { export TZ=LEFT5; printf '%(%z)T' 0 >/dev/null; }
kind home ''; look_home() { echo ~; }; leave_home() { HOME=/left; }
kind start_file ''; look_start_file() { echo "${BASH_ENV:-none}"; }; leave_start_file() { export BASH_ENV=/left; }
kind program_name ''; look_program_name() { echo "${0##*/}"; }; leave_program_name() { BASH_ARGV0=left; }
kind level ''; look_level() { echo "$SHLVL"; }; leave_level() { SHLVL=9; }
kind directory ''; look_directory() { pwd -P; }; leave_directory() { cd /usr || :; }
kind directory_before ''; look_directory_before() { echo "${OLDPWD:-none}"; }; leave_directory_before() { cd /usr && cd - >/dev/null || :; }
kind directory_stack 'memory'; look_directory_stack() { echo "${#DIRSTACK[@]}"; }; leave_directory_stack() { pushd /usr >/dev/null || :; }
kind umask 'umask'; look_umask() { builtin umask; }; leave_umask() { umask 777; }
kind limit 'limits'; look_limit() { ulimit -Sn; }; leave_limit() { ulimit -Sn 777; }
kind limit_by_a_tool 'limits'; look_limit_by_a_tool() { ulimit -Si; }; leave_limit_by_a_tool() { prlimit --pid $$ --sigpending=77:; }
kind score_of_memory 'limits'; look_score_of_memory() { echo "$(</proc/$$/oom_score_adj)"; }; leave_score_of_memory() { echo 77 >/proc/$$/oom_score_adj; }
kind limit_of_cores 'limits'; look_limit_of_cores() { ulimit -Sc; }; leave_limit_of_cores() { ulimit -Sc 7; }
kind limit_for_good ''; look_limit_for_good() { ulimit -Hq; }; leave_limit_for_good() { ulimit -q 77; }
kind descriptor 'descriptors'; look_descriptor() { [[ -e /proc/self/fd/7 ]]; echo $?; }; leave_descriptor() { exec 7>/dev/null; }
kind descriptor_of_its_choice 'descriptors'; look_descriptor_of_its_choice() { [[ -e /proc/self/fd/10 ]]; echo $?; }
leave_descriptor_of_its_choice() { exec {left_fd}>/dev/null; }
kind errors_redirected ''; look_errors_redirected() { [[ /proc/self/fd/2 -ef /dev/null ]]; echo $?; }; leave_errors_redirected() { exec 2>/dev/null; }
kind output_closed ''; look_output_closed() { echo open; }; leave_output_closed() { exec 1>&-; }
kind input_rest ''; look_input_rest() { local line; read -r line; echo "$line"; }; leave_input_rest() { read -r; }
kind name 'name'; look_name() { local name; read -r name </proc/self/comm; [[ $name == left ]]; echo $?; }; leave_name() { echo left >/proc/$$/comm; }
kind job ''; look_job() { jobs; }; leave_job() { sleep 0.1 & }
kind job_disowned ''; look_job_disowned() { look_children; }; leave_job_disowned() { sleep 2 >/dev/null 2>&1 </dev/null & disown; }
kind coprocess ''; look_coprocess() { echo "${COPROC_PID:-none}"; }; leave_coprocess() { coproc sleep 2; } 2>/dev/null
kind substitution_left_open ''; look_substitution_left_open() { [[ -e /proc/self/fd/63 || -e /proc/self/fd/62 ]]; echo $?; }
leave_substitution_left_open() { exec 62< <(sleep 0.1); }

# Reads all at once: `read` would seek back to each line's end, where the kernel writes the text again, and the
# text before it may have grown (SigQ counts the signals of all the user's processes).
status() {
  local line lines
  mapfile -t lines </proc/self/status
  for line in "${lines[@]}"; do [[ $line == "$1"* ]] && echo "$line"; done
}
look_children() { local list; read -r list </proc/$$/task/$$/children; [[ -n $list ]] && echo some || echo none; }

leave() {
  local one
  for one in "${kinds[@]}"; do [[ $one == "$1" ]] && { "leave_$one"; return; }; done
}

first_status=$?
[[ $QUERY_STRING == again=* ]] && leave "${QUERY_STRING#again=}"
first_status=$?
printf 'Content-Type: text/plain\n\n'
for one in "${kinds[@]}"; do
  printf '%s: ' "$one"
  # A function has its own values of these.
  case $one in
    trap_of_each_command) trap -p DEBUG ;;
    trap_of_errors) trap -p ERR ;;
    trap_of_returns) trap -p RETURN ;;
    *) "look_$one" ;;
  esac
  echo
done
leave "$QUERY_STRING"
exit 0
