/* What a worker is about to execute, as it says it to the bridge (message/wire.h, EXECUTE). */
#ifndef CGIBRIDGE_EXECUTION_H
#define CGIBRIDGE_EXECUTION_H

#include <stdint.h>
#include <sys/stat.h>

struct execution {
  const char *path; /* as it was given to execve(), like the next two */
  char *const *argv, *const *envp;
  struct stat file;
  uint32_t ignored; /* signals; bit 0 is signal 1 */
};

/* Sends it. < 0 if that failed, or if the kernel might find the strings too long, or the bridge
 * would: MESSAGE_EXECUTE_STRINGS_MAX. Without libc. */
long execution_send(int channel, uint64_t request_id, const struct execution *execution);

#endif
