// W19 and W20: the archive's package index, imported and queried.
#include "archive_internal.h"

// W19: import into an empty store with existing tables.
static void w19_prepare(raw_state *state) {
  raw_remove_store(state->work_path);
  state->other = raw_connect(state->work_path, RAW_NORMAL);
  archive_create_tables(state->other);
}

static void w19_run(raw_state *state) { archive_import(state->other, state->archive_path); }

static uint64_t w19_finish(raw_state *state) {
  uint64_t hash = archive_checksum(state->other);
  raw_disconnect(&state->other);
  raw_remove_store(state->work_path);
  return hash;
}

// W20: seven queries on an imported store, with its pages cached by the previous round. All texts and numbers of the results are in the
// checksum, in order. A unary + keeps SQLite from using an index that is slower here: it would scan the whole table in the index's order.
static const char *const questions[] = {
    // EXISTS: the big packages with a tag.
    "SELECT p.name, p.version FROM package p WHERE p.installed_size > 20000 AND EXISTS (SELECT 1 FROM package_tag x JOIN tag t"
    " ON t.id = x.tag WHERE x.package = p.id AND t.name = 'role::program') ORDER BY +p.name, p.version, p.architecture",
    // ANY over two to-many steps: the packages that name another in any relation.
    "SELECT p.name, p.version FROM package p WHERE p.id IN (SELECT r.package FROM alternative a JOIN relation r ON r.id = a.relation"
    " WHERE a.package_name = 'libssl3') ORDER BY p.name, p.version, p.architecture",
    // SUBQUERY: the maintainers with more than ten big packages.
    "SELECT m.email, m.name FROM (SELECT maintainer, count(*) AS n FROM package WHERE installed_size > 10000 GROUP BY +maintainer) x"
    " JOIN maintainer m ON m.id = x.maintainer WHERE x.n > 10 ORDER BY m.email",
    // GROUP BY: packages and their size by section.
    "SELECT s.name, x.n, x.size FROM (SELECT section, count(*) AS n, sum(installed_size) AS size FROM package GROUP BY +section) x"
    " JOIN section s ON s.id = x.section ORDER BY s.name",
    // Conditions of every kind: games with a graphical toolkit that depend on nothing of GTK.
    "SELECT p.name, p.version FROM package p WHERE p.section IN (SELECT id FROM section WHERE name LIKE '%games%') AND EXISTS (SELECT 1"
    " FROM package_tag x JOIN tag t ON t.id = x.tag WHERE x.package = p.id AND t.name >= 'uitoolkit::' AND t.name < 'uitoolkit:;')"
    " AND NOT EXISTS (SELECT 1 FROM relation r JOIN alternative a ON a.relation = r.id WHERE r.package = p.id AND r.kind IN (1, 2)"
    " AND a.package_name GLOB 'libgtk*') ORDER BY +p.name, p.version, p.architecture",
    // Counts of members: the maintainers with more than 200 packages.
    "SELECT m.email, x.n FROM (SELECT maintainer, count(*) AS n FROM package GROUP BY maintainer HAVING n > 200) x"
    " JOIN maintainer m ON m.id = x.maintainer ORDER BY x.n DESC, m.email",
    // The first results in the order of an aggregate: the ten sections with the largest total installed size.
    "SELECT s.name, x.size FROM (SELECT section, sum(installed_size) AS size FROM package GROUP BY +section) x"
    " JOIN section s ON s.id = x.section ORDER BY x.size DESC, s.name LIMIT 10",
};

static void w20_prepare(raw_state *state) {
  if (!state->has_archive_store) {
    raw_remove_store(state->archive_store_path);
    sqlite3 *db = raw_connect(state->archive_store_path, RAW_NORMAL);
    archive_create_tables(db);
    archive_import(db, state->archive_path);
    raw_execute(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    raw_disconnect(&db);
    state->has_archive_store = true;
  }
  if (state->archive == NULL) { state->archive = raw_connect(state->archive_store_path, RAW_NORMAL); }
}

static void ask(raw_state *state, int question) {
  sqlite3_stmt *statement = raw_prepare(state->archive, questions[question]);
  uint64_t hash = 0;
  int status, columns = sqlite3_column_count(statement);
  while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
    for (int i = 0; i < columns; i++) {
      if (sqlite3_column_type(statement, i) == SQLITE_INTEGER) {
        hash = bench_mix(hash, (uint64_t)sqlite3_column_int64(statement, i));
      } else {
        const char *bytes = (const char *)sqlite3_column_text(statement, i);
        hash = bench_mix_text(hash, bytes, (size_t)sqlite3_column_bytes(statement, i));
      }
    }
  }
  if (status != SQLITE_DONE) { raw_fail(state->archive, questions[question]); }
  sqlite3_finalize(statement);
  state->touched = hash;
}

static void w20a_run(raw_state *state) { ask(state, 0); }
static void w20b_run(raw_state *state) { ask(state, 1); }
static void w20c_run(raw_state *state) { ask(state, 2); }
static void w20d_run(raw_state *state) { ask(state, 3); }
static void w20e_run(raw_state *state) { ask(state, 4); }
static void w20f_run(raw_state *state) { ask(state, 5); }
static void w20g_run(raw_state *state) { ask(state, 6); }
static uint64_t w20_finish(raw_state *state) { return state->touched; }

const raw_workload raw_archive_workloads[] = {
    {"W19", "archive, import", RAW_MILLISECONDS, w19_prepare, w19_run, w19_finish, raw_one},
    {"W20a", "archive, EXISTS", RAW_MILLISECONDS, w20_prepare, w20a_run, w20_finish, raw_one},
    {"W20b", "archive, ANY over two steps", RAW_MILLISECONDS, w20_prepare, w20b_run, w20_finish, raw_one},
    {"W20c", "archive, SUBQUERY", RAW_MILLISECONDS, w20_prepare, w20c_run, w20_finish, raw_one},
    {"W20d", "archive, GROUP BY", RAW_MILLISECONDS, w20_prepare, w20d_run, w20_finish, raw_one},
    {"W20e", "archive, games without GTK", RAW_MILLISECONDS, w20_prepare, w20e_run, w20_finish, raw_one},
    {"W20f", "archive, maintainers by packages", RAW_MILLISECONDS, w20_prepare, w20f_run, w20_finish, raw_one},
    {"W20g", "archive, largest sections", RAW_MILLISECONDS, w20_prepare, w20g_run, w20_finish, raw_one},
};
const int raw_archive_workload_count = sizeof raw_archive_workloads / sizeof raw_archive_workloads[0];
