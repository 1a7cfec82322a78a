/* Kinds of state that the C library and the processor keep. */
#include "battery.h"

#include <dlfcn.h>
#include <errno.h>
#include <error.h>
#include <fenv.h>
#include <getopt.h>
#include <link.h>
#include <locale.h>
#include <malloc.h>
#include <math.h>
#include <netdb.h>
#include <pwd.h>
#include <regex.h>
#include <search.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

KIND(errno, "")
static void look_errno(void) {
  say("%s", errno == E2BIG ? "left" : "not left");
}
static void leave_errno(void) {
  errno = E2BIG;
}

KIND(h_errno, "memory")
static void look_h_errno(void) {
  say("%d", h_errno);
}
static void leave_h_errno(void) {
  h_errno = 3;
}

KIND(rand, "memory")
static void look_rand(void) {
  say("%d", rand());
}
/* A request that asks for its process id and seeds without the exact time costs its worker. */
static void ask_exact_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
}
static void leave_rand(void) {
  ask_exact_time();
  srand(42);
}

KIND(rand48, "memory")
static void look_rand48(void) {
  say("%ld", mrand48());
}
static void leave_rand48(void) {
  ask_exact_time();
  srand48(42);
}

KIND(getopt, "memory")
static void look_getopt(void) {
  say("%d %d %d", optind, opterr, optarg != NULL);
}
static void leave_getopt(void) {
  optind = 5, opterr = 0, optarg = "left";
}

KIND(hash_table, "memory")
static void look_hash_table(void) {
  /* It can be made only once; a second attempt is refused. */
  int made = hcreate(10);
  say("%d", made);
  if (made) hdestroy();
}
static void leave_hash_table(void) {
  hcreate(20);
}

KIND(password_position, "memory")
static void look_password_position(void) {
  struct passwd *first = getpwent();
  say("%s", first ? first->pw_name : "none");
  endpwent();
}
static void leave_password_position(void) {
  getpwent(), getpwent();
}

KIND(error_count, "memory")
static void look_error_count(void) {
  say("%u %d", error_message_count, error_one_per_line);
}
static void leave_error_count(void) {
  error_message_count = 9, error_one_per_line = 1;
}

KIND(regular_expressions, "memory")
static void look_regular_expressions(void) {
  say("%lx", re_syntax_options);
}
static void leave_regular_expressions(void) {
  re_set_syntax(RE_SYNTAX_POSIX_EXTENDED);
}

KIND(sign_of_gamma, "memory")
static void look_sign_of_gamma(void) {
  say("%d", signgam);
}
static void leave_sign_of_gamma(void) {
  lgamma(-0.5);
}

KIND(malloc_settings, "memory")
static void look_malloc_settings(void) {
  /* With this option malloc fills the memory that it returns. */
  char *block = malloc(30000);
  memset(block, 0, 30000);
  free(block);
  volatile char *again = malloc(30000);
  say("%d", again[5000]);
  free((void *)again);
}
static void leave_malloc_settings(void) {
  mallopt(M_PERTURB, 0x55);
}

KIND(locale, "memory")
static void look_locale(void) {
  say("%s %zu", setlocale(LC_ALL, NULL), MB_CUR_MAX);
}
static void leave_locale(void) {
  setlocale(LC_ALL, "C.UTF-8");
}

KIND(locale_of_the_thread, "memory")
static void look_locale_of_the_thread(void) {
  say("%d", uselocale(NULL) == LC_GLOBAL_LOCALE);
}
static void leave_locale_of_the_thread(void) {
  uselocale(newlocale(LC_ALL_MASK, "C.UTF-8", NULL));
}

KIND(time_zone, "memory")
static void look_time_zone(void) {
  say("%s %ld %d", tzname[0], timezone, daylight);
}
static void leave_time_zone(void) {
  setenv("TZ", "LEFT5", 1);
  tzset();
}

KIND(stream_mode, "memory")
static void look_stream_mode(void) {
  say("%zu %d %zu", __fbufsize(stdout), __flbf(stdout), __fpending(stdout));
}
static void leave_stream_mode(void) {
  setvbuf(stdout, malloc(99), _IOFBF, 99);
}

KIND(stream_orientation, "memory")
static void look_stream_orientation(void) {
  say("%d", fwide(stderr, 0));
}
static void leave_stream_orientation(void) {
  fwide(stderr, 1);
}

KIND(stream_error, "memory")
static void look_stream_error(void) {
  say("%d %d", ferror(stdin), feof(stdin));
}
static void leave_stream_error(void) {
  while (getchar() != EOF) continue;
}

KIND(stream_pushed_back, "memory")
static void look_stream_pushed_back(void) {
  say("%d", (int)(stdin->_IO_read_end - stdin->_IO_read_ptr));
}
static void leave_stream_pushed_back(void) {
  ungetc('L', stdin);
}

KIND(input_read_in_part, "memory")
static void look_input_read_in_part(void) {
  say("%d", stdin->_IO_read_base != stdin->_IO_read_end);
}
static void leave_input_read_in_part(void) {
  getchar();
}

KIND(streams_open, "memory")
static FILE *left_stream;
static void look_streams_open(void) {
  say("%d", left_stream != NULL);
}
static void leave_streams_open(void) {
  left_stream = fopen("/dev/null", "w");
  fputs("never flushed by the program", left_stream);
}

KIND(library_loaded, "memory")
static int count_object(struct dl_phdr_info *info, size_t size, void *count) {
  (void)info, (void)size;
  ++*(int *)count;
  return 0;
}
static void look_library_loaded(void) {
  static int at_start;
  int now = 0;
  dl_iterate_phdr(count_object, &now);
  void *symbol = dlsym(RTLD_DEFAULT, "crypt_gensalt");
  say("%d %d", at_start, symbol != NULL);
}
static void leave_library_loaded(void) {
  dlopen("libcrypt.so.1", RTLD_NOW | RTLD_GLOBAL);
}

KIND(rounding, "")
static void look_rounding(void) {
  say("%d", fegetround());
}
static void leave_rounding(void) {
  fesetround(FE_UPWARD);
}

KIND(floating_point_traps, "")
static void look_floating_point_traps(void) {
#if defined(__x86_64__)
  say("%x ", _mm_getcsr());
#elif defined(__aarch64__)
  say("%x ", __builtin_aarch64_get_fpcr());
#endif
  say("%d", fegetexcept());
}
static void leave_floating_point_traps(void) {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
  __builtin_aarch64_set_fpcr(__builtin_aarch64_get_fpcr() | 1u << 24); /* flush to zero */
#endif
  feenableexcept(FE_DIVBYZERO);
}
