/* See helpers.h. */
#include "helpers.h"

#ifdef CGIBRIDGE_HELPERS

/* The file's content, in this library. */
#define HELPER(name, file)                                                             \
  __asm__(".section .rodata\n.global " #name "_begin\n.hidden " #name "_begin\n" #name \
          "_begin:\n.incbin \"" CGIBRIDGE_HELPERS "/" file ".class\"\n.global " #name  \
          "_end\n.hidden " #name "_end\n" #name "_end:\n.previous\n");                 \
  extern const signed char name##_begin[] __attribute__((visibility("hidden")));       \
  extern const signed char name##_end[] __attribute__((visibility("hidden")));         \
  struct helper helper_##name(void) {                                                  \
    return (struct helper){file, name##_begin, (size_t)(name##_end - name##_begin)};   \
  }

#else

#define HELPER(name, file)                 \
  struct helper helper_##name(void) {      \
    return (struct helper){file, NULL, 0}; \
  }

#endif

HELPER(rehearsal, "cgibridge/Rehearsal")
HELPER(closure, "cgibridge/Closure")
