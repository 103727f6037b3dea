// Plays a target: fuzz TARGET [arguments of libFuzzer], or writes the inputs that it begins with: fuzz TARGET --seeds FOLDER.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*body)(const uint8_t *, size_t));
bool cipherdata_fuzz_choose(const char *name);
bool cipherdata_fuzz_seeds(const char *folder);
bool cipherdata_fuzz_one(const uint8_t *bytes, intptr_t count);

static int play(const uint8_t *bytes, size_t size) {
  if (!cipherdata_fuzz_one(bytes, (intptr_t)size)) { abort(); }
  return 0;
}

int main(int count, char **arguments) {
  if (count < 2 || !cipherdata_fuzz_choose(arguments[1])) {
    fprintf(stderr, "fuzz TARGET [arguments of libFuzzer], or fuzz TARGET --seeds FOLDER\n");
    return 64;
  }
  if (count == 4 && strcmp(arguments[2], "--seeds") == 0) { return cipherdata_fuzz_seeds(arguments[3]) ? 0 : 1; }
  // libFuzzer sees its own arguments only, behind the program's name.
  arguments[1] = arguments[0];
  count--;
  arguments++;
  return LLVMFuzzerRunDriver(&count, &arguments, play);
}
