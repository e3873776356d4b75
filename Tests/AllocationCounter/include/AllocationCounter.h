#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdbool.h>

// Counts heap allocations of the process, on every thread, between a start and a stop.
//
// It replaces malloc in every program that links it, so only the cost harness does. It works on Linux with glibc;
// elsewhere it replaces nothing and counts nothing.

typedef struct {
    // Number of calls of malloc, calloc, realloc, reallocarray, posix_memalign, aligned_alloc and memalign.
    long allocations;
    // Number of bytes that those calls requested.
    long bytes;
} allocation_counts;

bool allocation_counter_is_available(void);

// Starts counting from zero. Only one count may run at a time.
void allocation_counter_start(void);

allocation_counts allocation_counter_stop(void);

#endif
