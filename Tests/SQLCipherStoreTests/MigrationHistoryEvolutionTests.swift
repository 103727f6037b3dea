import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// Random changes of random models: the history explains every difference of the objects before and after each migration.
final class MigrationHistoryEvolutionTests: XCTestCase {
  /// An object or a property, by the numbers that the history uses, which survive renaming.
  private struct Key: Hashable {
    let object: HistoryObject
    var property = 0
  }

  /// The stored values of all objects: texts, and the members of to-many relationships.
  private struct Snapshot {
    var values: [Key: String] = [:]
    var objects: Set<HistoryObject> = []
    /// The property with the same links as another one, from the other side.
    var inverses: [Int: Int] = [:]
  }

  private func snapshot(_ context: ManagedObjectContext) throws -> (Snapshot, [HistorySchemaChange]) {
    let store = try XCTUnwrap(context.persistentStoreCoordinator.persistentStores.first?.incrementalStore as? any HistoryStore)
    let ids = try XCTUnwrap(store.historyIDs())
    var result = Snapshot()
    func text(_ object: ManagedObject) throws -> String {
      let object = try XCTUnwrap(ids.object(object.objectID.reference))
      return "\(object.entity)/\(object.key)"
    }
    for entity in ids.model.entities where entity.parent == nil {
      for object in try context.all(entity.name) {
        let owner = try XCTUnwrap(ids.object(object.objectID.reference))
        result.objects.insert(owner)
        for slot in object.compiledEntity.slots where !slot.isTransient {
          guard let value = try object.value(forKey: slot.name) else { continue }
          let property = ids.slots(of: object.compiledEntity.number)[slot.index]
          result.values[Key(object: owner, property: property)] = try (value as? ManagedObject).map(text) ?? "\(value)"
        }
        for relationship in object.compiledEntity.toManyRelationships where ids.relationship(relationship.id) > 0 {
          if let inverse = ids.model.inverse(of: relationship), inverse.isToMany, ids.relationship(inverse.id) > 0 {
            result.inverses[ids.relationship(relationship.id)] = ids.relationship(inverse.id)
          }
          let value = try object.value(forKey: relationship.name)
          let names = try (value as? [ManagedObject])?.map(text) ?? (value as? Set<ManagedObject> ?? []).map(text).sorted()
          if !names.isEmpty {
            result.values[Key(object: owner, property: ids.relationship(relationship.id))] = names.joined(separator: " ")
          }
        }
      }
    }
    var changes: [HistorySchemaChange] = []
    for entry in try store.historyEntries(HistoryQuery(), byteLimit: .max) where entry.authorship.kind == .migration {
      changes = []
      var decoder = HistoryDecoder(entry.changes, number: entry.number)
      while let record = try decoder.next() {
        XCTAssertTrue(ids.resolves(record))
        guard case .migrated(_, _, let list) = record else {
          XCTFail("\(record)")
          continue
        }
        changes += list
      }
    }
    return (result, changes)
  }

  /// Returns the differences that the changes do not explain.
  private func unexplained(_ before: Snapshot, _ after: Snapshot, _ changes: [HistorySchemaChange]) -> [String] {
    let removedEntities = Set(changes.filter { $0.kind == .objectsRemoved }.map(\.entity))
    let told = Set(changes.flatMap { change in [change.property, change.former].filter { $0 > 0 }.map { [change.entity, $0] } })
    /// Without references to objects of removed entities.
    func living(_ value: String?) -> String? {
      let parts = value?.split(separator: " ").filter { part in
        part.split(separator: "/").count != 2 || !removedEntities.contains(Int(part.split(separator: "/")[0]) ?? 0)
      }
      return parts.flatMap { $0.isEmpty ? nil : $0.joined(separator: " ") }
    }
    var result: [String] = []
    for object in before.objects.symmetricDifference(after.objects) where !removedEntities.contains(object.entity) {
      result.append("object \(object)")
    }
    for key in Set(before.values.keys).union(after.values.keys) where after.objects.contains(key.object) {
      let (old, new) = (living(before.values[key]), living(after.values[key]))
      if old == new || told.contains([key.object.entity, key.property]) { continue }
      // The other side of links that were there, or still are.
      let isOtherSide =
        new == nil
        ? before.inverses[key.property].map { id in after.values.keys.contains { $0.property == id } } ?? false
        : old == nil && after.inverses[key.property].map { id in before.values.keys.contains { $0.property == id } } ?? false
      if isOtherSide { continue }
      result.append("\(key): \(old ?? "nil") became \(new ?? "nil")")
    }
    return result
  }

  func testRandomEvolutionsAreExplained() throws {
    var kinds: Set<HistorySchemaChange.Kind> = []
    var count = 0
    for seed in 1...16 as ClosedRange<UInt64> {
      var evolution = RandomEvolution(seed: seed)
      let store = try MigratingStore.tracked(evolution.model, .values) { try fill($0) }
      for version in 2...5 {
        let (before, _) = try store.open(evolution.model) { try snapshot($0) }
        evolution.evolve(4)
        let after: Snapshot
        let changes: [HistorySchemaChange]
        do {
          (after, changes) = try store.open(evolution.model) { try snapshot($0) }
        } catch let error as StoreError where error.operation == .migrate {
          // Several members do not fit into a relationship that became to-one.
          break
        }
        count += 1
        let what = "seed \(seed), version \(version): \(evolution.done.joined(separator: "; ")): \(changes)"
        XCTAssertEqual(unexplained(before, after, changes), [], what)
        kinds.formUnion(changes.map(\.kind))
        try store.open(evolution.model) { try fill($0) }
      }
    }
    XCTAssertGreaterThan(count, 20)
    XCTAssertTrue(kinds.isSuperset(of: [.objectsRemoved, .propertyRemoved, .filled, .rewritten]), "\(kinds)")
  }

  /// Adds objects of all entities, with values and members.
  private func fill(_ context: ManagedObjectContext) throws {
    for entity in context.persistentStoreCoordinator.compiledModel.entities where !entity.isAbstract {
      for number in 0..<3 {
        let object = try context.insertObject(entityName: entity.name)
        for slot in entity.slots where slot.attribute != nil && number > 0 {
          try object.setValue(slot.attributeType == .string ? "\(number)" : Int64(number), forKey: slot.name)
        }
      }
    }
    for entity in context.persistentStoreCoordinator.compiledModel.entities where entity.parent == nil {
      for (number, object) in try context.all(entity.name).enumerated() {
        for relationship in object.compiledEntity.relationships where !relationship.isTransient && number % 3 > 0 {
          let name = context.persistentStoreCoordinator.compiledModel.entities[relationship.destinationEntity].name
          let all = try context.all(name)
          guard !all.isEmpty else { continue }
          let member = all[(number * 7) % all.count]
          if !relationship.isToMany {
            try object.setValue(member, forKey: relationship.name)
          } else if (try object.value(forKey: relationship.name) as? Set<ManagedObject> ?? []).isEmpty {
            try object.setValue(relationship.isOrdered ? [member] as Any : Set([member]), forKey: relationship.name)
          }
        }
      }
    }
  }
}
