/* The channel to the bridge: one packet is one message (message/wire.h). */
#ifndef CGIBRIDGE_CHANNEL_H
#define CGIBRIDGE_CHANNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "message/wire.h"

enum patience { PATIENCE_NONE, PATIENCE_SECOND };
/* Sends body and text after the header; returns 0 or -1. Never raises SIGPIPE, and never writes to
 * a descriptor that is no longer the channel. */
int channel_send(enum message_type type, const void *body, size_t body_bytes, const void *text,
                 size_t text_bytes, enum patience patience);
void channel_note(enum note_kind kind, const char *text, size_t text_bytes);
/* Waits for one packet. Returns the bytes of the body, or -1 at the end of the channel or for a
 * packet that is not ours. fds gets up to MESSAGE_FDS_MAX descriptors, close-on-exec. */
ssize_t channel_receive(uint16_t *type, void *body, size_t body_max, int *fds, int *fd_count);
void channel_adopt(int fd); /* fd becomes state.channel */
int channel_is_ours(void);

#endif
