// The parser of package indexes (deb822), which both sides use, so that only storage is compared.
#ifndef ARCHIVE_PARSE_H
#define ARCHIVE_PARSE_H

#include <stdbool.h>
#include <stddef.h>

/// A piece of the mapped file.
typedef struct slice {
  const char *bytes;
  size_t length;
} slice;

/// The fields that the store contains. The relation fields come last, in the order of their kinds.
typedef enum archive_field {
  field_package, field_version, field_architecture, field_priority, field_essential, field_installed_size, field_size, field_description,
  field_homepage, field_sha256, field_section, field_maintainer, field_tag,
  field_depends, field_pre_depends, field_recommends, field_suggests, field_conflicts, field_breaks, field_replaces, field_enhances,
  field_provides,
  field_count
} archive_field;

typedef struct stanza {
  slice fields[field_count]; // bytes is NULL if the stanza lacks the field
} stanza;

typedef struct archive_file {
  const char *start, *next, *end;
} archive_file;

void archive_map(archive_file *file, const char *path);
void archive_unmap(archive_file *file);
bool archive_next_stanza(archive_file *file, stanza *out);
slice slice_trimmed(slice text);
/// Removes the piece before `separator` from the front of `rest` and trims it; false if `rest` is empty.
bool slice_next(slice *rest, char separator, slice *piece);
/// The name of one alternative of a relation, and its version's comparison and text, whose bytes are NULL without a version. Other text in
/// brackets is skipped.
void archive_read_alternative(slice text, slice *name, slice *comparison, slice *version);
/// "Name <email>"; the name's bytes are NULL if it is missing.
void archive_read_maintainer(slice text, slice *name, slice *email);

static inline slice stanza_field(const stanza *stanza, int field) { return stanza->fields[field]; }

#endif
