/* Open files that are passed on to the worker which takes a program's place (hand_over.h). Most of
 * what is done to one belongs to the open file, and goes with it: position, flags, flock()'s locks.
 * Some belongs to the process that did it. */
#ifndef CGIBRIDGE_PASSED_FILES_H
#define CGIBRIDGE_PASSED_FILES_H

#include "rewind/inherited.h"

/* Whether 0, 1, 2 and these can be passed on, and nothing that this process holds in them is lost,
 * or stays with it: a lock of POSIX (but of a file among numbers: inherited.h), a lease, being the
 * one that gets their signals; nor do they show this process (/proc/self). fds_fd: /proc/self/fd;
 * processes: the device of such files. Without libc. */
int files_can_be_passed(int fds_fd, dev_t processes, const struct inherited_numbers *numbers);

#endif
