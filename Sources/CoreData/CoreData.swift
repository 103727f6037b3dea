// CoreData: Core Data's own names over this library, for sources that import CoreData, on systems where that framework is not.
//
// The floors, from the bottom up:
//
//   Basics         errors as NSError, and what Foundation lacks on Linux
//   Transforming   values of transformable attributes as bytes
//   Stores         what stores are and how they are opened
//   Objects        models, requests, objects, contexts, coordinators, stores, migrations, results, histories and notifications, each of which names the others
//   Container      a model with its stores and contexts
//   Absent         what is not there, with what to do instead

// Core Data re-exports Foundation on Apple's systems.
@_exported public import Foundation
// The superclasses and value types of this module's API. No other names of the library are visible.
@_exported import class ObjectContext.ManagedObject
@_exported import struct ObjectContext.ManagedObjectSeed
@_exported import struct ObjectContext.SnapshotEvents
@_exported import struct ObjectContext._KeyPathNames
@_exported import struct ObjectModel.ManagedObjectID
// The types of store keys.
@_exported import class StoreKeys.SecretBytes
@_exported import enum StoreKeys.StoreKey
