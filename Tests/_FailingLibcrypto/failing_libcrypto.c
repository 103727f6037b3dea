// Allocations of libcrypto that fail, in the process of a test. The functions must be replaced before libcrypto is first used, which
// CLibcryptoAtExit does before `main`, in a constructor without a priority.
#include "failing_libcrypto.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

static long pieces_left = LONG_MAX;
static int is_installed = 0;

static void *allocate(size_t size, const char *file, int line) {
  if (pieces_left <= 0) return NULL;
  pieces_left -= 1;
  return malloc(size);
}

static void *reallocate(void *old, size_t size, const char *file, int line) {
  if (pieces_left <= 0) return NULL;
  pieces_left -= 1;
  return realloc(old, size);
}

static void release(void *old, const char *file, int line) { free(old); }

__attribute__((constructor(101))) static void install(void) {
  const char *role = getenv("CIPHERDATA_TEST_ROLE");
  if (role == NULL || strcmp(role, "check in no memory") != 0) return;
  is_installed = CRYPTO_set_mem_functions(allocate, reallocate, release);
}

int failing_libcrypto_is_installed(void) { return is_installed; }

void failing_libcrypto_allow(long count) { pieces_left = count; }
