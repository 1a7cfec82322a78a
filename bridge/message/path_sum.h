/* A number that stands for a path when a zygote is launched: for C and C++. */
#ifndef CGIBRIDGE_PATH_SUM_H
#define CGIBRIDGE_PATH_SUM_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a. Two paths with one sum count as the same. */
static inline uint32_t path_sum(const char *path, size_t bytes) {
  uint32_t sum = 2166136261U;
  for (size_t i = 0; i < bytes; ++i) sum = (sum ^ (unsigned char)path[i]) * 16777619U;
  return sum;
}

#endif
