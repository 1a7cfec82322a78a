/* See main_guard.h. The launcher calls main() by a function of the environment's table, which the
 * tool interface lets be replaced ("JNI Function Interception"). */
#include "main_guard.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

static java_table guarded_tools;
static const void **functions; /* the machine's own; a copy */
static void (*when_skipped)(void);

typedef void call_static_void_v(java_table, java_object class, java_member, va_list);

static int is_main(java_member method) {
  char *name = NULL;
  VM_FUNCTION(tool_get_method_name, guarded_tools, TOOL_GET_METHOD_NAME)
  (guarded_tools, method, &name, NULL, NULL);
  int is = name != NULL && strcmp(name, "main") == 0;
  if (name != NULL)
    VM_FUNCTION(tool_deallocate, guarded_tools, TOOL_DEALLOCATE)(guarded_tools, name);
  return is;
}

static void call_static_void(java_table env, java_object class, java_member method, ...) {
  va_list arguments;
  if (is_main(method)) when_skipped();
  va_start(arguments, method);
  ((call_static_void_v *)(uintptr_t)functions[JNI_CALL_STATIC_VOID_METHOD_V])(env, class, method,
                                                                              arguments);
  va_end(arguments);
}

static int set_functions(const void *const *table) {
  return VM_FUNCTION(tool_set_jni_function_table, guarded_tools, TOOL_SET_JNI_FUNCTION_TABLE)(
      guarded_tools, table);
}

int main_guard_set(java_table tools, void (*skipped)(void)) {
  const void **replaced = NULL;
  guarded_tools = tools;
  when_skipped = skipped;
  tool_get_jni_function_table *get =
      VM_FUNCTION(tool_get_jni_function_table, tools, TOOL_GET_JNI_FUNCTION_TABLE);
  if (get(tools, &functions) != 0 || get(tools, &replaced) != 0) return -1;
  replaced[JNI_CALL_STATIC_VOID_METHOD] = (const void *)(uintptr_t)call_static_void;
  return set_functions(replaced) == 0 ? 0 : -1;
}

void main_guard_lift(void) {
  if (functions != NULL) set_functions(functions);
}
