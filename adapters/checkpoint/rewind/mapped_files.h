/* Files of which a part was mapped at the checkpoint, privately and only to be read: such as a
 * locale's, which libc unmaps when the program chooses another locale. They are mapped again from
 * their paths. */
#ifndef CGIBRIDGE_MAPPED_FILES_H
#define CGIBRIDGE_MAPPED_FILES_H

#include <stdint.h>

struct mapping;

/* In the zygote, for each line of /proc/self/maps. What is more than the list can hold is not
 * remembered, and so not put back. */
void mapped_files_forget(void);
void mapped_file_note(const struct mapping *line, const char *path);

/* In a worker. Maps the file in [start, end) as `then` was, over what is there now. -1, with
 * nothing changed: it is of another kind, or its path leads to another file now, or to none. Raw
 * calls only. */
int mapped_file_put_back(const struct mapping *then, uintptr_t start, uintptr_t end);

#endif
