// CoreData: Core Data's names over this library, for sources that import CoreData on systems without the framework.
//
// The layers, from the bottom up:
//
//   Errors         errors as NSError, and their codes
//   Concurrency    the queues of contexts, and waiting for asynchronous functions
//   Foundation     Foundation API that is missing on Linux, and UndoManager
//   Transforming   values of transformable attributes as bytes
//   Stores         store types and options
//   Objects        models, requests, objects, contexts, coordinators, stores and histories, which refer to each other
//   Results        fetched results controllers
//   Container      a model with its stores and contexts
//   Migration      mapping models, migration managers and stages
//   Unavailable    API that does not exist here, with alternatives

// Core Data re-exports Foundation on Apple's systems.
@_exported public import Foundation
// The superclasses and value types of this module's API. No other names of the library are visible.
@_exported import class ObjectContext.ManagedObject
@_exported import struct ObjectContext.ManagedObjectSeed
@_exported import struct ObjectContext.SnapshotEvents
@_exported import struct ObjectContext.KeyPathNames
@_exported import struct ObjectModel.ManagedObjectID
// The types of store keys.
@_exported import class StoreKeys.SecretBytes
@_exported import enum StoreKeys.StoreKey
