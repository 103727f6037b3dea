// MergeModel: the model of the suites about merge policies.
import ObjectContext
import ObjectModel
import ObjectStore

/// Items with the three numbers of the table of merge policies, unique values of every kind, and every kind of relationship.
///
/// `Item`: `a`, `b` (0 unless set), `c`; unique `key`, unique `code`, unique `x` with `y`; `box` with the ordered `Box.items`, `twin` one-to-one, `tags` many-to-many,
/// `parts` that are deleted with it. `Sample` is an item with a `grade`.
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

/// An item that writes down what it is told.
final class MergedItem: ManagedObject {
  var events: [SnapshotEvents] = []
  override func awake(fromSnapshotEvents events: SnapshotEvents) { self.events.append(events) }
}

extension OpenStore {
  /// A context with a merge policy.
  func context(_ policy: MergePolicy = .error) -> ManagedObjectContext {
    ManagedObjectContext(coordinator: coordinator, classes: MergeModel.classes, mergePolicy: policy)
  }

  /// The values of an item in the store, `a`, `b`, `c`; nil when it has no row.
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
