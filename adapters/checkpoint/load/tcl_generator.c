/* Tcl's generator is its own, so no call of libc's shows that a request seeds it. But whoever makes
 * an interpreter calls Tcl_Init(), as libtcl does for those that a script makes; then its srand()
 * is exchanged, by libtcl's own functions for that, for one that notes it and goes on to Tcl's. No
 * script can see the difference. (Tcl itself asks for its process id only where a script does.) */
#include <stddef.h>
#include <stdint.h>

#include "calls/passed_calls.h"
#include "checkpoint.h"
#include "load/generators.h"
#include "load/load_watch.h"

enum { kInfoWords = 32, kObjectProcAt = 1 }; /* Tcl_CmdInfo has 8, in Tcl 9 a few more */

typedef int command(void *data, void *interpreter, int count, void *const *words);
typedef int initialize(void *interpreter);
typedef int command_info(void *interpreter, const char *name, uintptr_t *info);

static command *real_srand;

static int noted_srand(void *data, void *interpreter, int count, void *const *words) {
  if (state.load.number_asked_by == state.request.id) seeds_made_of_number("srand");
  return real_srand(data, interpreter, count, words);
}

static void watch(void *interpreter) {
  static const char kName[] = "::tcl::mathfunc::srand";
  command_info *get = (command_info *)any_symbol("Tcl_GetCommandInfo");
  command_info *set = (command_info *)any_symbol("Tcl_SetCommandInfo");
  uintptr_t info[kInfoWords] = {0};
  if (get == NULL || set == NULL || get(interpreter, kName, info) == 0) return;
  command *found = (command *)info[kObjectProcAt];
  if (found == NULL || found == noted_srand || (real_srand != NULL && real_srand != found)) return;
  real_srand = found;
  info[kObjectProcAt] = (uintptr_t)noted_srand;
  set(interpreter, kName, info);
}

INTERPOSED int Tcl_Init(void *interpreter) {
  initialize *real = (initialize *)next_for_caller("Tcl_Init", __builtin_return_address(0));
  if (state.role != ROLE_NONE && state.reset == RESET_REWIND) watch(interpreter);
  return real(interpreter);
}
