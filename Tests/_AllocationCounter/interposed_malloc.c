// malloc and similar functions, interposed before glibc's, which remain callable under other names. While nothing is counted, they cost one
// branch.
#include "allocation_counter.h"

#include <stddef.h>

#include "counter_internal.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

#if defined(__linux__)
#include <features.h>
#endif

#if defined(__GLIBC__) && !defined(HAS_SANITIZER)
#include <errno.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

bool allocation_counter_counts_allocations(void) { return true; }

static inline void note(size_t size) {
  if (counter_is_on()) {
    counter_add(counter_allocations, 1);
    counter_add(counter_bytes, size);
  }
}

void *malloc(size_t size) {
  note(size);
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  note(count * size);
  return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
  note(size);
  return __libc_realloc(block, size);
}

void free(void *block) {
  if (block != NULL && counter_is_on()) { counter_add(counter_frees, 1); }
  __libc_free(block);
}

void *memalign(size_t alignment, size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
  if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) { return EINVAL; }
  void *made = memalign(alignment, size);
  if (made == NULL) { return ENOMEM; }
  *block = made;
  return 0;
}

#else

bool allocation_counter_counts_allocations(void) { return false; }

#endif
