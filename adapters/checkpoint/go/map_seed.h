/* Maps on a stack: their seed is drawn by code that the compiler has put into the function that
 * makes the map, with the runtime's function that others link to as well. Nobody else learns the
 * seed. */
#ifndef CGIBRIDGE_GO_MAP_SEED_H
#define CGIBRIDGE_GO_MAP_SEED_H

#include "go/table.h"

/* Whether the call that ends at this place of the function draws one, by the code around it. Any
 * other shape of it is somebody else's call. bytes: of the seed. */
int go_is_map_seed(const struct go_function *function, uintptr_t after, size_t bytes);

#endif
