/* The classes that this adapter brings along, as the compiler wrote them. */
#ifndef CGIBRIDGE_JAVA_HELPERS_H
#define CGIBRIDGE_JAVA_HELPERS_H

#include <stddef.h>

/* bytes is NULL if no JDK was found when this library was built. */
struct helper {
  const char *name; /* "cgibridge/Rehearsal" */
  const signed char *bytes;
  size_t count;
};
struct helper helper_rehearsal(void), helper_closure(void);

#endif
