import ObjectModel

/// Generates the source of classes with typed properties.
struct ClassEmitter {
  let options: CodeGenerationOptions
  let classNames: [String]
  let forms: AttributeForms
  let composites: CompositePlans
  /// The name of the enumeration that contains the model.
  let modelName: String

  /// Adds the source of a class.
  ///
  /// - Returns: The modules that the source must import.
  @_optimize(none) func emit(_ plan: ClassPlan, to emitter: inout SwiftEmitter) throws(CodeGenerationError) -> ImportNeeds {
    var needs = ImportNeeds()
    var members: [[String]] = []
    var values: [(slot: Int, lines: [String])] = []
    for (slot, identifier) in plan.slots {
      if let member = try member(slot, identifier, plan, &needs) { values.append((slot.index, member)) }
      guard let stream = plan.streams.first(where: { $0.slot.index == slot.index }) else { continue }
      values.append(
        (
          slot.index,
          property(
            stream.identifier, type: "ExternalData?", comment: "The value, read and written in chunks, of the attribute",
            name: slot.name, get: Self.target.call("externalData", at: "\(slot.index)"),
            set: Self.target.call("setExternalData", "newValue", at: "\(slot.index)"))
        ))
    }
    for (composite, identifier) in plan.composites {
      if let member = member(composite, identifier) { values.append((composite.slots.lowerBound, member)) }
    }
    members += values.sorted { $0.slot < $1.slot }.map(\.lines)
    for (relationship, identifier) in plan.toMany { members += toManyMembers(relationship, identifier) }
    for (property, identifier, className) in plan.fetched {
      members.append([
        "/// The objects of the fetched property `\(SwiftText.comment(property.name))`.",
        "\(options.modifier)final var \(SwiftText.escaped(identifier)): [\(className)] "
          + "{ GeneratedCode.fetchedProperty(\(SwiftText.literal(property.name)), of: self) }",
      ])
    }
    let rules = try rules(of: plan)
    // Code that calls functions of the application must be in the class that the application declares.
    if !plan.isSplit { members += rules }
    let kind = plan.entity.isAbstract ? "abstract entity" : "entity"
    let head: String
    if plan.isDeclared {
      emitter.line("/// An object of the \(kind) `\(SwiftText.comment(plan.entity.name))`.")
      if plan.isSplit {
        emitter.line("///")
        emitter.line("/// The application declares `class \(plan.className): \(plan.declaredName)`, and may override members there.")
      }
      head = "\(options.classModifier)nonisolated class \(plan.declaredName): \(plan.superclassName)"
    } else {
      emitter.line("/// The properties of the \(kind) `\(SwiftText.comment(plan.entity.name))`.")
      head = "nonisolated extension \(plan.className)"
    }
    if members.isEmpty {
      emitter.line(head + " {}")
    } else {
      emitter.block(head) { emitter in
        for (number, member) in members.enumerated() {
          if number > 0 { emitter.line() }
          for line in member { emitter.line(line) }
        }
      }
    }
    if plan.isSplit, !rules.isEmpty {
      emitter.line()
      emitter.block("nonisolated extension \(plan.className)") { emitter in
        for (number, member) in rules.enumerated() {
          if number > 0 { emitter.line() }
          for line in member { emitter.line(line) }
        }
      }
    }
    if plan.isRoot {
      emitter.line()
      emitter.block("nonisolated extension \(plan.className): TypedManagedObject, Identifiable") { emitter in
        emitter.line("/// The classes of the model that the class belongs to.")
        emitter.line("\(options.modifier)static var classTable: ManagedObjectClasses { \(modelName).classes }")
        if plan.hasFreeID {
          emitter.line("/// The object's ID.")
          emitter.line("\(options.modifier)final var id: ManagedObjectID { objectID }")
        }
      }
    }
    try emitFields(plan, to: &emitter)
    try emitSnapshot(plan, to: &emitter, &needs)
    return needs
  }

  // MARK: Attributes and to-one relationships

  private static let target = AccessTarget.object("self")

  @_optimize(none) private func member(
    _ slot: CompiledSlot, _ identifier: String, _ plan: ClassPlan, _ needs: inout ImportNeeds
  ) throws(CodeGenerationError) -> [String]? {
    if let relationship = slot.relationship {
      return property(
        identifier, type: "\(classNames[relationship.destinationEntity])?", comment: "The to-one relationship", name: slot.name,
        get: Self.target.call("toOne", at: "\(slot.index)"), set: Self.target.call("setToOne", "newValue", at: "\(slot.index)"),
        isInlinable: true)
    }
    guard let attribute = slot.attribute, let form = try forms.form(of: attribute, in: plan.entity.name, &needs) else { return nil }
    let kind = "\(attribute.isOptional ? "optional " : "")\(attribute.derivationExpression == nil ? "" : "derived ")attribute"
    return property(
      identifier, type: form.declared, comment: "The \(kind)", name: slot.name, get: form.read("\(slot.index)", of: Self.target),
      // Values that the store computes are read-only.
      set: attribute.derivationExpression == nil ? form.write("newValue", at: "\(slot.index)", of: Self.target) : nil,
      isInlinable: form.isReadInPlace)
  }

  private func member(_ composite: CompiledComposite, _ identifier: String) -> [String]? {
    guard let plan = composites.plan(of: composite.attribute) else { return nil }
    let (isOptional, slot) = (composite.attribute.isOptional, composite.slots.lowerBound)
    return property(
      identifier, type: plan.typeName + (isOptional ? "?" : ""), comment: "The \(isOptional ? "optional " : "")composite attribute",
      name: composite.name, get: Self.target.call(isOptional ? "optionalComposite" : "composite", at: "\(slot)"),
      set: Self.target.call("setComposite", "newValue", at: "\(slot)")
    )
  }

  /// - Parameter isInlinable: Whether the accessors should be inlinable in other modules: they take only a few instructions, and a loop
  ///   around them need not retain each object.
  private func property(
    _ identifier: String, type: String, comment: String, name: String, get: String, set: String?, isInlinable: Bool = false
  ) -> [String] {
    let head = "\(options.modifier)final var \(SwiftText.escaped(identifier)): \(type) {"
    let described = "/// \(comment) `\(SwiftText.comment(name))`."
    let inlinable = isInlinable && options.access != .internal ? "@inlinable " : ""
    guard let set else { return [described, "\(inlinable)\(head) \(get) }"] }
    return [described, head, "  \(inlinable)get { \(get) }", "  \(inlinable)set { \(set) }", "}"]
  }

  // MARK: To-many relationships

  @_optimize(none) private func toManyMembers(_ relationship: CompiledRelationship, _ identifier: String) -> [[String]] {
    let type = classNames[relationship.destinationEntity]
    let modifier = options.modifier
    let suffix = SwiftText.capitalized(identifier)
    let name = SwiftText.comment(relationship.name)
    let index = relationship.index
    let members = relationship.isOrdered ? "[\(type)]" : "\(forms.swift("Set"))<\(type)>"
    let read = Self.target.call(relationship.isOrdered ? "toManyArray" : "toManySet", at: "\(index)")
    var result = [
      property(
        identifier, type: members, comment: "The \(relationship.isOrdered ? "ordered " : "")to-many relationship", name: relationship.name,
        get: read, set: Self.target.call("setToMany", "\(forms.swift("Array"))(newValue) as [ManagedObject]", at: "\(index)")),
      [
        "/// Adds an object to `\(name)`.",
        "\(modifier)final func addTo\(suffix)(_ value: \(type)) { GeneratedCode.addToToMany(value, at: \(index), of: self) }",
      ],
      [
        "/// Adds objects to `\(name)`.",
        "\(modifier)final func addTo\(suffix)(_ values: \(members)) { for value in values { GeneratedCode.addToToMany(value, at: \(index), of: self) } }",
      ],
      [
        "/// Removes an object from `\(name)`.",
        "\(modifier)final func removeFrom\(suffix)(_ value: \(type)) { GeneratedCode.removeFromToMany(value, at: \(index), of: self) }",
      ],
      [
        "/// Removes objects from `\(name)`.",
        "\(modifier)final func removeFrom\(suffix)(_ values: \(members)) { for value in values { GeneratedCode.removeFromToMany(value, at: \(index), of: self) } }",
      ],
    ]
    guard relationship.isOrdered else { return result }
    let int = forms.swift("Int")
    result += [
      [
        "/// Inserts an object into `\(name)` at a position. An object that is already a member moves.",
        "\(modifier)final func insertInto\(suffix)(_ value: \(type), at position: \(int)) {",
        "  GeneratedCode.insertIntoToMany(value, position: position, at: \(index), of: self)", "}",
      ],
      [
        "/// Inserts objects into `\(name)` in order, starting at a position. Objects that are already members move.",
        "\(modifier)final func insertInto\(suffix)(_ values: [\(type)], at position: \(int)) {",
        "  GeneratedCode.insertIntoToMany(values, position: position, at: \(index), of: self)", "}",
      ],
      [
        "/// Removes the object at a position from `\(name)`.",
        "\(modifier)final func removeFrom\(suffix)(at position: \(int)) { GeneratedCode.removeFromToMany(position: position, at: \(index), of: self) }",
      ],
      [
        "/// Removes the objects at positions from `\(name)`. The positions can be a range, an index set, or a list.",
        "\(modifier)final func removeFrom\(suffix)(at positions: some Sequence<\(int)>) { "
          + "GeneratedCode.removeFromToMany(positions: positions, at: \(index), of: self) }",
      ],
      [
        "/// Replaces the object at a position of `\(name)`.",
        "\(modifier)final func replace\(suffix)(at position: \(int), with value: \(type)) {",
        "  GeneratedCode.replaceInToMany(position: position, with: value, at: \(index), of: self)", "}",
      ],
      [
        "/// Replaces the objects at a range of positions of `\(name)`.",
        "\(modifier)final func replace\(suffix)(at positions: \(forms.swift("Range"))<\(int)>, with values: [\(type)]) {",
        "  GeneratedCode.replaceInToMany(positions, with: values, at: \(index), of: self)", "}",
      ],
    ]
    return result
  }
}

// MARK: - Fields for typed queries

extension ClassEmitter {
  /// Adds the fields of a class for typed queries: an extension of `FetchObject` for the class and its subclasses.
  @_optimize(none) func emitFields(_ plan: ClassPlan, to emitter: inout SwiftEmitter) throws(CodeGenerationError) {
    var members: [(comment: String, identifier: String, type: String, value: String)] = []
    for (slot, identifier) in plan.slots {
      let name = SwiftText.literal(slot.name)
      let described = "`\(SwiftText.comment(slot.name))`"
      if let relationship = slot.relationship {
        let type = "FetchObject<\(classNames[relationship.destinationEntity]), FetchIndirect>"
        members.append(("The to-one relationship \(described)", identifier, type, "toOne(\(name))"))
      } else if let attribute = slot.attribute {
        var needs = ImportNeeds()
        guard let type = try forms.form(of: attribute, in: plan.entity.name, &needs)?.field else { continue }
        members.append(("The attribute \(described)", identifier, type, "attribute(\(name))"))
      }
    }
    for (composite, identifier) in plan.composites {
      guard let type = composites.plan(of: composite.attribute)?.typeName else { continue }
      members.append(
        (
          "The composite attribute `\(SwiftText.comment(composite.name))`", identifier,
          "FetchComposite<\(type), \(composite.attribute.isOptional ? "FetchIndirect" : "Reach")>",
          "composite(\(SwiftText.literal(composite.name)))"
        ))
    }
    for (relationship, identifier) in plan.toMany {
      let type =
        "FetchMembers<\(classNames[relationship.destinationEntity]), \(relationship.isOrdered ? "FetchOrdered" : "FetchUnordered")>"
      members.append(
        (
          "The to-many relationship `\(SwiftText.comment(relationship.name))`", identifier, type,
          "toMany(\(SwiftText.literal(relationship.name)))"
        ))
    }
    guard !members.isEmpty else { return }
    emitter.line()
    emitter.line("/// The fields of `\(plan.className)` in typed queries.")
    emitter.block("nonisolated extension FetchObject where FetchedClass: \(plan.className)") { emitter in
      for member in members {
        emitter.line("/// \(member.comment) in typed queries.")
        emitter.line("\(options.modifier)var \(SwiftText.escaped(member.identifier)): \(member.type) { \(member.value) }")
      }
    }
  }
}

// MARK: - Calls of validation functions

extension ClassEmitter {
  /// The user info key of an attribute with a validation function in Swift: the application declares `validateTitle(_:)` for `title` in an
  /// extension.
  static let ruleKey = "swiftValidation"

  /// Returns the members of a class that call the validation functions of its attributes; empty if no attribute has one.
  @_optimize(none) func rules(of plan: ClassPlan) throws(CodeGenerationError) -> [[String]] {
    var cases: [String] = []
    var names: [String] = []
    for (slot, identifier) in plan.slots {
      guard let attribute = slot.attribute, let note = attribute.userInfo[Self.ruleKey] else { continue }
      guard ["YES", "NO"].contains(note), attribute.derivationExpression == nil else {
        throw .badRule(entity: plan.entity.name, attribute: attribute.name)
      }
      guard note == "YES" else { continue }
      if attribute.type == .undefined { throw .badRule(entity: plan.entity.name, attribute: attribute.name) }
      let literal = SwiftText.literal(attribute.name)
      names.append(literal)
      let function = attribute.isOptional ? "validateOptional" : "validate"
      cases.append("  case \(literal): try \(function)(&value, forKey: key, by: validate\(SwiftText.capitalized(identifier)))")
    }
    for (composite, _) in plan.composites where composite.attribute.userInfo[Self.ruleKey] != nil {
      throw .badRule(entity: plan.entity.name, attribute: composite.name)
    }
    guard !names.isEmpty else { return [] }
    let (string, modifier) = (forms.swift("String"), options.modifier)
    let body = ["  switch key {"] + cases.map { "  " + $0.dropFirst(2) } + ["  default: break", "  }"]
    guard plan.isDeclared, !plan.isSplit else {
      return [
        [
          "/// The keys that ``validateTyped(_:forKey:)`` validates, for the class's `keysWithCustomValidation`.",
          "\(modifier)static var keysWithTypedValidation: [\(string)] { [\(names.joined(separator: ", "))] }",
        ],
        [
          "/// Calls the class's validation function for a key, such as `validateTitle(_:)`.",
          "/// The class's `validateValue(_:forKey:)` calls it before `super`'s.",
          "\(modifier)final func validateTyped(_ value: inout Any?, forKey key: \(string)) throws {",
        ] + body + ["}"],
      ]
    }
    return [
      [
        "/// The keys that a save validates by calling `validateValue(_:forKey:)`.",
        "\(options.classModifier)override class var keysWithCustomValidation: [\(string)] {",
        "  super.keysWithCustomValidation + [\(names.joined(separator: ", "))]", "}",
      ],
      [
        "/// Validates a value by the class's function for the key, such as `validateTitle(_:)`, and by the model.",
        "\(options.classModifier)override func validateValue(_ value: inout Any?, forKey key: \(string)) throws {",
      ] + body + ["  try super.validateValue(&value, forKey: key)", "}"],
    ]
  }
}
