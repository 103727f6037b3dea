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
        throw DiagnosticsError(diagnostics: [MacroError(at: node, "@\(mark) is for properties").diagnostic])
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
        throw DiagnosticsError(diagnostics: [MacroError(at: node, advice).diagnostic])
      }
      return []
    }
  }

  /// `@EntityProperty`: generates the accessors of a property.
  struct EntityPropertyMacro: AccessorMacro {
    static func expansion(
      of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
      // Errors in the property are reported with the class.
      guard let variable = declaration.as(VariableDeclSyntax.self), case .argumentList(let list)? = node.arguments, list.count == 2,
        let layout = list.first?.expression.trimmedDescription, let index = list.last?.expression.trimmedDescription,
        let property = try? ParsedProperty(variable)
      else { return [] }
      let base = layout == "nil" ? "" : "\(layout).\(property.isToMany ? "toMany" : "slots") + "
      return accessors(of: property, at: base + index).map { "\(raw: $0)" }
    }

    private static func accessors(of property: ParsedProperty, at place: String) -> [String] {
      let get = read(property, at: place)
      if property.isReadOnly { return ["get { \(get) }"] }
      return ["get { \(get) }", "set { \(write("newValue", property, at: place)) }"]
    }

    /// Returns an expression that reads a property.
    ///
    /// - Parameter object: An expression for the object.
    static func read(_ property: ParsedProperty, at place: String, of object: String = "self") -> String {
      let arguments = "at: \(place), of: \(object)"
      let call =
        switch property.kind {
        case .value where property.isOptional: "optionalValue(\(arguments))"
        case .value: "value(\(arguments)\(property.initial.map { ", initial: \($0)" } ?? ""))"
        case .transformed, .untyped:
          "transformed(\(arguments), as: (\(property.type)).self)"
            + (property.isOptional ? "" : property.initial.map { " ?? \($0)" } ?? "")
        case .composite: "\(property.isOptional ? "optionalComposite" : "composite")(\(arguments))"
        case .toOne: "toOne(\(arguments))"
        case .toMany(let isOrdered): "\(isOrdered ? "toManyArray" : "toManySet")(\(arguments))"
        case .fetched: "fetchedProperty(\"\(property.name)\", of: \(object))"
        }
      return "GeneratedCode.\(call)"
    }

    private static func write(_ value: String, _ property: ParsedProperty, at place: String) -> String {
      let (function, value) =
        switch property.kind {
        case .value, .fetched: ("setOptionalValue", value)
        case .transformed, .untyped: ("setTransformed", value)
        case .composite: ("setComposite", value)
        case .toOne: ("setToOne", value)
        case .toMany: ("setToMany", "Array(\(value)) as [ManagedObject]")
        }
      return "GeneratedCode.\(function)(\(value), at: \(place), of: self)"
    }

    /// Returns a statement that writes a part of a composite.
    static func writePart(_ value: String, _ property: ParsedProperty, at place: String) -> String {
      let function =
        switch property.kind {
        case .composite: "setComposite"
        case .transformed, .untyped: "setTransformedPart"
        default: "setPart"
        }
      return "GeneratedCode.\(function)(\(value), at: \(place), of: object)"
    }
  }
#endif
