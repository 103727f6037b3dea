// CipherDataSync: synchronization of an application's stores between the devices of a user.
//
// A product of its own: applications that do not import it do not compile it.
@_exported public import enum SyncEngine.AssetPolicy
@_exported public import enum SyncEngine.AssetState
@_exported public import enum SyncEngine.SyncConversions
@_exported public import struct SyncEngine.SyncError
