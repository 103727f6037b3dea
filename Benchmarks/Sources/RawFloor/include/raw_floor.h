// The raw C baseline: every workload as a good hand-written C program over SQLCipher's C API.
#ifndef RAW_FLOOR_H
#define RAW_FLOOR_H

#include <stdbool.h>

#include "archive_parse.h"
#include "benchmark_data.h"
#include "raw_floor_large.h"

/// The state of the C program: its files, connections and fetched rows.
typedef struct floor_state floor_state;

/// The unit of a workload's figure.
typedef enum floor_unit {
  FLOOR_MILLISECONDS,         // CPU time of the whole run
  FLOOR_MILLISECONDS_EACH,    // CPU time divided by `operations`
  FLOOR_NANOSECONDS_EACH,     // CPU time divided by `operations`
  FLOOR_BYTES_EACH,           // heap growth divided by `operations`
} floor_unit;

typedef struct floor_workload {
  const char *id;   // as in the design: "W4"
  const char *name; // "fetch_warm"
  floor_unit unit;
  /// The preparation, which is not measured.
  void (*prepare)(floor_state *state);
  /// The measured part.
  void (*run)(floor_state *state);
  /// Runs afterwards without being measured; returns the checksum.
  uint64_t (*finish)(floor_state *state);
  /// The number of operations per run.
  double (*operations)(const floor_state *state);
} floor_workload;

/// Creates the program's state. The databases are in `memory_folder`, W14b's in `disk_folder`; `archive_path` names the package index of
/// W19 and W20 or is NULL. The data must outlive the state. Any error ends the process, since a failing baseline measures nothing.
floor_state *floor_open(const bench_data *data, const char *memory_folder, const char *disk_folder, const char *archive_path);
/// Closes everything and removes the files.
void floor_close(floor_state *state);

int floor_workload_count(void);
const floor_workload *floor_workload_at(int index);

/// W2a's store, and the operations of a process that opens it: connect and read one row.
void floor_make_store(const char *path);
void floor_open_once(const char *path);

/// Enables counting of statements on every connection opened from now on.
void floor_watch_connections(void);
/// Starts counting statements from zero, or stops counting. No statement may be running.
void floor_count_statements(bool begin);
uint64_t floor_counted_statements(void);

/// The versions of SQLCipher and its SQLite, for the report.
const char *floor_cipher_version(floor_state *state);
const char *floor_sqlite_version(void);

#endif
