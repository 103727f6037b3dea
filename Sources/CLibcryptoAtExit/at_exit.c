// Lets libcrypto work until the process ends. By default it frees its memory in a handler of `exit`, while other threads may still encrypt
// pages of a store: a program that ended without closing its stores then crashed. The option counts only in the first call of libcrypto
// in the process, so it is set before `main`. The system frees the memory.
// https://docs.openssl.org/3.0/man3/OPENSSL_init_crypto/
#include <openssl/crypto.h>

__attribute__((constructor)) static void keep_libcrypto_until_the_end(void) { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); }
