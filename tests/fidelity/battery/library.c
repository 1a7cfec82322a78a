/* A shared library of the battery, with a variable of its own. */
int in_library(int more);
int in_library(int more) {
  static int calls;
  return calls += more;
}
