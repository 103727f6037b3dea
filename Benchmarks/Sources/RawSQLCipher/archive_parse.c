// Parses the package index (deb822): one pass over the mapped file, no copies.
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive_internal.h"

static const char *const field_names[field_count] = {
    "Package",     "Version",    "Architecture", "Priority",  "Essential", "Installed-Size", "Size",     "Description", "Homepage", "SHA256", "Section",
    "Maintainer",  "Tag",        "Depends",      "Pre-Depends", "Recommends", "Suggests",    "Conflicts", "Breaks",     "Replaces", "Enhances",
    "Provides",
};

void archive_map(archive_file *file, const char *path) {
  int descriptor = open(path, O_RDONLY);
  struct stat status;
  if (descriptor < 0 || fstat(descriptor, &status) != 0 || status.st_size == 0) { raw_fail(NULL, path); }
  void *start = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (start == MAP_FAILED) { raw_fail(NULL, path); }
  close(descriptor);
  file->start = file->next = start;
  file->end = file->start + status.st_size;
}

void archive_unmap(archive_file *file) { munmap((void *)file->start, (size_t)(file->end - file->start)); }

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

slice slice_trimmed(slice text) {
  while (text.length > 0 && is_space(text.bytes[0])) {
    text.bytes++;
    text.length--;
  }
  while (text.length > 0 && is_space(text.bytes[text.length - 1])) { text.length--; }
  return text;
}

bool slice_next(slice *rest, char separator, slice *piece) {
  while (rest->length > 0) {
    const char *found = memchr(rest->bytes, separator, rest->length);
    size_t taken = found != NULL ? (size_t)(found - rest->bytes) : rest->length;
    *piece = slice_trimmed((slice){rest->bytes, taken});
    size_t step = found != NULL ? taken + 1 : taken;
    rest->bytes += step;
    rest->length -= step;
    if (piece->length > 0) { return true; }
  }
  return false;
}

static int field_number(const char *name, size_t length) {
  for (int i = 0; i < field_count; i++) {
    if (field_names[i][0] == name[0] && strlen(field_names[i]) == length && memcmp(field_names[i], name, length) == 0) { return i; }
  }
  return -1;
}

bool archive_next_stanza(archive_file *file, stanza *out) {
  memset(out, 0, sizeof *out);
  bool any = false;
  int field = -1;
  while (file->next < file->end) {
    const char *line = file->next;
    const char *newline = memchr(line, '\n', (size_t)(file->end - line));
    const char *line_end = newline != NULL ? newline : file->end;
    file->next = newline != NULL ? newline + 1 : file->end;
    if (line == line_end) {
      if (any) { return true; }
      continue;
    }
    if (*line == ' ' || *line == '\t') { // the value continues
      if (field >= 0 && field != field_description) {
        out->fields[field].length = (size_t)(line_end - out->fields[field].bytes);
      }
      continue;
    }
    const char *colon = memchr(line, ':', (size_t)(line_end - line));
    if (colon == NULL) { raw_fail(NULL, "package index: a line without a colon"); }
    any = true;
    field = field_number(line, (size_t)(colon - line));
    if (field >= 0) { out->fields[field] = slice_trimmed((slice){colon + 1, (size_t)(line_end - colon - 1)}); }
  }
  return any;
}

void archive_read_maintainer(slice text, slice *name, slice *email) {
  *name = (slice){NULL, 0};
  *email = text;
  const char *open = memchr(text.bytes, '<', text.length);
  const char *close = open != NULL ? memchr(open, '>', (size_t)(text.bytes + text.length - open)) : NULL;
  if (close == NULL) { return; }
  slice before = slice_trimmed((slice){text.bytes, (size_t)(open - text.bytes)});
  if (before.length > 0) { *name = before; }
  *email = slice_trimmed((slice){open + 1, (size_t)(close - open - 1)});
}

static bool ends_name(char c) { return c == ' ' || c == '(' || c == '[' || c == '<' || c == '\n' || c == '\t'; }

void archive_read_alternative(slice text, slice *name, slice *comparison, slice *version) {
  *name = (slice){text.bytes, 0};
  *comparison = *version = (slice){NULL, 0};
  while (name->length < text.length && !ends_name(text.bytes[name->length])) { name->length++; }
  const char *open = memchr(text.bytes, '(', text.length);
  const char *close = open != NULL ? memchr(open, ')', (size_t)(text.bytes + text.length - open)) : NULL;
  if (close == NULL) { return; }
  slice inner = slice_trimmed((slice){open + 1, (size_t)(close - open - 1)});
  *comparison = (slice){inner.bytes, 0};
  while (comparison->length < inner.length && strchr("<>=", inner.bytes[comparison->length]) != NULL) { comparison->length++; }
  *version = slice_trimmed((slice){inner.bytes + comparison->length, inner.length - comparison->length});
}
