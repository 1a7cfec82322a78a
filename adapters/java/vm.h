/* What this adapter needs of the interfaces that every Java virtual machine has: their tables of
 * functions, whose places are part of the specifications, so that no JDK is needed to build it.
 * Sources: "Java Native Interface Specification", chapter 4 (its "Linkage" gives the index of each
 * function), and "JVM Tool Interface" 1.2 (its numbers begin with 1, and its events with 50).
 * tests/adapters/java_vm.c compares all of it with a JDK's own jni.h and jvmti.h. */
#ifndef CGIBRIDGE_JAVA_VM_H
#define CGIBRIDGE_JAVA_VM_H

#include <stdint.h>

/* A reference to a Java object, valid in the native function that got it; NULL is null. */
typedef void *java_object;
typedef void *java_member; /* of a field or a method */
typedef int32_t java_int;
typedef int64_t java_long;

/* The environment of a thread, the machine, and its tool interface each begin with a pointer to
 * their table. */
typedef const void *const *const *java_table;

/* The function at this place of a table, as a pointer of type `type *`. */
#define VM_FUNCTION(type, table, place) ((type *)(uintptr_t)(*(table))[place])

/* Of a thread's environment. None of these may be called while an exception is pending, except
 * jni_exception_clear and jni_exception_check. */
enum jni_place {
  JNI_DEFINE_CLASS = 5,
  JNI_EXCEPTION_CLEAR = 17,
  JNI_GET_OBJECT_CLASS = 31,
  JNI_GET_METHOD_ID = 33,
  JNI_CALL_VOID_METHOD_A = 63,
  JNI_GET_FIELD_ID = 94,
  JNI_GET_INT_FIELD = 100,
  JNI_SET_LONG_FIELD = 110,
  JNI_GET_STATIC_METHOD_ID = 113,
  JNI_CALL_STATIC_VOID_METHOD = 141,
  JNI_CALL_STATIC_VOID_METHOD_V = 142,
  JNI_CALL_STATIC_VOID_METHOD_A = 143,
  JNI_GET_STATIC_FIELD_ID = 144,
  JNI_GET_STATIC_OBJECT_FIELD = 145,
  JNI_EXCEPTION_CHECK = 228
};

union java_value { /* jvalue */
  java_int i;
  java_long j;
  java_object l;
};

typedef java_object jni_define_class(java_table, const char *name, java_object loader,
                                     const signed char *bytes, java_int count);
typedef void jni_exception_clear(java_table);
typedef unsigned char jni_exception_check(java_table);
typedef java_object jni_get_object_class(java_table, java_object);
typedef java_member jni_get_id(java_table, java_object class, const char *name, const char *type);
/* Of an object; or static, of a class. */
typedef void jni_call_void_method_a(java_table, java_object, java_member, const union java_value *);
typedef java_int jni_get_int_field(java_table, java_object, java_member);
typedef void jni_set_long_field(java_table, java_object, java_member, java_long);
typedef java_object jni_get_static_object_field(java_table, java_object class, java_member);

/* Of the machine. */
enum { VM_GET_ENV = 6, VM_VERSION_OF_TOOLS = 0x30010200 };
typedef java_int vm_get_env(java_table, java_table *found, java_int version);

/* Of the tool interface: each returns 0, or a number that says why not. A place is the function's
 * number in the specification, less one. */
enum tool_place {
  TOOL_SET_EVENT_NOTIFICATION_MODE = 1,
  TOOL_DEALLOCATE = 46,
  TOOL_GET_CLASS_SIGNATURE = 47,
  TOOL_GET_CLASS_STATUS = 48,
  TOOL_GET_CLASS_LOADER = 56,
  TOOL_GET_METHOD_NAME = 63,
  TOOL_GET_LOADED_CLASSES = 77,
  TOOL_SET_JNI_FUNCTION_TABLE = 119,
  TOOL_GET_JNI_FUNCTION_TABLE = 120,
  TOOL_SET_EVENT_CALLBACKS = 121
};
enum { TOOL_OFF = 0, TOOL_ON = 1, TOOL_CLASS_IS_INITIALIZED = 4 };
enum tool_event { EVENT_FIRST = 50, EVENT_VM_INIT = 50, EVENT_CLASS_PREPARE = 56 };

typedef int tool_set_event_notification_mode(java_table, int on, int event, java_object thread,
                                             ...);
typedef int tool_deallocate(java_table, void *memory);
typedef int tool_get_class_signature(java_table, java_object class, char **signature,
                                     char **generic);
typedef int tool_get_class_status(java_table, java_object class, java_int *status);
typedef int tool_get_class_loader(java_table, java_object class, java_object *loader);
typedef int tool_get_method_name(java_table, java_member, char **name, char **signature,
                                 char **generic);
/* The table is copied; a copy is given, to be freed. */
typedef int tool_set_jni_function_table(java_table, const void *const *table);
typedef int tool_get_jni_function_table(java_table, const void ***table);
typedef int tool_get_loaded_classes(java_table, java_int *count, java_object **classes);
typedef int tool_set_event_callbacks(java_table, const void *callbacks, java_int bytes);

/* Called in the thread in which the event happens. */
typedef void on_vm_init(java_table tools, java_table env, java_object thread);
typedef void on_class_prepare(java_table tools, java_table env, java_object thread,
                              java_object class);
/* As much of the table of callbacks as is used here. */
struct tool_callbacks {
  on_vm_init *vm_init;
  void *others[EVENT_CLASS_PREPARE - EVENT_FIRST - 1];
  on_class_prepare *class_prepare;
};

#endif
