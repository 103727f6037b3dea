// SnapshotPlan: which struct the snapshots of a class are, and which properties it has.
import ObjectModel

/// The struct of a class's snapshots. It has the properties of the entities above too: structs inherit nothing.
struct SnapshotPlan {
  /// The note of an entity that names the struct, or says with NO that there is none.
  static let nameKey = "swiftSnapshot"
  /// What the struct declares itself.
  private static let reserved: Set<String> = ["_snapshot", "_objectType", "_model"]

  /// The struct's name, inside the class.
  let typeName: String
  /// The name of the function that gives one.
  let functionName: String
  /// The stored attributes and to-one relationships, with their identifiers.
  let slots: [(slot: CompiledSlot, identifier: String)]
  /// The attributes whose values may lie outside their rows, with the identifiers of the properties that stream them.
  let streams: [(slot: CompiledSlot, identifier: String)]
  /// The composite attributes.
  let composites: [(composite: CompiledComposite, identifier: String)]
  /// The to-many relationships.
  let toMany: [(relationship: CompiledRelationship, identifier: String)]

  /// The struct of an entity; nil where its note says so.
  ///
  /// - Parameters:
  ///   - entity: The entity.
  ///   - identifiers: The identifiers of its properties by their names.
  ///   - tree: The entities of its tree: the classes below inherit the struct's name.
  ///   - namesInTree: The identifiers of all their properties.
  ///   - classNames: The names of the model's classes.
  @_optimize(none) init?(
    _ entity: CompiledEntity, _ identifiers: [String: String], tree: ArraySlice<CompiledEntity>, namesInTree: Set<String>,
    _ classNames: Set<String>
  )
    throws(CodeGenerationError)
  {
    let note = entity.entityDescription.userInfo[Self.nameKey]
    if note == "NO" { return nil }
    // A struct of the name would hide a class, or a type that the model names.
    var taken = classNames
    for attribute in tree.lazy.flatMap(\.slots).compactMap(\.attribute) {
      for text in [attribute.valueClassName, attribute.userInfo[AttributeForms.typeKey]].compactMap({ $0 }) {
        taken.formUnion(text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init))
      }
    }
    taken.formUnion(
      tree.lazy.flatMap(\.composites).compactMap(\.attribute.compositeName).map { SwiftText.capitalized(SwiftText.plainIdentifier($0)) })
    if let note {
      guard SwiftText.isIdentifier(note), SwiftText.escaped(note) == note, !taken.contains(note), !["Type", "Protocol"].contains(note)
      else {
        throw .badSnapshotName(entity: entity.name, name: note)
      }
      typeName = note
    } else {
      typeName = Self.free("Snapshot", taken)
    }
    // A property below may have the name.
    functionName = Self.free("snapshot", namesInTree)
    func identifier(_ name: String) -> String { Self.free(identifiers[name] ?? name, Self.reserved) }
    slots = entity.slots.filter { $0.kind != .none && !$0.isPart }.map { ($0, identifier($0.name)) }
    composites = entity.composites.filter { !$0.isPart }.map { ($0, identifier($0.name)) }
    toMany = entity.toManyRelationships.filter { !$0.isTransient }.map { ($0, identifier($0.name)) }
    streams = slots.filter { $0.slot.isStreamed }.map { ($0.slot, Self.free($0.identifier + "Stream", namesInTree)) }
  }

  private static func free(_ name: String, _ taken: Set<String>) -> String {
    var name = name
    while taken.contains(name) { name += "Value" }
    return name
  }
}
