// The C program's state and the list of its workloads, by number.
#include <stdlib.h>
#include <string.h>

#include "floor_internal.h"

double floor_one(const floor_state *state) {
  (void)state;
  return 1;
}

double floor_book_count(const floor_state *state) { return (double)state->data->book_count; }

floor_state *floor_open(const bench_data *data, const char *memory_folder, const char *disk_folder, const char *archive_path) {
  floor_state *state = calloc(1, sizeof *state);
  if (state == NULL) { floor_fail(NULL, "no memory"); }
  state->data = data;
  state->base_path = floor_path(memory_folder, "floor.store");
  state->work_path = floor_path(memory_folder, "floor-work.store");
  state->disk_path = floor_path(disk_folder, "floor-disk.store");
  state->archive_store_path = floor_path(memory_folder, "floor-archive.store");
  state->archive_path = archive_path != NULL ? strdup(archive_path) : NULL;
  return state;
}

void floor_close(floor_state *state) {
  if (state == NULL) { return; }
  sqlite3_stmt *statements[] = {state->select_all,  state->select_top,    state->count_all,  state->count_where,
                                state->select_book, state->select_author, state->select_authors, state->select_tags};
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) { sqlite3_finalize(statements[i]); }
  floor_disconnect(&state->base);
  floor_disconnect(&state->other);
  floor_disconnect(&state->archive);
  char *paths[] = {state->base_path, state->work_path, state->disk_path, state->archive_store_path};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    floor_remove_store(paths[i]);
    free(paths[i]);
  }
  floor_free_books(&state->books);
  floor_free_books(&state->second);
  floor_free_authors(state);
  free(state->sample);
  free(state->archive_path);
  free(state);
}

static const floor_workload *all[64];
static int all_count;

static void add(const floor_workload *workloads, int count) {
  for (int i = 0; i < count; i++) { all[all_count++] = &workloads[i]; }
}

int floor_workload_count(void) {
  if (all_count == 0) {
    add(floor_write_workloads, 1);
    add(floor_fetch_workloads, floor_fetch_workload_count);
    add(floor_fault_workloads, floor_fault_workload_count);
    add(floor_tag_workloads, floor_tag_workload_count);
    add(floor_write_workloads + 1, floor_write_workload_count - 1);
    add(floor_memory_workloads, floor_memory_workload_count);
    add(floor_archive_workloads, floor_archive_workload_count);
  }
  return all_count;
}

const floor_workload *floor_workload_at(int index) { return all[index]; }
