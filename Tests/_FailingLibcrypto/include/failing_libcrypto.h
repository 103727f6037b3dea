#ifndef FAILING_LIBCRYPTO_H
#define FAILING_LIBCRYPTO_H

/// Whether the process gives libcrypto its memory by these functions.
int failing_libcrypto_is_installed(void);

/// Lets a number of allocations of libcrypto succeed, and the following ones fail. One thread may use libcrypto meanwhile.
void failing_libcrypto_allow(long count);

#endif
