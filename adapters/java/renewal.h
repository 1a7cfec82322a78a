/* What a request gets anew from a virtual machine that was started before it. */
#ifndef CGIBRIDGE_JAVA_RENEWAL_H
#define CGIBRIDGE_JAVA_RENEWAL_H

#include "vm.h"

/* All classes that are loaded; to be freed. Empty if they cannot be listed. */
struct classes {
  java_object *list;
  java_int count;
};
struct classes classes_loaded(java_table tools);
void classes_free(java_table tools, struct classes *classes);

/* "Ljava/lang/String;"; empty if it has none. To be freed. */
char *signature_of(java_table tools, java_object class);
void signature_free(java_table tools, char *signature);

/* In the zygote, at its checkpoint, in its first thread: NULL; or what the virtual machine has
 * already asked for that is each request's own, in words. Remembers where the generators are that
 * have their seeds. */
const char *renewal_prepare(java_table tools, java_table env, java_object thread);
/* In a worker: new seeds; 0, or -1: none could be drawn. */
int renewal_of_request(java_table env);

#endif
