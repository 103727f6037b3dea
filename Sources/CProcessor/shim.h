// The processor's hint that memory will be read soon.
#ifndef CIPHERDATA_CPREFETCH_SHIM_H
#define CIPHERDATA_CPREFETCH_SHIM_H

// Reads nothing, and does nothing where nothing lies at the address: any address may be given.
static inline void cipherdata_prefetch(const void *address) { __builtin_prefetch(address); }

#endif
