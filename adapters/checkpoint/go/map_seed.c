#include "go/map_seed.h"

#include <string.h>

enum { kCallBytes = 5, kStackModes = 0xc7, kNearSlot = 0x44, kFarSlot = 0x84, kSlotBase = 0x24 };

/* The rest of an instruction (ModRM byte and on) that stores a register at a distance from SP. */
static int read_slot(const unsigned char *at, int32_t *slot) {
  if (at[1] != kSlotBase) return 0;
  if ((at[0] & kStackModes) == kFarSlot) {
    memcpy(slot, at + 2, sizeof *slot);
    return 1;
  }
  *slot = (signed char)at[2];
  return (at[0] & kStackModes) == kNearSlot;
}

/* MOVQ, from any register, to this slot, within so many bytes before the call. */
static int is_stored_before(const unsigned char *call, size_t bytes, int32_t slot) {
  enum { kLeast = 5 }; /* of such an instruction */
  for (const unsigned char *at = call - bytes; at + kLeast <= call; ++at) {
    int32_t stored;
    int is_store = (at[0] == 0x48 || at[0] == 0x4c) && at[1] == 0x89;
    if (is_store && read_slot(at + 2, &stored) && stored == slot) return 1;
  }
  return 0;
}

/* A map of Go 1.24 and newer has a group whose slots are all marked as empty. */
static int marks_group_before(const unsigned char *call, size_t bytes) {
  static const char kEmpty[] = "\x80\x80\x80\x80\x80\x80\x80\x80";
  for (const unsigned char *at = call - bytes; at + sizeof kEmpty - 1 <= call; ++at) {
    if (memcmp(at, kEmpty, sizeof kEmpty - 1) == 0) return 1;
  }
  return 0;
}

/* The seed is stored at once, in front of the address of the map's first group or bucket, which was
 * stored before. */
int go_is_map_seed(const struct go_function *function, uintptr_t after, size_t bytes) {
  enum { kStoreBytes = 8, kNear = 32, kFar = 64 };
  const unsigned char *next = (const unsigned char *)after;
  int32_t slot;
  int is_wide = bytes == sizeof(uint64_t);
  if (after < function->start + kCallBytes + kFar || after + kStoreBytes > function->end) return 0;
  if (is_wide && *next++ != 0x48) return 0;
  if (*next++ != 0x89 || (*next >> 3 & 7) != 0 || !read_slot(next, &slot)) return 0;
  const unsigned char *call = (const unsigned char *)after - kCallBytes;
  return is_stored_before(call, kNear, slot + (int32_t)bytes) &&
         (!is_wide || marks_group_before(call, kFar));
}
