// What only C can say to the compiler, the processor and the system.
#ifndef CIPHERDATA_CPROCESSOR_SHIM_H
#define CIPHERDATA_CPROCESSOR_SHIM_H

#include <stdint.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

// A hint that memory will be read soon. Reads nothing, and does nothing where nothing lies at the address: any address may be given.
static inline void cipherdata_prefetch(const void *address) { __builtin_prefetch(address); }

// Gives back the word that it is given, of which the compiler then knows nothing. No instruction is made for it.
static inline uint64_t cipherdata_opaque(uint64_t word) {
  __asm__("" : "+r"(word));
  return word;
}

// Reads a word that others may be storing. It is said to be pure, since who reads it sees by the word itself whether it is of use: the compiler may read it
// once for several times, and, unlike around Swift's own atomic loads, it need not keep objects alive across it.
static inline __attribute__((pure)) uint64_t cipherdata_relaxed_word(const void *address) {
  return __atomic_load_n((const uint64_t *)address, __ATOMIC_RELAXED);
}

// Returns when a file was created, in nanoseconds since 1970, or 0 if its file system does not say. Swift's module of the C library has no statx, and
// the system's headers declare it differently; this is the part of its result that is used.
static inline int64_t cipherdata_birth(const char *path) {
#if defined(SYS_statx)
  struct {
    uint32_t mask, before[19];
    int64_t seconds;
    uint32_t nanoseconds, after[41];
  } status;
  const uint32_t birth = 0x800;
  const int currentFolder = -100;
  if (syscall(SYS_statx, currentFolder, path, 0, birth, &status) != 0 || !(status.mask & birth)) return 0;
  return status.seconds * 1000000000 + status.nanoseconds;
#else
  return 0;
#endif
}

#endif
