// Counts the SQL statements of every connection of the process, C's and the library's, with SQLite's trace.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "raw_internal.h"

typedef struct connection {
  sqlite3 *db;
  struct connection *next;
} connection;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static connection *connections;
static bool is_on;
static _Atomic uint64_t count;

static int traced(unsigned kind, void *context, void *statement, void *text) {
  (void)kind;
  (void)context;
  (void)statement;
  const char *sql = text;
  // The statements of a trigger are reported as comments.
  if (!(sql[0] == '-' && sql[1] == '-')) { atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); }
  return 0;
}

static void trace(sqlite3 *db) { sqlite3_trace_v2(db, is_on ? SQLITE_TRACE_STMT : 0, is_on ? traced : NULL, NULL); }

static void closed(void *context) {
  connection *gone = context;
  pthread_mutex_lock(&lock);
  for (connection **at = &connections; *at != NULL; at = &(*at)->next) {
    if (*at == gone) {
      *at = gone->next;
      break;
    }
  }
  pthread_mutex_unlock(&lock);
  free(gone);
}

static void never(sqlite3_context *context, int count, sqlite3_value **values) {
  (void)context;
  (void)count;
  (void)values;
}

// The destructor of an unused function reports that its connection is closed.
static int opened(sqlite3 *db, char **error, const void *routines) {
  (void)error;
  (void)routines;
  connection *one = malloc(sizeof *one);
  if (one == NULL) { return SQLITE_NOMEM; }
  pthread_mutex_lock(&lock);
  *one = (connection){db, connections};
  connections = one;
  trace(db);
  pthread_mutex_unlock(&lock);
  return sqlite3_create_function_v2(db, "benchmark_connection", 0, SQLITE_UTF8, one, never, NULL, NULL, closed);
}

void raw_watch_connections(void) { sqlite3_auto_extension((void (*)(void))opened); }

void raw_count_statements(bool begin) {
  pthread_mutex_lock(&lock);
  is_on = begin;
  if (begin) { count = 0; }
  for (connection *one = connections; one != NULL; one = one->next) { trace(one->db); }
  pthread_mutex_unlock(&lock);
}

uint64_t raw_counted_statements(void) { return count; }
