// W19: the package index in hand-written tables, with the indexes that the model requests.
#include <stdlib.h>
#include <string.h>

#include "archive_internal.h"

void archive_create_tables(sqlite3 *db) {
  // The model's index by name on package, section and tag is omitted: the unique index begins with the name.
  raw_execute(
      db,
      "BEGIN;"
      "CREATE TABLE section (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
      "CREATE TABLE maintainer (id INTEGER PRIMARY KEY, name TEXT, email TEXT NOT NULL UNIQUE);"
      "CREATE INDEX maintainer_by_name ON maintainer (name);"
      "CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
      "CREATE TABLE package (id INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, architecture TEXT NOT NULL, priority TEXT,"
      " essential INTEGER NOT NULL, installed_size INTEGER, download_size INTEGER, summary TEXT, homepage TEXT, sha256 BLOB,"
      " section INTEGER, maintainer INTEGER, UNIQUE (name, version, architecture));"
      "CREATE INDEX package_by_size ON package (installed_size);"
      "CREATE INDEX package_by_section ON package (section);"
      "CREATE INDEX package_by_maintainer ON package (maintainer);"
      "CREATE TABLE package_tag (package INTEGER NOT NULL, tag INTEGER NOT NULL, PRIMARY KEY (package, tag)) WITHOUT ROWID;"
      "CREATE INDEX package_tag_by_tag ON package_tag (tag);"
      "CREATE TABLE relation (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, package INTEGER NOT NULL);"
      "CREATE INDEX relation_by_package ON relation (package);"
      "CREATE TABLE alternative (id INTEGER PRIMARY KEY, relation INTEGER NOT NULL, position INTEGER NOT NULL, package_name TEXT NOT NULL,"
      " comparison TEXT, version TEXT);"
      "CREATE INDEX alternative_by_relation ON alternative (relation, position);"
      "CREATE INDEX alternative_by_name ON alternative (package_name);"
      "COMMIT");
}

/// Stored names and their keys: open addressing; the texts are in the mapped file.
typedef struct name_table {
  slice *names; // the capacity is a power of two; an entry without bytes is free
  int64_t *keys;
  size_t count, room;
} name_table;

static size_t name_slot(const name_table *table, slice name) {
  uint64_t hash = bench_mix_text(0, name.bytes, name.length);
  size_t at = hash & (table->room - 1);
  while (table->names[at].bytes != NULL &&
         (table->names[at].length != name.length || memcmp(table->names[at].bytes, name.bytes, name.length) != 0)) {
    at = (at + 1) & (table->room - 1);
  }
  return at;
}

static void name_table_grow(name_table *table) {
  name_table old = *table;
  table->room = old.room == 0 ? 1024 : old.room * 2;
  table->names = calloc(table->room, sizeof *table->names);
  table->keys = calloc(table->room, sizeof *table->keys);
  if (table->names == NULL || table->keys == NULL) { raw_fail(NULL, "no memory"); }
  for (size_t i = 0; i < old.room; i++) {
    if (old.names[i].bytes == NULL) { continue; }
    size_t at = name_slot(table, old.names[i]);
    table->names[at] = old.names[i];
    table->keys[at] = old.keys[i];
  }
  free(old.names);
  free(old.keys);
}

/// Returns the name's key; a new one, and *is_new, if the name is new.
static int64_t name_key(name_table *table, slice name, bool *is_new) {
  if (table->count * 2 >= table->room) { name_table_grow(table); }
  size_t at = name_slot(table, name);
  *is_new = table->names[at].bytes == NULL;
  if (*is_new) {
    table->names[at] = name;
    table->keys[at] = (int64_t)++table->count;
  }
  return table->keys[at];
}

typedef struct importer {
  sqlite3 *db;
  sqlite3_stmt *section, *maintainer, *tag, *package, *package_tag, *relation, *alternative;
  name_table sections, maintainers, tags;
  int64_t relations;
} importer;

static void bind_slice(sqlite3_stmt *statement, int index, slice text) {
  if (text.bytes == NULL) {
    sqlite3_bind_null(statement, index);
  } else {
    sqlite3_bind_text(statement, index, text.bytes, (int)text.length, SQLITE_STATIC);
  }
}

static void bind_number(sqlite3_stmt *statement, int index, slice text) {
  if (text.bytes == NULL) {
    sqlite3_bind_null(statement, index);
    return;
  }
  int64_t value = 0;
  for (size_t i = 0; i < text.length && text.bytes[i] >= '0' && text.bytes[i] <= '9'; i++) { value = value * 10 + (text.bytes[i] - '0'); }
  sqlite3_bind_int64(statement, index, value);
}

static int hex_digit(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

static void bind_hash(sqlite3_stmt *statement, int index, slice text, unsigned char out[32]) {
  if (text.length != 64) {
    sqlite3_bind_null(statement, index);
    return;
  }
  for (int i = 0; i < 32; i++) { out[i] = (unsigned char)(hex_digit(text.bytes[2 * i]) << 4 | hex_digit(text.bytes[2 * i + 1])); }
  sqlite3_bind_blob(statement, index, out, 32, SQLITE_STATIC);
}

static int64_t named_row(importer *import, sqlite3_stmt *insert, name_table *table, slice name) {
  bool is_new;
  int64_t key = name_key(table, name, &is_new);
  if (is_new) {
    sqlite3_bind_int64(insert, 1, key);
    bind_slice(insert, 2, name);
    raw_step_done(import->db, insert);
  }
  return key;
}

/// "Name <email>"; the email identifies a maintainer.
static int64_t maintainer_row(importer *import, slice text) {
  slice name, email;
  archive_read_maintainer(text, &name, &email);
  bool is_new;
  int64_t key = name_key(&import->maintainers, email, &is_new);
  if (is_new) {
    sqlite3_bind_int64(import->maintainer, 1, key);
    bind_slice(import->maintainer, 2, name);
    bind_slice(import->maintainer, 3, email);
    raw_step_done(import->db, import->maintainer);
  }
  return key;
}

static void alternative_row(importer *import, int64_t relation, int64_t position, slice text) {
  slice name, comparison, version;
  archive_read_alternative(text, &name, &comparison, &version);
  sqlite3_stmt *insert = import->alternative;
  sqlite3_bind_int64(insert, 1, relation);
  sqlite3_bind_int64(insert, 2, position);
  bind_slice(insert, 3, name);
  bind_slice(insert, 4, comparison);
  bind_slice(insert, 5, version);
  raw_step_done(import->db, insert);
}

static void relation_rows(importer *import, int64_t package, const stanza *stanza) {
  for (int field = field_depends; field <= field_provides; field++) {
    slice rest = stanza->fields[field], group, one;
    while (slice_next(&rest, ',', &group)) {
      int64_t relation = ++import->relations;
      sqlite3_bind_int64(import->relation, 1, relation);
      sqlite3_bind_int64(import->relation, 2, field - field_depends + 1);
      sqlite3_bind_int64(import->relation, 3, package);
      raw_step_done(import->db, import->relation);
      for (int64_t position = 0; slice_next(&group, '|', &one); position++) { alternative_row(import, relation, position, one); }
    }
  }
}

static void package_rows(importer *import, int64_t key, const stanza *stanza) {
  const slice *fields = stanza->fields;
  sqlite3_stmt *insert = import->package;
  unsigned char hash[32];
  sqlite3_bind_int64(insert, 1, key);
  bind_slice(insert, 2, fields[field_package]);
  bind_slice(insert, 3, fields[field_version]);
  bind_slice(insert, 4, fields[field_architecture]);
  bind_slice(insert, 5, fields[field_priority]);
  sqlite3_bind_int(insert, 6, fields[field_essential].length == 3);
  bind_number(insert, 7, fields[field_installed_size]);
  bind_number(insert, 8, fields[field_size]);
  bind_slice(insert, 9, fields[field_description]);
  bind_slice(insert, 10, fields[field_homepage]);
  bind_hash(insert, 11, fields[field_sha256], hash);
  sqlite3_bind_null(insert, 12);
  sqlite3_bind_null(insert, 13);
  if (fields[field_section].length > 0) {
    sqlite3_bind_int64(insert, 12, named_row(import, import->section, &import->sections, fields[field_section]));
  }
  if (fields[field_maintainer].length > 0) { sqlite3_bind_int64(insert, 13, maintainer_row(import, fields[field_maintainer])); }
  raw_step_done(import->db, insert);

  slice rest = fields[field_tag], name;
  while (slice_next(&rest, ',', &name)) {
    sqlite3_bind_int64(import->package_tag, 1, key);
    sqlite3_bind_int64(import->package_tag, 2, named_row(import, import->tag, &import->tags, name));
    raw_step_done(import->db, import->package_tag);
  }
  relation_rows(import, key, stanza);
}

static void free_table(name_table *table) {
  free(table->names);
  free(table->keys);
}

void archive_import(sqlite3 *db, const char *path) {
  archive_file file;
  archive_map(&file, path);
  importer import = {.db = db};
  raw_execute(db, "BEGIN IMMEDIATE");
  import.section = raw_prepare(db, "INSERT INTO section VALUES (?, ?)");
  import.maintainer = raw_prepare(db, "INSERT INTO maintainer VALUES (?, ?, ?)");
  import.tag = raw_prepare(db, "INSERT INTO tag VALUES (?, ?)");
  import.package = raw_prepare(db, "INSERT INTO package VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  import.package_tag = raw_prepare(db, "INSERT OR IGNORE INTO package_tag VALUES (?, ?)"); // an index can name a tag twice
  import.relation = raw_prepare(db, "INSERT INTO relation VALUES (?, ?, ?)");
  import.alternative = raw_prepare(
      db, "INSERT INTO alternative (relation, position, package_name, comparison, version) VALUES (?, ?, ?, ?, ?)");
  stanza stanza;
  for (int64_t key = 1; archive_next_stanza(&file, &stanza); key++) { package_rows(&import, key, &stanza); }
  sqlite3_stmt *statements[] = {import.section,     import.maintainer, import.tag,        import.package,
                                import.package_tag, import.relation,   import.alternative};
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) { sqlite3_finalize(statements[i]); }
  raw_execute(db, "COMMIT");
  free_table(&import.sections);
  free_table(&import.maintainers);
  free_table(&import.tags);
  archive_unmap(&file);
}

/// Counts and sums that do not depend on keys or on the order of the import.
uint64_t archive_checksum(sqlite3 *db) {
  static const char *const sums[] = {
      "SELECT count(*) FROM section",
      "SELECT count(*) FROM maintainer",
      "SELECT count(*) FROM tag",
      "SELECT count(*) FROM package_tag",
      "SELECT count(*) FROM package",
      "SELECT sum(installed_size) FROM package",
      "SELECT sum(download_size) FROM package",
      "SELECT count(*) FROM relation",
      "SELECT count(*) FROM alternative",
      "SELECT count(version) FROM alternative",
  };
  uint64_t hash = 0;
  for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
    sqlite3_stmt *statement = raw_prepare(db, sums[i]);
    if (sqlite3_step(statement) != SQLITE_ROW) { raw_fail(db, sums[i]); }
    hash = bench_mix(hash, (uint64_t)sqlite3_column_int64(statement, 0));
    sqlite3_finalize(statement);
  }
  return hash;
}
