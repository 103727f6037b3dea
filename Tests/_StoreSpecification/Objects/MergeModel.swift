import ObjectContext
import ObjectModel
import ObjectStore

/// The model of the suites on merge policies: items with the three numbers of the table, unique values of every kind, and every kind of
/// relationship.
///
/// `Item`: `a`, `b` (default 0), `c`; unique `key`, unique `code`, unique `x` with `y`; `box` with the ordered `Box.items`, `twin`
/// one-to-one, `tags` many-to-many, `parts` with cascading deletion. `Sample` is an item with a `grade`.
enum MergeModel {
  static let compiled: CompiledModel = {
    var b = AttributeDescription(name: "b", type: .integer64, isOptional: true)
    b.defaultValue = .int(0)
    var parts = RelationshipDescription(name: "parts", destination: "Part", inverse: "item", isToMany: true)
    parts.deleteRule = .cascade
    let item = SpecificationModels.entity(
      "Item",
      [
        SpecificationModels.integer("a"), .attribute(b), SpecificationModels.integer("c"), SpecificationModels.text("key"),
        SpecificationModels.text("code"), SpecificationModels.integer("x"), SpecificationModels.integer("y"),
        SpecificationModels.toOne("box", "Box", "items"), SpecificationModels.toOne("twin", "Item", "twin"),
        SpecificationModels.toMany("tags", "Tag", "items"), .relationship(parts),
      ], unique: [["key"], ["code"], ["x", "y"]])
    return SpecificationModels.compile([
      item, SpecificationModels.entity("Sample", [SpecificationModels.integer("grade")], parent: "Item"),
      SpecificationModels.entity(
        "Box", [SpecificationModels.text("name"), SpecificationModels.toMany("items", "Item", "box", ordered: true)]),
      SpecificationModels.entity("Tag", [SpecificationModels.text("name"), SpecificationModels.toMany("items", "Item", "tags")]),
      SpecificationModels.entity("Part", [SpecificationModels.text("name"), SpecificationModels.toOne("item", "Item", "parts")]),
    ])
  }()

  static let classes = ManagedObjectClasses(["Item": MergedItem.self])
}

/// An item that records its notifications.
final class MergedItem: ManagedObject {
  var events: [SnapshotEvents] = []
  override func awake(fromSnapshotEvents events: SnapshotEvents) { self.events.append(events) }
}

extension OpenStore {
  /// Returns a context with a merge policy.
  func context(_ policy: MergePolicy = .error) -> ManagedObjectContext {
    ManagedObjectContext(coordinator: coordinator, classes: MergeModel.classes, mergePolicy: policy)
  }

  /// Returns the values `a`, `b`, `c` of an item in the store; nil if it has no row.
  func numbers(_ objectID: ManagedObjectID) throws -> [Int64?]? {
    guard let row = try row(objectID) else { return nil }
    return try ["a", "b", "c"].map { name in
      if case .int(let value) = try value(row, name) { return value }
      return nil
    }
  }
}

extension ManagedObject {
  /// The values of an item in memory.
  var numbers: [Int64?] { ["a", "b", "c"].map(integer) }
}
