// Looks at every buffer that a program writes, to a file, a pipe or a stream, for values that were stored in encrypted databases. It is on from the start of
// a test program to its end, and tells then how much it has looked at and found. With CIPHERDATA_WRITE_WATCH=strict in the environment it also says where, and
// ends the program with an error.
#ifndef WRITE_WATCH_H
#define WRITE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether it is on: in test programs, where calls can be seen.
bool write_watch_is_on(void);

/// What must not be written from now on. What is bound to a statement of a keyed connection is noted without this. Of a value every twelve bytes in a row
/// are noted that begin at a multiple of twelve, so that no piece of 23 bytes goes by; values of less than twelve bytes are not noted.
void write_watch_note(const void *bytes, size_t size);

/// Whether bytes have a piece of what was noted with `write_watch_note`.
bool write_watch_finds(const void *bytes, size_t size);

/// How much has been looked at.
typedef struct write_watch_figures {
  uint64_t noted;  // pieces of values
  uint64_t writes; // calls
  uint64_t bytes;
  uint64_t found; // calls with a noted piece
} write_watch_figures;
write_watch_figures write_watch_count(void);

/// Takes back what was found since, where a test has written it on purpose.
void write_watch_forgive(uint64_t found);

#endif
