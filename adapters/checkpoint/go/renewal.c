/* What each request's process has of its own in a Go program: variables, random numbers. */
#include <string.h>
#include <time.h>

#include "raw_call.h"
#include "rewind/engine.h"
#include "rewind/parked_threads.h"
#include "static/traps.h"

#if defined(__x86_64__)

struct go_string {
  const char *text;
  size_t length;
};
struct go_slice {
  struct go_string *first;
  size_t length, capacity;
};

/* ---- time ---- */

static int64_t now_ns(void) {
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* It must say that the process began a moment ago; otherwise it is something else. */
static void check_start_time(void) {
  const int64_t kAge = 600000000000;
  struct go_program *go = &state.executable.go;
  uintptr_t place = go->places.start_time;
  int64_t start = 0;
  int is_data = 0;
  for (size_t i = 0; i < go->data_count; ++i) {
    is_data |= go->data[i].start <= place && place + sizeof start <= go->data[i].end;
  }
  if (is_data) memcpy(&start, (const char *)place, sizeof start);
  if (start > now_ns() || start <= now_ns() - kAge) go->places.start_time = 0;
}

static void renew_start_time(void) {
  int64_t start = now_ns() - 1; /* as package time has it, so that it is never 0 */
  uintptr_t place = state.executable.go.places.start_time;
  if (place != 0) memcpy((char *)place, &start, sizeof start);
}

/* ---- where its variables are ---- */

enum { kVariablesMax = 1024 };

/* The runtime has copied each string. */
static int is_variable(const struct go_string *string, const char *variable) {
  char text[512];
  size_t length = strlen(variable);
  if (string->length != length) return 0;
  for (size_t done = 0; done < length;) {
    size_t piece = length - done < sizeof text ? length - done : sizeof text;
    if (copy_in(text, (long)(string->text + done), piece) != 0) return 0;
    if (memcmp(text, variable + done, piece) != 0) return 0;
    done += piece;
  }
  return 1;
}

static int is_list_of_variables(const struct go_slice *slice, size_t count) {
  if (slice->length != count || slice->capacity < count || slice->capacity > 2 * count + 64)
    return 0;
  for (size_t i = 0; i < count; ++i) {
    struct go_string string;
    if (copy_in(&string, (long)&slice->first[i], sizeof string) != 0) return 0;
    if (!is_variable(&string, state.executable.go.envp[i])) return 0;
  }
  return 1;
}

/* One is the runtime's, one the standard library's, if it is linked at all. */
int go_renewal_find(void) {
  struct go_program *go = &state.executable.go;
  size_t count = count_of_strings(go->envp);
  check_start_time();
  if (count == 0) return -1;
  for (size_t i = 0; i < go->data_count; ++i) {
    uintptr_t at = (go->data[i].start + 7) & ~(uintptr_t)7;
    for (; at + sizeof(struct go_slice) <= go->data[i].end; at += sizeof(uintptr_t)) {
      if (!is_list_of_variables((const struct go_slice *)at, count)) continue;
      if (go->variable_list_count == kGoListsMax) return -1;
      go->variable_lists[go->variable_list_count++] = at;
    }
  }
  return go->variable_list_count > 0 ? 0 : -1;
}

/* ---- variables ---- */

static struct go_string variables[kVariablesMax];

static int renew_variables(const struct request *request) {
  const struct go_program *go = &state.executable.go;
  if (request->envc > kVariablesMax) return -1;
  for (uint32_t i = 0; i < request->envc; ++i) {
    variables[i] = (struct go_string){request->envp[i], strlen(request->envp[i])};
  }
  const struct go_slice slice = {variables, request->envc, request->envc};
  for (size_t i = 0; i < go->variable_list_count; ++i) {
    memcpy((char *)go->variable_lists[i], &slice, sizeof slice);
  }
  return 0;
}

/* ---- random numbers ---- */

/* chacha8rand.State: words that were made, a seed, and three counters; with all of them 0, the next
 * number makes new words from the seed. */
enum { kSeedBytes = 32, kCountersBytes = 12 };

/* What is drawn for one state and one word. */
struct drawn {
  char seed[kSeedBytes];
  uint64_t word;
};

static void renew_state(uintptr_t place, const struct drawn *drawn) {
  memcpy((char *)place + kStateSeed, drawn->seed, kSeedBytes);
  memset((char *)place + kStateSeed + kSeedBytes, 0, kCountersBytes);
}

static int renew_random(void) {
  const struct go_program *go = &state.executable.go;
  const struct go_places *places = &go->places;
  struct drawn drawn[kGoThreadsMax + 1];
  long bytes = (long)((go->thread_count + 1) * sizeof *drawn);
  if (raw_call(SYS_getrandom, drawn, bytes, 0) != bytes) return -1;
  if (places->common_state != 0) renew_state(places->common_state, &drawn[go->thread_count]);
  for (size_t i = 0; i < go->thread_count; ++i) {
    if (places->thread_state != 0) renew_state(go->threads[i] + places->thread_state, &drawn[i]);
    memcpy((char *)go->threads[i] + places->thread_word, &drawn[i].word, sizeof drawn[i].word);
  }
  return 0;
}

static int read_word(uintptr_t place, uintptr_t *word) {
  return copy_in(word, (long)place, sizeof *word) == 0 && *word != 0 ? 0 : -1;
}

/* Below the thread pointer is the executable's own memory of the thread, and in it the thread's g,
 * which says which m runs it; an m begins with its own g, of which it is the m. */
static int find_thread(uintptr_t block, uintptr_t expected) {
  struct go_program *go = &state.executable.go;
  uintptr_t g, m, own, back;
  if (go->thread_count == kGoThreadsMax) return -1;
  if (read_word(block - go->goroutine_at, &g) != 0 || (expected != 0 && g != expected)) return -1;
  if (read_word(g + kThreadAt, &m) != 0 || read_word(m, &own) != 0) return -1;
  if (read_word(own + kThreadAt, &back) != 0 || back != m) return -1;
  go->threads[go->thread_count++] = m;
  return 0;
}

/* How far below the block the one word with this value is; 0 if there is none, or more than one. */
static size_t find_goroutine(uintptr_t block, uintptr_t g) {
  size_t found = 0, count = 0;
  for (size_t at = sizeof g; at <= state.executable.go.thread_bytes; at += sizeof g) {
    uintptr_t word = 0;
    if (read_word(block - at, &word) != 0 || word != g) continue;
    found = at;
    ++count;
  }
  return count == 1 ? found : 0;
}

int go_renewal_find_threads(void) {
  struct go_program *go = &state.executable.go;
  uintptr_t g = (uintptr_t)go->context->uc_mcontext.gregs[REG_R14];
  uintptr_t block = state.executable.theirs.block;
  go->thread_count = 0;
  go->goroutine_at = program_is_static() ? sizeof g : find_goroutine(block, g);
  if (go->goroutine_at == 0) return -1;
  if (find_thread(block, g) != 0) return -1;
  for (size_t i = 0; i < parked_threads.count; ++i) {
    if (find_thread(parked_threads.list[i].block, 0) != 0) return -1;
  }
  return 0;
}

/* ---- all of it ---- */

static int has_words_of_launch(const struct request *request) {
  const struct go_program *go = &state.executable.go;
  if (request->argc != (uint32_t)go->argc) return 0;
  for (int i = 0; i < go->argc; ++i) {
    if (strcmp(request->argv[i], go->argv[i]) != 0) return 0;
  }
  return 1;
}

int go_renew(void) {
  const struct request *request = &state.request;
  if (!has_words_of_launch(request) || renew_variables(request) != 0) return -1;
  renew_start_time();
  return renew_random();
}

#else

int go_renewal_find_threads(void) {
  return 0;
}

#endif
