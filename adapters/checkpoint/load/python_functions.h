/* Python's own functions, for what watches methods of its modules: python_clocks.c, python_seeds.c.
 */
#ifndef CGIBRIDGE_PYTHON_FUNCTIONS_H
#define CGIBRIDGE_PYTHON_FUNCTIONS_H

typedef void *method(void *self, void *words, long count, void *names); /* fewer do no harm */

/* An entry of a table of methods, as extensions of all versions are compiled with it. */
struct method_of_python {
  const char *name;
  method *function;
  int flags;
};

extern struct python_functions {
  int (*is_initialized)(void);
  int (*is_held)(void); /* the interpreter's lock, by this thread */
  int (*take)(void);
  void (*release)(int);
  void *(*modules)(void);
  void *(*import)(const char *);
  void *(*find)(void *, const char *); /* in a dictionary */
  int (*forget)(void *, const char *);
  void *(*attribute)(void *, const char *);
  method *(*function_of)(void *);
  void (*give_back)(void *);
  void (*clear_error)(void);
  const void *none;
} python;

/* Whether this process has all of them. */
int python_functions_find(void);
/* With the interpreter's lock: a module of Python's own, to be given back, or NULL. It is loaded
 * for nobody but the caller if the program has not loaded it. */
void *python_module(const char *name);

#endif
