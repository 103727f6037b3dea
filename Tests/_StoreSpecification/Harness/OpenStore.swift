import Foundation
public import ObjectModel
public import ObjectQuery
public import ObjectStore
import XCTest
import _TestSupport

/// An open store with its coordinator, with shorthands for requests. It uses the public contract only.
public final class OpenStore: Sendable {
  /// The coordinator.
  public let coordinator: PersistentStoreCoordinator
  /// The coordinator's store.
  public let persistentStore: PersistentStore
  /// The scope of requests.
  public let scope: RequestScope

  /// Opens or creates a store.
  ///
  /// - Parameter prepare: Called with the coordinator before the store is opened, for example to add observers.
  public init(
    _ description: PersistentStoreDescription, model: CompiledModel, prepare: (PersistentStoreCoordinator) throws -> Void = { _ in }
  ) throws {
    let coordinator = PersistentStoreCoordinator(compiledModel: model)
    try prepare(coordinator)
    self.coordinator = coordinator
    persistentStore = try waitFor { try await coordinator.addPersistentStore(with: description) }
    scope = RequestScope(objectIDSpace: .register(storeIdentifier: persistentStore.identifier, model: model))
  }

  /// The store object.
  public var store: any IncrementalStore { persistentStore.incrementalStore }
  /// The model.
  public var model: CompiledModel { coordinator.compiledModel }

  /// Closes the store.
  public func close() throws { try coordinator.remove(persistentStore) }

  /// Returns the entity with a name.
  public func entity(_ name: String) throws -> CompiledEntity {
    try XCTUnwrap(model.entity(named: name), "The model has no entity \(name).")
  }

  /// Returns the relationship of an entity with a name.
  public func relationship(_ entityName: String, _ name: String) throws -> CompiledRelationship {
    try XCTUnwrap(entity(entityName).relationships.first { $0.name == name }, "\(entityName) has no relationship \(name).")
  }

  // MARK: Saving

  /// Returns a permanent ID for a new object.
  public func newID(_ entityName: String) throws -> ManagedObjectID { try newIDs(entityName, count: 1)[0] }

  /// Returns permanent IDs for new objects.
  public func newIDs(_ entityName: String, count: Int) throws -> [ManagedObjectID] {
    let number = UInt32(try entity(entityName).number)
    let temporary = (1...max(count, 1)).prefix(count).map {
      ManagedObjectID(space: scope.objectIDSpace.number, entityNumber: number, key: Int64(-$0))
    }
    let ids = try store.obtainPermanentIDs(for: temporary, in: scope)
    XCTAssertEqual(ids.count, count)
    return ids
  }

  /// Starts a save.
  public func newSave() -> PendingSave { PendingSave(self) }

  /// Saves the changes that a closure makes.
  @discardableResult public func save<Result>(_ changes: (PendingSave) throws -> Result) throws -> Result {
    let pending = newSave()
    let result = try changes(pending)
    try pending.commit()
    return result
  }

  /// Inserts one object in a separate save.
  @discardableResult public func insert(_ entityName: String, _ values: [String: Slot]) throws -> ManagedObjectID {
    try save { try $0.insert(entityName, values) }
  }

  // MARK: Reading

  /// Returns the row of an object; nil if it does not exist.
  public func row(_ objectID: ManagedObjectID) throws -> RowImage? {
    try store.newValuesForObjects(with: [objectID], in: scope).first
  }

  /// Returns a value of a stored object; nil if the object has no row.
  public func value(_ objectID: ManagedObjectID, _ property: String) throws -> Slot? {
    try row(objectID).map { try value($0, property) }
  }

  /// Returns a value of a row.
  public func value(_ row: RowImage, _ property: String) throws -> Slot {
    let slot = try XCTUnwrap(model.entities[row.entityNumber].slots.first { $0.name == property }, "There is no \(property).")
    return try row.slot(slot.index, kind: slot.kind)
  }

  /// Returns the rows of a fetch.
  public func rows(_ specification: FetchSpecification) throws -> RowList {
    guard case .rows(let rows) = try store.execute(.fetch(specification), in: scope) else {
      XCTFail("The answer holds no rows.")
      return RowList()
    }
    return rows
  }

  /// Returns the values of one property of a fetch's rows, in order.
  public func values(_ property: String, _ specification: FetchSpecification) throws -> [Slot] {
    try rows(specification).map { try value($0, property) }
  }

  /// Returns the texts of one property of a fetch's rows, in order.
  public func texts(_ property: String, _ specification: FetchSpecification) throws -> [String] {
    try values(property, specification).map { if case .text(let text) = $0 { text } else { "(none)" } }
  }

  /// Returns the IDs of a fetch.
  public func ids(_ specification: FetchSpecification) throws -> [ManagedObjectID] {
    var specification = specification
    specification.resultType = .objectIDs
    guard case .objectIDs(let ids) = try store.execute(.fetch(specification), in: scope) else {
      XCTFail("The answer holds no IDs.")
      return []
    }
    return ids
  }

  /// Returns the count of a fetch.
  public func count(_ specification: FetchSpecification) throws -> Int {
    var specification = specification
    specification.resultType = .count
    guard case .count(let count) = try store.execute(.fetch(specification), in: scope) else {
      XCTFail("The answer is no number.")
      return -1
    }
    return count
  }

  /// Returns the number of objects of an entity.
  public func count(_ entityName: String) throws -> Int { try count(FetchSpecification(entityName: entityName)) }

  /// Returns the dictionaries of a fetch of properties.
  public func dictionaries(_ specification: FetchSpecification) throws -> DictionaryRows {
    var specification = specification
    specification.resultType = .dictionaries
    guard case .dictionaries(let rows) = try store.execute(.fetch(specification), in: scope) else {
      XCTFail("The answer holds no dictionaries.")
      return DictionaryRows(columns: [], rows: [])
    }
    return rows
  }

  /// Returns the members of a to-many relationship, in the store's order.
  public func members(_ objectID: ManagedObjectID, _ name: String) throws -> [ObjectReference] {
    let relationship = try relationship(objectID.entityName, name)
    let values = try store.newValues(forRelationship: relationship, forObjectsWith: [objectID], in: scope)
    XCTAssertEqual(values.ends.count, 1)
    return values.ends.isEmpty ? [] : Array(values[0])
  }
}

extension ManagedObjectID {
  /// The value of a to-one relationship to this object.
  public var slot: Slot { .int(reference.rawValue) }
}

/// Asserts that `body` throws a ``StoreError`` with a code, and returns the error.
@discardableResult public func assertStoreError<Result>(
  _ code: StoreError.Code, file: StaticString = #filePath, line: UInt = #line, _ body: () throws -> Result
) -> StoreError? {
  do {
    _ = try body()
    XCTFail("It succeeded, but should fail with \(code).", file: file, line: line)
  } catch let error as StoreError {
    XCTAssertEqual(error.code, code, error.description, file: file, line: line)
    return error
  } catch {
    XCTFail("It fails with \(error), but should with \(code).", file: file, line: line)
  }
  return nil
}
