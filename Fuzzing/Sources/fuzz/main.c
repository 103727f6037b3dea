// Runs a target: fuzz TARGET [arguments of libFuzzer], or writes its initial inputs: fuzz TARGET --seeds FOLDER. libFuzzer provides the
// main function.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cipherdata_fuzz_choose(const char *name);
bool cipherdata_fuzz_seeds(const char *folder);
bool cipherdata_fuzz_one(const uint8_t *bytes, intptr_t count);

// Passes the target to processes that libFuzzer starts, as for merging corpora: it forwards its own arguments only.
static const char *const variable = "CIPHERDATA_FUZZ_TARGET";

int LLVMFuzzerInitialize(int *count, char ***arguments) {
  char **words = *arguments;
  const char *known = getenv(variable);
  if (known != NULL && cipherdata_fuzz_choose(known)) { return 0; }
  if (*count < 2 || !cipherdata_fuzz_choose(words[1]) || setenv(variable, words[1], 1) != 0) {
    fprintf(stderr, "fuzz TARGET [arguments of libFuzzer], or fuzz TARGET --seeds FOLDER\n");
    exit(64);
  }
  if (*count == 4 && strcmp(words[2], "--seeds") == 0) { exit(cipherdata_fuzz_seeds(words[3]) ? 0 : 1); }
  // libFuzzer receives its own arguments only, after the program's name.
  words[1] = words[0];
  (*count)--;
  (*arguments)++;
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  if (!cipherdata_fuzz_one(bytes, (intptr_t)size)) { abort(); }
  return 0;
}
