// SyncCrypto: the cryptography of synchronization for the devices of one user; uses libcrypto, and knows no store, file or transport.
//
// The layers, from the bottom up:
//
//   Errors      the error type
//   Primitives  calls of libcrypto: hashes, key derivation, AES-GCM, signatures, key agreement, HPKE
//   Zones       the keys of a zone; sealed records, digests and signatures of commits
//   Account     the recovery key, the keys that follow from it, and the bundle of keys that devices share
//   Devices     the keys of a device, and the chain of certificates by which devices verify each other's commits
//   Joining     how an existing device approves a new one
