// InMemoryStore: the whole graph in memory: the reference that other stores are compared with.
import Foundation
public import ObjectModel
import Synchronization

/// A store that keeps its rows in memory and forgets them when it is closed.
public final class InMemoryStore: IncrementalStore {
  private let configuration: StoreConfiguration

  public init(configuration: StoreConfiguration) throws {
    self.configuration = configuration
  }

  public func loadMetadata() throws -> StoreMetadata {
    StoreMetadata(
      storeIdentifier: UUID().uuidString, storeType: StoreType.inMemory.rawValue, modelHashes: configuration.model.versionHashes)
  }

  public func execute(_ request: PersistentStoreRequest, in scope: RequestScope) throws -> PersistentStoreResult {
    throw StoreError(.invalidRequest, "Not yet.")
  }

  public func newValuesForObjects(with objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> RowList { RowList() }

  public func newValues(
    forRelationship relationship: CompiledRelationship, forObjectsWith objectIDs: [ManagedObjectID], in scope: RequestScope
  ) throws -> RelationshipValues { RelationshipValues() }

  public func obtainPermanentIDs(for objectIDs: [ManagedObjectID], in scope: RequestScope) throws -> [ManagedObjectID] { [] }
}
