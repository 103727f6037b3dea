import ObjectModel

/// The representation of an attribute or of a part of a composite in the generated source.
struct AttributeForm {
  fileprivate enum Kind {
    /// The Swift type that corresponds to the attribute's type.
    case value
    /// A `RawRepresentable` type. `stored` is the type of the raw values unless it is an integer; `unknown` is the case for an unknown raw
    /// value.
    case raw(stored: String?, unknown: String?)
    /// The output type of a transformer, with the literal for a missing value.
    case transformed(empty: String?)
  }
  fileprivate let kind: Kind
  /// The type of values, without the optional.
  let type: String
  let isOptional: Bool
  /// The default value in a struct's initializer; `nil` for none.
  let initial: String?
  /// Whether the type is `Hashable`.
  let isHashable: Bool
  /// The type of the field in typed queries.
  let field: String

  /// The declared type of the property.
  var declared: String {
    guard isOptional else { return type }
    let text = ShadowedNames.plain(type)
    return text.contains(" ") && !text.hasSuffix("]") && !text.hasSuffix(">") ? "(\(type))?" : "\(type)?"
  }

  /// Whether values are created directly from the row, without a transformer.
  var isReadInPlace: Bool { if case .transformed = kind { false } else { true } }

  /// Returns an expression that reads a slot.
  func read(_ slot: String, of target: AccessTarget) -> String {
    switch kind {
    case .value: target.call(isOptional ? "optionalValue" : "value", at: slot)
    case .raw(let stored, let unknown):
      target.call("rawValue", at: slot, Self.stored(stored)) + (unknown.map { " ?? .\($0)" } ?? "")
    case .transformed(let empty): target.call("transformed", at: slot, "as: (\(type)).self") + (empty.map { " ?? \($0)" } ?? "")
    }
  }

  /// Returns a statement that writes a property's slot.
  func write(_ value: String, at slot: String, of target: AccessTarget) -> String {
    switch kind {
    case .value: target.call(isOptional ? "setOptionalValue" : "setValue", value, at: slot)
    case .raw(let stored, _): target.call("setRawValue", value, at: slot, Self.stored(stored))
    case .transformed: target.call("setTransformed", value, at: slot)
    }
  }

  /// Returns a statement that writes a part of a composite.
  func writePart(_ value: String, at slot: String, of target: AccessTarget) -> String {
    switch kind {
    case .value: target.call("setPart", value, at: slot)
    case .raw(let stored, _): target.call("setRawPart", value, at: slot, Self.stored(stored))
    case .transformed: target.call("setTransformedPart", value, at: slot)
    }
  }

  private static func stored(_ type: String?) -> String? { type.map { "storedAs: \($0).self" } }
}

/// The object or snapshot whose slots generated source reads and writes.
enum AccessTarget {
  /// An expression for a managed object.
  case object(String)
  /// An expression for an `ObjectSnapshot`.
  case snapshot(String)

  /// Returns a call of an accessor.
  ///
  /// - Parameters:
  ///   - function: The name of the function.
  ///   - value: The value to write; `nil` for none.
  ///   - slot: An expression for the slot or index.
  ///   - more: A further argument; `nil` for none.
  func call(_ function: String, _ value: String? = nil, at slot: String, _ more: String? = nil) -> String {
    switch self {
    case .object(let object):
      "GeneratedCode.\(function)(\([value, "at: \(slot)", "of: \(object)", more].compactMap { $0 }.joined(separator: ", ")))"
    case .snapshot(let snapshot):
      "\(snapshot).\(function)(\([value, "at: \(slot)", more].compactMap { $0 }.joined(separator: ", ")))"
    }
  }
}

/// Determines the forms of attributes, and records the imports that they need.
struct AttributeForms {
  /// The user info keys of an attribute for its Swift type and for the case for unknown raw values.
  static let (typeKey, unknownCaseKey) = ("swiftType", "swiftUnknownCase")

  /// Names of types that a class of the model shadows; they are qualified by their module.
  let hiddenNames: Set<String>

  /// Returns the form of an attribute; `nil` for a composite.
  ///
  /// - Parameters:
  ///   - attribute: The attribute or part.
  ///   - owner: The name of its entity or composite.
  @_optimize(none) func form(
    of attribute: AttributeDescription, in owner: String, _ needs: inout ImportNeeds
  ) throws(CodeGenerationError) -> AttributeForm? {
    let named = Self.typeName(of: attribute)
    if let named, SwiftText.type(named) == nil { throw .badValueType(entity: owner, attribute: attribute.name) }
    switch attribute.type {
    case .composite: return nil
    case .undefined, .transformable: return transformed(attribute, named, &needs)
    default:
      guard let stored = typeName(of: attribute.type, &needs) else { return nil }
      guard let named else { return plain(attribute, stored) }
      needs.addModules(mentionedIn: named)
      return try raw(attribute, stored, ShadowedNames.marked(named), in: owner)
    }
  }

  /// Returns the Swift type that an attribute specifies: as its value class, or in its user info, which every model editor preserves.
  private static func typeName(of attribute: AttributeDescription) -> String? {
    for text in [attribute.valueClassName, attribute.userInfo[typeKey]] {
      guard let name = text?.trimmingSpaces, !name.isEmpty, !name.hasPrefix("NS") else { continue }
      return name
    }
    return nil
  }

  private func plain(_ attribute: AttributeDescription, _ type: String) -> AttributeForm {
    let output = attribute.isOptional ? type + "?" : "Reach." + attribute.type.identifier
    return AttributeForm(
      kind: .value, type: type, isOptional: attribute.isOptional, initial: initial(of: attribute, type), isHashable: true,
      field: "FetchField<\(type), \(output)>")
  }

  @_optimize(none) private func raw(
    _ attribute: AttributeDescription, _ stored: String, _ type: String, in owner: String
  ) throws(CodeGenerationError) -> AttributeForm {
    let unknown = attribute.isOptional ? nil : attribute.userInfo[Self.unknownCaseKey]
    if let unknown, !SwiftText.isIdentifier(unknown) { throw .badUnknownCase(entity: owner, attribute: attribute.name) }
    let isInteger = attribute.type.isInteger
    let hasLiteral = attribute.type.traits.swiftType?.literal == .plain
    let value = hasLiteral ? Self.literal(of: attribute.defaultValue).map { "\(type)(rawValue: \($0))" } : nil
    let escaped = unknown.map(SwiftText.escaped)
    return AttributeForm(
      kind: .raw(stored: isInteger ? nil : stored, unknown: escaped), type: type, isOptional: unknown == nil,
      initial: escaped.map { other in value.map { "\($0) ?? .\(other)" } ?? ".\(other)" } ?? value ?? "nil", isHashable: true,
      field: "FetchRawField<\(type), \(type)?>")
  }

  /// Returns the form of a transformable attribute: the type that the model names, or else `Data` or the transformer's output type.
  ///
  /// A required attribute is not optional if its type has an empty literal.
  @_optimize(none) private func transformed(_ attribute: AttributeDescription, _ named: String?, _ needs: inout ImportNeeds)
    -> AttributeForm
  {
    let field = "FetchOpaqueField"
    guard let type = named else {
      if attribute.type == .transformable, attribute.valueTransformerName == nil, let type = typeName(of: .binary, &needs) {
        return AttributeForm(kind: .value, type: type, isOptional: true, initial: "nil", isHashable: true, field: field)
      }
      return AttributeForm(
        kind: .transformed(empty: nil), type: "any Sendable", isOptional: true, initial: "nil", isHashable: false, field: field)
    }
    needs.addModules(mentionedIn: type)
    let empty: String? = attribute.isOptional ? nil : Self.emptyLiteral(of: type)
    // A type that the model names belongs to the application, whose types shadow others.
    return AttributeForm(
      kind: .transformed(empty: empty), type: ShadowedNames.marked(type), isOptional: empty == nil, initial: empty ?? "nil",
      isHashable: true, field: field)
  }

  @_optimize(none) private static func emptyLiteral(of type: String) -> String? {
    if type.hasPrefix("Set<") && type.hasSuffix(">") || type.hasPrefix("Array<") && type.hasSuffix(">") { return "[]" }
    if type.hasPrefix("Dictionary<") && type.hasSuffix(">") { return "[:]" }
    if type == "String" { return "\"\"" }
    guard type.hasPrefix("["), type.hasSuffix("]") else { return nil }
    // A colon outside of nested brackets indicates a dictionary.
    var depth = 0
    for character in type.dropFirst().dropLast() {
      if "[<(".contains(character) { depth += 1 }
      if "]>)".contains(character) { depth -= 1 }
      if depth < 0 { return nil }
      if depth == 0, character == ":" { return "[:]" }
    }
    return "[]"
  }

  // MARK: Initial values

  /// Returns the default value of a struct's property: the attribute's default value, or `nil` for an optional. Without a default value,
  /// the initializer requires the property.
  @_optimize(none) private func initial(of attribute: AttributeDescription, _ type: String) -> String? {
    let value = attribute.defaultValue
    if value.isNull { return attribute.isOptional ? "nil" : nil }
    switch attribute.type.traits.swiftType?.literal {
    case .boolean: if case .int(let flag) = value { return flag == 0 ? "false" : "true" }
    case .plain: if let literal = Self.literal(of: value) { return literal }
    case .argument(let label): if let literal = Self.literal(of: value) { return "\(type)(\(label): \(literal))" }
    case nil: break
    }
    let slot = SwiftText.slot(value, data: hiddenNames.contains("Data") ? "Foundation.Data" : "Data")
    return "GeneratedCode.defaultValue(\(slot))"
  }

  private static func literal(of slot: Slot) -> String? {
    switch slot {
    case .int(let value): "\(value)"
    case .real(let value): value.isFinite ? "\(value)" : nil
    case .text(let value): SwiftText.literal(value)
    case .null, .bytes: nil
    }
  }

  // MARK: Types

  /// Returns the name of a type of the standard library, qualified if necessary.
  func swift(_ name: String) -> String { hiddenNames.contains(name) ? "Swift.\(name)" : name }

  /// Returns the Swift type of an attribute type; `nil` if there is none.
  @_optimize(none) func typeName(of type: AttributeType, _ needs: inout ImportNeeds) -> String? {
    guard let swiftType = type.traits.swiftType else { return nil }
    guard swiftType.isOfFoundation else { return swift(swiftType.name) }
    needs.foundation = true
    needs.foundationInSignatures = true
    return hiddenNames.contains(swiftType.name) ? "Foundation.\(swiftType.name)" : swiftType.name
  }
}

extension ImportNeeds {
  /// Records that a signature contains a type of the application.
  fileprivate mutating func addModules(mentionedIn type: String) {
    others = true
    let words = type.split { !($0.isLetter || $0.isNumber || $0 == "_") }
    let foundation = ShadowedNames.ofFoundation.union(["Foundation", "Locale", "DateComponents", "IndexSet"])
    guard words.contains(where: { foundation.contains(String($0)) }) else { return }
    self.foundation = true
    foundationInSignatures = true
  }
}

extension String {
  fileprivate var trimmingSpaces: String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
