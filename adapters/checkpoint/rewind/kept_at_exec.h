/* What a process keeps when it executes a file, compared with what it was started with. The bridge
 * starts what is executed (hand_over.h) as it has started this process, so both must be the same,
 * no matter whether the program changed it before its checkpoint or in its request. */
#ifndef CGIBRIDGE_KEPT_AT_EXEC_H
#define CGIBRIDGE_KEPT_AT_EXEC_H

#include <stdint.h>

/* Before anything of the program runs. */
void kept_remember_start(void);
/* Whether it has huge pages may be otherwise than at the start: Ruby does without at its start,
 * and what is executed has them all the same. */
void kept_remember_checkpoint(void);
/* Before kept_remember_start(): a wrapper has changed something, and then executed this program. */
void kept_doubt_start(void);

/* Whether all of it is as at the start, but for signals: the two that may be ignored are told in
 * ignored. mask: the signals that the program blocks. may_have_children: else nobody can be in its
 * process group. Without libc. */
int kept_is_as_at_start(uint64_t mask, int may_have_children, uint32_t *ignored);

/* The same for a program that executes another one before the checkpoint, apart from what the next
 * one's start sets anyway. */
int kept_is_as_at_start_of_load(void);

#endif
