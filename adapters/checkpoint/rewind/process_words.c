/* What /proc/PID/stat says: "pid (name) state ppid ...", whose fields are counted as in proc(5),
 * from 1. */
#include <string.h>

#include "raw_call.h"
#include "rewind/kernel_state.h"

static const char *next_word(const char *text) {
  while (*text != ' ' && *text != '\0') ++text;
  return *text == ' ' ? text + 1 : text;
}

static long to_number(const char *text) {
  int negative = *text == '-';
  long value = 0;
  for (text += negative; *text >= '0' && *text <= '9'; ++text) value = value * 10 + (*text - '0');
  return negative ? -value : value;
}

int process_words_read(int fd, struct process_words *words) {
  enum { kTextMax = 1024 };
  char text[kTextMax];
  long got = raw_call(SYS_pread64, fd, text, sizeof text - 1, 0);
  if (got <= 0) return -1;
  text[got] = '\0';
  const char *open = strchr(text, '('), *close = strrchr(text, ')');
  if (open == NULL || close == NULL || close - open >= (long)sizeof words->name) return -1;
  memset(words, 0, sizeof *words);
  memcpy(words->name, open + 1, (size_t)(close - open - 1));
  const char *at = close + 2;
  for (int word = 3; word <= 41 && *at != '\0'; ++word, at = next_word(at)) {
    long value = to_number(at);
    switch (word) {
      case 5:
        words->process_group = value;
        break;
      case 6:
        words->session_id = value;
        break;
      case 7:
        words->terminal = value;
        break;
      case 11:
      case 13:
        words->faults_of_children += (uint64_t)value;
        break;
      case 18:
        words->priority = value;
        break;
      case 19:
        words->nice = value;
        break;
      case 23:
        words->address_space = (uint64_t)value;
        break;
      case 31:
        words->pending = (uint64_t)value;
        break;
      case 33:
        words->ignored = (uint64_t)value;
        break;
      case 34:
        words->caught = (uint64_t)value;
        break;
      case 40:
        words->real_time_priority = value;
        break;
      case 41:
        words->policy = value;
        return 0;
      default:
        break;
    }
  }
  return -1;
}
