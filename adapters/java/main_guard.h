/* Makes sure that main() is not called before the checkpoint. */
#ifndef CGIBRIDGE_JAVA_MAIN_GUARD_H
#define CGIBRIDGE_JAVA_MAIN_GUARD_H

#include "vm.h"

/* The first class of the program may never come: main() may be the JDK's own, of a class without a
 * loader. From here on, until the guard is lifted, skipped() is called before any class's main();
 * it does not return. 0; or -1: the machine's functions cannot be replaced. */
int main_guard_set(java_table tools, void (*skipped)(void));
void main_guard_lift(void);

#endif
