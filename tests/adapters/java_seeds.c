/* An agent that has the seeds of ThreadLocalRandom drawn before the program begins, as a virtual
 * machine may do by itself. */
#include <stddef.h>

#include "vm.h"

enum { JNI_FIND_CLASS = 6 };
typedef java_object jni_find_class(java_table, const char *name);

static void on_start(java_table tools, java_table env, java_object thread) {
  (void)tools;
  (void)thread;
  VM_FUNCTION(jni_find_class, env, JNI_FIND_CLASS)(env, "java/util/concurrent/ThreadLocalRandom");
}

java_int Agent_OnLoad(java_table machine, char *options, void *reserved) {
  (void)options;
  (void)reserved;
  static const struct tool_callbacks callbacks = {.vm_init = on_start};
  java_table tools = NULL;
  VM_FUNCTION(vm_get_env, machine, VM_GET_ENV)(machine, &tools, VM_VERSION_OF_TOOLS);
  VM_FUNCTION(tool_set_event_callbacks, tools, TOOL_SET_EVENT_CALLBACKS)
  (tools, &callbacks, sizeof callbacks);
  return VM_FUNCTION(tool_set_event_notification_mode, tools, TOOL_SET_EVENT_NOTIFICATION_MODE)(
      tools, TOOL_ON, EVENT_VM_INIT, NULL);
}
