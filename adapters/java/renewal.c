/* See renewal.h. */
#include "renewal.h"

#include <stdio.h>
#include <string.h>

#include "call.h"

/* Classes of the JDK that ask for something of the process, or draw, when they are initialized, and
 * keep it. */
static const struct {
  const char *signature, *does;
} kAsking[] = {
    {"Ljava/io/File$TempDirectory;", "draws random numbers"},
    {"Ljava/lang/Math$RandomNumberGeneratorHolder;", "draws random numbers"},
    {"Ljava/lang/ProcessEnvironment;", "asks for all variables"},
    {"Ljava/lang/ProcessHandleImpl;", "asks for the process's number"},
    {"Ljava/lang/StrictMath$RandomNumberGeneratorHolder;", "draws random numbers"},
    {"Ljava/nio/file/TempFileHelper;", "draws random numbers"},
    {"Ljava/security/SecureRandom;", "draws random numbers"},
    {"Ljava/util/SplittableRandom;", "draws random numbers"},
    {"Ljava/util/UUID$Holder;", "draws random numbers"},
};

/* java.util.concurrent.ThreadLocalRandom, if it has its seed: the machine itself uses it. */
static struct {
  java_object seeder; /* an AtomicLong; NULL: it has none yet */
  java_member set, seed_of_thread, probe_of_thread;
  java_object thread;
} drawn;

char *signature_of(java_table tools, java_object class) {
  static char none[1];
  char *signature = NULL;
  VM_FUNCTION(tool_get_class_signature, tools, TOOL_GET_CLASS_SIGNATURE)
  (tools, class, &signature, NULL);
  return signature != NULL ? signature : none;
}

void signature_free(java_table tools, char *signature) {
  if (*signature != '\0') VM_FUNCTION(tool_deallocate, tools, TOOL_DEALLOCATE)(tools, signature);
}

struct classes classes_loaded(java_table tools) {
  struct classes classes = {NULL, 0};
  VM_FUNCTION(tool_get_loaded_classes, tools, TOOL_GET_LOADED_CLASSES)
  (tools, &classes.count, &classes.list);
  if (classes.list == NULL) classes.count = 0;
  return classes;
}

void classes_free(java_table tools, struct classes *classes) {
  if (classes->list != NULL)
    VM_FUNCTION(tool_deallocate, tools, TOOL_DEALLOCATE)(tools, classes->list);
}

static int is_initialized(java_table tools, java_object class) {
  java_int status = 0;
  VM_FUNCTION(tool_get_class_status, tools, TOOL_GET_CLASS_STATUS)(tools, class, &status);
  return (status & TOOL_CLASS_IS_INITIALIZED) != 0;
}

/* ---- generators ---- */

static int has_failed(java_table env) {
  int failed = VM_FUNCTION(jni_exception_check, env, JNI_EXCEPTION_CHECK)(env);
  if (failed) VM_FUNCTION(jni_exception_clear, env, JNI_EXCEPTION_CLEAR)(env);
  return failed;
}

static java_member find(java_table env, enum jni_place place, java_object class, const char *name,
                        const char *type) {
  if (class == NULL) return NULL;
  java_member found = VM_FUNCTION(jni_get_id, env, place)(env, class, name, type);
  return has_failed(env) ? NULL : found;
}

/* 0; or -1: it is built otherwise. */
static int find_generator(java_table env, java_object class, java_object thread) {
  java_member seeder = find(env, JNI_GET_STATIC_FIELD_ID, class, "seeder",
                            "Ljava/util/concurrent/atomic/AtomicLong;");
  if (seeder == NULL) return -1;
  jni_get_object_class *class_of = VM_FUNCTION(jni_get_object_class, env, JNI_GET_OBJECT_CLASS);
  drawn.seeder = VM_FUNCTION(jni_get_static_object_field, env, JNI_GET_STATIC_OBJECT_FIELD)(
      env, class, seeder);
  if (drawn.seeder == NULL) return -1;
  drawn.thread = thread;
  java_object of_thread = class_of(env, thread);
  drawn.set = find(env, JNI_GET_METHOD_ID, class_of(env, drawn.seeder), "set", "(J)V");
  drawn.seed_of_thread = find(env, JNI_GET_FIELD_ID, of_thread, "threadLocalRandomSeed", "J");
  drawn.probe_of_thread = find(env, JNI_GET_FIELD_ID, of_thread, "threadLocalRandomProbe", "I");
  return drawn.set != NULL && drawn.seed_of_thread != NULL && drawn.probe_of_thread != NULL ? 0
                                                                                            : -1;
}

static const char *what_it_does(const char *signature) {
  for (size_t i = 0; i < sizeof kAsking / sizeof *kAsking; ++i) {
    if (strcmp(signature, kAsking[i].signature) == 0) return kAsking[i].does;
  }
  return NULL;
}

const char *renewal_prepare(java_table tools, java_table env, java_object thread) {
  static char why[256];
  struct classes classes = classes_loaded(tools);
  for (java_int i = 0; i < classes.count && why[0] == '\0'; ++i) {
    java_object class = classes.list[i];
    char *signature = signature_of(tools, class);
    const char *does = what_it_does(signature);
    int is_generator = strcmp(signature, "Ljava/util/concurrent/ThreadLocalRandom;") == 0;
    if (does != NULL && is_initialized(tools, class)) {
      snprintf(why, sizeof why, "the virtual machine %s (%.100s)", does, signature);
    } else if (is_generator && is_initialized(tools, class) &&
               find_generator(env, class, thread) != 0) {
      snprintf(why, sizeof why, "the generator of each thread has an unknown form");
    }
    signature_free(tools, signature);
  }
  classes_free(tools, &classes);
  return why[0] != '\0' ? why : NULL;
}

/* A thread whose probe is 0 has no seed, and takes its first one from the seeder. */
int renewal_of_request(java_table env) {
  char answer[kAnswerMax];
  union java_value seeds[2];
  if (drawn.seeder == NULL) return 0;
  if (call_library("random", answer, sizeof answer) != sizeof seeds) return -1;
  memcpy(seeds, answer, sizeof seeds);
  VM_FUNCTION(jni_call_void_method_a, env, JNI_CALL_VOID_METHOD_A)
  (env, drawn.seeder, drawn.set, &seeds[0]);
  if (VM_FUNCTION(jni_get_int_field, env, JNI_GET_INT_FIELD)(env, drawn.thread,
                                                             drawn.probe_of_thread) != 0) {
    VM_FUNCTION(jni_set_long_field, env, JNI_SET_LONG_FIELD)
    (env, drawn.thread, drawn.seed_of_thread, seeds[1].j);
  }
  return 0;
}
