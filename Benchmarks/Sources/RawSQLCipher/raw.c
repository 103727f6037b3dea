// The C program's state and the list of its workloads, by number.
#include <stdlib.h>
#include <string.h>

#include "raw_internal.h"

double raw_one(const raw_state *state) {
  (void)state;
  return 1;
}

double raw_book_count(const raw_state *state) { return (double)state->data->book_count; }

raw_state *raw_open(const bench_data *data, const char *memory_folder, const char *disk_folder, const char *archive_path) {
  raw_state *state = calloc(1, sizeof *state);
  if (state == NULL) { raw_fail(NULL, "no memory"); }
  state->data = data;
  state->base_path = raw_path(memory_folder, "raw.store");
  state->work_path = raw_path(memory_folder, "raw-work.store");
  state->disk_path = raw_path(disk_folder, "raw-disk.store");
  state->archive_store_path = raw_path(memory_folder, "raw-archive.store");
  state->archive_path = archive_path != NULL ? strdup(archive_path) : NULL;
  return state;
}

void raw_close(raw_state *state) {
  if (state == NULL) { return; }
  sqlite3_stmt *statements[] = {state->select_all,  state->select_top,    state->count_all,  state->count_where,
                                state->select_book, state->select_author, state->select_authors, state->select_tags};
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) { sqlite3_finalize(statements[i]); }
  raw_disconnect(&state->base);
  raw_disconnect(&state->other);
  raw_disconnect(&state->archive);
  char *paths[] = {state->base_path, state->work_path, state->disk_path, state->archive_store_path};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    raw_remove_store(paths[i]);
    free(paths[i]);
  }
  raw_free_books(&state->books);
  raw_free_books(&state->second);
  raw_free_authors(state);
  free(state->sample);
  free(state->archive_path);
  free(state);
}

static const raw_workload *all[64];
static int all_count;

static void add(const raw_workload *workloads, int count) {
  for (int i = 0; i < count; i++) { all[all_count++] = &workloads[i]; }
}

int raw_workload_count(void) {
  if (all_count == 0) {
    add(raw_write_workloads, 1);
    add(raw_fetch_workloads, raw_fetch_workload_count);
    add(raw_fault_workloads, raw_fault_workload_count);
    add(raw_tag_workloads, raw_tag_workload_count);
    add(raw_write_workloads + 1, raw_write_workload_count - 1);
    add(raw_memory_workloads, raw_memory_workload_count);
    add(raw_archive_workloads, raw_archive_workload_count);
  }
  return all_count;
}

const raw_workload *raw_workload_at(int index) { return all[index]; }
