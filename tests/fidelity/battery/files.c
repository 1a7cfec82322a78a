/* Kinds of state in files and descriptors. */
#include "battery.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

/* 3 to 499 are a program's descriptors. The library's own are above. */
static int count_open(int from, int to) {
  int count = 0;
  for (int fd = from; fd < to; ++fd) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

KIND(descriptor, "descriptors")
static void look_descriptor(void) {
  say("%d", count_open(3, 100));
}
static void leave_descriptor(void) {
  open("/etc/passwd", O_RDONLY);
}

KIND(descriptor_high, "descriptors")
static void look_descriptor_high(void) {
  say("%d", count_open(100, 1000) > 0 && fcntl(300, F_GETFD) >= 0);
}
static void leave_descriptor_high(void) {
  dup2(2, 300);
}

KIND(descriptor_in_the_way, "descriptors")
static void look_descriptor_in_the_way(void) {
  int fd = open("/dev/null", O_RDONLY);
  say("%d", fd);
  close(fd);
}
static void leave_descriptor_in_the_way(void) {
  dup(2), dup(2);
}

KIND(output_of_before, "descriptors")
static void look_output_of_before(void) {
  say("%d", fcntl(301, F_GETFD) >= 0);
}
static void leave_output_of_before(void) {
  dup2(1, 301);
}

KIND(standard_closed, "")
static void look_standard_closed(void) {
  say("%d", count_open(0, 3));
}
static void leave_standard_closed(void) {
  close(0), close(1), close(2);
}

KIND(standard_closed_in_exec, "")
static void look_standard_closed_in_exec(void) {
  say("%d", fcntl(1, F_GETFD));
}
static void leave_standard_closed_in_exec(void) {
  fcntl(1, F_SETFD, FD_CLOEXEC);
}

KIND(kept_closed, "descriptors")
static void look_kept_closed(void) {
  say("%d", fcntl(kept_file, F_GETFD) >= 0);
}
static void leave_kept_closed(void) {
  close(kept_file);
}

KIND(kept_replaced, "descriptors")
static void look_kept_replaced(void) {
  char path[64], target[64] = "";
  snprintf(path, sizeof path, "/proc/self/fd/%d", kept_file);
  readlink(path, target, sizeof target - 1);
  say("%s", target);
}
static void leave_kept_replaced(void) {
  dup2(open("/etc/passwd", O_RDONLY), kept_file);
}

KIND(kept_offset, "descriptors")
static void look_kept_offset(void) {
  say("%ld", (long)lseek(kept_file, 0, SEEK_CUR));
}
static void leave_kept_offset(void) {
  lseek(kept_file, 100, SEEK_SET);
}

KIND(kept_closed_in_exec, "descriptors")
static void look_kept_closed_in_exec(void) {
  say("%d", fcntl(kept_file, F_GETFD));
}
static void leave_kept_closed_in_exec(void) {
  fcntl(kept_file, F_SETFD, FD_CLOEXEC);
}

KIND(kept_flags, "descriptors")
static void look_kept_flags(void) {
  say("%x", fcntl(kept_file, F_GETFL));
}
static void leave_kept_flags(void) {
  /* The second is for a file's owner. */
  if (fcntl(kept_file, F_SETFL, O_NONBLOCK | O_NOATIME) != 0) fcntl(kept_file, F_SETFL, O_NONBLOCK);
}

KIND(lock_of_a_file, "descriptors")
static void look_lock_of_a_file(void) {
  char path[64], text[1024];
  int held = 0;
  for (int fd = 0; fd < 400; ++fd) {
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    FILE *file = fopen(path, "r");
    if (file == NULL) continue;
    while (fgets(text, sizeof text, file)) held += strncmp(text, "lock:", 5) == 0;
    fclose(file);
  }
  say("%d", held);
}
static int temporary(void) {
  char path[] = "/tmp/cgibridge-battery-XXXXXX";
  int fd = mkstemp(path);
  unlink(path);
  return fd;
}
static void leave_lock_of_a_file(void) {
  flock(temporary(), LOCK_EX);
}

KIND(lock_of_a_process, "descriptors")
static void look_lock_of_a_process(void) {
  look_lock_of_a_file();
}
static void leave_lock_of_a_process(void) {
  struct flock all = {.l_type = F_WRLCK};
  fcntl(temporary(), F_SETLK, &all);
}

KIND(lock_of_the_kept_file, "descriptors")
static void look_lock_of_the_kept_file(void) {
  look_lock_of_a_file();
}
static void leave_lock_of_the_kept_file(void) {
  flock(kept_file, LOCK_SH);
}

KIND(lease, "") /* it costs the worker in any case */
static void look_lease(void) {
  look_lock_of_a_file();
}
static void leave_lease(void) {
  fcntl(temporary(), F_SETLEASE, F_WRLCK);
}

KIND(socket, "descriptors")
static void look_socket(void) {
  look_descriptor();
}
static void leave_socket(void) {
  int pair[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  write(pair[0], "left", 4);
}

KIND(pipe, "descriptors")
static void look_pipe(void) {
  look_descriptor();
}
static void leave_pipe(void) {
  int ends[2];
  pipe(ends);
  write(ends[1], "left", 4);
}

KIND(events, "descriptors")
static void look_events(void) {
  look_descriptor();
}
static void leave_events(void) {
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, eventfd(1, 0), &event);
  inotify_add_watch(inotify_init(), "/tmp", IN_CREATE);
}

KIND(timer_descriptor, "descriptors")
static void look_timer_descriptor(void) {
  look_descriptor();
}
static void leave_timer_descriptor(void) {
  struct itimerspec soon = {{1, 0}, {1, 0}};
  timerfd_settime(timerfd_create(CLOCK_MONOTONIC, 0), 0, &soon, NULL);
}

KIND(file_in_memory, "descriptors")
static void look_file_in_memory(void) {
  look_descriptor();
}
static void leave_file_in_memory(void) {
  ftruncate(memfd_create("left", 0), 1 << 20);
}

KIND(temporary_file, "descriptors")
static void look_temporary_file(void) {
  look_descriptor();
}
static void leave_temporary_file(void) {
  fputs("left", tmpfile());
}

KIND(directory, "descriptors")
static void look_directory(void) {
  look_descriptor();
}
static void leave_directory(void) {
  readdir(opendir("/"));
}

KIND(working_directory, "")
static void look_working_directory(void) {
  char path[4096];
  say("%s", getcwd(path, sizeof path));
}
static void leave_working_directory(void) {
  chdir("/usr");
}

KIND(umask, "umask")
static void look_umask(void) {
  mode_t mask = umask(0);
  umask(mask);
  say("%o", mask);
}
static void leave_umask(void) {
  umask(0777);
}
