/* What is needed of a Go executable: where it stops, what is watched until then, and what is
 * renewed for each request. All of it is found by the names in its table and by the shape of its
 * code, and nothing is guessed: what is not found as expected keeps the program from being warm.
 * Tried with Go 1.19 to 1.26 on x86-64. */
#ifndef CGIBRIDGE_GO_PLACES_H
#define CGIBRIDGE_GO_PLACES_H

#include "go/table.h"

struct byte_range {
  uintptr_t start, end;
};

/* A function whose place is known: its entry in the table shows where all others are. It begins
 * with a jump to another one. */
struct go_known {
  const char *name, *jumps_to;
  uintptr_t place;
};

enum { kGoSegmentsMax = 8 };

/* The executable in memory. */
struct go_image {
  struct byte_range code;
  struct byte_range readable[kGoSegmentsMax]; /* one of these has its table */
  size_t readable_count;
  struct go_known known;
};

/* Go's own first instruction is the executable's, or main() is what libc's start calls. */
#define GO_KNOWN_BY_ENTRY(entry) ((struct go_known){"_rt0_amd64_linux", "_rt0_amd64", entry})
#define GO_KNOWN_BY_MAIN(main) ((struct go_known){"main", "runtime.rt0_go", main})

/* Functions that are watched from the start until the checkpoint; those of the runtime's own, whose
 * names begin with "runtime.", only if other packages call them. */
enum go_watched {
  GO_MAIN,     /* main.main(): the checkpoint itself */
  GO_VARIABLE, /* asks for one variable of the environment */
  GO_VARIABLES,
  GO_CHANGES_VARIABLES,
  GO_TIME,
  GO_TIMER,
  GO_RANDOM,
  GO_PLUGIN
};

enum { kGoMarksMax = 70, kGoMarkBytes = 2 };

/* Where a goroutine (struct g) says which of the runtime's threads (struct m) runs it. */
enum { kThreadAt = 0x30 };

/* Where a generator (chacha8rand.State) has its seed. */
enum { kStateSeed = 256 };

/* How a function begins: one instruction or two, which can be imitated. */
enum go_beginning {
  GO_COMPARES,               /* CMPQ SP, 16(R14) */
  GO_COMPARES_FAR,           /* LEAQ -x(SP), R12 */
  GO_COMPARES_FARTHER,       /* the same, with a distance of four bytes */
  GO_COMPARES_HUGE,          /* MOVQ SP, R12 */
  GO_HAS_FRAME,              /* PUSHQ BP; MOVQ SP, BP */
  GO_MAKES_ROOM,             /* SUBQ $x, SP */
  GO_LOADS_THREAD,           /* MOVQ 48(R14), CX: the thread that runs it (struct m) */
  GO_WAITS_AND_LOADS_THREAD, /* the same, after a NOP */
  GO_WAITS_AND_COPIES,       /* NOP; MOVL AX, CX */
  GO_LOADS_ARGUMENT,         /* MOVQ 8(SP), DI */
  GO_STORES_ARGUMENT,        /* MOVL AX, 8(SP) */
  GO_BEGINNINGS
};

struct go_mark {
  uintptr_t place; /* a function's first instruction */
  enum go_watched kind;
  enum go_beginning beginning;
  const char *name;
  int has_three_words;              /* or more of arguments: the third is in rcx */
  unsigned char code[kGoMarkBytes]; /* the original code, while it is replaced */
  int is_set;
};

struct go_places {
  struct go_table table;
  struct go_mark marks[kGoMarksMax]; /* the first is main.main() */
  size_t mark_count;
  /* Its generators: a ChaCha8 state and a word in each of the runtime's threads (struct m), and one
   * state for all (Go 1.22 and newer); before that only the word. */
  uintptr_t common_state; /* 0: there is none */
  /* When the process began, by the clock that only advances, as package time keeps it; 0: it is not
   * linked, or keeps it in another way. */
  uintptr_t start_time;
  size_t thread_state, thread_word; /* where in struct m; thread_state 0: there is none */
  int tells_collections; /* it has functions that tell when its garbage was last collected */
};

/* Returns 0, or -1 with the reason. */
int go_places_find(struct go_places *places, const struct go_image *image, const char **reason);

/* How many bytes are imitated. */
size_t go_beginning_bytes(enum go_beginning beginning);

#endif
