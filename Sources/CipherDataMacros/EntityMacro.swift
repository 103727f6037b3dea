// EntityMacro: what @Entity adds to a class: its entity, its place in the model, and accessors for its properties.

#if Macros
  import SwiftSyntax
  import SwiftSyntaxBuilder
  import SwiftSyntaxMacros

  /// `@Entity`.
  struct EntityMacro: MemberMacro, MemberAttributeMacro, ExtensionMacro {
    static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax, conformingTo protocols: [TypeSyntax],
      in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      let shape = try EntityShape(declaration)
      var arguments: [String] = []
      var name = "\"\(shape.className)\""
      if case .argumentList(let list)? = node.arguments {
        for argument in list {
          let text = argument.expression.trimmedDescription
          if argument.label?.text == "name" { name = text == "nil" ? name : text } else { arguments.append(text) }
        }
      }
      let access = shape.access
      let superclass = shape.superclass
      let head = (["\(name)", "class: \"\(shape.className)\"", "superclass: \(superclass.map { "\($0).self" } ?? "nil")"] + arguments)
        .joined(separator: ", ")
      let lines = shape.properties.map(declared).map { "declaration.\($0)" }.joined(separator: "\n  ")
      let related = (superclass.map { ["\($0).self"] } ?? []) + shape.properties.compactMap(related)
      let paths = shape.properties.map { property in
        "names.add(\\Object.\(escaped(property.name)), \\Object?.?.\(escaped(property.name)), \"\(property.name)\")"
      }
      let layout = superclass.map { "after: \($0).\(EntityShape.layoutName($0)), " } ?? ""
      return [
        """
        /// Where the properties of classes below begin.
        \(raw: access)static var \(raw: EntityShape.layoutName(shape.className)): EntityLayout {
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
        /// The classes that the relationships lead to.
        \(raw: member(access, superclass))var relatedClasses: [any EntityClass.Type] { [\(raw: related.joined(separator: ", "))] }
        """,
        """
        /// Adds the properties to a table.
        \(raw: member(access, superclass))func addKeyPaths(to names: inout KeyPathNames) {
          \(raw: EntityShape.pathsName(shape.className))(of: \(raw: shape.className).self, to: &names)
        }
        """,
        """
        /// Adds the properties of the class to a table, as those of a class below.
        \(raw: access)static func \(raw: EntityShape.pathsName(shape.className))<Object: \(raw: shape.className)>(
          of type: Object.Type, to names: inout KeyPathNames
        ) {
          \(raw: superclass.map { "\($0).\(EntityShape.pathsName($0))(of: type, to: &names)" }
            ?? "names.add(\\Object.objectID, \\Object?.?.objectID, \"objectID\")")
          \(raw: paths.joined(separator: "\n  "))
        }
        """,
      ]
    }

    /// The beginning of a member that every class of a tree has its own of.
    private static func member(_ access: String, _ superclass: String?) -> String {
      "\(access)\(superclass == nil ? "" : "override ")class "
    }

    /// A property as a call of the declaration.
    private static func declared(_ property: EntityShape.Property) -> String {
      let more = property.arguments.isEmpty ? "" : ", " + property.arguments.joined(separator: ", ")
      switch property.kind {
      case .attribute(let isOptional):
        let initial = property.initial.flatMap { $0 == "nil" ? nil : ", initial: \($0)" } ?? ""
        return "attribute(\"\(property.name)\", \(property.type).self, isOptional: \(isOptional)\(initial)\(more))"
      case .toOne:
        return "toOne(\"\(property.name)\", \(property.type).self, inverse: \(property.inverse.map { "\"\($0)\"" } ?? "nil")\(more))"
      case .toMany(let isOrdered):
        return "toMany(\"\(property.name)\", \(property.type).self, isOrdered: \(isOrdered), "
          + "inverse: \(property.inverse.map { "\"\($0)\"" } ?? "nil")\(more))"
      }
    }

    private static func related(_ property: EntityShape.Property) -> String? {
      if case .attribute = property.kind { return nil }
      return "\(property.type).self"
    }

    static func escaped(_ name: String) -> String {
      ["default", "in", "repeat", "case", "class", "is", "as", "where", "switch", "for", "return", "import", "operator", "protocol"]
        .contains(name)
        ? "`\(name)`" : name
    }

    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax, providingAttributesFor member: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
      guard let variable = member.as(VariableDeclSyntax.self),
        EntityShape.mark(of: variable, "Attribute") != nil || EntityShape.mark(of: variable, "Relationship") != nil,
        let name = variable.bindings.first?.pattern.as(IdentifierPatternSyntax.self)?.identifier.text.filter({ $0 != "`" }),
        let shape = try? EntityShape(declaration), let property = shape.properties.first(where: { $0.name == name })
      else { return [] }
      let layout = shape.superclass.map { "\($0).\(EntityShape.layoutName($0))" } ?? "nil"
      return ["@_EntityProperty(\(raw: layout), \(raw: property.index))"]
    }

    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax, providingExtensionsOf type: some TypeSyntaxProtocol,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
      // A class below inherits the conformances.
      guard let shape = try? EntityShape(declaration), shape.superclass == nil else { return [] }
      return [try ExtensionDeclSyntax("extension \(type.trimmed): EntityClass, TypedManagedObject, FetchKeyPathNaming, Identifiable {}")]
    }
  }

  /// `@Attribute` and `@Relationship`: marks that `@Entity` reads.
  struct MarkerMacro: PeerMacro {
    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      // Outside of a class with @Entity the mark would say nothing.
      let owner = context.lexicalContext.first?.as(ClassDeclSyntax.self)
      let isEntity = owner?.attributes.contains {
        $0.as(AttributeSyntax.self)?.attributeName.trimmedDescription.split(separator: ".").last == "Entity"
      }
      guard isEntity == true else { throw Message("@\(node.attributeName.trimmedDescription) is for properties of a class with @Entity") }
      return []
    }
  }

  /// `@_EntityProperty`: the accessors of a property.
  struct EntityPropertyMacro: AccessorMacro {
    static func expansion(
      of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AccessorDeclSyntax] {
      guard let variable = declaration.as(VariableDeclSyntax.self), case .argumentList(let list)? = node.arguments, list.count == 2,
        let layout = list.first?.expression.trimmedDescription, let index = list.last?.expression.trimmedDescription
      else { return [] }
      let isRelationship = EntityShape.mark(of: variable, "Relationship") != nil
      guard let property = try EntityShape.property(variable, isRelationship: isRelationship) else { return [] }
      func place(_ part: String) -> String { layout == "nil" ? index : "\(layout).\(part) + \(index)" }
      switch property.kind {
      case .attribute(isOptional: true):
        return ["get { optionalEntityValue(\(raw: place("slots"))) }", "set { setEntityValue(newValue, at: \(raw: place("slots"))) }"]
      case .attribute(isOptional: false):
        let initial = property.initial.map { ", initial: \($0)" } ?? ""
        return [
          "get { entityValue(\(raw: place("slots"))\(raw: initial)) }", "set { setEntityValue(newValue, at: \(raw: place("slots"))) }",
        ]
      case .toOne: return ["get { toOne(\(raw: place("slots"))) }", "set { setToOne(newValue, at: \(raw: place("slots"))) }"]
      case .toMany(let isOrdered):
        return [
          "get { \(raw: isOrdered ? "toManyArray" : "toManySet")(\(raw: place("toMany"))) }",
          "set { setToMany(Array(newValue) as [ManagedObject], at: \(raw: place("toMany"))) }",
        ]
      }
    }
  }
#endif
