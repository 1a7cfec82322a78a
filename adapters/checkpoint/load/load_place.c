/* Where a program is while it loads, in its language's own words: to say who did something. Nothing
 * that a garbage collector manages may be allocated here: the caller may be the collector. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "raw_call.h"
#include "rewind/engine.h"

/* Perl's own words for its position: " at FILE line N." */
static int perl_place(char *place, size_t bytes) {
  pthread_key_t *key = dlsym(RTLD_DEFAULT, "PL_thr_key");
  void *(*mess)(void *, const char *, ...) =
      (void *(*)(void *, const char *, ...))dlsym(RTLD_DEFAULT, "Perl_mess");
  char *(*text_of)(void *, void *, size_t *, unsigned) =
      (char *(*)(void *, void *, size_t *, unsigned))dlsym(RTLD_DEFAULT, "Perl_sv_2pv_flags");
  void *perl = key != NULL ? pthread_getspecific(*key) : NULL;
  if (perl == NULL || mess == NULL || text_of == NULL) return 0;
  size_t length = 0;
  const char *text = text_of(perl, mess(perl, "%s", ""), &length, 0);
  if (text == NULL || length < 2) return 0;
  snprintf(place, bytes, ",%.*s", (int)(length - 2), text);
  return 1;
}

int load_place_read(const void *from, void *to, size_t bytes) {
  struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)from, bytes};
  return raw_call(SYS_process_vm_readv, state.pid, &here, 1, &there, 1, 0) == (long)bytes;
}

/* The operation that perl is at is the second word of its state, in a perl with threads; in an
 * operation its function comes third, and then, after one more word, nine bits with its number.
 * Both are compared with perl's own tables: elsewhere nothing is known. */
int load_place_asks_age(void) {
  static const char *const kNames[] = {"ftmtime", "ftatime", "ftctime"};
  enum { kFunctionAt = 2, kNumberAt = 4, kNumbers = 512, kPerlOperations = 380 };
  const uintptr_t *op, *words[2];
  uintptr_t parts[kNumberAt + 1];
  if (!state.load.is_on || state.level == LEVEL_LINKED) return 0;
  pthread_key_t *key = dlsym(RTLD_DEFAULT, "PL_thr_key");
  const char *const *names = dlsym(RTLD_DEFAULT, "PL_op_name");
  const uintptr_t *functions = dlsym(RTLD_DEFAULT, "PL_ppaddr");
  const void *perl = key != NULL ? pthread_getspecific(*key) : NULL;
  if (perl == NULL || names == NULL || functions == NULL) return 0;
  if (!load_place_read(perl, words, sizeof words) || (op = words[1]) == NULL) return 0;
  if (!load_place_read(op, parts, sizeof parts)) return 0;
  unsigned number = (unsigned)(parts[kNumberAt] % kNumbers);
  if (number >= kPerlOperations || functions[number] != parts[kFunctionAt]) return 0;
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    if (strcmp(names[number], kNames[i]) == 0) return 1;
  }
  return 0;
}

enum { kFramesMax = 256, kLeastObject = 4096 }; /* nil is less in all versions of Ruby */

/* The innermost file that is being loaded, and its line: what a library's function does counts as
 * done by the file that calls it there. libruby has functions for profilers that list frames
 * without allocating. A frame's label is made by C code, and so ends with a NUL. */
static int ruby_place(char *place, size_t bytes) {
  int (*frames_of)(int, int, uintptr_t *, int *) =
      (int (*)(int, int, uintptr_t *, int *))dlsym(RTLD_DEFAULT, "rb_profile_frames");
  typedef uintptr_t part_of_frame(uintptr_t);
  part_of_frame *label_of = (part_of_frame *)dlsym(RTLD_DEFAULT, "rb_profile_frame_label");
  part_of_frame *path_of = (part_of_frame *)dlsym(RTLD_DEFAULT, "rb_profile_frame_path");
  char *(*text_of)(uintptr_t *) =
      (char *(*)(uintptr_t *))dlsym(RTLD_DEFAULT, "rb_string_value_ptr");
  if (frames_of == NULL || label_of == NULL || path_of == NULL || text_of == NULL) return 0;
  if (raw_call(SYS_gettid) != state.pid) return 0; /* perhaps not a thread of Ruby's */
  uintptr_t frames[kFramesMax];
  int lines[kFramesMax], count = frames_of(0, kFramesMax, frames, lines), top = 0;
  for (; top < count; ++top) {
    uintptr_t label = label_of(frames[top]);
    if (label >= kLeastObject && strcmp(text_of(&label), "<top (required)>") == 0) break;
  }
  if (top >= count) return 0;
  /* The line is that of the file's innermost frame, which may be in a class's body. */
  uintptr_t file = path_of(frames[top]);
  for (int i = 0; i <= top; ++i) {
    uintptr_t path = label_of(frames[i]) >= kLeastObject ? path_of(frames[i]) : 0;
    if (path < kLeastObject || strcmp(text_of(&path), text_of(&file)) != 0) continue;
    snprintf(place, bytes, ", at %s line %d", text_of(&file), lines[i]);
    break;
  }
  return 1;
}

/* Before main() no language runs, and the program's own malloc() may be what is noted: looking for
 * a language would call it again. */
int load_place(char *place, size_t bytes) {
  if (program_is_go()) return go_place(place, bytes);
  if (state.level == LEVEL_LINKED) return 0;
  return perl_place(place, bytes) || ruby_place(place, bytes);
}
