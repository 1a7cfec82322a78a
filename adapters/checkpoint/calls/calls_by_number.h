/* System calls by their number. */
#ifndef CGIBRIDGE_CALLS_BY_NUMBER_H
#define CGIBRIDGE_CALLS_BY_NUMBER_H

/* Notes what the functions of calls/ note, for the call with this number and these six words; not
 * those that make a process, prctl() and madvise(), which syscall() does itself. */
void call_note_number(long number, const long *words);

#endif
