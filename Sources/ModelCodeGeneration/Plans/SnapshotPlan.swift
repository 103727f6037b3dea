import ObjectModel

/// The struct of a class's snapshots. It repeats the properties of superentities, because structs do not inherit.
struct SnapshotPlan {
  /// The user info key of an entity for the name of the struct, or `NO` for none.
  static let nameKey = "swiftSnapshot"
  /// Names of the struct's own members.
  private static let reserved: Set<String> = ["storage"]

  /// The name of the struct, which is nested in the class.
  let typeName: String
  /// The name of the function that returns a snapshot.
  let functionName: String
  /// The stored attributes and to-one relationships, with their identifiers.
  let slots: [(slot: CompiledSlot, identifier: String)]
  /// The attributes whose values can be stored externally, with the identifiers of the properties that stream them.
  let streams: [(slot: CompiledSlot, identifier: String)]
  let composites: [(composite: CompiledComposite, identifier: String)]
  let toMany: [(relationship: CompiledRelationship, identifier: String)]

  /// Creates the plan of an entity; `nil` if its user info disables snapshots.
  ///
  /// - Parameters:
  ///   - entity: The entity.
  ///   - identifiers: The identifiers of its properties by name.
  ///   - tree: The entities of its tree, because subclasses inherit the name of the struct.
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
    // A struct of that name would shadow a class or a type that the model names.
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
    // A property of a subentity can have the name.
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
