import ObjectModel

extension ClassEmitter {
  /// Adds the struct of a class's snapshots, and the function that returns one.
  @_optimize(none) func emitSnapshot(_ plan: ClassPlan, to emitter: inout SwiftEmitter, _ needs: inout ImportNeeds)
    throws(CodeGenerationError)
  {
    guard let snapshot = plan.snapshot else { return }
    var members: [(slot: Int, lines: [String])] = []
    for (slot, identifier) in snapshot.slots {
      if let lines = try member(slot, identifier, plan, &needs) { members.append((slot.index, lines)) }
      guard let stream = snapshot.streams.first(where: { $0.slot.index == slot.index }) else { continue }
      members.append(
        (
          slot.index,
          property(
            stream.identifier, "ExternalData?", "The value, read and written in chunks, of the attribute", slot.name,
            get: Self.values.call("externalData", at: "\(slot.index)"),
            set: Self.values.call("setExternalData", "newValue", at: "\(slot.index)"))
        ))
    }
    for (composite, identifier) in snapshot.composites {
      guard let part = composites.plan(of: composite.attribute) else { continue }
      let (isOptional, slot) = (composite.attribute.isOptional, composite.slots.lowerBound)
      members.append(
        (
          slot,
          property(
            try name(identifier, isHashable: composites.isHashable(part, forms)), part.typeName + (isOptional ? "?" : ""),
            "The \(isOptional ? "optional " : "")composite attribute", composite.name,
            get: Self.values.call(isOptional ? "optionalComposite" : "composite", at: "\(slot)"),
            set: Self.values.call("setComposite", "newValue", at: "\(slot)"))
        ))
    }
    var lines = members.sorted { $0.slot < $1.slot }.map(\.lines)
    for (relationship, identifier) in snapshot.toMany { lines.append(toMany(relationship, identifier)) }
    let (modifier, typeName) = (options.modifier, snapshot.typeName)
    emitter.line()
    emitter.block("nonisolated extension \(plan.className)") { emitter in
      emitter.line("/// A sendable snapshot of the values of an object of the class.")
      emitter.block("\(modifier)nonisolated struct \(typeName): TypedSnapshot") { emitter in
        emitter.line("/// The values.")
        emitter.line("\(modifier)var storage: SnapshotStorage<\(plan.className)>")
        emitter.line("/// Creates a snapshot from the values of an object of the class.")
        emitter.line("\(modifier)init(storage: SnapshotStorage<\(plan.className)>) { self.storage = storage }")
        emitter.line("/// The model.")
        emitter.line("\(modifier)static var managedObjectModel: ManagedObjectModel { \(modelName).managedObjectModel }")
        for member in lines {
          emitter.line()
          for line in member { emitter.line(line) }
        }
      }
    }
    // Class members with the same name would be ambiguous to the compiler. Among protocol members, it chooses that of the most derived
    // class.
    emitter.line()
    emitter.block("nonisolated extension TypedManagedObject where Self: \(plan.className)") { emitter in
      emitter.line(
        "/// Returns a sendable snapshot of the object's current values, with the members of the named to-many relationships.")
      emitter.line("///")
      emitter.line(
        "/// - Throws: `StoreError` if the object's row is missing; `KeyValueError` for a name that is not a to-many relationship.")
      let (function, type) = (snapshot.functionName, "\(plan.className).\(typeName)")
      emitter.block("\(modifier)func \(function)(including relationships: [\(forms.swift("String"))] = []) throws -> \(type)") { emitter in
        emitter.line("\(type)(storage: SnapshotStorage(try untypedSnapshot(including: relationships)))")
      }
      emitter.line()
      emitter.line("/// Returns a sendable snapshot of the object's current values, with the members of the relationships at key paths.")
      emitter.line("///")
      emitter.line(
        "/// - Throws: `StoreError` if the object's row is missing; `FetchPredicateError` or `KeyValueError` for a key path of another kind."
      )
      // An empty list is one of names.
      emitter.block(
        "@_disfavoredOverload \(modifier)func \(function)(including relationships: [\(forms.swift("PartialKeyPath"))<Self>]) throws -> \(type)"
      ) { emitter in
        emitter.line("\(type)(storage: SnapshotStorage(try untypedSnapshot(including: relationships)))")
      }
    }
  }

  @_optimize(none) private func member(
    _ slot: CompiledSlot, _ identifier: String, _ plan: ClassPlan, _ needs: inout ImportNeeds
  ) throws(CodeGenerationError) -> [String]? {
    let index = slot.index
    if slot.relationship != nil {
      return property(
        identifier, "ManagedObjectID?", "The ID of the destination of the to-one relationship", slot.name,
        get: Self.values.call("toOneID", at: "\(index)"), set: Self.values.call("setToOneID", "newValue", at: "\(index)"))
    }
    guard let attribute = slot.attribute, let form = try forms.form(of: attribute, in: plan.entity.name, &needs) else { return nil }
    let isDerived = attribute.derivationExpression != nil
    let kind = "\(attribute.isOptional ? "optional " : "")\(isDerived ? "derived " : "")attribute"
    return property(
      name(identifier, isHashable: form.isHashable), form.declared, "The \(kind)", slot.name,
      get: form.read("\(index)", of: Self.values),
      set: isDerived ? nil : form.write("newValue", at: "\(index)", of: Self.values))
  }

  @_optimize(none) private func toMany(_ relationship: CompiledRelationship, _ identifier: String) -> [String] {
    let index = relationship.index
    let kind = relationship.isOrdered ? "ordered to-many relationship" : "to-many relationship"
    let members = Self.values.call("memberIDs", at: "\(index)")
    let (type, get) =
      relationship.isOrdered
      ? ("[ManagedObjectID]?", members)
      : ("\(forms.swift("Set"))<ManagedObjectID>?", "\(members).map { \(forms.swift("Set"))($0) }")
    return property(
      identifier, type, "The IDs of the members, nil if the snapshot does not include them, of the \(kind)", relationship.name, get: get,
      set: Self.values.call("setMemberIDs", "newValue", at: "\(index)"))
  }

  /// Returns the name of a property. `id` identifies the snapshot and must be `Hashable`.
  private func name(_ identifier: String, isHashable: Bool) -> String { identifier == "id" && !isHashable ? "idValue" : identifier }

  private func property(_ identifier: String, _ type: String, _ comment: String, _ name: String, get: String, set: String?) -> [String] {
    let head = "\(options.modifier)var \(SwiftText.escaped(identifier)): \(type) {"
    let described = "/// \(comment) `\(SwiftText.comment(name))`."
    guard let set else { return [described, "\(head) \(get) }"] }
    return [described, head, "  get { \(get) }", "  set { \(set) }", "}"]
  }

  private static let values = AccessTarget.snapshot("storage.values")
}
