extension CompiledComposite {
  /// Adds the default values of required parts, unless the value specifies them. A composite without a value stays null.
  ///
  /// - Parameters:
  ///   - values: The slots of the parts.
  ///   - names: The names of the parts that the value specifies.
  ///   - entity: The entity of the slots.
  package func addDefaults(to values: inout [Int: Slot], given names: some Collection<String>, of entity: CompiledEntity) {
    guard !slotsWithDefaults.isEmpty, slots.contains(where: { !(values[$0] ?? .null).isNull }) else { return }
    for slot in slotsWithDefaults where (values[slot] ?? .null).isNull {
      let part = entity.slots[slot].name.dropFirst(name.count + 1).prefix { $0 != "." }
      if !names.contains(String(part)) { values[slot] = entity.slots[slot].defaultValue }
    }
  }
}

/// Assigns slots to attributes, including the parts of composites.
struct CompositeNumbering {
  private let composites: [String: CompositeDescription]

  init(_ model: ManagedObjectModel) {
    composites = Dictionary(model.composites.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  func columnCount(of attribute: AttributeDescription) -> Int {
    parts(of: attribute).map { $0.reduce(0) { $0 + columnCount(of: $1) } } ?? 1
  }

  private func parts(of attribute: AttributeDescription) -> [AttributeDescription]? {
    attribute.compositeName.flatMap { composites[$0]?.elements }
  }

  /// Appends the slots of an attribute, and its composites.
  func append(_ attribute: AttributeDescription, of entity: Int, to slots: inout [CompiledSlot], _ bundles: inout [CompiledComposite]) {
    guard let parts = parts(of: attribute) else {
      slots.append(
        CompiledSlot(
          index: slots.count, name: attribute.name, kind: attribute.isTransient ? .none : attribute.type.slotKind, declaringEntity: entity,
          attribute: attribute, relationship: nil, isOptional: attribute.isOptional, isTransient: attribute.isTransient,
          defaultValue: attribute.defaultValue, checker: AttributeChecker(attribute)))
      return
    }
    let start = slots.count
    var required: [Int] = []
    for part in parts {
      var copy = part
      copy.name = "\(attribute.name).\(part.name)"
      copy.isTransient = attribute.isTransient
      if attribute.renamingIdentifier != nil || part.renamingIdentifier != nil {
        copy.renamingIdentifier = "\(attribute.renamingIdentifier ?? attribute.name).\(part.renamingIdentifier ?? part.name)"
      }
      // A part is required only if the composite has a value, which the composite checks.
      copy.isOptional = attribute.isOptional || part.isOptional
      if !part.isOptional, part.type != .composite { required.append(slots.count) }
      append(copy, of: entity, to: &slots, &bundles)
      if !part.isOptional, part.type == .composite, let nested = bundles.last { required += nested.requiredSlots }
    }
    bundles.append(
      CompiledComposite(
        name: attribute.name, declaringEntity: entity, attribute: attribute, partNames: parts.map(\.name), slots: start..<slots.count,
        requiredSlots: required, slotsWithDefaults: required.filter { !slots[$0].defaultValue.isNull }))
  }
}
