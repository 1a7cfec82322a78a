/* A shared library for the battery, with its own variable. */
int in_library(int more);
int in_library(int more) {
  static int calls;
  return calls += more;
}
