#if Macros
  import SwiftSyntax
  import SwiftSyntaxBuilder

  /// A parsed property with `@Attribute`, `@Relationship`, or `@FetchedProperty`.
  struct ParsedProperty {
    /// The attributes of properties.
    enum Marker: String, CaseIterable {
      case attribute = "Attribute"
      case relationship = "Relationship"
      case fetchedProperty = "FetchedProperty"
    }

    /// The kind of a property.
    enum Kind {
      /// A type of the library, a type with raw values, or a `Codable` type.
      case value
      /// The output of a named transformer.
      case transformed
      /// A value of any type, in memory only.
      case untyped
      case composite
      case toOne
      case toMany(isOrdered: Bool)
      case fetched
    }

    /// The name as written, in backticks if it is a keyword.
    let identifier: String
    let kind: Kind
    let isOptional: Bool
    /// The type without the optional or the collection.
    let type: String
    /// The initial value, if any.
    let initial: String?
    /// The arguments of the attribute, except for `inverse`.
    let arguments: [String]
    /// The names of the options among the arguments, such as `derived`.
    let options: Set<String>
    /// The name of the inverse relationship.
    let inverse: String?
    /// The access modifiers before `var`, such as `public` and `private(set)`.
    let access: String
    let setterAccess: String?
    /// An expression for the index among the class's own slots or to-many relationships.
    var place = "0"

    /// The name in the model.
    var name: String { Self.plain(identifier) }

    /// Returns a name without backticks.
    static func plain(_ identifier: String) -> String { identifier.filter { $0 != "`" } }

    /// Whether only the store or a fetch sets the value.
    var isReadOnly: Bool {
      if case .fetched = kind { return true }
      return options.contains("derived") && setterAccess == nil
    }

    var isToMany: Bool { if case .toMany = kind { true } else { false } }
    var isAttribute: Bool {
      switch kind {
      case .value, .transformed, .untyped, .composite: true
      case .toOne, .toMany, .fetched: false
      }
    }

    var declaredType: String {
      switch kind {
      case .toMany(isOrdered: false): "Set<\(type)>"
      case .toMany(isOrdered: true), .fetched: "[\(type)]"
      default: isOptional ? "\(type)?" : type
      }
    }

    /// Returns the attributes of a property that mark it as part of a model.
    static func marks(of variable: VariableDeclSyntax) -> [(mark: Marker, attribute: AttributeSyntax)] {
      variable.attributes.compactMap { element in
        guard let attribute = element.as(AttributeSyntax.self),
          let name = attribute.attributeName.trimmedDescription.split(separator: ".").last, let mark = Marker(rawValue: String(name))
        else { return nil }
        return (mark, attribute)
      }
    }
  }

  // MARK: Reading

  extension ParsedProperty {
    /// Parses a property; `nil` for one without such an attribute.
    ///
    /// - Throws: ``MacroError``.
    init?(_ variable: VariableDeclSyntax) throws {
      let marks = Self.marks(of: variable)
      guard let (mark, attribute) = marks.first else { return nil }
      if marks.count > 1 {
        throw MacroError(
          at: marks[1].attribute, "a property is either an attribute, a relationship or a fetched property: remove one macro")
      }
      for modifier in variable.modifiers where ["static", "class", "lazy", "weak", "unowned"].contains(modifier.name.text) {
        throw MacroError(at: modifier, "a property of the model must be a plain instance 'var': remove '\(modifier.name.text)'")
      }
      guard variable.bindingSpecifier.text == "var" else {
        throw MacroError(
          at: variable.bindingSpecifier, "a property of the model must be a 'var'; a derived attribute omits only the setter")
      }
      guard variable.bindings.count == 1, let binding = variable.bindings.first,
        let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier
      else { throw MacroError(at: variable.bindings, "a 'var' can declare only one property of the model: use one for each") }
      if let block = binding.accessorBlock {
        throw MacroError(at: block, "a property of the model cannot have accessors or observers: the macro generates them")
      }
      guard let annotation = binding.typeAnnotation else {
        throw MacroError(at: binding, "a property of the model must have an explicit type: write 'var \(name.text): …'")
      }
      identifier = name.text
      (arguments, options, inverse) = try Self.read(attribute)
      let (kind, isOptional, type) = try Self.kind(of: annotation.type, mark, options, name: name.text)
      (self.kind, self.isOptional, self.type) = (kind, isOptional, type)
      let levels = variable.modifiers.filter { ["open", "public", "package", "internal", "fileprivate", "private"].contains($0.name.text) }
      let level = levels.first { $0.detail == nil }?.name.text
      access = level.map { $0 == "open" ? "public" : $0 } ?? ""
      setterAccess = levels.first { $0.detail?.detail.text == "set" }?.name.text
      let given = binding.initializer?.value
      let isNone = given.map { $0.is(NilLiteralExprSyntax.self) } ?? true
      initial = isNone ? nil : given.map { Self.spelled($0.trimmedDescription, type) }
      if let given, !isNone { try checkInitial(at: given) }
      try check(attribute, name: name)
    }

    /// Returns an initial value that begins with a dot qualified by its type.
    private static func spelled(_ value: String, _ type: String) -> String { value.hasPrefix(".") ? type + value : value }

    private static func read(_ mark: AttributeSyntax) throws -> (arguments: [String], options: Set<String>, inverse: String?) {
      guard case .argumentList(let list)? = mark.arguments else { return ([], [], nil) }
      var arguments: [String] = []
      var options: Set<String> = []
      var inverse: String?
      for argument in list {
        if argument.label?.text == "inverse" {
          if argument.expression.is(NilLiteralExprSyntax.self) { continue }
          guard let path = argument.expression.as(KeyPathExprSyntax.self), path.components.count == 1,
            let last = path.components.last?.component.as(KeyPathPropertyComponentSyntax.self)
          else {
            throw MacroError(at: argument.expression, "an inverse must be a key path to one property of the other class: \\Author.books")
          }
          inverse = plain(last.declName.baseName.text)
          continue
        }
        if let name = option(argument.expression) { options.insert(name) }
        arguments.append(argument.with(\.trailingComma, nil).trimmedDescription)
      }
      return (arguments, options, inverse)
    }

    /// Returns the name of an option such as `.derived("…")` or `.unique`.
    static func option(_ expression: ExprSyntax) -> String? {
      let named = expression.as(FunctionCallExprSyntax.self)?.calledExpression ?? expression
      return named.as(MemberAccessExprSyntax.self)?.declName.baseName.text
    }

    // MARK: Types

    private static func kind(
      of type: TypeSyntax, _ mark: Marker, _ options: Set<String>, name: String
    ) throws -> (kind: Kind, isOptional: Bool, type: String) {
      let wrapped = optional(type)
      let inner = (wrapped ?? type).trimmedDescription
      switch mark {
      case .attribute:
        if options.contains("composite") { return (.composite, wrapped != nil, inner) }
        if options.contains("transformed") { return (.transformed, wrapped != nil, inner) }
        let isAny = ["any Sendable", "(any Sendable)"].contains(inner)
        return (isAny ? .untyped : .value, wrapped != nil, inner)
      case .relationship:
        if let wrapped, collection(wrapped) == nil { return (.toOne, true, inner) }
        if wrapped == nil, let (member, isOrdered) = collection(type) { return (.toMany(isOrdered: isOrdered), false, member) }
        if wrapped != nil { throw MacroError(at: type, "a to-many relationship cannot be optional: use an empty collection") }
        throw MacroError(
          at: type,
          "the type of a relationship must be 'Class?' for to-one, 'Set<Class>' for to-many or '[Class]' for ordered to-many; write '\(inner)?', "
            + "with the option .required if there must be an object")
      case .fetchedProperty:
        if wrapped == nil, let (member, isOrdered) = collection(type), isOrdered { return (.fetched, false, member) }
        throw MacroError(at: type, "a fetched property must be an array of the objects' class: write 'var \(name): [Class]'")
      }
    }

    /// Returns the wrapped type of an optional; `nil` for any other type.
    private static func optional(_ type: TypeSyntax) -> TypeSyntax? {
      if let wrapped = type.as(OptionalTypeSyntax.self) { return wrapped.wrappedType }
      guard let named = type.as(IdentifierTypeSyntax.self), named.name.text == "Optional" else { return nil }
      return argument(of: named)
    }

    /// Returns the member type of an array or a set; `nil` for any other type.
    private static func collection(_ type: TypeSyntax) -> (member: String, isOrdered: Bool)? {
      if let array = type.as(ArrayTypeSyntax.self) { return (array.element.trimmedDescription, true) }
      guard let named = type.as(IdentifierTypeSyntax.self), ["Set", "Array"].contains(named.name.text), let inner = argument(of: named)
      else {
        return nil
      }
      return (inner.trimmedDescription, named.name.text == "Array")
    }

    private static func argument(of type: IdentifierTypeSyntax) -> TypeSyntax? {
      guard let first = type.genericArgumentClause?.arguments.first else { return nil }
      return TypeSyntax("\(raw: first.argument.trimmedDescription)")
    }

    // MARK: Rules

    private func checkInitial(at value: ExprSyntax) throws {
      if options.contains("derived") {
        throw MacroError(at: value, "a derived attribute cannot have an initial value: the store computes it")
      }
      switch kind {
      case .value, .transformed: break
      case .untyped: throw MacroError(at: value, "an attribute of any type cannot have an initial value: remove it")
      case .composite: throw MacroError(at: value, "a composite cannot have an initial value: give its parts initial values")
      case .toOne: throw MacroError(at: value, "a relationship cannot have an initial value: set it in awakeFromInsert()")
      case .toMany:
        // An empty collection is the initial value anyway.
        if value.as(ArrayExprSyntax.self)?.elements.isEmpty == true { return }
        throw MacroError(at: value, "a relationship cannot have an initial value: set it in awakeFromInsert()")
      case .fetched: throw MacroError(at: value, "a fetched property cannot have an initial value: its predicate defines its objects")
      }
    }

    private func check(_ mark: AttributeSyntax, name: TokenSyntax) throws {
      switch kind {
      case .untyped where !options.contains("transient"):
        throw MacroError(
          at: mark, "an attribute of any type needs .transient or .transformed(by:)")
      case .untyped where !isOptional: throw MacroError(at: name, "an attribute of any type must be optional: write '(any Sendable)?'")
      case .transformed where !isOptional && initial == nil:
        throw MacroError(
          at: name, "an attribute with a transformer needs an initial value, or must be optional")
      case .composite:
        if !options.isDisjoint(with: ["unique", "indexed"]) {
          throw MacroError(
            at: mark,
            "a composite has no column of its own: name one of its parts in an option of @Entity, such as .unique(\"\(self.name).part\")")
        }
        for option in ["transformed", "derived", "externalStorage", "validated"] where options.contains(option) {
          throw MacroError(at: mark, "a composite cannot be .\(option): its parts contain the values")
        }
      default: break
      }
      if options.contains("derived"), options.contains("validated") {
        throw MacroError(at: mark, "a derived attribute cannot be validated: the store computes its value")
      }
    }
  }
#endif
