#if Macros
  import SwiftDiagnostics
  import SwiftSyntax
  import SwiftSyntaxBuilder
  import SwiftSyntaxMacros

  /// `@Attribute`, `@Relationship`, and `@FetchedProperty`: attributes that `@Entity` and `@Composite` read.
  struct MarkerMacro: PeerMacro {
    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      let mark = node.attributeName.trimmedDescription
      guard declaration.is(VariableDeclSyntax.self) else {
        throw DiagnosticsError(diagnostics: [Mistake(at: node, "@\(mark) is for properties").diagnostic])
      }
      // Outside of a type of the model, the attribute would have no effect.
      let owner = context.lexicalContext.first
      let attributes = owner?.as(ClassDeclSyntax.self)?.attributes ?? owner?.as(StructDeclSyntax.self)?.attributes ?? []
      let isModel = attributes.contains {
        let name = $0.as(AttributeSyntax.self)?.attributeName.trimmedDescription.split(separator: ".").last
        return name == "Entity" || name == "Composite"
      }
      guard isModel else {
        let advice =
          "@\(mark) is for properties of a class with @Entity" + (mark.hasSuffix("Attribute") ? ", or of a struct with @Composite" : "")
        throw DiagnosticsError(diagnostics: [Mistake(at: node, advice).diagnostic])
      }
      return []
    }
  }

  /// `@_EntityProperty`: generates the accessors of a property.
  struct EntityPropertyMacro: AccessorMacro {
    static func expansion(
      of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
      // Errors in the property are reported with the class.
      guard let variable = declaration.as(VariableDeclSyntax.self), case .argumentList(let list)? = node.arguments, list.count == 2,
        let layout = list.first?.expression.trimmedDescription, let index = list.last?.expression.trimmedDescription,
        let property = try? PropertyShape(variable)
      else { return [] }
      let base = layout == "nil" ? "" : "\(layout).\(property.isToMany ? "toMany" : "slots") + "
      return accessors(of: property, at: base + index).map { "\(raw: $0)" }
    }

    private static func accessors(of property: PropertyShape, at place: String) -> [String] {
      let get = read(property, at: place)
      if property.isReadOnly { return ["get { \(get) }"] }
      return ["get { \(get) }", "set { \(write("newValue", property, at: place)) }"]
    }

    /// Returns an expression that reads a property.
    ///
    /// - Parameter object: The object followed by a dot; empty for `self`.
    static func read(_ property: PropertyShape, at place: String, of object: String = "") -> String {
      switch property.kind {
      case .value where property.isOptional: return "\(object)_optionalEntityValue(\(place))"
      case .value: return "\(object)_entityValue(\(place)\(property.initial.map { ", initial: \($0)" } ?? ""))"
      case .transformed, .untyped:
        let initial = property.isOptional ? nil : property.initial
        return "\(object)_transformed(\(place), as: (\(property.type)).self)" + (initial.map { " ?? \($0)" } ?? "")
      case .composite: return "\(object)\(property.isOptional ? "_optionalComposite" : "_composite")(\(place))"
      case .toOne: return "\(object)_toOne(\(place))"
      case .toMany(let isOrdered): return "\(object)\(isOrdered ? "_toManyArray" : "_toManySet")(\(place))"
      case .fetched: return "\(object)_fetchedProperty(\"\(property.name)\")"
      }
    }

    private static func write(_ value: String, _ property: PropertyShape, at place: String) -> String {
      switch property.kind {
      case .value, .fetched: "_setEntityValue(\(value), at: \(place))"
      case .transformed, .untyped: "_setTransformed(\(value), at: \(place))"
      case .composite: "_setComposite(\(value), at: \(place))"
      case .toOne: "_setToOne(\(value), at: \(place))"
      case .toMany: "_setToMany(Array(\(value)) as [ManagedObject], at: \(place))"
      }
    }

    /// Returns a statement that writes a part of a composite.
    static func writePart(_ value: String, _ property: PropertyShape, at place: String) -> String {
      switch property.kind {
      case .composite: "object._setComposite(\(value), at: \(place))"
      case .transformed, .untyped: "object._setTransformedPart(\(value), at: \(place))"
      default: "object._setEntityPart(\(value), at: \(place))"
      }
    }
  }
#endif
