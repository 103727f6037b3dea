// Searches every buffer that a program writes to a file, a pipe or a stream for values that were stored in encrypted databases. It runs
// from the start of a test program to its end, and then reports the numbers of searched and found values. With
// CIPHERDATA_WRITE_WATCH=strict in the environment, it also reports where, and ends the program with an error.
#ifndef WRITE_WATCH_H
#define WRITE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether it is on: in test programs on systems where calls can be interposed.
bool write_watch_is_on(void);

/// Registers a value that must not be written from now on. Values bound to statements of a keyed connection are registered automatically.
/// Of each value, all 12-byte blocks at multiples of 12 are registered, so that every fragment of 23 bytes is detected; values shorter than
/// 12 bytes are not registered.
void write_watch_note(const void *bytes, size_t size);

/// Whether bytes contain a block registered with `write_watch_note`.
bool write_watch_finds(const void *bytes, size_t size);

/// The statistics of the search.
typedef struct write_watch_figures {
  uint64_t noted;  // registered blocks
  uint64_t writes; // calls
  uint64_t bytes;
  uint64_t found; // calls with a registered block
} write_watch_figures;
write_watch_figures write_watch_count(void);

/// Discards recent findings, for tests that write values on purpose.
void write_watch_forgive(uint64_t found);

#endif
