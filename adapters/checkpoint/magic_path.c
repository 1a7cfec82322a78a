/* The adapters' call. readlink() is in every language's own library and takes any bytes: below
 * "/.cgibridge/SECRET/" it talks to this library instead of the file system (see
 * adapters/README.md).
 *
 * A program may well call readlink() with a path that a visitor chose. So the secret is drawn in
 * each zygote, and told once, to the first caller that asks for it: the adapter, which runs before
 * any of the program. Without the secret these paths are the file system's, where none of them
 * exists. And while the script runs, even a caller that knows the secret may only do what a
 * request's end needs.
 *
 * An answer never fills the caller's buffer, unless each call returns it whole (whole/argv,
 * whole/env, seen, left): Ruby's readlink asks again with a larger buffer when it is full, and the
 * next call would return the next piece. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls/clean.h"
#include "calls/rare_calls.h"
#include "calls/real_calls.h"
#include "checkpoint.h"
#include "ending.h"
#include "load/inserted.h"
#include "load/load_effects.h"
#include "load/trial.h"
#include "rewind/parked_threads.h"

static const char kRoot[] = "/.cgibridge/";

static const char *rest_after(const char *path, const char *prefix) {
  size_t length = strlen(prefix);
  return strncmp(path, prefix, length) == 0 ? path + length : NULL;
}

static ssize_t give(char *buffer, size_t size, const char *text, size_t *offset, size_t bytes) {
  if (size < 2) {
    errno = EINVAL;
    return -1;
  }
  size_t count = bytes - *offset < size - 1 ? bytes - *offset : size - 1;
  memcpy(buffer, text + *offset, count);
  *offset += count;
  return (ssize_t)count;
}

static ssize_t give_word(char *buffer, size_t size, const char *word) {
  size_t offset = 0;
  return give(buffer, size, word, &offset, strlen(word));
}

/* The whole text at each call, or as much of it as fills the buffer: for callers that then ask
 * again with a larger one. */
static ssize_t give_whole(char *buffer, size_t size, const char *text, size_t bytes) {
  size_t count = bytes < size ? bytes : size;
  memcpy(buffer, text, count);
  return (ssize_t)count;
}

static ssize_t give_text(char *buffer, size_t size, const char *text) {
  return give_whole(buffer, size, text, strlen(text));
}

static ssize_t refuse(void) {
  errno = ENOENT;
  return -1;
}

static int level_of(const char *name) {
  if (strcmp(name, "compiled") == 0) return LEVEL_COMPILED;
  if (strcmp(name, "booted") == 0) return LEVEL_BOOTED;
  return 0;
}

/* Stops at a shallower level than the bridge asked for, if the adapter says so. */
static ssize_t stand(const char *level, char *buffer, size_t size) {
  int wanted = level_of(level);
  if (state.role != ROLE_ZYGOTE || wanted == 0 || wanted > state.level) return refuse();
  state.level = wanted;
  checkpoint_stand();
  return give_word(buffer, size, "request");
}

/* The next fork() will be the checkpoint, and return as in a child: what an interpreter's own
 * fork() puts right after it is right for a worker as well. */
static ssize_t stand_at_fork(const char *level, char *buffer, size_t size) {
  if (state.role != ROLE_ZYGOTE || level_of(level) != state.level) return refuse();
  state.stands_at_fork = 1;
  return give_word(buffer, size, "armed");
}

static ssize_t note(const char *text, char *buffer, size_t size) {
  const char *slash = strchr(text, '/');
  if (slash == NULL) return refuse();
  size_t length = (size_t)(slash - text);
  static const struct {
    const char *name;
    enum note_kind kind;
  } kKinds[] = {{"loaded", NOTE_LOADED}, {"shallower", NOTE_SHALLOWER}, {"warning", NOTE_WARNING},
                {"file", NOTE_FILE},     {"folders", NOTE_FOLDERS},     {"level", NOTE_LEVEL}};
  for (size_t i = 0; i < sizeof kKinds / sizeof *kKinds; ++i) {
    if (strlen(kKinds[i].name) != length || memcmp(text, kKinds[i].name, length) != 0) continue;
    if (kKinds[i].kind == NOTE_SHALLOWER && state.role == ROLE_ZYGOTE) checkpoint_refuse(slash + 1);
    channel_note(kKinds[i].kind, slash + 1, strlen(slash + 1));
    return give_word(buffer, size, "noted");
  }
  return refuse();
}

static const char *reset_name(void) {
  return state.reset == RESET_REWIND ? "rewind" : state.reset == RESET_NONE ? "none" : "fork";
}

static const char *learn_name(void) {
  return state.learn == LEARN_ALL ? "all" : state.learn == LEARN_NONE ? "none" : "installed";
}

/* libc's getrandom() may answer from a state of its own, which a copy of this process would have,
 * too. */
static int draw(char *bytes, size_t count) {
  return libc_call(SYS_getrandom, bytes, count, 0) == (long)count;
}

static ssize_t give_random(char *buffer, size_t size) {
  char bytes[16];
  size_t offset = 0;
  if (!draw(bytes, sizeof bytes)) return refuse();
  return give(buffer, size, bytes, &offset, sizeof bytes);
}

static ssize_t give_streams(char *buffer, size_t size) {
  char letters[3];
  size_t offset = 0;
  streams_tell(letters);
  return give(buffer, size, letters, &offset, sizeof letters);
}

/* For a language whose readlink() ends at a NUL: argv's next word, or the next part of a long one,
 * after a letter: '+' if more of the word follows, else '.'; nothing: there are no more words. */
static ssize_t give_word_of_argv(char *buffer, size_t size) {
  struct request *request = &state.request;
  if (size < 3) return refuse();
  if (state.call.argv_offset == request->argv_bytes) return 0;
  const char *word = request->argv_text + state.call.argv_offset;
  size_t length = strlen(word), most = size - 2;
  buffer[0] = length > most ? '+' : '.';
  if (length > most) length = most;
  memcpy(buffer + 1, word, length);
  state.call.argv_offset += length + (buffer[0] == '.');
  return (ssize_t)length + 1;
}

/* The adapter knows that the program does not support the reset that was asked for. */
static ssize_t fork_instead(const char *why, char *buffer, size_t size) {
  state.reset = RESET_FORK;
  strncpy(state.weaker, why, sizeof state.weaker - 1);
  return give_word(buffer, size, reset_name());
}

static ssize_t next(const char *exit_code, char *buffer, size_t size) {
  if (state.reset != RESET_NONE || worker_next(atoi(exit_code)) != 0) return refuse();
  state.call.phase = CALL_ADAPTER;
  return give_word(buffer, size, "request");
}

/* For languages that cannot exec: the command that would have run this request without us. */
static ssize_t give_up_level(const char *why) {
  channel_note(NOTE_SHALLOWER, why, strlen(why));
  start_anew(&state.request);
  return refuse();
}

static ssize_t give_number(char *buffer, size_t size, unsigned number) {
  char text[16];
  snprintf(text, sizeof text, "%u", number);
  return give_word(buffer, size, text);
}

static ssize_t done(const char *exit_code, char *buffer, size_t size) {
  return ending_expect(atoi(exit_code)) == 0 ? give_word(buffer, size, "expected") : refuse();
}

/* ---- who may ask for what ---- */

static ssize_t answer_trial(const char *what, char *buffer, size_t size) {
  const char *why = rest_after(what, "end/");
  if (why != NULL) trial_end_by_adapter(why);
  if (why != NULL) return refuse();
  if (strcmp(what, "left") == 0) {
    trial_pause();
    return give_text(buffer, size, load_left(LEFT_THREADS_SEEN));
  }
  if (strcmp(what, "pool") == 0) {
    trial_begin_pool();
  } else if (strcmp(what, "leave") == 0) {
    trial_leave();
  } else {
    trial_mark(what);
  }
  return give_word(buffer, size, "noted");
}

/* A zygote before its checkpoint. */
static ssize_t answer_zygote(const char *what, char *buffer, size_t size) {
  const char *rest;
  if ((rest = rest_after(what, "checkpoint/")) != NULL) return stand(rest, buffer, size);
  if ((rest = rest_after(what, "at-fork/")) != NULL) return stand_at_fork(rest, buffer, size);
  if ((rest = rest_after(what, "ruby-run/")) != NULL) {
    return ruby_run_expect(rest) == 0 ? give_word(buffer, size, "armed") : refuse();
  }
  if ((rest = rest_after(what, "reset/fork/")) != NULL) return fork_instead(rest, buffer, size);
  if ((rest = rest_after(what, "note/")) != NULL) return note(rest, buffer, size);
  if (strcmp(what, "reset") == 0) return give_word(buffer, size, reset_name());
  if (strcmp(what, "streams") == 0) return give_streams(buffer, size);
  if (strcmp(what, "level") == 0)
    return give_word(buffer, size, state.level == LEVEL_COMPILED ? "compiled" : "booted");
  if (strcmp(what, "is-ahead") == 0 && state.is_ahead) return give_word(buffer, size, "yes");
  if (strcmp(what, "learn") == 0) return give_word(buffer, size, learn_name());
  if (strcmp(what, "random") == 0) return give_random(buffer, size);
  if ((rest = rest_after(what, "watch")) != NULL && (*rest == '\0' || *rest == '/')) {
    load_watch_begin(rest + (*rest == '/'));
    perl_generator_watch();
    return give_word(buffer, size, "on");
  }
  if ((rest = rest_after(what, "effects")) != NULL)
    return load_effects_expect(rest) == 0 ? give_word(buffer, size, "on") : refuse();
  if ((rest = rest_after(what, "rehearse")) != NULL)
    return give_text(buffer, size, load_effects_rehearse(rest));
  if (strcmp(what, "seen") == 0) return give_text(buffer, size, load_watch_found());
  if ((rest = rest_after(what, "accepts/")) != NULL) {
    return load_watch_accepts(rest) ? give_word(buffer, size, "yes") : refuse();
  }
  if (lookups_leave_out(what)) return give_word(buffer, size, "noted");
  if (strcmp(what, "left") == 0) return give_text(buffer, size, load_left(LEFT_THREADS_COUNT));
  if (strcmp(what, "left/threads") == 0)
    return give_text(buffer, size, load_left(LEFT_THREADS_REST));
  if (strcmp(what, "own-threads") == 0) {
    parked_threads.are_interpreters = 1;
    return give_word(buffer, size, "noted");
  }
  if (strcmp(what, "threads-stay") == 0) {
    state.load.threads_stay = 1;
    return give_word(buffer, size, "noted");
  }
  if (strcmp(what, "over") == 0) {
    start_over_prepare();
    return give_word(buffer, size, "ready");
  }
  if ((rest = rest_after(what, "trial/")) != NULL) return answer_trial(rest, buffer, size);
  if ((rest = rest_after(what, "insert/")) != NULL)
    return inserted_set(rest) == 0 ? give_word(buffer, size, "set") : refuse();
  if (strcmp(what, "v8/find") == 0)
    return v8_generator_find() == 0 ? give_word(buffer, size, "found") : refuse();
  if (strcmp(what, "over/exec") == 0) return start_over() == 0 ? 0 : refuse();
  return refuse();
}

/* A worker between its checkpoint and the script's first line. */
static ssize_t answer_adapter(const char *what, char *buffer, size_t size) {
  struct request *request = &state.request;
  const char *rest;
  if (strcmp(what, "argv") == 0) {
    return give(buffer, size, request->argv_text, &state.call.argv_offset, request->argv_bytes);
  }
  if (strcmp(what, "env") == 0) {
    return give(buffer, size, request->env_text, &state.call.env_offset, request->env_bytes);
  }
  if (strcmp(what, "environ/set") == 0) {
    environ = request->envp;
    return give_word(buffer, size, "set");
  }
  if (strcmp(what, "streams") == 0) return give_streams(buffer, size);
  if (strcmp(what, "close-at-exec") == 0 || strncmp(what, "unblock/", 8) == 0)
    return streams_set(what) == 0 ? give_word(buffer, size, "set") : refuse();
  if (strcmp(what, "pid") == 0) return give_number(buffer, size, (size_t)state.pid);
  if (strcmp(what, "random") == 0) return give_random(buffer, size);
  if (strcmp(what, "v8/renew") == 0)
    return v8_generator_renew() == 0 ? give_word(buffer, size, "done") : refuse();
  if (strcmp(what, "v8/was-used") == 0 && v8_generator_was_used())
    return give_word(buffer, size, "yes");
  if (strcmp(what, "reset") == 0) return give_word(buffer, size, reset_name());
  if (strcmp(what, "argv/count") == 0) return give_number(buffer, size, request->argc);
  if (strcmp(what, "argv/word") == 0) return give_word_of_argv(buffer, size);
  if (strcmp(what, "whole/argv") == 0) {
    return give_whole(buffer, size, request->argv_text, request->argv_bytes);
  }
  if (strcmp(what, "whole/env") == 0) {
    return give_whole(buffer, size, request->env_text, request->env_bytes);
  }
  if ((rest = rest_after(what, "anew/")) != NULL) return give_up_level(rest);
  if ((rest = rest_after(what, "note/")) != NULL) return note(rest, buffer, size);
  if (strcmp(what, "script") == 0) {
    state.call.phase = CALL_SCRIPT;
    return give_word(buffer, size, "runs");
  }
  return refuse();
}

/* A worker whose script is running or at its end. */
static ssize_t answer_end(const char *what, char *buffer, size_t size) {
  struct opened_modules *opened = lookups_opened_modules();
  const char *rest;
  if ((rest = rest_after(what, "next/")) != NULL) return next(rest, buffer, size);
  if ((rest = rest_after(what, "done/")) != NULL) return done(rest, buffer, size);
  if ((rest = rest_after(what, "exit/")) != NULL) exit(atoi(rest));
  if (strcmp(what, "opened") == 0)
    return give(buffer, size, opened->lines, &opened->given, opened->bytes);
  if ((rest = rest_after(what, "ruby-end/")) != NULL) {
    state.ruby_end = (atoi(rest) & 0xff) + 1;
    return give_word(buffer, size, "noted");
  }
  if (rest_after(what, "note/loaded/") != NULL) return note(what + strlen("note/"), buffer, size);
  return refuse();
}

static ssize_t answer(const char *what, char *buffer, size_t size) {
  if (state.role == ROLE_ZYGOTE) return answer_zygote(what, buffer, size);
  if (state.role != ROLE_ANSWERING) return refuse();
  return state.call.phase == CALL_SCRIPT ? answer_end(what, buffer, size)
                                         : answer_adapter(what, buffer, size);
}

/* At the level `linked` there is no adapter to tell the secret. */
static int open_call(char *buffer, size_t size, ssize_t *result) {
  static const char kDigits[] = "0123456789abcdef";
  unsigned char bytes[kSecretChars / 2];
  char call[sizeof kRoot + kSecretChars + 1];
  if (state.role != ROLE_ZYGOTE || state.level == LEVEL_LINKED ||
      state.call.phase != CALL_UNOPENED || !draw((char *)bytes, sizeof bytes)) {
    return 0;
  }
  for (size_t i = 0; i < sizeof bytes; ++i) {
    state.call.secret[2 * i] = kDigits[bytes[i] >> 4];
    state.call.secret[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  state.call.phase = CALL_ADAPTER;
  snprintf(call, sizeof call, "%s%s/", kRoot, state.call.secret);
  *result = give_word(buffer, size, call);
  return 1;
}

int magic_path_answer(const char *path, char *buffer, size_t size, ssize_t *result) {
  if (state.role == ROLE_NONE || !may_be_memory(path)) return 0;
  const char *what = rest_after(path, kRoot);
  /* No child is clean. */
  if (what == NULL || (!state.is_clean && getpid() != state.pid)) return 0;
  if (strcmp(what, "open") == 0) return open_call(buffer, size, result);
  if (state.call.phase == CALL_UNOPENED) return 0;
  what = rest_after(what, state.call.secret);
  if (what == NULL || *what != '/') return 0;
  *result = answer(what + 1, buffer, size);
  return 1;
}

INTERPOSED pid_t fork(void) {
  if (state.stands_at_fork && state.role == ROLE_ZYGOTE && getpid() == state.pid) {
    state.stands_at_fork = 0;
    checkpoint_stand();
    return 0;
  }
  call_touch(TOUCHED_SIGSYS);
  load_watch_note(IMPURE_CHILDREN, "fork", __builtin_return_address(0));
  return REAL(fork)();
}

INTERPOSED ssize_t readlink(const char *restrict path, char *restrict buffer, size_t size) {
  ssize_t result;
  if (magic_path_answer(path, buffer, size, &result)) return result;
  answers_see_link("readlink", AT_FDCWD, path, __builtin_return_address(0));
  lookups_see_look(AT_FDCWD, path, __builtin_return_address(0));
  return REAL(readlink)(path, buffer, size);
}

INTERPOSED ssize_t readlinkat(int directory, const char *restrict path, char *restrict buffer,
                              size_t size) {
  ssize_t result;
  if (magic_path_answer(path, buffer, size, &result)) return result;
  answers_see_link("readlinkat", directory, path, __builtin_return_address(0));
  lookups_see_look(directory, path, __builtin_return_address(0));
  return REAL(readlinkat)(directory, path, buffer, size);
}

/* What a program built with _FORTIFY_SOURCE calls. */
INTERPOSED ssize_t __readlink_chk(const char *path, char *buffer, size_t size, size_t buffer_size) {
  if (size > buffer_size) __builtin_trap();
  return readlink(path, buffer, size);
}

INTERPOSED ssize_t __readlinkat_chk(int directory, const char *path, char *buffer, size_t size,
                                    size_t buffer_size) {
  if (size > buffer_size) __builtin_trap();
  return readlinkat(directory, path, buffer, size);
}
