// CipherData: everything an application needs, by one import.
@_exported public import ObjectContext
@_exported public import ObjectModel
@_exported public import ObjectQuery
@_exported public import ObjectStore
@_exported public import SQLCipherConnection
@_exported public import SQLCipherStore
@_exported public import SQLCipherConnection
