"""Sockets that a request leaves open: their end is that of a process."""

import socket

import pytest

from driver import Warm, run_plainly

# Fills a connection to a peer that does not read. To close it then waits as long as SO_LINGER says; a process
# that ends does not wait.
LINGERS = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
  char *last = argv[argc - 1];
  if (strncmp(last, "port=", 5) != 0) return puts("hello"), 0;
  struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(atoi(last + 5))};
  peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, (void *)&peer, sizeof peer) != 0) return 1;
  struct linger linger = {1, 600};
  int told = strcmp(argv[argc - 2], "number") == 0
                 ? syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger)
                 : setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
  static char bytes[65536];
  fcntl(fd, F_SETFL, O_NONBLOCK);
  while (write(fd, bytes, sizeof bytes) > 0) continue;
  printf("%d\n", told);
  return 3;
}
"""


@pytest.mark.parametrize("reset", ["fork", "rewind"])
@pytest.mark.parametrize("way", ["function", "number"])
def test_nobody_waits_for_the_peer_of_a_socket_that_was_left_open(folder, reset, way):
    program = folder.compile("x.c", LINGERS)
    with socket.create_server(("127.0.0.1", 0)) as server:
        words = [way, f"port={server.getsockname()[1]}"]
        plain = run_plainly([program, *words])
        with Warm([program], reset=reset) as warm:
            assert warm.ask().text == "hello\n"
            answer = warm.ask(*words)
            assert (answer.stdout, answer.code) == (plain.stdout, plain.code) == (b"0\n", 3)
            assert warm.ask().text == "hello\n"
