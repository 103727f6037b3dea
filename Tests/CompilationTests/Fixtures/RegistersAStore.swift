// An application that registers a store class of another module and opens a store of it.
import CipherData
import Foundation

func opens(_ coordinator: PersistentStoreCoordinator, like other: PersistentStoreDescription) async throws -> PersistentStore {
  let type = StoreType(rawValue: "Other")
  PersistentStoreCoordinator.registerStoreClass(PersistentStoreCoordinator.registeredStoreTypes[.inMemory], forStoreType: type)
  return try await coordinator.addPersistentStore(with: PersistentStoreDescription(type: type, url: other.url))
}
