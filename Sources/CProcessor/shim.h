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

#endif
