/* Memory that the program withholds from its children (MADV_DONTFORK; V8 does so with its heap). A
 * worker is a child of its zygote, and has it all the same; but the worker's own children do not.
 */
#ifndef CGIBRIDGE_UNFORKED_H
#define CGIBRIDGE_UNFORKED_H

#include <stddef.h>

#include "smaps.h"

/* In the zygote: notes which memory that is, and gives it to children from then on. 0, or -1: it is
 * not known; 1: it is in too many pieces, or cannot be given. Done once. */
int unforked_share(void);

/* In a worker: withholds the same memory from children again. 0 or -1. Raw calls only. */
int unforked_withhold(void);

/* What was noted: in the order of addresses, neighbours joined. */
const struct address_range *unforked_ranges(size_t *count);

#endif
