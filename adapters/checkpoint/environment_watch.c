/* getenv(), watched until the checkpoint: a constructor or an interpreter's module that reads a
 * variable of the request there would freeze one request's answer into all others. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "checkpoint.h"

typedef char *getenv_function(const char *);

static getenv_function *real_getenv, *real_secure_getenv;

void environment_watch_begin(void) {
  real_getenv = (getenv_function *)dlsym(RTLD_NEXT, "getenv");
  real_secure_getenv = (getenv_function *)dlsym(RTLD_NEXT, "secure_getenv");
}

/* Variables that differ between two requests for one program. */
static int is_request_variable(const char *name) {
  static const char *const kWhole[] = {"QUERY_STRING", "PATH_INFO", "PATH_TRANSLATED",
                                       "AUTH_TYPE",    "HTTPS",     "DOCUMENT_URI",
                                       "UNIQUE_ID",    "SCRIPT_URI"};
  static const char *const kBegin[] = {"REQUEST_", "HTTP_", "REMOTE_", "CONTENT_", "REDIRECT_"};
  for (size_t i = 0; i < sizeof kWhole / sizeof *kWhole; ++i) {
    if (strcmp(name, kWhole[i]) == 0) return 1;
  }
  for (size_t i = 0; i < sizeof kBegin / sizeof *kBegin; ++i) {
    if (strncmp(name, kBegin[i], strlen(kBegin[i])) == 0) return 1;
  }
  return 0;
}

static void watch(const char *name) {
  if (state.role == ROLE_ZYGOTE && state.request_variable[0] == '\0' && is_request_variable(name)) {
    strncpy(state.request_variable, name, sizeof state.request_variable - 1);
  }
}

/* For calls that come before our constructor, from where dlsym() may not be called. */
static char *search(const char *name) {
  size_t length = strlen(name);
  for (char **entry = environ; entry != NULL && *entry != NULL; ++entry) {
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  }
  return NULL;
}

INTERPOSED char *getenv(const char *name) {
  watch(name);
  return real_getenv != NULL ? real_getenv(name) : search(name);
}

INTERPOSED char *secure_getenv(const char *name) {
  watch(name);
  if (real_secure_getenv != NULL) return real_secure_getenv(name);
  return getauxval(AT_SECURE) ? NULL : search(name);
}
