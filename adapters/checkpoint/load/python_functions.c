#include "load/python_functions.h"

#include <stdint.h>
#include <string.h>

#include "calls/passed_calls.h"
#include "load/load_watch.h"

struct python_functions python;

int python_functions_find(void) {
  const struct {
    void *place;
    const char *name;
  } kFunctions[] = {
      {&python.is_initialized, "Py_IsInitialized"},
      {&python.is_held, "PyGILState_Check"},
      {&python.take, "PyGILState_Ensure"},
      {&python.release, "PyGILState_Release"},
      {&python.modules, "PyImport_GetModuleDict"},
      {&python.import, "PyImport_ImportModule"},
      {&python.find, "PyDict_GetItemString"},
      {&python.forget, "PyDict_DelItemString"},
      {&python.attribute, "PyObject_GetAttrString"},
      {&python.function_of, "PyCFunction_GetFunction"},
      {&python.give_back, "Py_DecRef"},
      {&python.clear_error, "PyErr_Clear"},
      {(void *)(uintptr_t)&python.none, "_Py_NoneStruct"},
  };
  for (size_t i = 0; i < sizeof kFunctions / sizeof *kFunctions; ++i) {
    void *found = any_symbol(kFunctions[i].name);
    if (found == NULL) return 0;
    memcpy(kFunctions[i].place, &found, sizeof found);
  }
  return 1;
}

void *python_module(const char *name) {
  void *modules = python.modules();
  int was_loaded = python.find(modules, name) != NULL;
  void *module = python.import(name);
  if (!was_loaded && module != NULL) python.forget(modules, name);
  return module;
}
