// AttributeForm: which Swift type an attribute or a part of a composite has in the source, and how it is read and written.
import ObjectModel

/// How the source shows an attribute, or a part of a composite.
struct AttributeForm {
  fileprivate enum Kind {
    /// The Swift type of the attribute's type.
    case value
    /// A type with raw values, by the type of the raw values where it is no integer; with the case that stands for an unknown raw value.
    case raw(stored: String?, unknown: String?)
    /// What a transformer gives; with the literal that stands for no value.
    case transformed(empty: String?)
  }
  fileprivate let kind: Kind
  /// The type of values, without the question mark of an optional one.
  let type: String
  /// Whether the property is an optional.
  let isOptional: Bool
  /// The value a new struct has for it unless another is given; nil for none.
  let initial: String?
  /// Whether its values can be told to be equal.
  let isHashable: Bool
  /// The type of its field in typed queries.
  let field: String

  /// The property's type.
  var declared: String {
    guard isOptional else { return type }
    let text = ShadowedNames.plain(type)
    return text.contains(" ") && !text.hasSuffix("]") && !text.hasSuffix(">") ? "(\(type))?" : "\(type)?"
  }

  /// Whether values are made from what the row holds, without a transformer.
  var isReadInPlace: Bool { if case .transformed = kind { false } else { true } }

  /// Reading a slot.
  ///
  /// - Parameters:
  ///   - slot: The slot, an expression.
  ///   - object: The object with a dot; empty for `self`.
  func read(_ slot: String, of object: String = "") -> String {
    switch kind {
    case .value: return "\(object)\(isOptional ? "_optionalValue" : "_value")(\(slot))"
    case .raw(let stored, let unknown):
      let call = stored.map { "\(object)_rawValue(\(slot), of: \($0).self)" } ?? "\(object)_rawValue(\(slot))"
      return call + (unknown.map { " ?? .\($0)" } ?? "")
    case .transformed(let empty): return "\(object)_transformed(\(slot), as: (\(type)).self)" + (empty.map { " ?? \($0)" } ?? "")
    }
  }

  /// Writing a property's slot.
  func write(_ value: String, at slot: String) -> String {
    switch kind {
    case .value: "\(isOptional ? "_setOptionalValue" : "_setValue")(\(value), at: \(slot))"
    case .raw(let stored?, _): "_setRawValue(\(value), at: \(slot), of: \(stored).self)"
    case .raw(nil, _): "_setRawValue(\(value), integer: \(slot))"
    case .transformed: "_setTransformed(\(value), at: \(slot))"
    }
  }

  /// Writing a part of a composite.
  func writePart(_ value: String, at slot: String) -> String {
    switch kind {
    case .value: "object._setPart(\(value), at: \(slot))"
    case .raw(let stored?, _): "object._setRawPart(\(value), at: \(slot), of: \(stored).self)"
    case .raw(nil, _): "object._setRawPart(\(value), integer: \(slot))"
    case .transformed: "object._setTransformedPart(\(value), at: \(slot))"
    }
  }

}

/// Gives attributes their form, and notes what they need to import.
struct AttributeForms {
  /// The notes of an attribute that name its Swift type, and the case that stands for an unknown raw value.
  static let (typeKey, unknownCaseKey) = ("swiftType", "swiftUnknownCase")

  /// Types that a class of the model hides are written with their module.
  let hiddenNames: Set<String>

  /// The form of an attribute; nil for a composite.
  ///
  /// - Parameters:
  ///   - attribute: The attribute, or the part.
  ///   - owner: Its entity, or its composite.
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
      needs.addOthers(mentionedIn: named)
      return try raw(attribute, stored, ShadowedNames.marked(named), in: owner)
    }
  }

  /// The Swift type that an attribute names: in its value class, or in a note, which every editor of models keeps.
  private static func typeName(of attribute: AttributeDescription) -> String? {
    for text in [attribute.valueClassName, attribute.userInfo[typeKey]] {
      guard let name = text?.trimmingSpaces, !name.isEmpty, !name.hasPrefix("NS") else { continue }
      return name
    }
    return nil
  }

  private func plain(_ attribute: AttributeDescription, _ type: String) -> AttributeForm {
    let output = attribute.isOptional ? type + "?" : "Reach._" + (Self.outputName(of: attribute.type) ?? "")
    return AttributeForm(
      kind: .value, type: type, isOptional: attribute.isOptional, initial: initial(of: attribute, type), isHashable: true,
      field: "FetchField<\(type), \(output)>")
  }

  @_optimize(none) private func raw(
    _ attribute: AttributeDescription, _ stored: String, _ type: String, in owner: String
  ) throws(CodeGenerationError) -> AttributeForm {
    let unknown = attribute.isOptional ? nil : attribute.userInfo[Self.unknownCaseKey]
    if let unknown, !SwiftText.isIdentifier(unknown) { throw .badUnknownCase(entity: owner, attribute: attribute.name) }
    let isInteger = [.integer16, .integer32, .integer64].contains(attribute.type)
    let hasLiteral = isInteger || [.double, .float, .string].contains(attribute.type)
    let value = hasLiteral ? Self.literal(of: attribute.defaultValue).map { "\(type)(rawValue: \($0))" } : nil
    let escaped = unknown.map(SwiftText.escaped)
    return AttributeForm(
      kind: .raw(stored: isInteger ? nil : stored, unknown: escaped), type: type, isOptional: unknown == nil,
      initial: escaped.map { other in value.map { "\($0) ?? .\(other)" } ?? ".\(other)" } ?? value ?? "nil", isHashable: true,
      field: "FetchRawField<\(type), \(type)?>")
  }

  /// A transformable attribute: of the type that the model names; without one, the bytes, or what the transformer gives.
  ///
  /// A required attribute is no optional where its type has an empty literal.
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
    needs.addOthers(mentionedIn: type)
    let empty: String? = attribute.isOptional ? nil : Self.emptyLiteral(of: type)
    // What the model names is the application's: its own types hide others there.
    return AttributeForm(
      kind: .transformed(empty: empty), type: ShadowedNames.marked(type), isOptional: empty == nil, initial: empty ?? "nil",
      isHashable: true, field: field)
  }

  @_optimize(none) private static func emptyLiteral(of type: String) -> String? {
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

  // MARK: Initial values

  /// What a struct begins with: the default value; nil for an optional without one; nothing for what must be given.
  @_optimize(none) private func initial(of attribute: AttributeDescription, _ type: String) -> String? {
    let value = attribute.defaultValue
    if value.isNull { return attribute.isOptional ? "nil" : nil }
    switch attribute.type {
    case .boolean: if case .int(let flag) = value { return flag == 0 ? "false" : "true" }
    case .integer16, .integer32, .integer64, .double, .float, .string: if let literal = Self.literal(of: value) { return literal }
    case .date: if let literal = Self.literal(of: value) { return "\(type)(timeIntervalSinceReferenceDate: \(literal))" }
    default: break
    }
    let made = "\(type)(_slot: \(SwiftText.slot(value, data: hiddenNames.contains("Data") ? "Foundation.Data" : "Data")))"
    return attribute.isOptional ? made : "\(made) ?? \(type)._emptyValue"
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

  /// A type of Swift's own.
  func swift(_ name: String) -> String { hiddenNames.contains(name) ? "Swift.\(name)" : name }

  /// The Swift type of a type of attributes; nil for those without one.
  @_optimize(none) func typeName(of type: AttributeType, _ needs: inout ImportNeeds) -> String? {
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

  /// The associated type of `FetchReach` for a type of attributes.
  @_optimize(none) private static func outputName(of type: AttributeType) -> String? {
    switch type {
    case .integer16: "Integer16"
    case .integer32: "Integer32"
    case .integer64: "Integer64"
    case .double: "Double"
    case .float: "Float"
    case .decimal: "Decimal"
    case .boolean: "Boolean"
    case .string: "String"
    case .date: "Date"
    case .binary: "Binary"
    case .uuid: "UUID"
    case .uri: "URI"
    case .undefined, .transformable, .composite: nil
    }
  }
}

extension ImportNeeds {
  /// Notes that a type of the application's stands in a signature.
  fileprivate mutating func addOthers(mentionedIn type: String) {
    others = true
    let words = type.split { !($0.isLetter || $0.isNumber || $0 == "_") }
    let foundation = ["Decimal", "Date", "Data", "UUID", "URL", "Foundation", "Locale", "DateComponents", "IndexSet"]
    guard words.contains(where: { foundation.contains(String($0)) }) else { return }
    self.foundation = true
    foundationInSignatures = true
  }
}

extension String {
  /// The text without spaces at its ends.
  fileprivate var trimmingSpaces: String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
