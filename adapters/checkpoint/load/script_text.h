/* What a shell's script, or gawk's, makes of the process id. With rewind one process answers many
 * requests: two visitors of one second would get the same seed or the same name, which they do not
 * from processes of their own. A shell asks for its id once, at its start, whatever it runs, and
 * has a generator of its own; so only the text tells. Counted are lines with the id that assign
 * something other than a path, or that name a time, a generator or a sum as well; an id that is
 * only printed, or is sent a signal, is what it is. The operator may accept it ("pid"). */
#ifndef CGIBRIDGE_SCRIPT_TEXT_H
#define CGIBRIDGE_SCRIPT_TEXT_H

/* Before the checkpoint of a program without an adapter: looks at the words that it was launched
 * with, the files that they name, and what these source, and tells the bridge of the files. If one
 * has such a line, the reset is fork. What the program reads in a request is not looked at: these
 * may be a visitor's words. */
void script_text_look(int count, char *const words[]);

#endif
