/* What the kernel would answer each request otherwise, and tells a load once for all: ids and times
 * in links, listings and the status of files, whether there is input, who sent something. */
#ifndef CGIBRIDGE_ANSWERS_H
#define CGIBRIDGE_ANSWERS_H

/* In the form of passed_calls.h. Those with underscores are what old programs call stat(). */
#define CALLS_WITH_ANSWERS(X)                                     \
  X(fstat, 0, RETIRED_NOT, look_at_status_of)                     \
  X(fstat64, 0, RETIRED_NOT, look_at_status_of)                   \
  X(__fxstat, 0, RETIRED_NOT, look_at_old_status_of)              \
  X(__fxstat64, 0, RETIRED_NOT, look_at_old_status_of)            \
  X(__xstat, 0, RETIRED_NOT, look_at_old_status)                  \
  X(__xstat64, 0, RETIRED_NOT, look_at_old_status)                \
  X(__lxstat, 0, RETIRED_NOT, look_at_old_status)                 \
  X(__lxstat64, 0, RETIRED_NOT, look_at_old_status)               \
  X(__fxstatat, 0, RETIRED_NOT, look_at_old_status_in)            \
  X(__fxstatat64, 0, RETIRED_NOT, look_at_old_status_in)          \
  X(lstat, 0, RETIRED_NOT, look_at_status)                        \
  X(lstat64, 0, RETIRED_NOT, look_at_status)                      \
  X(fstatat, 0, RETIRED_NOT, look_at_status_in)                   \
  X(fstatat64, 0, RETIRED_NOT, look_at_status_in)                 \
  X(statx, 0, RETIRED_NOT, look_at_status_in)                     \
  X(name_to_handle_at, 0, RETIRED_NOT, look_at_status_in)         \
  X(statfs, 0, RETIRED_NOT, look_at_room)                         \
  X(statfs64, 0, RETIRED_NOT, look_at_room)                       \
  X(__statfs, 0, RETIRED_NOT, look_at_room)                       \
  X(statvfs, 0, RETIRED_NOT, look_at_room)                        \
  X(statvfs64, 0, RETIRED_NOT, look_at_room)                      \
  X(fstatfs, 0, RETIRED_NOT, look_at_room_of)                     \
  X(fstatfs64, 0, RETIRED_NOT, look_at_room_of)                   \
  X(fstatvfs, 0, RETIRED_NOT, look_at_room_of)                    \
  X(fstatvfs64, 0, RETIRED_NOT, look_at_room_of)                  \
  X(sysconf, 0, RETIRED_NOT, look_at_setting)                     \
  X(__sysconf, 0, RETIRED_NOT, look_at_setting)                   \
  X(get_avphys_pages, 0, RETIRED_NOT, look_at_time)               \
  X(realpath, 0, RETIRED_NOT, look_at_place)                      \
  X(__realpath_chk, 0, RETIRED_NOT, look_at_place)                \
  X(canonicalize_file_name, 0, RETIRED_NOT, look_at_place)        \
  X(getcwd, 0, RETIRED_NOT, look_at_working_folder)               \
  X(__getcwd_chk, 0, RETIRED_NOT, look_at_working_folder)         \
  X(getwd, 0, RETIRED_NOT, look_at_working_folder)                \
  X(__getwd_chk, 0, RETIRED_NOT, look_at_working_folder)          \
  X(get_current_dir_name, 0, RETIRED_NOT, look_at_working_folder) \
  X(opendir, 0, RETIRED_NOT, look_at_folder)                      \
  X(scandir, 0, RETIRED_NOT, look_at_folder)                      \
  X(scandir64, 0, RETIRED_NOT, look_at_folder)                    \
  X(scandirat, 0, RETIRED_NOT, look_at_folder_in)                 \
  X(scandirat64, 0, RETIRED_NOT, look_at_folder_in)               \
  X(getdents64, 0, RETIRED_NOT, look_at_listing)                  \
  X(ftw, 0, RETIRED_NOT, look_at_listed)                          \
  X(ftw64, 0, RETIRED_NOT, look_at_listed)                        \
  X(nftw, 0, RETIRED_NOT, look_at_listed)                         \
  X(nftw64, 0, RETIRED_NOT, look_at_listed)                       \
  X(glob, 0, RETIRED_NOT, look_at_listed)                         \
  X(glob64, 0, RETIRED_NOT, look_at_listed)                       \
  X(fts_open, 0, RETIRED_NOT, look_at_trees)                      \
  X(fts64_open, 0, RETIRED_NOT, look_at_trees)                    \
  X(sched_getcpu, 0, RETIRED_NOT, look_at_processor)              \
  X(getcpu, 0, RETIRED_NOT, look_at_processor)                    \
  X(kill, 0, RETIRED_NOT, look_at_sent)                           \
  X(killpg, 0, RETIRED_NOT, look_at_sent)                         \
  X(raise, 0, RETIRED_NOT, look_at_sent)                          \
  X(sigqueue, 0, RETIRED_NOT, look_at_sent)                       \
  X(pidfd_send_signal, 0, RETIRED_NOT, look_at_sent)              \
  X(signalfd, 0, RETIRED_NOT, look_at_sender)                     \
  X(getsockopt, 0, RETIRED_NOT, look_at_option)                   \
  X(getsockname, 0, RETIRED_NOT, look_at_address)                 \
  X(getpeername, 0, RETIRED_NOT, look_at_address)                 \
  X(listen, 0, RETIRED_NOT, look_at_connection)

/* Each does nothing unless a load is watched. name: of the function. */
/* answers_of_files.c */
void answers_see_status(const char *name, int directory, const char *path, int flags,
                        const void *caller);
void answers_see_link(const char *name, int directory, const char *path, const void *caller);
void answers_see_number(long number, const long *words, const void *caller); /* by syscall() */
/* answers_of_others.c. Whether it is standard input, or a copy of it. */
int load_watch_is_input(long fd);
void answers_see_input(const char *name, long fd, const void *caller);
void answers_see_polled(const char *name, const void *polled, unsigned long count,
                        const void *caller);
void answers_see_selected(const char *name, const long *words, const void *caller);
void answers_see_socket_option(const char *name, const long *words, const void *caller);
void answers_see_ioctl(const char *name, const long *words, const void *caller);
void answers_see_signal(const char *name, long process, int number, const void *caller);
/* It changes something of this process, or of another. */
void answers_see_process(const char *name, long process, const void *caller);
void answers_see_number_of_others(long number, const long *words, const void *caller);

#endif
