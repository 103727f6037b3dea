#if Macros
  import SwiftDiagnostics
  import SwiftSyntax

  /// The parsed declaration of a class with `@Entity` or a struct with `@Composite`, and of its properties.
  struct ParsedEntity {
    let typeName: String
    /// The superclass, if it declares an entity.
    private(set) var superclass: String?
    /// The access modifier of members that are as visible as the type, followed by a space.
    let access: String
    private(set) var properties: [ParsedProperty] = []
    /// Errors in properties, which are omitted.
    private(set) var errors: [MacroError] = []
    /// The names of the members in the source.
    private(set) var memberNames: Set<String> = []
    private(set) var hasInitializer = false
    private var slots = Places()
    private(set) var toManyCount = 0

    /// An expression for the number of the type's own slots.
    var slotCount: String { slots.expression }

    /// Returns the name of the member for a class's layout.
    static func layoutName(_ typeName: String) -> String { "_\(lastName(typeName))Layout" }
    /// Returns the name of the member that adds a class's key paths.
    static func pathsName(_ typeName: String) -> String { "_add\(lastName(typeName))Paths" }
    private static func lastName(_ name: String) -> Substring { name.split(separator: ".").last ?? "" }

    /// Parses a class with `@Entity`.
    ///
    /// - Throws: ``MacroError`` if the class cannot be an entity. Errors in properties are in ``errors``.
    init(entity declaration: some DeclGroupSyntax, mark: AttributeSyntax) throws {
      guard let declaration = declaration.as(ClassDeclSyntax.self) else {
        throw MacroError(at: mark, "@Entity is for classes; use @Composite for a struct of an object's values")
      }
      if let generics = declaration.genericParameterClause { throw MacroError(at: generics, "a class with @Entity cannot be generic") }
      guard let inherited = declaration.inheritanceClause?.inheritedTypes.first?.type.trimmedDescription else {
        throw MacroError(
          at: declaration.name,
          "a class with @Entity must inherit from ManagedObject or from another class with @Entity: write '\(declaration.name.text): ManagedObject'"
        )
      }
      typeName = declaration.name.text
      superclass = inherited.split(separator: ".").last == "ManagedObject" ? nil : inherited
      access = Self.access(declaration.modifiers)
      read(declaration.memberBlock)
    }

    /// Parses a struct with `@Composite`.
    ///
    /// - Throws: ``MacroError``, as for classes.
    init(composite declaration: some DeclGroupSyntax, mark: AttributeSyntax) throws {
      guard let declaration = declaration.as(StructDeclSyntax.self) else {
        throw MacroError(at: mark, "@Composite is for structs; use @Entity for a class of objects")
      }
      if let generics = declaration.genericParameterClause { throw MacroError(at: generics, "a struct with @Composite cannot be generic") }
      typeName = declaration.name.text
      access = Self.access(declaration.modifiers)
      read(declaration.memberBlock)
      for member in declaration.memberBlock.members {
        guard let variable = member.decl.as(VariableDeclSyntax.self) else { continue }
        errors += Self.problem(ofPart: variable).map { [$0] } ?? []
      }
      if properties.isEmpty, errors.isEmpty {
        throw MacroError(at: declaration.name, "a composite must have parts: mark its properties with @Attribute")
      }
    }

    private static func access(_ modifiers: DeclModifierListSyntax) -> String {
      let level = modifiers.map(\.name.text).first { ["open", "public", "package", "fileprivate", "private"].contains($0) }
      // Members of a private type must be visible to its extension.
      return level.map { ["open": "public ", "private": "fileprivate "][$0] ?? "\($0) " } ?? ""
    }

    private mutating func read(_ block: MemberBlockSyntax) {
      for member in block.members {
        note(member.decl)
        if let conditional = member.decl.as(IfConfigDeclSyntax.self) { rejectMarkers(in: conditional) }
        guard let variable = member.decl.as(VariableDeclSyntax.self),
          var property = try? MacroError.collecting(in: &errors, { try ParsedProperty(variable) })
        else { continue }
        if property.isToMany {
          property.place = "\(toManyCount)"
          toManyCount += 1
        } else {
          property.place = slots.expression
          switch property.kind {
          case .composite: slots.types.append(property.type)
          case .fetched: break
          default: slots.count += 1
          }
        }
        properties.append(property)
      }
    }

    private mutating func note(_ member: DeclSyntax) {
      if let variable = member.as(VariableDeclSyntax.self) {
        for binding in variable.bindings { memberNames.insert(ParsedProperty.plain(binding.pattern.trimmedDescription)) }
      } else if let function = member.as(FunctionDeclSyntax.self) {
        memberNames.insert(ParsedProperty.plain(function.name.text))
      } else if member.is(InitializerDeclSyntax.self) {
        hasInitializer = true
      }
    }

    /// Rejects properties under `#if`: macros cannot evaluate the condition, so the property would silently be missing from the model.
    private mutating func rejectMarkers(in conditional: IfConfigDeclSyntax) {
      for clause in conditional.clauses {
        guard case .decls(let members)? = clause.elements else { continue }
        for member in members {
          if let inner = member.decl.as(IfConfigDeclSyntax.self) { rejectMarkers(in: inner) }
          guard let variable = member.decl.as(VariableDeclSyntax.self), let (_, mark) = ParsedProperty.marks(of: variable).first else {
            continue
          }
          errors.append(MacroError(at: mark, "a property of the model cannot be inside #if: stores would not fit the other build"))
        }
      }
    }

    /// Returns why a property of a struct with `@Composite` cannot be a part; `nil` if it can, or if it is not stored.
    private static func problem(ofPart variable: VariableDeclSyntax) -> MacroError? {
      let marks = ParsedProperty.marks(of: variable)
      guard let (mark, attribute) = marks.first else {
        let isStored = variable.bindings.contains { binding in
          switch binding.accessorBlock?.accessors {
          case nil: true
          case .getter: false
          case .accessors(let accessors): !accessors.contains { ["get", "_read"].contains($0.accessorSpecifier.text) }
          }
        }
        if !isStored || variable.modifiers.contains(where: { $0.name.text == "static" }) { return nil }
        return MacroError(at: variable, "every stored property of a composite must be a part: mark it with @Attribute, or compute it")
      }
      if mark != .attribute { return MacroError(at: attribute, "a composite can have only attributes: relationships belong to the class") }
      guard let property = try? ParsedProperty(variable) else { return nil }
      if !property.options.isDisjoint(with: ["unique", "indexed"]) {
        return MacroError(
          at: attribute, "the class with the composite declares uniqueness and indexes: @Entity(.unique(\"home.\(property.name)\"))")
      }
      if property.options.contains("transient") {
        return MacroError(at: attribute, "a part of a composite cannot be .transient: make the composite attribute transient")
      }
      guard let option = ["derived", "validated"].first(where: property.options.contains) else { return nil }
      return MacroError(at: attribute, "a part of a composite cannot be .\(option): that is for attributes of the class")
    }
  }

  /// A number of slots: a constant plus the slots of composites.
  private struct Places {
    var count = 0
    var types: [String] = []

    var expression: String { (["\(count)"] + types.map { "\($0).slotCount" }).joined(separator: " + ") }
  }

  /// The arguments of `@Entity` or `@Composite`.
  struct TypeOptions {
    /// The name of the entity or composite, a string literal.
    let name: String
    /// The other arguments.
    let arguments: [String]
    private let expressions: [ExprSyntax]

    /// Parses the arguments.
    ///
    /// - Throws: ``MacroError``.
    init(_ mark: AttributeSyntax, typeName: String) throws {
      var name = "\"\(typeName)\""
      var expressions: [ExprSyntax] = []
      if case .argumentList(let list)? = mark.arguments {
        for argument in list {
          guard argument.label?.text == "name" else {
            expressions.append(argument.expression)
            continue
          }
          if argument.expression.is(NilLiteralExprSyntax.self) { continue }
          guard let literal = argument.expression.as(StringLiteralExprSyntax.self), Self.text(of: literal)?.isEmpty == false else {
            throw MacroError(at: argument.expression, "the name must be a nonempty literal: stores are created with it")
          }
          name = argument.expression.trimmedDescription
        }
      }
      self.name = name
      self.expressions = expressions
      arguments = expressions.map(\.trimmedDescription)
    }

    /// Returns errors about names in constraints and indexes that no property has. For a subclass, the inherited properties are unknown
    /// here; the validation of the model checks the names.
    func errors(in shape: ParsedEntity) -> [MacroError] {
      guard shape.superclass == nil, shape.errors.isEmpty else { return [] }
      let known = shape.properties.map(\.name)
      return expressions.flatMap(Self.names).compactMap { literal in
        guard let text = Self.text(of: literal), let first = text.split(separator: ".").first, !known.contains(String(first))
        else {
          return nil
        }
        return MacroError(at: literal, "the class has no property '\(text)'; it has: \(known.joined(separator: ", "))")
      }
    }

    /// Returns the text of a literal; `nil` if it contains interpolations.
    private static func text(of literal: StringLiteralExprSyntax) -> String? {
      guard literal.segments.count == 1 else { return nil }
      return literal.segments.first?.as(StringSegmentSyntax.self)?.content.text
    }

    /// Returns the literals that name properties in `.unique("a", "b")`, `.index("i", on: "a", "b", where: …)`, and
    /// `.index("i", fullText: "a", "b")`.
    private static func names(in option: ExprSyntax) -> [StringLiteralExprSyntax] {
      guard let call = option.as(FunctionCallExprSyntax.self), let name = ParsedProperty.option(option) else { return [] }
      var isName = name == "unique"
      return call.arguments.compactMap { argument in
        if let label = argument.label?.text { isName = name == "index" && ["on", "fullText"].contains(label) }
        return isName ? argument.expression.as(StringLiteralExprSyntax.self) : nil
      }
    }
  }

  /// An error in the use of a macro: its position and a message with the fix.
  struct MacroError: Error {
    private let node: Syntax
    private let text: String

    init(at node: some SyntaxProtocol, _ text: String) {
      self.node = Syntax(node)
      self.text = text
    }

    /// The error as a compiler diagnostic.
    var diagnostic: Diagnostic { Diagnostic(node: node, message: Message(message: text)) }

    private struct Message: DiagnosticMessage {
      let message: String
      var diagnosticID: MessageID { MessageID(domain: "CipherData", id: "mistake") }
      var severity: DiagnosticSeverity { .error }
    }
  }

  extension MacroError {
    /// Runs a closure. If it throws an error of this type, appends the error to a list and returns `nil`.
    static func collecting<Result>(in errors: inout [MacroError], _ body: () throws -> Result?) rethrows -> Result? {
      do { return try body() } catch let macroError as MacroError {
        errors.append(macroError)
        return nil
      }
    }
  }
#endif
