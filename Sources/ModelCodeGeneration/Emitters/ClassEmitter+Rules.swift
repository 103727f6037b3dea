import ObjectModel

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
