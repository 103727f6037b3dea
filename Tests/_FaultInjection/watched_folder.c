// The watched folder, the failing calls, and the records.
#define _GNU_SOURCE
#include "fault_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Atomic bool fault_is_watching;
pthread_mutex_t fault_mutex = PTHREAD_MUTEX_INITIALIZER;
uint32_t fault_handles[fault_most_descriptors];
bool fault_passes_syncs = true;

static char watched[fault_longest_path];
static size_t watched_length;
static uint32_t last_handle;

static bool is_armed;
static fault_plan plan;
static uint64_t calls[fault_call_count];
static uint64_t failures;

static bool is_recording;
static unsigned char *records;
static size_t records_size, records_room;

bool fault_injection_works(void) {
#if defined(FAULT_WORKS)
  return true;
#else
  return false;
#endif
}

void fault_watch(const char *folder) {
  pthread_mutex_lock(&fault_mutex);
  snprintf(watched, sizeof watched, "%s", folder);
  watched_length = strlen(watched);
  while (watched_length > 1 && watched[watched_length - 1] == '/') { watched[--watched_length] = 0; }
  memset(fault_handles, 0, sizeof fault_handles);
  is_armed = false;
  fault_passes_syncs = true;
  atomic_store(&fault_is_watching, true);
  pthread_mutex_unlock(&fault_mutex);
}

void fault_unwatch(void) {
  pthread_mutex_lock(&fault_mutex);
  atomic_store(&fault_is_watching, false);
  is_armed = false;
  fault_passes_syncs = true;
  pthread_mutex_unlock(&fault_mutex);
}

void fault_let_syncs_pass(bool passes) {
  pthread_mutex_lock(&fault_mutex);
  fault_passes_syncs = passes;
  pthread_mutex_unlock(&fault_mutex);
}

bool fault_relative(int folder, const char *path, char *relative) {
  char whole[fault_longest_path];
  if (path[0] != '/') {
    if (folder == AT_FDCWD) { return false; }
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, whole, sizeof whole - 1);
    if (length <= 0 || (size_t)length + strlen(path) + 2 > sizeof whole) { return false; }
    snprintf(whole + length, sizeof whole - (size_t)length, "/%s", path);
    path = whole;
  }
  if (strncmp(path, watched, watched_length) != 0) { return false; }
  path += watched_length;
  if (*path != 0 && *path != '/') { return false; }
  // Without duplicate and trailing slashes.
  size_t length = 0;
  while (*path != 0 && length + 2 < fault_longest_path) {
    while (*path == '/') { path++; }
    if (*path == 0) { break; }
    if (length > 0) { relative[length++] = '/'; }
    while (*path != 0 && *path != '/' && length + 2 < fault_longest_path) { relative[length++] = *path++; }
  }
  relative[length] = 0;
  return true;
}

// Faults.

static void arm(fault_plan new_plan) {
  pthread_mutex_lock(&fault_mutex);
  plan = new_plan;
  memset(calls, 0, sizeof calls);
  failures = 0;
  is_armed = true;
  pthread_mutex_unlock(&fault_mutex);
}

void fault_arm(fault_plan new_plan) { arm(new_plan); }

void fault_arm_nothing(void) { arm((fault_plan){fault_call_count, 0, 0, 0}); }

void fault_disarm(void) {
  pthread_mutex_lock(&fault_mutex);
  is_armed = false;
  pthread_mutex_unlock(&fault_mutex);
}

uint64_t fault_calls(fault_call call) {
  pthread_mutex_lock(&fault_mutex);
  uint64_t count = calls[call];
  pthread_mutex_unlock(&fault_mutex);
  return count;
}

uint64_t fault_failures(void) {
  pthread_mutex_lock(&fault_mutex);
  uint64_t count = failures;
  pthread_mutex_unlock(&fault_mutex);
  return count;
}

fault_verdict fault_judge(fault_call call) {
  if (!is_armed) { return (fault_verdict){0, false, false}; }
  uint64_t number = ++calls[call];
  if (call != plan.call || number < plan.first || number - plan.first >= plan.times) { return (fault_verdict){0, false, false}; }
  failures++;
  if (plan.error == fault_kill || (plan.error == fault_kill_halfway && call != fault_call_write)) { fault_end_process(); }
  if (plan.error == fault_kill_halfway) { return (fault_verdict){0, true, true}; }
  return (fault_verdict){plan.error, plan.error == 0, false};
}

void fault_end_process(void) {
  for (;;) { kill(getpid(), SIGKILL); }
}

int fault_fork(void) { return fork(); }

bool fault_is_failing(void) {
  pthread_mutex_lock(&fault_mutex);
  bool is_failing = is_armed && failures > 0 && plan.times > 1;
  pthread_mutex_unlock(&fault_mutex);
  return is_failing;
}

// Records.

uint32_t fault_new_handle(void) { return ++last_handle; }

void fault_note(fault_record_kind kind, uint32_t handle, uint64_t offset, const void *first, size_t first_size, const void *second,
                size_t second_size) {
  if (!is_recording) { return; }
  size_t size = sizeof(fault_record) + first_size + second_size;
  if (records_room - records_size < size) {
    size_t room = 2 * records_room + size + 65536;
    unsigned char *larger = realloc(records, room);
    if (larger == NULL) { abort(); }
    records = larger;
    records_room = room;
  }
  fault_record record = {kind, handle, offset, (uint32_t)first_size, (uint32_t)second_size};
  memcpy(records + records_size, &record, sizeof record);
  records_size += sizeof record;
  if (first_size > 0) { memcpy(records + records_size, first, first_size); }
  records_size += first_size;
  if (second_size > 0) { memcpy(records + records_size, second, second_size); }
  records_size += second_size;
}

void fault_record_start(void) {
  pthread_mutex_lock(&fault_mutex);
  free(records);
  records = NULL;
  records_size = records_room = 0;
  is_recording = true;
  pthread_mutex_unlock(&fault_mutex);
}

void fault_record_note_number(uint64_t number) {
  pthread_mutex_lock(&fault_mutex);
  fault_note(fault_record_note, 0, number, NULL, 0, NULL, 0);
  pthread_mutex_unlock(&fault_mutex);
}

void *fault_record_stop(size_t *size) {
  pthread_mutex_lock(&fault_mutex);
  is_recording = false;
  void *result = records;
  *size = records_size;
  records = NULL;
  records_size = records_room = 0;
  pthread_mutex_unlock(&fault_mutex);
  return result;
}
