/* A request's strings: cwd, argv, environment. */
#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#include "checkpoint.h"
#include "raw_call.h"

static char **allocate_pointers(size_t count) {
  void *pages = mmap(NULL, count * sizeof(char *), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? NULL : pages;
}

/* Returns the text after count strings, or NULL if they do not fit. */
static char *list_strings(char *text, char *end, uint32_t count, char **list) {
  for (uint32_t i = 0; i < count; ++i) {
    char *stop = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;
    if (stop == NULL) return NULL;
    list[i] = text;
    text = stop + 1;
  }
  list[count] = NULL;
  return text;
}

/* Old programs look for it after the environment's end. */
static const unsigned long *auxiliary_vector;
static size_t auxiliary_words;
static char *random_bytes;

void request_remember_auxiliary_vector(char **envp) {
  while (*envp != NULL) ++envp;
  auxiliary_vector = (const unsigned long *)(envp + 1);
  auxiliary_words = 2; /* of each entry */
  for (const unsigned long *at = auxiliary_vector; *at != AT_NULL; at += 2, auxiliary_words += 2) {
    if (*at == AT_RANDOM) random_bytes = (char *)at[1];
  }
}

/* What the kernel has drawn for a process at its start, from which programs seed generators: drawn
 * anew for each request. libc keeps what it has made of it. (static/enter.c draws for static ones.)
 */
static int renew_random(void) {
  enum { kRandomBytes = 16 };
  if (random_bytes == NULL || program_is_static()) return 0;
  return raw_call(SYS_getrandom, random_bytes, kRandomBytes, 0) == kRandomBytes ? 0 : -1;
}

const unsigned long *request_auxiliary_vector(size_t *words) {
  *words = auxiliary_words;
  return auxiliary_vector;
}

int request_parse(struct request *request, const struct message_request *head, char *text,
                  char **pointers, size_t pointers_max) {
  char *end = text + head->strings_bytes;
  if ((uint64_t)head->argc + head->envc > head->strings_bytes) return -1;
  size_t wanted = (size_t)head->argc + head->envc + 2 + auxiliary_words;
  if (wanted > pointers_max) pointers = allocate_pointers(wanted);
  if (pointers == NULL) return -1;
  char *cwd[2];
  request->id = head->request_id;
  request->argc = head->argc;
  request->envc = head->envc;
  request->argv = pointers;
  request->envp = pointers + head->argc + 1;
  request->argv_text = list_strings(text, end, 1, cwd);
  if (request->argv_text == NULL) return -1;
  request->cwd = cwd[0];
  request->env_text = list_strings(request->argv_text, end, head->argc, request->argv);
  if (request->env_text == NULL) return -1;
  if (list_strings(request->env_text, end, head->envc, request->envp) != end) return -1;
  if (auxiliary_words == 0 || renew_random() != 0) return -1;
  memcpy(request->envp + head->envc + 1, auxiliary_vector,
         auxiliary_words * sizeof *auxiliary_vector);
  request->argv_bytes = (size_t)(request->env_text - request->argv_text);
  request->env_bytes = (size_t)(end - request->env_text);
  return 0;
}
