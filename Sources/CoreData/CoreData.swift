// CoreData: Core Data's own names over this library, for sources that import CoreData, on systems where that framework is not.
//
// The floors, from the bottom up:
//
//   Basics      errors as NSError
//   Model       models and their entities as objects
//   Query       fetch requests, predicates and sort descriptors
//   Stores      what stores are and how they are opened
//   Objects     objects, the contexts that they live in and the coordinators of their stores, each of which names the others
//   Results     results that are kept up to date
//   History     places in the histories of stores
//   Migration   stores that go from one model to another
//   Transforming   values of transformable attributes as bytes
//   Notifications   notifications under the names of Core Data
//   Absent      what is not there, with what to do instead
//   Container   a model with its stores and contexts

// Whoever imports Core Data on Apple's systems has Foundation too.
@_exported public import Foundation
// What inherits from these is used as they are: equal, hashed, compared in fetches. Nothing else of the library's own names is seen.
@_exported import class ObjectContext.ManagedObject
@_exported import struct ObjectContext.ManagedObjectSeed
@_exported import struct ObjectContext._KeyPathNames
@_exported import struct ObjectModel.ManagedObjectID
// What keys of stores are made of.
@_exported import class StoreKeys.SecretBytes
@_exported import enum StoreKeys.StoreKey
