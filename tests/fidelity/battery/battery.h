/* The leak battery in C. Each kind of state has a look, which prints what a process finds, and a
 * leave, which changes the state. A request looks at all kinds, prints a line for each, and then
 * leaves the kind that its query names. Whatever is left, the next answer must be the same.
 * `again=KIND` leaves the kind first and then looks, which shows that the look sees it.
 */
#ifndef BATTERY_H
#define BATTERY_H

#define _GNU_SOURCE

/* part: what must be left out of the reset for this kind to be seen in the next request; "": it
 * cannot outlive a request anyway, or retires the worker. tests/ reads these lines. */
#define KIND(name, part)                                           \
  static void look_##name(void);                                   \
  static void leave_##name(void);                                  \
  __attribute__((constructor)) static void register_##name(void) { \
    kind_register(#name, look_##name, leave_##name);               \
  }

void kind_register(const char *name, void (*look)(void), void (*leave)(void));

/* Adds to the answer, in memory that no stream uses. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Adds the lines of a file below /proc/self that begin with one of the words. */
void say_lines(const char *file, const char *const *words);
void say_status(const char *word);

/* A file that has been open since before main(). */
extern int kept_file;
extern char **main_argv;

#endif
