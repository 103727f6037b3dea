import CoreDataImport
import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherStore
import StoreKeys
import XCTest
import _CoreDataFixture
import _TestSupport

/// A folder with a source store from a fixture program, and the store that it is imported into.
final class ImportHarness: Sendable {
  let folder: TemporaryFolder
  let model: CompiledModel
  var source: URL { folder.file("Old.sqlite") }
  var target: URL { folder.file("New.store") }
  static let key = StoreKey.raw(SecretBytes(Array(repeating: 9, count: 32)))

  init(_ model: CompiledModel) throws {
    self.model = model
    folder = try TemporaryFolder("CoreDataImport")
  }

  var description: PersistentStoreDescription { PersistentStoreDescription(url: target, key: Self.key) }

  func open(key: StoreKey? = nil, options: CoreDataImportOptions = CoreDataImportOptions()) async throws -> CoreDataStore {
    try await CoreDataStore.open(at: source, model: model.model, key: key, options: options)
  }

  /// Imports the source into a new store.
  @discardableResult
  func importAll(key: StoreKey? = nil, options: CoreDataImportOptions = CoreDataImportOptions()) async throws -> CoreDataImportReport {
    try await open(key: key, options: options).importAll(creating: description)
  }

  /// Opens the new store.
  func store() async throws -> (PersistentStoreCoordinator, PersistentStore) {
    let coordinator = PersistentStoreCoordinator(compiledModel: model)
    return (coordinator, try await coordinator.addPersistentStore(with: description))
  }

  /// Compares the new store with a graph: every value, every reference, every member, every order.
  func assertHolds(
    _ graph: FixtureGraph, offset: Int64 = 0, except: Set<AttributeType> = [], file: StaticString = #filePath, line: UInt = #line
  ) async throws {
    let (coordinator, store) = try await store()
    defer { try? coordinator.remove(store) }
    let scope = RequestScope(objectIDSpace: store.space)
    func id(_ position: Int) throws -> ManagedObjectID {
      ManagedObjectID(
        space: store.space.number, entityNumber: UInt32(try graph.entity(of: position).number), key: graph.objects[position].key + offset)
    }
    let ids = try graph.objects.indices.map(id)
    var rows: [ObjectReference: RowImage] = [:]
    for row in try coordinator.readRows(of: ids, from: store, scope: scope) { rows[row.reference] = row }
    for (position, object) in graph.objects.enumerated() {
      let entity = try graph.entity(of: position)
      guard let row = rows[ids[position].reference] else {
        XCTFail("\(object.entity) \(object.key) is missing", file: file, line: line)
        continue
      }
      for slot in entity.slots where !slot.isTransient && slot.kind != .none {
        var expected = object.values[slot.name] ?? .null
        if slot.relationship != nil { expected = try object.toOne[slot.name].map { .int(try id($0).reference.rawValue) } ?? .null }
        if let type = slot.attributeType, except.contains(type) { expected = .null }
        XCTAssertEqual(
          try row.slot(slot.index, kind: slot.kind), expected, "\(object.entity) \(object.key) \(slot.name)", file: file, line: line)
      }
      for relationship in entity.toManyRelationships where !relationship.isTransient {
        let expected = try (object.toMany[relationship.name] ?? []).map { try id($0).reference }
        let found = Array(
          try store.incrementalStore.newValues(forRelationship: relationship, forObjectsWith: [ids[position]], in: scope)[0])
        let text = "\(object.entity) \(object.key) \(relationship.name)"
        if relationship.isOrdered {
          XCTAssertEqual(found, expected, text, file: file, line: line)
        } else {
          XCTAssertEqual(Set(found), Set(expected), text, file: file, line: line)
          XCTAssertEqual(found.count, expected.count, text, file: file, line: line)
        }
      }
    }
    for entity in model.entities where entity.parent == nil {
      var request = FetchSpecification(entityName: entity.name)
      request.resultType = .count
      guard case .count(let count) = try coordinator.fetch(request, from: store, scope: scope) else { return XCTFail("no count") }
      let expected = graph.objects.filter { model.entity(named: $0.entity)?.root == entity.number }.count
      XCTAssertEqual(count, expected, entity.name, file: file, line: line)
    }
  }
}

/// Asserts that an import fails with a code, and returns the error.
func assertImportFails(
  _ code: CoreDataImportError.Code, file: StaticString = #filePath, line: UInt = #line, _ body: () async throws -> Void
) async -> CoreDataImportError? {
  do {
    try await body()
    XCTFail("nothing was thrown", file: file, line: line)
  } catch let error as CoreDataImportError {
    XCTAssertEqual(error.code, code, error.description, file: file, line: line)
    return error
  } catch {
    XCTFail("\(error)", file: file, line: line)
  }
  return nil
}
