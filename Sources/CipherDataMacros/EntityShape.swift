// EntityShape: what a class marked with @Entity says, read from its source.

#if Macros
  import SwiftSyntax
  import SwiftSyntaxBuilder

  /// A class and its properties.
  struct EntityShape {
    /// A property of the entity.
    struct Property {
      /// What the property is.
      enum Kind {
        case attribute(isOptional: Bool)
        case toOne
        case toMany(isOrdered: Bool)
      }
      let name: String
      let kind: Kind
      /// The type without the mark of an optional or a collection.
      let type: String
      /// The initial value.
      let initial: String?
      /// The arguments of the mark, but for `inverse`.
      let arguments: [String]
      /// The name of the relationship back.
      let inverse: String?
      /// The number among the class's own slots, or to-many relationships.
      let index: Int
    }

    let className: String
    /// The superclass, if it declares an entity.
    let superclass: String?
    let access: String
    private(set) var properties: [Property] = []
    private(set) var slotCount = 0
    private(set) var toManyCount = 0

    /// The name of the member that has a class's layout.
    static func layoutName(_ className: String) -> String { "_\(className.split(separator: ".").last ?? "")Layout" }

    /// The name of the member that adds a class's key paths.
    static func pathsName(_ className: String) -> String { "_add\(className.split(separator: ".").last ?? "")Paths" }

    /// Reads a class.
    init(_ declaration: some DeclGroupSyntax) throws {
      guard let declaration = declaration.as(ClassDeclSyntax.self) else { throw Message("@Entity is for classes") }
      className = declaration.name.text
      let inherited = declaration.inheritanceClause?.inheritedTypes.first?.type.trimmedDescription
      guard let inherited else { throw Message("the class inherits from ManagedObject, or from another class with @Entity") }
      superclass = inherited.split(separator: ".").last == "ManagedObject" ? nil : inherited
      let levels = ["open", "public", "package", "fileprivate", "private"]
      let level = declaration.modifiers.map(\.name.text).first { levels.contains($0) }
      // Members of a private class are seen by its extension.
      access = level.map { ["open": "public ", "private": "fileprivate "][$0] ?? "\($0) " } ?? ""
      for member in declaration.memberBlock.members {
        guard let variable = member.decl.as(VariableDeclSyntax.self) else { continue }
        if let mark = Self.mark(of: variable, "Attribute") {
          try add(variable, mark, isRelationship: false)
        } else if let mark = Self.mark(of: variable, "Relationship") {
          try add(variable, mark, isRelationship: true)
        }
      }
    }

    /// The attribute of a name on a property.
    static func mark(of variable: VariableDeclSyntax, _ name: String) -> AttributeSyntax? {
      variable.attributes.lazy.compactMap { $0.as(AttributeSyntax.self) }
        .first { $0.attributeName.trimmedDescription.split(separator: ".").last.map(String.init) == name }
    }

    private mutating func add(_ variable: VariableDeclSyntax, _ mark: AttributeSyntax, isRelationship: Bool) throws {
      guard let property = try Self.property(variable, isRelationship: isRelationship, slots: slotCount, toMany: toManyCount) else {
        return
      }
      properties.append(property)
      if case .toMany = property.kind { toManyCount += 1 } else { slotCount += 1 }
    }

    /// A property that has a mark; nil when it has none.
    static func property(
      _ variable: VariableDeclSyntax, isRelationship: Bool, slots: Int = 0, toMany: Int = 0
    ) throws -> Property? {
      guard let mark = mark(of: variable, isRelationship ? "Relationship" : "Attribute") else { return nil }
      guard variable.bindingSpecifier.text == "var", variable.bindings.count == 1, let binding = variable.bindings.first,
        let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier, binding.accessorBlock == nil
      else { throw Message("a property of an entity is one 'var' without accessors") }
      guard let type = binding.typeAnnotation?.type else { throw Message("a property of an entity says its type: \(name.text)") }
      let text = name.text.filter { $0 != "`" }
      var inverse: String?
      var arguments: [String] = []
      if case .argumentList(let list)? = mark.arguments {
        for argument in list {
          if argument.label?.text == "inverse" {
            guard let path = argument.expression.as(KeyPathExprSyntax.self),
              let last = path.components.last?.component.as(KeyPathPropertyComponentSyntax.self)
            else {
              if argument.expression.is(NilLiteralExprSyntax.self) { continue }
              throw Message("an inverse is a key path of one property, such as \\Author.books")
            }
            inverse = last.declName.baseName.text.filter { $0 != "`" }
          } else {
            arguments.append(argument.with(\.trailingComma, nil).trimmedDescription)
          }
        }
      }
      let (kind, inner) = try Self.kind(of: type, isRelationship: isRelationship, name: text)
      var initial = binding.initializer?.value.trimmedDescription
      if let value = initial, value.hasPrefix(".") { initial = inner + value }
      let isToMany = if case .toMany = kind { true } else { false }
      return Property(
        name: text, kind: kind, type: inner, initial: isToMany ? nil : initial, arguments: arguments, inverse: inverse,
        index: isToMany ? toMany : slots)
    }

    private static func kind(of type: TypeSyntax, isRelationship: Bool, name: String) throws -> (Property.Kind, String) {
      var optional: TypeSyntax?
      if let wrapped = type.as(OptionalTypeSyntax.self) {
        optional = wrapped.wrappedType
      } else if let named = type.as(IdentifierTypeSyntax.self), named.name.text == "Optional" {
        optional = argument(of: named)
      }
      guard isRelationship else { return (.attribute(isOptional: optional != nil), (optional ?? type).trimmedDescription) }
      if let optional { return (.toOne, optional.trimmedDescription) }
      if let array = type.as(ArrayTypeSyntax.self) { return (.toMany(isOrdered: true), array.element.trimmedDescription) }
      if let named = type.as(IdentifierTypeSyntax.self), let inner = argument(of: named) {
        if named.name.text == "Set" { return (.toMany(isOrdered: false), inner.trimmedDescription) }
        if named.name.text == "Array" { return (.toMany(isOrdered: true), inner.trimmedDescription) }
      }
      throw Message("a relationship is an optional of a class, a Set or an Array of one: \(name)")
    }

    private static func argument(of type: IdentifierTypeSyntax) -> TypeSyntax? {
      guard let first = type.genericArgumentClause?.arguments.first else { return nil }
      return TypeSyntax("\(raw: first.argument.trimmedDescription)")
    }
  }

  /// A mistake in the use of a macro.
  struct Message: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }
#endif
