/* Where main() is in a static executable linked with glibc, which has no name for it. */
#ifndef CGIBRIDGE_STATIC_MAIN_PLACE_H
#define CGIBRIDGE_STATIC_MAIN_PLACE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* code: the first bytes from the executable's first instruction on, which is at this address. The
 * address of main(), or 0: this is not glibc's beginning (sysdeps/x86_64/start.S, 2.17 to 2.42). */
uintptr_t main_place(const unsigned char *code, size_t bytes, uintptr_t address);

/* Whether nothing of the program itself runs before main(): it has no constructor except the
 * compiler's own. This is not known of an executable without a list of its sections. */
int has_no_constructors(int file, const Elf64_Ehdr *head);

#endif
