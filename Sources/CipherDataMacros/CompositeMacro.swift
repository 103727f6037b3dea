#if Macros
  import SwiftDiagnostics
  import SwiftSyntax
  import SwiftSyntaxBuilder
  import SwiftSyntaxMacros

  /// `@Composite`: adds the struct's kind of composite value, and functions that read it from and write it to an object's slots.
  struct CompositeMacro: MemberMacro, ExtensionMacro {
    static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax, conformingTo protocols: [TypeSyntax],
      in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      let shape: ParsedEntity
      let options: TypeOptions
      do {
        shape = try ParsedEntity(composite: declaration, mark: node)
        options = try TypeOptions(node, typeName: shape.typeName)
      } catch let macroError as MacroError { throw DiagnosticsError(diagnostics: [macroError.diagnostic]) }
      for macroError in shape.errors { context.diagnose(macroError.diagnostic) }
      return (shape.hasInitializer ? [] : [initializer(of: shape)]) + slots(of: shape) + described(shape, options)
    }

    private static func initializer(of shape: ParsedEntity) -> DeclSyntax {
      let parameters = shape.properties.map { property in
        let initial = property.initial ?? (property.isOptional ? "nil" : nil)
        return "\(property.identifier): \(property.declaredType)\(initial.map { " = \($0)" } ?? "")"
      }
      let lines = shape.properties.map { "self.\($0.identifier) = \($0.identifier)" }
      return """
        /// Creates a value from its parts.
        \(raw: shape.access)nonisolated init(\(raw: parameters.joined(separator: ", "))) {
          \(raw: lines.joined(separator: "\n  "))
        }
        """
    }

    private static func slots(of shape: ParsedEntity) -> [DeclSyntax] {
      let reads = shape.properties.map {
        "self.\($0.identifier) = \(EntityPropertyMacro.read($0, at: "slot + \($0.place)", of: "object"))"
      }
      let writes = shape.properties.map { EntityPropertyMacro.writePart("self.\($0.identifier)", $0, at: "slot + \($0.place)") }
      let names = shape.properties.map { property in
        if case .composite = property.kind { return "\(property.type).partNames.map { \"\(property.name).\" + $0 }" }
        return "[\"\(property.name)\"]"
      }
      return [
        """
        /// Reads the parts from the slots of an object.
        \(raw: shape.access)nonisolated init(of object: ManagedObject, at slot: Int) {
          \(raw: reads.joined(separator: "\n  "))
        }
        """,
        """
        /// Writes changed parts to the slots of an object.
        \(raw: shape.access)nonisolated func write(to object: ManagedObject, at slot: Int) {
          \(raw: writes.joined(separator: "\n  "))
        }
        """,
        """
        /// The number of slots of the parts.
        \(raw: shape.access)nonisolated static var slotCount: Int { \(raw: shape.slotCount) }
        """,
        """
        /// The names of the parts, by slot.
        \(raw: shape.access)nonisolated static var partNames: [String] { [\(raw: names.joined(separator: ", "))].flatMap { $0 } }
        """,
      ]
    }

    private static func described(_ shape: ParsedEntity, _ options: TypeOptions) -> [DeclSyntax] {
      let lines = shape.properties.map(\.declaration).map { "declaration.\($0)" }.joined(separator: "\n  ")
      let composites = shape.properties.compactMap { if case .composite = $0.kind { "\($0.type).self" } else { nil } }
      let paths = shape.properties.map { property in
        "names.add(\\\(shape.typeName).\(property.identifier), \\\(shape.typeName)?.?.\(property.identifier), \"\(property.name)\")"
      }
      return [
        """
        /// The name of the kind.
        \(raw: shape.access)nonisolated static var declaredCompositeName: String { \(raw: options.name) }
        """,
        """
        /// The kind with its parts.
        \(raw: shape.access)nonisolated static var compositeDescription: CompositeDescription {
          var declaration = EntityDeclaration(composite: \(raw: options.name))
          \(raw: lines)
          return declaration.compositeDescription(\(raw: options.arguments.joined(separator: ", ")))
        }
        """,
        """
        /// The structs of the parts that are composites themselves.
        \(raw: shape.access)nonisolated static var relatedComposites: [any EntityComposite.Type] { [\(raw: composites.joined(separator: ", "))] }
        """,
        """
        /// Adds the parts to a table.
        \(raw: shape.access)nonisolated static func addKeyPaths(to names: inout KeyPathNames) {
          \(raw: paths.joined(separator: "\n  "))
        }
        """,
      ]
    }

    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax, providingExtensionsOf type: some TypeSyntaxProtocol,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
      // Conformances that the struct declares itself are not requested.
      guard !protocols.isEmpty, (try? ParsedEntity(composite: declaration, mark: node)) != nil else { return [] }
      let names = protocols.map(\.trimmedDescription).joined(separator: ", ")
      return [try ExtensionDeclSyntax("nonisolated extension \(type.trimmed): \(raw: names) {}")]
    }
  }
#endif
