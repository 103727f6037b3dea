import CoreDataImport
import Foundation
import ObjectModel
import StoreKeys
import XCTest
import _CoreDataFixture
import _StoreSpecification
import _TestSupport

/// Random graphs with every type and kind of relationship, written by the fixture programs, imported and compared object by object.
final class RandomImportTests: XCTestCase {
  func testRandomGraphsInTheCoreDataLayoutAreImportedCompletely() async throws {
    for seed in 1...6 {
      let graph = try RandomFixture.graph(RandomModel.model, seed: UInt64(seed), count: seed * 12, isExact: false)
      let harness = try ImportHarness(graph.model)
      try AppleFixtureWriter(graph).write(to: harness.source).close()
      let report = try await harness.importAll()
      XCTAssertEqual(report.objectCount, graph.objects.count)
      XCTAssertEqual(report.layout, .coreData)
      try await harness.assertHolds(graph)
    }
  }

  func testRandomGraphsInTheEncryptedCoreDataLayoutAreImportedCompletely() async throws {
    let model = RandomFixture.withoutUnidirectional(RandomModel.model.model)
    for seed in 1...3 {
      let graph = try RandomFixture.graph(try CompiledModel(model), seed: UInt64(seed), count: seed * 12, isExact: true)
      let harness = try ImportHarness(graph.model)
      try EncryptedFixtureWriter(graph).write(to: harness.source, passphrase: "old secret").close()
      let report = try await harness.importAll(key: .passphrase("old secret"))
      XCTAssertEqual(report.layout, .encryptedCoreData)
      try await harness.assertHolds(graph, except: [.uuid, .uri])
    }
  }
}

enum RandomFixture {
  /// - Parameter isExact: Whether the layout keeps decimals of any length and the sign of zero.
  static func graph(_ model: CompiledModel, seed: UInt64, count: Int, isExact: Bool) throws -> FixtureGraph {
    var random = SeededGenerator(seed: seed)
    var graph = FixtureGraph(model)
    var keys: [Int: Int64] = [:]
    for entity in model.entities where !entity.isAbstract {
      for _ in 0..<max(3, count / model.entities.count) {
        // Keys with gaps, as after deletions.
        let key = keys[entity.root, default: 0] + Int64.random(in: 1...4, using: &random)
        keys[entity.root] = key
        var object = FixtureObject(entity.name, key)
        for slot in entity.slots {
          guard let type = slot.attributeType, Int.random(in: 0..<4, using: &random) > 0 else { continue }
          var value = RandomValues.slot(type, using: &random)
          if !isExact, type == .decimal, case .bytes(let data) = value, let decimal = DecimalCoding.decode(data),
            "\(decimal)".filter(\.isNumber).count > 15
          {
            value = Slot(Decimal(19.5))
          }
          object.values[slot.name] = value
        }
        graph.objects.append(object)
      }
    }
    graph.objects.shuffle(using: &random)
    for entity in model.entities where entity.parent == nil {
      for number in entity.subtree {
        for relationship in model.relationships where relationship.sourceEntity == number { try connect(relationship, &graph, &random) }
      }
    }
    return graph
  }

  private static func connect(_ relationship: CompiledRelationship, _ graph: inout FixtureGraph, _ random: inout SeededGenerator) throws {
    func positions(_ entity: Int) throws -> [Int] {
      try graph.objects.indices.filter { graph.model.entities[entity].subtree.contains(try graph.entity(of: $0).number) }
    }
    let sources = try positions(relationship.sourceEntity)
    let targets = try positions(relationship.destinationEntity)
    let inverse = graph.model.inverse(of: relationship)
    guard relationship.isToMany else {
      for source in sources where Int.random(in: 0..<3, using: &random) > 0 {
        guard let target = targets.randomElement(using: &random), inverse?.isToMany ?? true else { continue }
        graph.objects[source].toOne[relationship.name] = target
        if let inverse { graph.objects[target].toMany[inverse.name, default: []].append(source) }
      }
      if let inverse { for target in targets { graph.objects[target].toMany[inverse.name]?.shuffle(using: &random) } }
      return
    }
    if let inverse, !inverse.isToMany || inverse.id < relationship.id { return }
    let isSymmetric = inverse?.id == relationship.id
    for source in sources {
      for target in targets where Int.random(in: 0..<4, using: &random) == 0 && !(isSymmetric && target <= source) {
        graph.objects[source].toMany[relationship.name, default: []].append(target)
        if let inverse { graph.objects[target].toMany[inverse.name, default: []].append(source) }
      }
    }
    for name in Set([relationship.name, inverse?.name].compactMap { $0 }) {
      for position in Set(sources + targets) { graph.objects[position].toMany[name]?.shuffle(using: &random) }
    }
  }

  /// The model without unidirectional to-many relationships, which the Encrypted Core Data store does not support.
  static func withoutUnidirectional(_ model: ManagedObjectModel) -> ManagedObjectModel {
    var model = model
    for index in model.entities.indices {
      model.entities[index].properties.removeAll { property in
        if case .relationship(let relationship) = property { relationship.isToMany && relationship.inverseName == nil } else { false }
      }
    }
    return model
  }
}
