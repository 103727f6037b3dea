import ObjectModel

/// The plan of the struct for a composite.
struct CompositePlan {
  let composite: CompositeDescription
  /// The name of the struct, marked as generated (``ShadowedNames``).
  let typeName: String
  /// The parts, with their identifiers and their first slots relative to the struct's.
  let parts: [(attribute: AttributeDescription, identifier: String, offset: Int)]
  /// The number of slots of all parts.
  let slotCount: Int
  /// The names of the parts by slot; nested parts have dotted names.
  let partNames: [String]
}

/// The plans of the structs for a model's composites.
struct CompositePlans {
  /// Names that the source uses itself.
  private static let reserved: Set<String> = [
    "Any", "Type", "Protocol", "Self", "ManagedObject", "CompositeValue", "SnapshotComposite", "ObjectSnapshot", "Reach", "Identifiable",
    "CipherData", "FetchedClass", "Foundation", "Swift",
  ]

  /// The structs to generate, in the order of the model.
  private(set) var plans: [CompositePlan] = []
  private var numbers: [String: Int] = [:]

  /// Creates the plans for a valid model.
  ///
  /// - Parameters:
  ///   - model: The model.
  ///   - taken: Names that no struct can have: those of classes and of types that the source uses.
  @_optimize(none) init(_ model: CompiledModel, taken: Set<String>) {
    var taken = taken.union(Self.reserved)
    for composite in model.model.composites {
      var name = SwiftText.capitalized(SwiftText.plainIdentifier(composite.name))
      while taken.contains(name) || SwiftText.escaped(name) != name { name += "Value" }
      taken.insert(name)
      var identifiers: Set<String> = []
      let names = SwiftText.identifiers(of: composite.elements.map(\.name), &identifiers)
      var parts: [(attribute: AttributeDescription, identifier: String, offset: Int)] = []
      var partNames: [String] = []
      for element in composite.elements {
        parts.append((element, names[element.name] ?? element.name, partNames.count))
        partNames += Self.slots(of: element, model.model)
      }
      numbers[composite.name] = plans.count
      plans.append(
        CompositePlan(
          composite: composite, typeName: ShadowedNames.marked(name), parts: parts, slotCount: partNames.count, partNames: partNames))
    }
  }

  /// Returns the struct of a composite attribute; `nil` for any other attribute.
  func plan(of attribute: AttributeDescription) -> CompositePlan? {
    attribute.compositeName.flatMap { numbers[$0] }.map { plans[$0] }
  }

  /// Returns whether all parts of a struct are `Hashable`.
  @_optimize(none) func isHashable(_ plan: CompositePlan, _ forms: AttributeForms) throws(CodeGenerationError) -> Bool {
    for (attribute, _, _) in plan.parts {
      if let inner = self.plan(of: attribute) {
        if try !isHashable(inner, forms) { return false }
        continue
      }
      var needs = ImportNeeds()
      if try forms.form(of: attribute, in: plan.composite.name, &needs)?.isHashable == false { return false }
    }
    return true
  }

  /// Returns the names of an attribute's slots. A valid model limits the recursion.
  private static func slots(of attribute: AttributeDescription, _ model: ManagedObjectModel) -> [String] {
    guard let composite = attribute.compositeName.flatMap({ model.composite(named: $0) }) else { return [attribute.name] }
    return composite.elements.flatMap { slots(of: $0, model) }.map { "\(attribute.name).\($0)" }
  }
}
