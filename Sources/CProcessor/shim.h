// What only C can say to the compiler and the processor.
#ifndef CIPHERDATA_CPROCESSOR_SHIM_H
#define CIPHERDATA_CPROCESSOR_SHIM_H

#include <stdint.h>

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

#endif
