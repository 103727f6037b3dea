// The raw C baseline: every workload as a good hand-written C program over SQLCipher's C API.
#ifndef RAW_SQLCIPHER_H
#define RAW_SQLCIPHER_H

#include <stdbool.h>

#include "archive_parse.h"
#include "benchmark_data.h"
#include "raw_sqlcipher_large.h"

/// The state of the C program: its files, connections and fetched rows.
typedef struct raw_state raw_state;

/// The unit of a workload's figure.
typedef enum raw_unit {
  RAW_MILLISECONDS,         // CPU time of the whole run
  RAW_MILLISECONDS_EACH,    // CPU time divided by `operations`
  RAW_NANOSECONDS_EACH,     // CPU time divided by `operations`
  RAW_BYTES_EACH,           // heap growth divided by `operations`
} raw_unit;

typedef struct raw_workload {
  const char *id;   // as in the design: "W4"
  const char *name; // "fetch_warm"
  raw_unit unit;
  /// The preparation, which is not measured.
  void (*prepare)(raw_state *state);
  /// The measured part.
  void (*run)(raw_state *state);
  /// Runs afterwards without being measured; returns the checksum.
  uint64_t (*finish)(raw_state *state);
  /// The number of operations per run.
  double (*operations)(const raw_state *state);
} raw_workload;

/// Creates the program's state. The databases are in `memory_folder`, W14b's in `disk_folder`; `archive_path` names the package index of
/// W19 and W20 or is NULL. The data must outlive the state. Any error ends the process, since a failing baseline measures nothing.
raw_state *raw_open(const bench_data *data, const char *memory_folder, const char *disk_folder, const char *archive_path);
/// Closes everything and removes the files.
void raw_close(raw_state *state);

int raw_workload_count(void);
const raw_workload *raw_workload_at(int index);

/// W2a's store, and the operations of a process that opens it: connect and read one row.
void raw_make_store(const char *path);
void raw_open_once(const char *path);

/// Enables counting of statements on every connection opened from now on.
void raw_watch_connections(void);
/// Starts counting statements from zero, or stops counting. No statement may be running.
void raw_count_statements(bool begin);
uint64_t raw_counted_statements(void);

/// The versions of SQLCipher and its SQLite, for the report.
const char *raw_cipher_version(raw_state *state);
const char *raw_sqlite_version(void);

#endif
