/* Whether vm.h has the places, types and numbers of a JDK's own headers. Compiled only. */
#include <jni.h>
#include <jvmti.h>
#include <stddef.h>

#include "vm.h"

#define PLACE(table, member) (offsetof(table, member) / sizeof(void *))
#define SAME(place, table, member) _Static_assert((place) == PLACE(table, member), #member)
#define EQUAL(number, other) _Static_assert((number) == (other), #number)

SAME(JNI_DEFINE_CLASS, struct JNINativeInterface_, DefineClass);
SAME(JNI_EXCEPTION_CLEAR, struct JNINativeInterface_, ExceptionClear);
SAME(JNI_GET_OBJECT_CLASS, struct JNINativeInterface_, GetObjectClass);
SAME(JNI_GET_METHOD_ID, struct JNINativeInterface_, GetMethodID);
SAME(JNI_CALL_VOID_METHOD_A, struct JNINativeInterface_, CallVoidMethodA);
SAME(JNI_GET_FIELD_ID, struct JNINativeInterface_, GetFieldID);
SAME(JNI_GET_INT_FIELD, struct JNINativeInterface_, GetIntField);
SAME(JNI_SET_LONG_FIELD, struct JNINativeInterface_, SetLongField);
SAME(JNI_GET_STATIC_METHOD_ID, struct JNINativeInterface_, GetStaticMethodID);
SAME(JNI_CALL_STATIC_VOID_METHOD, struct JNINativeInterface_, CallStaticVoidMethod);
SAME(JNI_CALL_STATIC_VOID_METHOD_V, struct JNINativeInterface_, CallStaticVoidMethodV);
SAME(JNI_CALL_STATIC_VOID_METHOD_A, struct JNINativeInterface_, CallStaticVoidMethodA);
SAME(JNI_GET_STATIC_FIELD_ID, struct JNINativeInterface_, GetStaticFieldID);
SAME(JNI_GET_STATIC_OBJECT_FIELD, struct JNINativeInterface_, GetStaticObjectField);
SAME(JNI_EXCEPTION_CHECK, struct JNINativeInterface_, ExceptionCheck);
SAME(VM_GET_ENV, struct JNIInvokeInterface_, GetEnv);
SAME(TOOL_SET_EVENT_NOTIFICATION_MODE, jvmtiInterface_1, SetEventNotificationMode);
SAME(TOOL_DEALLOCATE, jvmtiInterface_1, Deallocate);
SAME(TOOL_GET_CLASS_SIGNATURE, jvmtiInterface_1, GetClassSignature);
SAME(TOOL_GET_CLASS_STATUS, jvmtiInterface_1, GetClassStatus);
SAME(TOOL_GET_CLASS_LOADER, jvmtiInterface_1, GetClassLoader);
SAME(TOOL_GET_METHOD_NAME, jvmtiInterface_1, GetMethodName);
SAME(TOOL_SET_JNI_FUNCTION_TABLE, jvmtiInterface_1, SetJNIFunctionTable);
SAME(TOOL_GET_JNI_FUNCTION_TABLE, jvmtiInterface_1, GetJNIFunctionTable);
SAME(TOOL_GET_LOADED_CLASSES, jvmtiInterface_1, GetLoadedClasses);
SAME(TOOL_SET_EVENT_CALLBACKS, jvmtiInterface_1, SetEventCallbacks);
SAME(PLACE(struct tool_callbacks, vm_init), jvmtiEventCallbacks, VMInit);
SAME(PLACE(struct tool_callbacks, class_prepare), jvmtiEventCallbacks, ClassPrepare);
EQUAL(VM_VERSION_OF_TOOLS, JVMTI_VERSION_1_2);
EQUAL(TOOL_OFF, JVMTI_DISABLE);
EQUAL(TOOL_ON, JVMTI_ENABLE);
EQUAL(TOOL_CLASS_IS_INITIALIZED, JVMTI_CLASS_STATUS_INITIALIZED);
EQUAL(EVENT_VM_INIT, JVMTI_EVENT_VM_INIT);
EQUAL(EVENT_CLASS_PREPARE, JVMTI_EVENT_CLASS_PREPARE);
EQUAL(sizeof(union java_value), sizeof(jvalue));
EQUAL(sizeof(java_int), sizeof(jint));
EQUAL(sizeof(java_long), sizeof(jlong));
EQUAL(sizeof(signed char), sizeof(jbyte));
EQUAL(sizeof(unsigned char), sizeof(jboolean));
