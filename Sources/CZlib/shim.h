// zlib: the model inside a store is kept compressed.
#ifndef CIPHERDATA_CZLIB_SHIM_H
#define CIPHERDATA_CZLIB_SHIM_H

#include <zlib.h>

#endif
