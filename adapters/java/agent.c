/* Java at `booted`: stops a virtual machine before the first class of the program is initialized.
 *
 * The bridge names this library on the command line (-agentpath). When the machine has started, it
 * rehearses what most programs begin with (Rehearsal.java); when the first class that is not the
 * JDK's is about to be used, those that it leads to are loaded (Closure.java), and the process is
 * at its checkpoint. Where the source launcher compiles the program, that is its first compiled
 * class. Everything of the program runs in the request.
 *
 * README.md has what a request gets anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "helpers.h"
#include "main_guard.h"
#include "renewal.h"
#include "vm.h"

enum { kCannotStart = 71 };

/* What the source launcher's classes are called, and what loads the program that it compiled. */
static const char kSourceLauncher[] = "Lcom/sun/tools/javac/launcher/";
static const char kLoaderOfSource[] = "MemoryClassLoader;";

static int is_source;
static int is_bare; /* a test leaves the helpers out */

/* ---- classes ---- */

static int ends_with(const char *text, const char *end) {
  size_t length = strlen(text), of_end = strlen(end);
  return length >= of_end && strcmp(text + length - of_end, end) == 0;
}

static java_object loader_of(java_table tools, java_object class) {
  java_object loader = NULL;
  VM_FUNCTION(tool_get_class_loader, tools, TOOL_GET_CLASS_LOADER)(tools, class, &loader);
  return loader;
}

enum whose { WHOSE_JDK, WHOSE_PROGRAM, WHOSE_SOURCE };

/* The JDK's own classes have no loader, or one for the platform; those of its tools have the
 * program's. */
static enum whose whose_class(java_table tools, java_table env, java_object class) {
  java_object loader = loader_of(tools, class);
  if (loader == NULL) return WHOSE_JDK;
  java_object of_loader = VM_FUNCTION(jni_get_object_class, env, JNI_GET_OBJECT_CLASS)(env, loader);
  char *name = signature_of(tools, of_loader);
  enum whose whose = WHOSE_PROGRAM;
  if (ends_with(name, "$PlatformClassLoader;") || ends_with(name, "$ExtClassLoader;"))
    whose = WHOSE_JDK;
  if (ends_with(name, kLoaderOfSource)) whose = WHOSE_SOURCE;
  signature_free(tools, name);
  return whose;
}

static int is_of_source_launcher(java_table tools, java_object class) {
  char *name = signature_of(tools, class);
  int is_launcher = strncmp(name, kSourceLauncher, sizeof kSourceLauncher - 1) == 0;
  signature_free(tools, name);
  return is_launcher;
}

/* Another agent, or a class loader that the operator names, has run already. */
static int has_run_code(java_table tools, java_table env) {
  struct classes classes = classes_loaded(tools);
  int found = 0;
  for (java_int i = 0; i < classes.count && !found; ++i)
    found = whose_class(tools, env, classes.list[i]) != WHOSE_JDK;
  classes_free(tools, &classes);
  return found;
}

/* ---- Java's part ---- */

/* Defines a class of this library's, and calls its static method with at most one argument. If it
 * has none, or does not bring it along, a request takes longer. */
static void call_helper(java_table env, struct helper helper, const char *method, const char *type,
                        java_object argument) {
  if (helper.bytes == NULL || is_bare) return;
  java_object class = VM_FUNCTION(jni_define_class, env, JNI_DEFINE_CLASS)(
      env, helper.name, NULL, helper.bytes, (java_int)helper.count);
  const union java_value arguments = {.l = argument};
  java_member found = NULL;
  if (class != NULL)
    found = VM_FUNCTION(jni_get_id, env, JNI_GET_STATIC_METHOD_ID)(env, class, method, type);
  if (found != NULL) VM_FUNCTION(jni_call_void_method_a, env, JNI_CALL_STATIC_VOID_METHOD_A)
  (env, class, found, &arguments);
  VM_FUNCTION(jni_exception_clear, env, JNI_EXCEPTION_CLEAR)(env);
}

/* ---- the checkpoint ---- */

/* In a zygote it does not return. */
static void note_shallower(const char *why) {
  char what[kPathMax], answer[kAnswerMax];
  snprintf(what, sizeof what, "note/shallower/%s", why);
  call_library(what, answer, sizeof answer);
  _exit(kCannotStart);
}

static void watch(java_table tools, int on) {
  VM_FUNCTION(tool_set_event_notification_mode, tools, TOOL_SET_EVENT_NOTIFICATION_MODE)
  (tools, on, EVENT_CLASS_PREPARE, NULL);
}

static void stand(java_table tools, java_table env, java_object thread, java_object class) {
  char answer[kAnswerMax];
  watch(tools, TOOL_OFF);
  main_guard_lift();
  call_helper(env, helper_closure(), "load", "(Ljava/lang/Class;)V", class);
  const char *drawn = renewal_prepare(tools, env, thread);
  if (drawn != NULL) note_shallower(drawn);
  if (call_library("checkpoint/booted", answer, sizeof answer) < 0) _exit(kCannotStart);
  const char *differs = launch_differs();
  if (differs != NULL) {
    char anew[kAnswerMax];
    snprintf(anew, sizeof anew, "anew/%s", differs);
    call_library(anew, answer, sizeof answer);
    _exit(kCannotStart);
  }
  call_library("environ/set", answer, sizeof answer);
  if (renewal_of_request(env) != 0) _exit(kCannotStart); /* rather than share seeds */
  call_library("script", answer, sizeof answer);
}

static void on_prepare(java_table tools, java_table env, java_object thread, java_object class) {
  enum whose whose = whose_class(tools, env, class);
  if (whose == WHOSE_JDK) return;
  if (!is_source && is_of_source_launcher(tools, class)) {
    is_source = 1;
    main_guard_lift(); /* its main() compiles the program, and calls it by other means */
  }
  if (!is_source || whose == WHOSE_SOURCE) stand(tools, env, thread, class);
}

/* ---- the start ---- */

static void main_is_the_jdks(void) {
  note_shallower("its main class is the JDK's own");
}

static void on_start(java_table tools, java_table env, java_object thread) {
  (void)thread;
  if (has_run_code(tools, env)) {
    note_shallower("another agent, or a class loader of its own, runs before the program");
  }
  call_helper(env, helper_rehearsal(), "run", "()V", NULL);
  if (main_guard_set(tools, main_is_the_jdks) != 0)
    note_shallower("the virtual machine's functions cannot be replaced");
  watch(tools, TOOL_ON);
}

/* The machine calls it when it starts, in the thread that will run main(). options: "bare", or
 * nothing. */
__attribute__((visibility("default"))) java_int Agent_OnLoad(java_table machine, char *options,
                                                             void *reserved) {
  (void)reserved;
  static const struct tool_callbacks callbacks = {.vm_init = on_start, .class_prepare = on_prepare};
  java_table tools = NULL;
  if (call_open() != 0) {
    if (getenv("REQUEST_METHOD") == NULL) _exit(kCannotStart);
    return 0;
  }
  char answer[kAnswerMax];
  call_library("own-threads", answer, sizeof answer);
  launch_remember();
  is_bare = options != NULL && strcmp(options, "bare") == 0;
  if (VM_FUNCTION(vm_get_env, machine, VM_GET_ENV)(machine, &tools, VM_VERSION_OF_TOOLS) != 0 ||
      VM_FUNCTION(tool_set_event_callbacks, tools, TOOL_SET_EVENT_CALLBACKS)(
          tools, &callbacks, sizeof callbacks) != 0 ||
      VM_FUNCTION(tool_set_event_notification_mode, tools, TOOL_SET_EVENT_NOTIFICATION_MODE)(
          tools, TOOL_ON, EVENT_VM_INIT, NULL) != 0) {
    note_shallower("this virtual machine has no tool interface 1.2");
  }
  return 0;
}
