import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import XCTest
import _StoreSpecification

@testable import SQLCipherStore

/// Random models, model changes and data with fixed seeds: a migrated store equals the same changes applied to plain objects in memory.
final class MigrationPropertyTests: XCTestCase {
  func testRandomEvolutionsOfRandomModelsKeepRandomData() throws {
    for seed in 1...14 as ClosedRange<UInt64> { try run(seed: seed, defers: false) }
  }

  func testRandomEvolutionsKeepDataWithDeferredCleanup() throws {
    for seed in 101...105 as ClosedRange<UInt64> { try run(seed: seed, defers: true) }
  }

  private func run(seed: UInt64, defers: Bool) throws {
    var evolution = RandomEvolution(seed: seed)
    let store = try MigratingStore()
    try store.open(evolution.model) { try self.insert(24, &evolution, $0) }
    for version in 2...6 {
      // A relationship that becomes ordered is sorted by key, unless it was ordered in the store before.
      evolution.evolve(4)
      let what = "seed \(seed), version \(version): \(evolution.done.joined(separator: "; "))"
      do {
        try store.open(evolution.model) {
          $0.defersLightweightMigration = defers
        } _: { context in
          try self.compare(evolution, context, what)
          try self.insert(4, &evolution, context)
        }
        try store.open(evolution.model) { try self.compare(evolution, $0, what + ", again") }
      } catch {
        XCTFail("\(what): \(error)")
        return
      }
      try store.check()
    }
  }

  private func insert(_ count: Int, _ evolution: inout RandomEvolution, _ context: ManagedObjectContext) throws {
    let made = evolution.makeObjects(count)
    var living: [Int: ManagedObject] = [:]
    for entity in evolution.model.entities where entity.superentityName == nil {
      for object in try context.all(entity.name) { living[Int(object["uid"] as? Int64 ?? 0)] = object }
    }
    for number in made {
      guard let plain = evolution.objects[number] else { continue }
      let object = try context.make(plain.entity, ["uid": number])
      for name in evolution.lineage(plain.entity) {
        for attribute in evolution.model.entity(named: name)?.attributes ?? [] where attribute.name != "uid" {
          let text = plain.values[attribute.name]
          try object.setValue(attribute.type == .string ? text : text.flatMap { Int64($0) }, forKey: attribute.name)
        }
      }
      living[number] = object
    }
    // Set one side of each relationship in order, then the order of the other side.
    for (number, object) in living {
      guard let plain = evolution.objects[number] else { continue }
      for relationship in evolution.lineage(plain.entity).flatMap({ evolution.model.entity(named: $0)?.relationships ?? [] }) {
        let members = (plain.links[relationship.name] ?? []).compactMap { living[$0] }
        if !relationship.isToMany {
          try object.setValue(members.first, forKey: relationship.name)
        } else if relationship.isOrdered {
          try object.setValue(members, forKey: relationship.name)
        } else {
          try object.setValue(Set(members), forKey: relationship.name)
        }
      }
    }
    for (number, object) in living {
      guard let plain = evolution.objects[number] else { continue }
      for relationship in evolution.lineage(plain.entity).flatMap({ evolution.model.entity(named: $0)?.relationships ?? [] })
      where relationship.isOrdered {
        try object.setValue((plain.links[relationship.name] ?? []).compactMap { living[$0] }, forKey: relationship.name)
      }
    }
    try context.save()
    for (number, object) in living { evolution.objects[number]?.key = object.objectID.key }
  }

  private func compare(_ evolution: RandomEvolution, _ context: ManagedObjectContext, _ what: String) throws {
    var found: [Int: PlainObject] = [:]
    for entity in evolution.model.entities where entity.superentityName == nil {
      for object in try context.all(entity.name) {
        var plain = PlainObject(entity: object.objectID.entityName, key: object.objectID.key)
        for relationship in evolution.lineage(plain.entity).flatMap({ evolution.model.entity(named: $0)?.relationships ?? [] }) {
          let value = try object.value(forKey: relationship.name)
          let members =
            (value as? [ManagedObject]) ?? (value as? Set<ManagedObject>).map(Array.init) ?? (value as? ManagedObject).map { [$0] } ?? []
          let numbers = members.map { Int($0["uid"] as? Int64 ?? 0) }
          if !numbers.isEmpty { plain.links[relationship.name] = relationship.isOrdered ? numbers : numbers.sorted() }
        }
        for name in evolution.lineage(plain.entity) {
          for attribute in evolution.model.entity(named: name)?.attributes ?? [] where attribute.name != "uid" {
            if let value = try object.value(forKey: attribute.name) {
              plain.values[attribute.name] = (value as? Double).map { "\(Decimal($0))" } ?? "\(value)"
            }
          }
        }
        found[Int(object["uid"] as? Int64 ?? 0)] = plain
      }
    }
    XCTAssertEqual(Set(found.keys), Set(evolution.objects.keys), what)
    for (number, object) in evolution.objects {
      var expected = object
      expected.links = object.links.filter { !$0.value.isEmpty }
      for relationship in evolution.lineage(object.entity).flatMap({ evolution.model.entity(named: $0)?.relationships ?? [] })
      where !relationship.isOrdered {
        expected.links[relationship.name]?.sort()
      }
      if found[number] != expected {
        XCTFail("\(what): object \(number) is \(String(describing: found[number])), should be \(expected)")
        return
      }
    }
  }
}
