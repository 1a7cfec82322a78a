#include "go/places.h"

#include <string.h>

static const struct {
  const char *name;
  enum go_watched kind;
} kWatched[] = {
    {"main.main", GO_MAIN},
    {"syscall.Getenv", GO_VARIABLE},
    {"syscall.Environ", GO_VARIABLES},
    {"syscall.Setenv", GO_CHANGES_VARIABLES},
    {"syscall.Unsetenv", GO_CHANGES_VARIABLES},
    {"syscall.Clearenv", GO_CHANGES_VARIABLES},
    {"plugin.open", GO_PLUGIN},
    {"time.now", GO_TIME},
    {"runtime.nanotime", GO_TIME},
    {"syscall.gettimeofday", GO_TIME}, /* of the kernel's library, without a call */
    {"time.startTimer", GO_TIMER},
    {"time.newTimer", GO_TIMER},
    {"time.Sleep", GO_TIMER},
    {"internal/syscall/unix.GetRandom", GO_RANDOM},
    {"crypto/internal/sysrand.Read", GO_RANDOM},
    {"crypto/internal/sysrand.read", GO_RANDOM},
    {"math/rand.fastrand64", GO_RANDOM},
    {"math/rand.globalRand", GO_RANDOM},
    {"math/rand.(*runtimeSource).Int63", GO_RANDOM},
    {"math/rand.(*runtimeSource).Uint64", GO_RANDOM},
    {"math/rand/v2.runtimeSource.Uint64", GO_RANDOM},
    {"math/rand/v2.(*runtimeSource).Uint64", GO_RANDOM},
    /* hash/maphash, package os's names of temporary files, and packages that link to them. */
    {"runtime.rand", GO_RANDOM},
    {"runtime.randn", GO_RANDOM},
    {"runtime.cheaprand", GO_RANDOM},
    {"runtime.cheaprandn", GO_RANDOM},
    {"runtime.cheaprand64", GO_RANDOM},
    {"runtime.fastrand", GO_RANDOM},
    {"runtime.fastrandn", GO_RANDOM},
    {"runtime.fastrandu", GO_RANDOM},
    {"runtime.fastrand64", GO_RANDOM},
    {"runtime.vgetrandom", GO_RANDOM},
    {"os.fastrand", GO_RANDOM},
    {"net.fastrandu", GO_RANDOM},
};
_Static_assert(2 * sizeof kWatched / sizeof *kWatched <= kGoMarksMax, "there is room for all");

/* Of these, the ones that get three words of arguments or more. */
static const char *const kWithThreeWords[] = {
    "syscall.Setenv", "time.newTimer", "internal/syscall/unix.GetRandom",
    "crypto/internal/sysrand.Read", "crypto/internal/sysrand.read"};

static int has_three_words(const char *name) {
  for (size_t i = 0; i < sizeof kWithThreeWords / sizeof *kWithThreeWords; ++i) {
    if (strcmp(kWithThreeWords[i], name) == 0) return 1;
  }
  return 0;
}

/* Functions whose code is read. */
enum code {
  CODE_THREAD_RANDOM,
  CODE_COMMON_RANDOM,
  CODE_REFILL,
  CODE_OLD_RANDOM,
  CODE_RANDOM,
  CODE_NOW,
  CODES
};
static const char *const kCodes[CODES] = {[CODE_THREAD_RANDOM] = "runtime.mrandinit",
                                          [CODE_COMMON_RANDOM] = "runtime.bootstrapRand",
                                          [CODE_REFILL] = "internal/chacha8rand.(*State).Refill",
                                          [CODE_OLD_RANDOM] = "runtime.fastrand",
                                          [CODE_RANDOM] = "runtime.rand",
                                          [CODE_NOW] = "time.Now"};

/* Functions of programs that cannot be stopped: their code makes calls that are not seen. */
static const struct {
  const char *name, *reason;
} kRefused[] = {{"runtime.racecall", "it is built with -race"},
                {"runtime.msancall", "it is built with -msan"},
                {"runtime.asancall", "it is built with -asan"}};

/* What the runtime asks for the time of at the end of each collection, only these tell. */
static const char *const kTelling[] = {"runtime.ReadMemStats", "runtime/debug.readGCStats",
                                       "runtime/debug.WriteHeapDump"};

struct found {
  const char *refused;
  struct go_function known, jumped_to;
  struct go_function codes[CODES];
};

static void find_by_name(struct go_places *places, const struct go_known *known,
                         struct found *found) {
  for (size_t number = 0; number < places->table.count; ++number) {
    struct go_function function;
    if (go_table_function(&places->table, number, &function) != 0) continue;
    if (strcmp(known->name, function.name) == 0) found->known = function;
    if (strcmp(known->jumps_to, function.name) == 0) found->jumped_to = function;
    for (size_t i = 0; i < sizeof kRefused / sizeof *kRefused; ++i) {
      if (strcmp(kRefused[i].name, function.name) == 0) found->refused = kRefused[i].reason;
    }
    for (size_t i = 0; i < sizeof kWatched / sizeof *kWatched; ++i) {
      if (strcmp(kWatched[i].name, function.name) != 0) continue;
      if (places->mark_count == kGoMarksMax) {
        found->refused = "it has several functions of one name that would be watched";
        continue;
      }
      places->marks[places->mark_count++] =
          (struct go_mark){.place = function.start,
                           .kind = kWatched[i].kind,
                           .name = kWatched[i].name,
                           .has_three_words = has_three_words(kWatched[i].name)};
    }
    for (size_t i = 0; i < sizeof kTelling / sizeof *kTelling; ++i) {
      if (strcmp(kTelling[i], function.name) == 0) places->tells_collections = 1;
    }
    for (int i = 0; i < CODES; ++i) {
      if (strcmp(kCodes[i], function.name) == 0) found->codes[i] = function;
    }
  }
}

static const unsigned char *bytes_of(uintptr_t place) {
  return (const unsigned char *)place;
}

static int32_t number_at(uintptr_t place) {
  int32_t number;
  memcpy(&number, bytes_of(place), sizeof number);
  return number;
}

/* An instruction with a distance of four bytes at its end: what it reaches. */
static uintptr_t reached_from(uintptr_t distance_at) {
  return distance_at + 4 + (uintptr_t)(intptr_t)number_at(distance_at);
}

static int stands_at(uintptr_t place, uintptr_t end, const char *code, size_t bytes) {
  return place + bytes <= end && memcmp(bytes_of(place), code, bytes) == 0;
}

/* The next place from `from` on where these bytes stand, followed by four more of the function; 0:
 * none. */
static uintptr_t next_of(const struct go_function *function, uintptr_t from, const char *code,
                         size_t bytes) {
  for (uintptr_t at = from; at != 0 && at + bytes + 4 <= function->end; ++at) {
    if (memcmp(bytes_of(at), code, bytes) == 0) return at;
  }
  return 0;
}

/* ---- where the code is ---- */

static int base_is(const struct go_image *image, const struct found *found, uintptr_t base) {
  uintptr_t begin = found->known.start + base;
  uintptr_t target = found->jumped_to.start + base;
  enum { kLong = 5, kShort = 2 };
  if (begin < image->code.start || begin + kLong > image->code.end) return 0;
  if (stands_at(begin, image->code.end, "\xe9", 1)) return reached_from(begin + 1) == target;
  if (!stands_at(begin, image->code.end, "\xeb", 1)) return 0;
  return begin + kShort + (uintptr_t)(intptr_t)(int8_t)bytes_of(begin)[1] == target;
}

static int find_base(struct go_places *places, struct found *found, const struct go_image *image) {
  uintptr_t base = image->known.place - found->known.start;
  if (found->known.end == 0 || found->jumped_to.end == 0) return -1;
  if (!base_is(image, found, base)) return -1;
  places->table.base = base;
  for (size_t k = 0; k < places->mark_count; ++k) places->marks[k].place += base;
  for (int k = 0; k < CODES; ++k) {
    if (found->codes[k].end == 0) continue;
    found->codes[k].start += base;
    found->codes[k].end += base;
  }
  return 0;
}

static int is_in(const struct byte_range *range, uintptr_t start, uintptr_t end) {
  return range->start <= start && start <= end && end <= range->end;
}

static int all_is_code(const struct go_places *places, const struct found *found,
                       const struct go_image *image) {
  struct go_function function;
  for (size_t i = 0; i < places->mark_count; ++i) {
    uintptr_t place = places->marks[i].place;
    if (go_table_function_at(&places->table, place, &function) != 0 ||
        !is_in(&image->code, function.start, function.end)) {
      return 0;
    }
  }
  for (int i = 0; i < CODES; ++i) {
    const struct go_function *code = &found->codes[i];
    if (code->end != 0 && !is_in(&image->code, code->start, code->end)) return 0;
  }
  return 1;
}

/* ---- random numbers ---- */

/* chacha8rand.State: 32 words, a seed of four, three counters, and four bytes. */
enum { kStateBytes = 304 };

/* LEAQ seed(AX), CX and LEAQ words(AX), BX; after the call of rand(), MOVQ AX, word(CX). */
static int find_thread_random(struct go_places *places, const struct found *found) {
  const struct go_function *code = &found->codes[CODE_THREAD_RANDOM];
  uintptr_t seed = next_of(code, code->start, "\x48\x8d\x88", 3);
  uintptr_t words = next_of(code, code->start, "\x48\x8d\x98", 3);
  if (seed == 0 || words == 0 || number_at(words + 3) <= 0 ||
      number_at(seed + 3) - number_at(words + 3) != kStateSeed) {
    return -1;
  }
  places->thread_state = (size_t)number_at(words + 3);
  places->thread_word = places->thread_state + kStateBytes;
  uintptr_t call = next_of(code, words, "\xe8", 1);
  while (call != 0 && reached_from(call + 1) != found->codes[CODE_RANDOM].start) {
    call = next_of(code, call + 1, "\xe8", 1);
  }
  uintptr_t store = call == 0 ? 0 : next_of(code, call, "\x48\x89\x81", 3);
  return store != 0 && (size_t)number_at(store + 3) == places->thread_word ? 0 : -1;
}

/* LEAQ state, AX; CALL Refill. */
static int find_common_random(struct go_places *places, const struct found *found) {
  const struct go_function *code = &found->codes[CODE_COMMON_RANDOM];
  for (uintptr_t at = code->start; (at = next_of(code, at, "\x48\x8d\x05", 3)) != 0; ++at) {
    enum { kLength = 7 };
    int calls = stands_at(at + kLength, code->end - 4, "\xe8", 1) &&
                reached_from(at + kLength + 1) == found->codes[CODE_REFILL].start;
    if (calls) places->common_state = reached_from(at + 3);
  }
  return places->common_state != 0 ? 0 : -1;
}

/* ADDQ word(CX), AX. */
static int find_old_random(struct go_places *places, const struct found *found) {
  const struct go_function *code = &found->codes[CODE_OLD_RANDOM];
  uintptr_t at = next_of(code, code->start, "\x48\x03\x81", 3);
  if (at == 0 || number_at(at + 3) <= 0) return -1;
  places->thread_word = (size_t)number_at(at + 3);
  return 0;
}

static int find_random(struct go_places *places, const struct found *found) {
  if (found->codes[CODE_THREAD_RANDOM].end == 0) {
    return found->codes[CODE_OLD_RANDOM].end == 0 ? -1 : find_old_random(places, found);
  }
  if (found->codes[CODE_COMMON_RANDOM].end == 0) return -1;
  return find_thread_random(places, found) != 0 ? -1 : find_common_random(places, found);
}

/* ---- time ---- */

/* After the call of now(), SUBQ startNano, CX, or, from Go 1.24 on, MOVQ startNano, DX. */
static void find_start_time(struct go_places *places, const struct found *found) {
  const struct go_function *code = &found->codes[CODE_NOW];
  uintptr_t call = next_of(code, code->start, "\xe8", 1);
  if (call == 0) return;
  uintptr_t at = next_of(code, call, "\x48\x2b\x0d", 3);
  if (at == 0) at = next_of(code, call, "\x48\x8b\x15", 3);
  if (at != 0) places->start_time = reached_from(at + 3);
}

/* ---- all of it ---- */

static int main_comes_first(struct go_places *places) {
  for (size_t i = 0; i < places->mark_count; ++i) {
    if (places->marks[i].kind != GO_MAIN) continue;
    struct go_mark first = places->marks[0];
    places->marks[0] = places->marks[i];
    places->marks[i] = first;
    return 1;
  }
  return 0;
}

static const struct {
  const char *code;
  size_t code_bytes, bytes; /* that are known; of the whole beginning */
} kBeginnings[GO_BEGINNINGS] = {[GO_COMPARES] = {"\x49\x3b\x66\x10", 4, 4},
                                [GO_COMPARES_FAR] = {"\x4c\x8d\x64\x24", 4, 5},
                                [GO_COMPARES_FARTHER] = {"\x4c\x8d\xa4\x24", 4, 8},
                                [GO_COMPARES_HUGE] = {"\x49\x89\xe4", 3, 3},
                                [GO_HAS_FRAME] = {"\x55\x48\x89\xe5", 4, 4},
                                [GO_MAKES_ROOM] = {"\x48\x83\xec", 3, 4},
                                [GO_LOADS_THREAD] = {"\x49\x8b\x4e\x30", 4, 4},
                                [GO_WAITS_AND_LOADS_THREAD] = {"\x90\x49\x8b\x4e\x30", 5, 5},
                                [GO_WAITS_AND_COPIES] = {"\x90\x89\xc1", 3, 3},
                                [GO_LOADS_ARGUMENT] = {"\x48\x8b\x7c\x24\x08", 5, 5},
                                [GO_STORES_ARGUMENT] = {"\x89\x44\x24\x08", 4, 4}};

size_t go_beginning_bytes(enum go_beginning beginning) {
  return kBeginnings[beginning].bytes;
}

static int beginnings_are_known(struct go_places *places) {
  for (size_t i = 0; i < places->mark_count; ++i) {
    struct go_mark *mark = &places->marks[i];
    int kind = 0;
    while (kind < GO_BEGINNINGS && memcmp(bytes_of(mark->place), kBeginnings[kind].code,
                                          kBeginnings[kind].code_bytes) != 0) {
      ++kind;
    }
    /* main.main() is never passed, so it may begin in any way. */
    if (kind == GO_BEGINNINGS && mark->kind != GO_MAIN) return 0;
    mark->beginning = (enum go_beginning)kind;
  }
  return 1;
}

static int find_table(struct go_table *table, const struct go_image *image) {
  for (size_t i = 0; i < image->readable_count; ++i) {
    const struct byte_range *range = &image->readable[i];
    if (go_table_find(table, bytes_of(range->start), bytes_of(range->end)) == 0) return 0;
  }
  return -1;
}

int go_places_find(struct go_places *places, const struct go_image *image, const char **reason) {
  struct found found;
  memset(&found, 0, sizeof found);
  memset(places, 0, sizeof *places);
  *reason = "it has no table of functions, as Go 1.18 and newer make one";
  if (find_table(&places->table, image) != 0) return -1;
  find_by_name(places, &image->known, &found);
  *reason = found.refused;
  if (found.refused != NULL) return -1;
  *reason = "its main.main() is not in its table";
  if (!main_comes_first(places)) return -1;
  *reason = "its first instruction is not where its table says";
  if (find_base(places, &found, image) != 0 || !all_is_code(places, &found, image)) return -1;
  *reason = "how the functions begin that are watched is not known";
  if (!beginnings_are_known(places)) return -1;
  *reason = "where it keeps its random numbers is not known";
  find_start_time(places, &found);
  return find_random(places, &found);
}
