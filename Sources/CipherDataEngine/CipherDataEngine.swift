// CipherDataEngine: what those see who write a store: rows, compiled models, the contract, and evaluation in memory.
//
// The modules are exported whole. An application needs none of this: it imports CipherData.
@_exported public import ObjectModel
@_exported public import ObjectQuery
@_exported public import ObjectStore
