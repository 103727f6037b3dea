// ClassEmitter: the source of a class with its typed properties.
import ObjectModel

/// Writes the source of classes.
struct ClassEmitter {
  let options: CodeGenerationOptions
  let classNames: [String]
  /// Types that a class of the model hides are written with their module.
  let hiddenNames: Set<String>
  /// The name of the enumeration that holds the model.
  let modelName: String

  /// Adds the source of a class.
  ///
  /// - Returns: What the source needs to import.
  func emit(_ plan: ClassPlan, to emitter: inout SwiftEmitter) throws(CodeGenerationError) -> ImportNeeds {
    var needs = ImportNeeds()
    var members: [[String]] = []
    for (slot, identifier) in plan.slots {
      if let member = try member(slot, identifier, plan, &needs) { members.append(member) }
    }
    for (relationship, identifier) in plan.toMany { members += toManyMembers(relationship, identifier) }
    for (property, identifier, className) in plan.fetched {
      members.append([
        "/// The objects of the fetched property `\(SwiftText.comment(property.name))`.",
        "\(options.modifier)final var \(SwiftText.escaped(identifier)): [\(className)] "
          + "{ fetchedProperty(\(SwiftText.literal(property.name))) }",
      ])
    }
    let kind = plan.entity.isAbstract ? "abstract entity" : "entity"
    let head: String
    if plan.isDeclared {
      emitter.line("/// An object of the \(kind) `\(SwiftText.comment(plan.entity.name))`.")
      head = "\(options.classModifier)class \(plan.className): \(plan.superclassName)"
    } else {
      emitter.line("/// The properties of the \(kind) `\(SwiftText.comment(plan.entity.name))`.")
      head = "extension \(plan.className)"
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
    if plan.isRoot {
      emitter.line()
      emitter.block("extension \(plan.className): TypedManagedObject, Identifiable") { emitter in
        emitter.line("/// The classes of the model that the class belongs to.")
        emitter.line("\(options.modifier)static var classTable: ManagedObjectClasses { \(modelName).classes }")
        if plan.hasFreeID {
          emitter.line("/// The object's ID.")
          emitter.line("\(options.modifier)final var id: ManagedObjectID { objectID }")
        }
      }
    }
    emitFields(plan, to: &emitter)
    return needs
  }

  // MARK: Attributes and to-one relationships

  private func member(
    _ slot: CompiledSlot, _ identifier: String, _ plan: ClassPlan, _ needs: inout ImportNeeds
  ) throws(CodeGenerationError) -> [String]? {
    if let relationship = slot.relationship {
      return property(
        identifier, type: "\(classNames[relationship.destinationEntity])?", comment: "The to-one relationship", name: slot.name,
        get: "toOne(\(slot.index))", set: "setToOne(newValue, at: \(slot.index))")
    }
    guard let attribute = slot.attribute else { return nil }
    switch attribute.type {
    case .composite: return nil
    case .undefined:
      // Of an attribute without a type only the class that its owner names is known.
      return try transformed(slot, attribute, identifier, plan, &needs)
    case .transformable: return try transformed(slot, attribute, identifier, plan, &needs)
    default:
      guard let type = typeName(of: attribute.type, &needs) else { return nil }
      return attribute.isOptional
        ? property(
          identifier, type: type + "?", comment: "The optional attribute", name: slot.name, get: "optionalValue(\(slot.index))",
          set: "setOptionalValue(newValue, at: \(slot.index))")
        : property(
          identifier, type: type, comment: "The attribute", name: slot.name, get: "value(\(slot.index))",
          set: "setValue(newValue, at: \(slot.index))")
    }
  }

  /// A transformable attribute: a property of the type that the model names; without one, the bytes, or what the transformer gives.
  ///
  /// A required attribute is no optional where its type has an empty literal.
  private func transformed(
    _ slot: CompiledSlot, _ attribute: AttributeDescription, _ identifier: String, _ plan: ClassPlan, _ needs: inout ImportNeeds
  ) throws(CodeGenerationError) -> [String] {
    let comment = attribute.isOptional ? "The optional attribute" : "The attribute"
    let name = (attribute.valueClassName ?? "").trimmingSpaces
    if name.isEmpty || name.hasPrefix("NS") {
      if attribute.type == .transformable, attribute.valueTransformerName == nil, let type = typeName(of: .binary, &needs) {
        return property(
          identifier, type: type + "?", comment: comment, name: slot.name, get: "optionalValue(\(slot.index))",
          set: "setOptionalValue(newValue, at: \(slot.index))")
      }
      return property(
        identifier, type: "(any Sendable)?", comment: comment, name: slot.name,
        get: "transformed(\(slot.index), as: (any Sendable).self)", set: "setTransformed(newValue, at: \(slot.index))")
    }
    guard let type = SwiftText.type(name) else { throw .badValueType(entity: plan.entity.name, attribute: attribute.name) }
    needs.others = true
    if mentionsFoundation(type) {
      needs.foundation = true
      needs.foundationInSignatures = true
    }
    let empty: String? = attribute.isOptional ? nil : Self.emptyLiteral(of: type)
    return property(
      identifier, type: empty == nil ? Self.optional(type) : type, comment: comment, name: slot.name,
      get: "transformed(\(slot.index), as: (\(type)).self)" + (empty.map { " ?? \($0)" } ?? ""),
      set: "setTransformed(newValue, at: \(slot.index))")
  }

  private static func optional(_ type: String) -> String {
    type.contains(" ") && !type.hasSuffix("]") && !type.hasSuffix(">") ? "(\(type))?" : "\(type)?"
  }

  private static func emptyLiteral(of type: String) -> String? {
    if type.hasPrefix("Set<") && type.hasSuffix(">") || type.hasPrefix("Array<") && type.hasSuffix(">") { return "[]" }
    if type.hasPrefix("Dictionary<") && type.hasSuffix(">") { return "[:]" }
    if type == "String" { return "\"\"" }
    guard type.hasPrefix("["), type.hasSuffix("]") else { return nil }
    // A colon outside of inner brackets makes a dictionary.
    var depth = 0
    for character in type.dropFirst().dropLast() {
      if "[<(".contains(character) { depth += 1 }
      if "]>)".contains(character) { depth -= 1 }
      if depth < 0 { return nil }
      if depth == 0, character == ":" { return "[:]" }
    }
    return "[]"
  }

  private func property(_ identifier: String, type: String, comment: String, name: String, get: String, set: String) -> [String] {
    [
      "/// \(comment) `\(SwiftText.comment(name))`.", "\(options.modifier)final var \(SwiftText.escaped(identifier)): \(type) {",
      "  get { \(get) }", "  set { \(set) }", "}",
    ]
  }

  // MARK: To-many relationships

  private func toManyMembers(_ relationship: CompiledRelationship, _ identifier: String) -> [[String]] {
    let type = classNames[relationship.destinationEntity]
    let modifier = options.modifier
    let suffix = SwiftText.capitalized(identifier)
    let name = SwiftText.comment(relationship.name)
    let index = relationship.index
    let members = relationship.isOrdered ? "[\(type)]" : "\(swift("Set"))<\(type)>"
    let read = relationship.isOrdered ? "toManyArray(\(index))" : "toManySet(\(index))"
    var result = [
      property(
        identifier, type: members, comment: "The \(relationship.isOrdered ? "ordered " : "")to-many relationship", name: relationship.name,
        get: read, set: "setToMany(\(swift("Array"))(newValue) as [ManagedObject], at: \(index))"),
      ["/// Adds an object to `\(name)`.", "\(modifier)final func addTo\(suffix)(_ value: \(type)) { addToToMany(value, at: \(index)) }"],
      [
        "/// Adds objects to `\(name)`.",
        "\(modifier)final func addTo\(suffix)(_ values: \(members)) { for value in values { addToToMany(value, at: \(index)) } }",
      ],
      [
        "/// Takes an object out of `\(name)`.",
        "\(modifier)final func removeFrom\(suffix)(_ value: \(type)) { removeFromToMany(value, at: \(index)) }",
      ],
      [
        "/// Takes objects out of `\(name)`.",
        "\(modifier)final func removeFrom\(suffix)(_ values: \(members)) { for value in values { removeFromToMany(value, at: \(index)) } }",
      ],
    ]
    guard relationship.isOrdered else { return result }
    let int = swift("Int")
    result += [
      [
        "/// Inserts an object into `\(name)` at a position, moving it if it is a member already.",
        "\(modifier)final func insertInto\(suffix)(_ value: \(type), at position: \(int)) {",
        "  insertIntoToMany(value, position: position, at: \(index))", "}",
      ],
      [
        "/// Takes the object at a position out of `\(name)`.",
        "\(modifier)final func removeFrom\(suffix)(at position: \(int)) { removeFromToMany(position: position, at: \(index)) }",
      ],
      [
        "/// Puts an object in the place of the one at a position of `\(name)`.",
        "\(modifier)final func replace\(suffix)(at position: \(int), with value: \(type)) {",
        "  removeFromToMany(position: position, at: \(index))", "  insertIntoToMany(value, position: position, at: \(index))", "}",
      ],
    ]
    return result
  }

  // MARK: Types

  func swift(_ name: String) -> String { hiddenNames.contains(name) ? "Swift.\(name)" : name }

  func typeName(of type: AttributeType, _ needs: inout ImportNeeds) -> String? {
    let name: String
    switch type {
    case .integer16: return swift("Int16")
    case .integer32: return swift("Int32")
    case .integer64: return swift("Int64")
    case .double: return swift("Double")
    case .float: return swift("Float")
    case .boolean: return swift("Bool")
    case .string: return swift("String")
    case .decimal: name = "Decimal"
    case .date: name = "Date"
    case .binary: name = "Data"
    case .uuid: name = "UUID"
    case .uri: name = "URL"
    case .undefined, .transformable, .composite: return nil
    }
    needs.foundation = true
    needs.foundationInSignatures = true
    return hiddenNames.contains(name) ? "Foundation.\(name)" : name
  }

  /// Whether a type of the application's names one of Foundation's.
  private func mentionsFoundation(_ type: String) -> Bool {
    let words = type.split { !($0.isLetter || $0.isNumber || $0 == "_") }
    return words.contains { ["Decimal", "Date", "Data", "UUID", "URL", "Foundation", "Locale", "DateComponents", "IndexSet"].contains($0) }
  }
}

extension String {
  /// The text without spaces at its ends.
  fileprivate var trimmingSpaces: String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
