/* A worker that rests gets its next request. */
#ifndef CGIBRIDGE_TAKE_REQUEST_H
#define CGIBRIDGE_TAKE_REQUEST_H

#include "message/wire.h"

struct engine;
/* As it comes, after its header. */
struct packet {
  struct message_request head;
  char text[MESSAGE_BYTES_MAX];
};

/* Waits for it: 0, or -1 if it is not a request. Then engine->packet has it, or its head and
 * engine->big_text its strings; its 0, 1 and 2 are in place. say_ready: answers what is asked
 * meanwhile. Does not return if the bridge is gone. Without libc. */
int take_request(struct engine *engine, long (*say_ready)(struct engine *));

#endif
