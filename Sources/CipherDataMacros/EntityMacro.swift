#if Macros
  import SwiftDiagnostics
  import SwiftSyntax
  import SwiftSyntaxBuilder
  import SwiftSyntaxMacros

  /// `@Entity`: adds the class's entity, its layout in the model, and accessors for its properties.
  struct EntityMacro: MemberMacro, MemberAttributeMacro, ExtensionMacro {
    static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax, conformingTo protocols: [TypeSyntax],
      in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      let shape: ParsedEntity
      let options: TypeOptions
      do {
        shape = try ParsedEntity(entity: declaration, mark: node)
        options = try TypeOptions(node, typeName: shape.typeName)
      } catch let macroError as MacroError { throw DiagnosticsError(diagnostics: [macroError.diagnostic]) }
      for macroError in shape.errors + options.errors(in: shape) + ruleErrors(of: shape, at: node) {
        context.diagnose(macroError.diagnostic)
      }
      return described(shape, options) + shape.mutators + shape.streams + shape.rules
    }

    private static func described(_ shape: ParsedEntity, _ options: TypeOptions) -> [DeclSyntax] {
      let (access, superclass, name) = (shape.access, shape.superclass, options.name)
      let head =
        (["\(name)", "class: \"\(shape.typeName)\"", "superclass: \(superclass.map { "\($0).self" } ?? "nil")"] + options.arguments)
        .joined(separator: ", ")
      let lines = shape.properties.map(\.declaration).map { "declaration.\($0)" }.joined(separator: "\n  ")
      let others = shape.properties.filter { !$0.isAttribute }.map { "\($0.type).self" }
      let related = (superclass.map { ["\($0).self"] } ?? []) + others
      let composites = shape.properties.compactMap { if case .composite = $0.kind { "\($0.type).self" } else { nil } }
      let layout = superclass.map { "after: \($0).\(ParsedEntity.layoutName($0)), " } ?? ""
      return [
        """
        /// Where the properties of classes below begin.
        \(raw: access)nonisolated static var \(raw: ParsedEntity.layoutName(shape.typeName)): EntityLayout {
          EntityLayout(\(raw: layout)slots: \(raw: shape.slotCount), toMany: \(raw: shape.toManyCount))
        }
        """,
        """
        /// The name of the entity.
        \(raw: member(access, superclass))var declaredEntityName: String { \(raw: name) }
        """,
        """
        /// The entity.
        \(raw: member(access, superclass))var entityDescription: EntityDescription {
          \(raw: shape.properties.isEmpty ? "let" : "var") declaration = EntityDeclaration(\(raw: head))
          \(raw: lines)
          return declaration.entityDescription
        }
        """,
        """
        /// The classes that relationships and fetched properties lead to.
        \(raw: member(access, superclass))var relatedClasses: [any EntityClass.Type] { [\(raw: related.joined(separator: ", "))] }
        """,
        """
        /// The structs of the composite attributes.
        \(raw: member(access, superclass))var relatedComposites: [any EntityComposite.Type] { [\(raw: composites.joined(separator: ", "))] }
        """,
        """
        /// Adds the properties to a table.
        \(raw: member(access, superclass))func addKeyPaths(to names: inout KeyPathNames) {
          \(raw: ParsedEntity.pathsName(shape.typeName))(of: \(raw: shape.typeName).self, to: &names)
          names.addIdentity(\\\(raw: shape.typeName).id, \\\(raw: shape.typeName)?.?.id)
        }
        """,
        """
        /// Adds the properties of the class to a table, as those of a class below.
        \(raw: access)nonisolated static func \(raw: ParsedEntity.pathsName(shape.typeName))<Object: \(raw: shape.typeName)>(
          of type: Object.Type, to names: inout KeyPathNames
        ) {
          \(raw: paths(of: shape).joined(separator: "\n  "))
        }
        """,
      ]
    }

    private static func paths(of shape: ParsedEntity) -> [String] {
      let lines: [String]
      if let superclass = shape.superclass {
        lines = ["\(superclass).\(ParsedEntity.pathsName(superclass))(of: type, to: &names)"]
      } else {
        lines = ["names.add(\\Object.objectID, \\Object?.?.objectID, \"objectID\")"]
      }
      return lines
        + shape.properties.compactMap { property in
          if case .fetched = property.kind { return nil }
          return "names.add(\\Object.\(property.identifier), \\Object?.?.\(property.identifier), \"\(property.name)\")"
        }
    }

    /// Returns the beginning of a member that every class of a tree declares separately.
    private static func member(_ access: String, _ superclass: String?) -> String {
      "\(access)nonisolated \(superclass == nil ? "" : "override ")class "
    }

    private static func ruleErrors(of shape: ParsedEntity, at node: AttributeSyntax) -> [MacroError] {
      let validated = shape.properties.filter { $0.options.contains("validated") }
      guard let first = validated.first, !shape.memberNames.isDisjoint(with: ["validateValue", "keysWithCustomValidation"]) else {
        return []
      }
      return [
        MacroError(
          at: node,
          "the class overrides validation: instead of .validated, call validate(&value, forKey: \"\(first.name)\", by:) in its validateValue(_:forKey:)"
        )
      ]
    }

    // MARK: Accessors and conformances

    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax, providingAttributesFor member: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
      // Errors are reported by the expansion of members.
      guard let variable = member.as(VariableDeclSyntax.self), !ParsedProperty.marks(of: variable).isEmpty,
        let identifier = variable.bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text,
        let shape = try? ParsedEntity(entity: declaration, mark: node),
        let property = shape.properties.first(where: { $0.identifier == identifier })
      else { return [] }
      let layout = shape.superclass.map { "\($0).\(ParsedEntity.layoutName($0))" } ?? "nil"
      return ["@EntityProperty(\(raw: layout), \(raw: property.place))"]
    }

    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax, providingExtensionsOf type: some TypeSyntaxProtocol,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
      // A subclass inherits the conformances.
      guard let shape = try? ParsedEntity(entity: declaration, mark: node), shape.superclass == nil else { return [] }
      let head = "nonisolated extension \(type.trimmed): EntityClass, TypedManagedObject, FetchKeyPathNaming, Identifiable"
      return [try ExtensionDeclSyntax("\(raw: head) {}")]
    }
  }

  extension ParsedProperty {
    /// The property as a call that creates its description.
    var declaration: String {
      let more = arguments.isEmpty ? "" : ", " + arguments.joined(separator: ", ")
      let metatype = type.hasPrefix("any ") ? "(\(type)).self" : "\(type).self"
      let back = inverse.map { "\"\($0)\"" } ?? "nil"
      let value = initial.map { ", initial: \($0)" } ?? ""
      switch kind {
      case .value: return "attribute(\"\(name)\", \(metatype), isOptional: \(isOptional)\(value)\(more))"
      case .transformed: return "transformed(\"\(name)\", \(metatype), isOptional: \(isOptional)\(value)\(more))"
      case .untyped: return "untyped(\"\(name)\"\(more))"
      case .composite: return "composite(\"\(name)\", \(metatype), isOptional: \(isOptional)\(more))"
      case .toOne: return "toOne(\"\(name)\", \(metatype), inverse: \(back)\(more))"
      case .toMany(let isOrdered): return "toMany(\"\(name)\", \(metatype), isOrdered: \(isOrdered), inverse: \(back)\(more))"
      case .fetched: return "fetchedProperty(\"\(name)\", \(metatype)\(more))"
      }
    }
  }

  // MARK: - Generated members

  extension ParsedEntity {
    /// Returns the start of the class's own slots or to-many relationships, followed by a plus sign; empty for a class without a
    /// superentity.
    func base(_ part: String) -> String { superclass.map { "\($0).\(Self.layoutName($0)).\(part) + " } ?? "" }

    /// The functions that change to-many relationships, except for those that the class declares itself.
    var mutators: [DeclSyntax] {
      properties.filter(\.isToMany).flatMap { property -> [DeclSyntax] in
        guard case .toMany(let isOrdered) = property.kind else { return [] }
        let (suffix, type) = (Self.capitalized(property.name), property.type)
        let at = "at: \(base("toMany"))\(property.place), of: self"
        let modifier = Self.modifier(property.setterAccess ?? property.access)
        var functions: [(name: String, rest: String)] = [
          ("addTo\(suffix)", "(_ value: \(type)) { GeneratedCode.addToToMany(value, \(at)) }"),
          ("addTo\(suffix)", "(_ values: \(property.declaredType)) { for value in values { GeneratedCode.addToToMany(value, \(at)) } }"),
          ("removeFrom\(suffix)", "(_ value: \(type)) { GeneratedCode.removeFromToMany(value, \(at)) }"),
          (
            "removeFrom\(suffix)",
            "(_ values: \(property.declaredType)) { for value in values { GeneratedCode.removeFromToMany(value, \(at)) } }"
          ),
        ]
        if isOrdered {
          functions += [
            (
              "insertInto\(suffix)",
              "(_ value: \(type), at position: Int) { GeneratedCode.insertIntoToMany(value, position: position, \(at)) }"
            ),
            (
              "insertInto\(suffix)",
              "(_ values: [\(type)], at position: Int) { GeneratedCode.insertIntoToMany(values, position: position, \(at)) }"
            ),
            ("removeFrom\(suffix)", "(at position: Int) { GeneratedCode.removeFromToMany(position: position, \(at)) }"),
            ("removeFrom\(suffix)", "(at positions: some Sequence<Int>) { GeneratedCode.removeFromToMany(positions: positions, \(at)) }"),
            (
              "replace\(suffix)",
              "(at position: Int, with value: \(type)) { GeneratedCode.replaceInToMany(position: position, with: value, \(at)) }"
            ),
            (
              "replace\(suffix)",
              "(at positions: Range<Int>, with values: [\(type)]) { GeneratedCode.replaceInToMany(positions, with: values, \(at)) }"
            ),
          ]
        }
        return functions.filter { !memberNames.contains($0.name) }.map { function in
          """
          /// Changes `\(raw: property.name)`.
          \(raw: modifier)nonisolated final func \(raw: function.name)\(raw: function.rest)
          """
        }
      }
    }

    /// The properties that stream values that can be stored externally.
    var streams: [DeclSyntax] {
      properties.filter {
        $0.isAttribute && $0.options.contains("externalStorage") && $0.options.isDisjoint(with: ["transient", "derived"])
      }
      .map { property in
        var name = property.name + "Stream"
        while memberNames.contains(name) { name += "Value" }
        let place = base("slots") + property.place
        return """
          /// The value of `\(raw: property.name)`, read and written in chunks.
          \(raw: Self.modifier(property.setterAccess ?? property.access))nonisolated final var \(raw: name): ExternalData? {
            get { GeneratedCode.externalData(at: \(raw: place), of: self) }
            set { GeneratedCode.setExternalData(newValue, at: \(raw: place), of: self) }
          }
          """
      }
    }

    /// The overrides that call the class's validation functions; empty if no attribute has one.
    var rules: [DeclSyntax] {
      let validated = properties.filter { $0.options.contains("validated") }
      guard !validated.isEmpty else { return [] }
      let names = validated.map { "\"\($0.name)\"" }.joined(separator: ", ")
      let cases = validated.map { property in
        let function = property.isOptional ? "validateOptional" : "validate"
        return "case \"\(property.name)\": try \(function)(&value, forKey: key, by: validate\(Self.capitalized(property.name)))"
      }
      return [
        """
        /// The keys that a save validates by calling `validateValue(_:forKey:)`.
        \(raw: access)nonisolated override class var keysWithCustomValidation: [String] { super.keysWithCustomValidation + [\(raw: names)] }
        """,
        """
        /// Validates a value by the class's function for the key, and by the model.
        \(raw: access)nonisolated override func validateValue(_ value: inout Any?, forKey key: String) throws {
          switch key {
          \(raw: cases.joined(separator: "\n  "))
          default: break
          }
          try super.validateValue(&value, forKey: key)
        }
        """,
      ]
    }

    private static func modifier(_ access: String) -> String { access.isEmpty ? "" : access + " " }

    private static func capitalized(_ name: String) -> String { name.prefix(1).uppercased() + name.dropFirst() }
  }
#endif
