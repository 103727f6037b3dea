// Retains and releases, counted through the Swift runtime's hooks for instruments. The symbols are weak: without them nothing is counted.
#define _GNU_SOURCE
#include "allocation_counter.h"

#include "counter_internal.h"

// The address space of other machines has another layout, see `is_object`.
#if defined(__linux__) && defined(__x86_64__)
#include <link.h>
#include <stddef.h>
#include <unistd.h>

typedef void *(*retain_function)(void *object);
typedef void *(*retain_many_function)(void *object, uint32_t count);
typedef void (*release_function)(void *object);
typedef void (*release_many_function)(void *object, uint32_t count);

extern retain_function _swift_retain __attribute__((weak));
extern retain_many_function _swift_retain_n __attribute__((weak));
extern release_function _swift_release __attribute__((weak));
extern release_many_function _swift_release_n __attribute__((weak));
// The runtime calls the hooks only while this is true.
extern bool _swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly __attribute__((weak));

static retain_function retain;
static retain_many_function retain_many;
static release_function release;
static release_many_function release_many;

enum { most_images = 256 };
static struct {
  uintptr_t start, end;
} images[most_images];
static int image_count;
// The possible locations of objects: the heap after the program, which is the first image, and the mappings, including libraries and
// stacks.
static uintptr_t heap_end, mappings_start;
static const uintptr_t reach = (uintptr_t)1 << 36; // both can grow while counting

static int add_image(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  (void)context;
  for (int i = 0; i < info->dlpi_phnum && image_count < most_images; i++) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) { continue; }
    uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    images[image_count].start = start;
    if (start >> 40 >= 0x7e && start < mappings_start) { mappings_start = start; }
    images[image_count++].end = start + info->dlpi_phdr[i].p_memsz;
  }
  return 0;
}

/// Whether a retained word is an object. The runtime also passes the words of small strings and literals, without their discriminator bits:
/// the bytes of a text, or an address in a program's image. Neither has a reference count. Objects are in the heap, in mappings or on a
/// stack.
static bool is_object(uintptr_t word) {
  bool is_mapped = word >= mappings_start - reach && word >> 47 == 0;
  if (!is_mapped && (word < images[0].start || word >= heap_end)) { return false; }
  for (int i = 0; i < image_count; i++) {
    if (word >= images[i].start && word < images[i].end) { return false; }
  }
  return true;
}

static void *counted_retain(void *object) {
  if (!is_object((uintptr_t)object)) { return object; }
  counter_add(counter_retains, 1);
  return retain(object);
}

static void *counted_retain_many(void *object, uint32_t count) {
  if (!is_object((uintptr_t)object)) { return object; }
  counter_add(counter_retains, 1);
  return retain_many(object, count);
}

static void counted_release(void *object) {
  if ((intptr_t)object > 0) { counter_add(counter_releases, 1); }
  release(object);
}

static void counted_release_many(void *object, uint32_t count) {
  if ((intptr_t)object > 0) { counter_add(counter_releases, 1); }
  release_many(object, count);
}

bool allocation_counter_counts_retains(void) {
  return &_swift_retain != NULL && &_swift_retain_n != NULL && &_swift_release != NULL && &_swift_release_n != NULL &&
         &_swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly != NULL;
}

void retain_counter_switch(bool is_on) {
  if (!allocation_counter_counts_retains()) { return; }
  if (retain == NULL) {
    retain = _swift_retain;
    retain_many = _swift_retain_n;
    release = _swift_release;
    release_many = _swift_release_n;
  }
  if (is_on) {
    image_count = 0;
    mappings_start = UINTPTR_MAX;
    dl_iterate_phdr(add_image, NULL);
    heap_end = (uintptr_t)sbrk(0) + reach;
  }
  _swift_retain = is_on ? counted_retain : retain;
  _swift_retain_n = is_on ? counted_retain_many : retain_many;
  _swift_release = is_on ? counted_release : release;
  _swift_release_n = is_on ? counted_release_many : release_many;
  _swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly = is_on;
}

#else

bool allocation_counter_counts_retains(void) { return false; }

void retain_counter_switch(bool is_on) { (void)is_on; }

#endif
