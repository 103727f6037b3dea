import Foundation
import ObjectModel

/// The numbers, tables and columns of a model in Core Data's layout.
struct AppleFixtureNames {
  struct Join {
    let relationship: CompiledRelationship
    let table: String
    let near: String
    let far: String
    let nearOrder: String?
    let farOrder: String?
  }

  private let model: CompiledModel
  /// Core Data's entity numbers, by the model's.
  let numbers: [Int: Int64]
  private(set) var joins: [Join] = []

  init(_ model: CompiledModel) {
    self.model = model
    var numbers: [Int: Int64] = [:]
    func visit(_ parent: Int?) {
      let children = model.entities.filter { $0.parent == parent }
      for child in children.sorted(by: { $0.name.lowercased() < $1.name.lowercased() }) {
        numbers[child.number] = Int64(numbers.count + 1)
        visit(child.number)
      }
    }
    visit(nil)
    self.numbers = numbers
    var columnNames: Set<String> = []
    for relationship in model.relationships where relationship.isToMany && !relationship.isTransient {
      if let inverse = model.inverse(of: relationship) {
        guard inverse.isToMany else { continue }
        // The later name of a pair, ignoring case, names the table.
        let names = (relationship.name.lowercased(), inverse.name.lowercased())
        guard names.0 > names.1 || (names.0 == names.1 && relationship.id <= inverse.id) else { continue }
      }
      joins.append(join(relationship, &columnNames))
    }
  }

  func table(of root: CompiledEntity) -> String { "Z" + root.name.uppercased() }

  /// The properties of an entity hierarchy with their columns.
  func columns(of root: CompiledEntity) -> [(CompiledSlot, String)] {
    var counts: [String: Int] = [:]
    var result: [(CompiledSlot, String)] = []
    for number in root.subtree.sorted(by: { numbers[$0, default: 0] < numbers[$1, default: 0] }) {
      for slot in model.entities[number].slots where slot.declaringEntity == number && !slot.isTransient && slot.kind != .none {
        let name = "Z" + slot.name.uppercased().replacingOccurrences(of: ".", with: "_")
        let count = counts[name, default: 0]
        counts[name] = count + 1
        result.append((slot, count == 0 ? name : name + String(count)))
      }
    }
    return result
  }

  /// The ordered relationships whose members a hierarchy contains, with the columns of their orders.
  func orders(of root: CompiledEntity) -> [(CompiledRelationship, String)] {
    model.relationships.compactMap { relationship in
      guard relationship.isOrdered, let inverse = model.inverse(of: relationship), !inverse.isToMany,
        root.subtree.contains(inverse.sourceEntity)
      else { return nil }
      return (relationship, "Z_FOK_" + inverse.name.uppercased())
    }
  }

  private func join(_ relationship: CompiledRelationship, _ taken: inout Set<String>) -> Join {
    let source = numbers[relationship.sourceEntity, default: 0]
    let target = numbers[relationship.destinationEntity, default: 0]
    let inverse = model.inverse(of: relationship)
    func column(_ name: String) -> String {
      var result = name
      var count = 0
      while !taken.insert(result).inserted {
        count += 1
        result = name + String(count)
      }
      return result
    }
    let far = column("Z_\(target)\(relationship.name.uppercased())")
    let near: String
    if let inverse {
      near = inverse.id == relationship.id ? "REFLEXIVE" : column("Z_\(source)\(inverse.name.uppercased())")
    } else {
      near = column("Z_\(source)\(model.entities[relationship.sourceEntity].name.uppercased())")
    }
    let isNearOrdered = inverse.map { $0.isOrdered && $0.id != relationship.id } ?? false
    return Join(
      relationship: relationship, table: "Z_\(source)\(relationship.name.uppercased())", near: near, far: far,
      nearOrder: isNearOrdered ? "Z_FOK_" + near.dropFirst(2) : nil, farOrder: relationship.isOrdered ? "Z_FOK_" + far.dropFirst(2) : nil)
  }
}
