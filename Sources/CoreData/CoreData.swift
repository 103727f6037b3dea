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

// Whoever imports Core Data on Apple's systems has Foundation too.
@_exported public import Foundation
// What inherits from these is used as they are: equal, hashed, compared in fetches. Nothing else of the library's own names is seen.
@_exported import class ObjectContext.ManagedObject
@_exported import struct ObjectContext.ManagedObjectSeed
@_exported import struct ObjectContext.SnapshotEvents
@_exported import struct ObjectContext._KeyPathNames
@_exported import struct ObjectModel.ManagedObjectID
// What keys of stores are made of.
@_exported import class StoreKeys.SecretBytes
@_exported import enum StoreKeys.StoreKey
