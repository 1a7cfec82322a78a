// A component only: ends with the number in QUERY_STRING, which an adapter would make 1.
#include <stdlib.h>

#include "command.h"

bool exports_wasi_cli_run_run(void) {
  const char *number = getenv("QUERY_STRING");
  if (number && *number) wasi_cli_exit_exit_with_code(atoi(number));
  return false;
}
