/* Where a Ruby program stops at its checkpoint. No Ruby code can be put between Ruby's compiler and
 * the run of what it compiled, but the interpreter's main() calls two functions of libruby:
 * ruby_options(), which loads the -r libraries and compiles the script, and ruby_run_node(), which
 * runs it. So the adapter, itself a -r library, names the code that is to run in between.
 *
 * An interpreter that contains libruby does not call these, so this cannot be used there. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint.h"
#include "load/load_watch.h"
#include "raw_call.h"

int ruby_run_expect(const char *code) {
  if (!state.ruby_goes_by || strlen(code) >= sizeof state.ruby_code) return -1;
  strcpy(state.ruby_code, code);
  return 0;
}

static int was_compiled(void *node) {
  int (*executable)(void *, int *) =
      (int (*)(void *, int *))dlsym(RTLD_DEFAULT, "ruby_executable_node");
  int status = 0;
  return executable == NULL || executable(node, &status) != 0;
}

/* Returns in a worker, with its request: 0 if the script is to run, or the state with which Ruby is
 * to end, as after an exit or an error of the adapter's. No zygote may run the script. */
static int run_adapter(void) {
  typedef uintptr_t evaluate(const char *, int *);
  evaluate *eval = (evaluate *)dlsym(RTLD_DEFAULT, "rb_eval_string_protect");
  int failed = 0;
  if (eval != NULL) eval(state.ruby_code, &failed);
  ruby_generator_begin();
  if (state.role == ROLE_ZYGOTE) checkpoint_refuse("its adapter failed before the checkpoint");
  return failed;
}

static int end(int failed) {
  int (*cleanup)(int) = (int (*)(int))dlsym(RTLD_DEFAULT, "ruby_cleanup");
  if (cleanup == NULL) give_up(70);
  return cleanup(failed);
}

/* Ruby's last step but one: finalizers have run, files are closed. All that is left is to free
 * memory, which would take a rewinding worker longer to undo than all the rest. */
static void spare_the_rest(void *vm) {
  (void)vm;
  if (state.ruby_end != 0 && state.role == ROLE_ANSWERING && getpid() == state.pid) {
    exit(state.ruby_end - 1);
  }
}

INTERPOSED void *ruby_options(int argc, char **argv) {
  void *(*real)(int, char **) = (void *(*)(int, char **))dlsym(RTLD_NEXT, "ruby_options");
  void (*at_exit)(void (*)(void *)) =
      (void (*)(void (*)(void *)))dlsym(RTLD_DEFAULT, "ruby_vm_at_exit");
  if (real == NULL) give_up(70);
  state.ruby_goes_by = 1;
  /* The first of these functions is called last. */
  if (at_exit != NULL && state.role != ROLE_NONE) at_exit(spare_the_rest);
  return real(argc, argv);
}

INTERPOSED int ruby_run_node(void *node) {
  int (*real)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "ruby_run_node");
  /* Ruby's collector searches the stack for what is alive. */
  void *volatile compiled = node;
  if (real == NULL) give_up(70);
  int failed = state.ruby_code[0] != '\0' && was_compiled(node) ? run_adapter() : 0;
  return failed != 0 ? end(failed) : real(compiled);
}
