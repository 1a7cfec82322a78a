// Calls that a signal would end early, one a request, as DEED says: those of C code.
package main

/*
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static struct timespec moment = {0, 300000000};
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000 + t.tv_nsec / 1000000; }
static void say(long result, long start) { int why = result < 0 ? errno : 0; printf("%ld %d, in time: %d\n", result, why, now() - start > 290); fflush(stdout); }
static int limited(int option) {
	int ends[2];
	struct timeval time = {0, 300000};
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	setsockopt(ends[0], SOL_SOCKET, option, &time, sizeof time);
	return ends[0];
}
static void receives(void) { char byte; int from = limited(SO_RCVTIMEO); long start = now(); say(recv(from, &byte, 1, 0), start); }
static void reads(void) { char byte; int from = limited(SO_RCVTIMEO); long start = now(); say(read(from, &byte, 1), start); }
static void sends(void) { static char much[4 << 20]; int to = limited(SO_SNDTIMEO); long start = now(); say(send(to, much, sizeof much, 0) > 0, start); }
static void prints(void) { static char much[1 << 20]; long done = write(1, much, sizeof much); printf("%ld\n", done); fflush(stdout); }
static void semaphores(void) {
	int set = semget(IPC_PRIVATE, 1, 0600 | IPC_CREAT);
	struct sembuf down = {0, -1, 0};
	long start = now();
	say(semtimedop(set, &down, 1, &moment), start);
	semctl(set, 0, IPC_RMID);
}
static void events(void) { struct epoll_event event; int set = epoll_create1(0); long start = now(); say(epoll_wait(set, &event, 1, 300), start); }
static void sleeps(void) { long start = now(); say(syscall(SYS_nanosleep, &moment, NULL), start); }
static void futexes(void) { int word = 0; long start = now(); say(syscall(SYS_futex, &word, 0, 0, &moment, NULL, 0), start); }
*/
import "C"
import "os"

var deeds = map[string]func(){
	"":                              func() {},
	"receives for a time":           func() { C.receives() },
	"reads for a time":              func() { C.reads() },
	"sends for a time":              func() { C.sends() },
	"prints more than a pipe holds": func() { C.prints() },
	"waits for a semaphore":         func() { C.semaphores() },
	"waits for events":              func() { C.events() },
	"sleeps by number":              func() { C.sleeps() },
	"waits by number":               func() { C.futexes() },
}

func main() {
	deeds[os.Getenv("DEED")]()
}
