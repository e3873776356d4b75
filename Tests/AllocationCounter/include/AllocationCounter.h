#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdbool.h>

// Counts what the process takes from the heap, on every thread, between a start and a stop.
//
// A program that links this has its malloc taken over: for the cost harness alone. Linux with glibc; elsewhere nothing
// is taken over and nothing is counted.

typedef struct {
    // Calls of malloc, calloc, realloc, reallocarray, posix_memalign, aligned_alloc and memalign.
    long allocations;
    // What those calls asked for.
    long bytes;
} allocation_counts;

bool allocation_counter_is_available(void);

// Begins from zero. One count at a time.
void allocation_counter_start(void);

allocation_counts allocation_counter_stop(void);

#endif
