#if Macros
  import SwiftDiagnostics
  import SwiftSyntax
  import SwiftSyntaxBuilder
  import SwiftSyntaxMacros

  /// `#FetchCondition`: converts a closure over a class, which the compiler has checked as plain Swift, to a typed condition for a fetch.
  struct ConditionMacro: ExpressionMacro {
    static func expansion(
      of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
    ) throws -> ExprSyntax {
      let closure = node.trailingClosure ?? node.arguments.first?.expression.as(ClosureExprSyntax.self)
      do {
        guard let closure else { throw MacroError(at: node, "#FetchCondition requires a closure literal with one expression") }
        var translator = ConditionTranslator()
        let body = try translator.closure(closure, named: "_object")
        let type = node.genericArgumentClause.map { "FetchCondition\($0.trimmedDescription)" } ?? "FetchCondition"
        return "\(raw: type)\(raw: body)"
      } catch let macroError as MacroError { throw DiagnosticsError(diagnostics: [macroError.diagnostic]) }
    }
  }

  /// Converts conditions over properties to conditions over their key paths: `$0.author?.name == "Ada"` becomes
  /// `_object[\.author][\.name] == "Ada"`.
  ///
  /// Each comparison is a separate statement, and each logical operator combines two named results. The compiler type-checks them one at a
  /// time, regardless of their number.
  struct ConditionTranslator {
    /// The replacements for closure parameters, by the parameters' names.
    private var objects: [String: String] = [:]
    /// The statements of the current closure.
    private var lines: [String] = []
    private var resultCount = 0

    // MARK: Closures

    /// Converts a closure over an object to one that returns a condition.
    ///
    /// - Parameter name: The name of the object in the result.
    mutating func closure(_ closure: ClosureExprSyntax, named name: String) throws -> String {
      guard closure.statements.count == 1, let statement = closure.statements.first else {
        throw MacroError(at: closure, "write one expression; combine several conditions with &&")
      }
      if statement.item.is(DeclSyntax.self) {
        throw MacroError(at: statement, "declare it before the condition, which can use values of the surrounding code")
      }
      let returned = statement.item.as(ReturnStmtSyntax.self)?.expression
      guard let expression = returned ?? statement.item.as(ExprSyntax.self) else {
        throw MacroError(at: statement, "a condition cannot contain statements; write one expression with && and ||")
      }
      let outer = (objects, lines)
      defer { (objects, lines) = outer }
      objects[try Self.parameter(of: closure)] = name
      lines = []
      let result = try condition(expression)
      let body = (lines + [result]).joined(separator: "\n")
      return "{ \(name) -> FetchPredicate in\n\(body)\n}"
    }

    /// Returns the name of a closure's parameter.
    private static func parameter(of closure: ClosureExprSyntax) throws -> String {
      guard let clause = closure.signature?.parameterClause else { return "$0" }
      if let list = clause.as(ClosureShorthandParameterListSyntax.self), list.count == 1, let name = list.first?.name.text { return name }
      if let list = clause.as(ClosureParameterClauseSyntax.self)?.parameters, list.count == 1, let parameter = list.first {
        return (parameter.secondName ?? parameter.firstName).text
      }
      throw MacroError(at: closure, "the closure must have one parameter, the object")
    }

    // MARK: Conditions

    /// Appends the statements of a condition, and returns the name of its result.
    private mutating func condition(_ expression: ExprSyntax) throws -> String {
      guard mentionsObject(expression) else { return result("FetchPredicate.constant(\(expression.trimmedDescription))") }
      let expression = Self.bare(expression)
      if let infix = expression.as(InfixOperatorExprSyntax.self), let name = Self.name(of: infix), name == "&&" || name == "||" {
        let left = try condition(infix.leftOperand)
        return result("\(left) \(name) \(try condition(infix.rightOperand))")
      }
      if let prefix = expression.as(PrefixOperatorExprSyntax.self), prefix.operator.text == "!" {
        return result("!\(try condition(prefix.expression))")
      }
      return result("FetchConditionBuilder.buildExpression(\(try value(expression)))")
    }

    private mutating func result(_ text: String) -> String {
      resultCount += 1
      lines.append("let _condition\(resultCount): FetchPredicate = \(text)")
      return "_condition\(resultCount)"
    }

    // MARK: Values

    /// Returns the equivalent expression over key paths.
    private mutating func value(_ expression: ExprSyntax) throws -> String {
      // An expression without objects is a value captured from the surrounding code.
      guard mentionsObject(expression) else { return expression.trimmedDescription }
      let expression = Self.bare(expression)
      if let name = expression.as(DeclReferenceExprSyntax.self)?.baseName.text, let object = objects[name] { return object }
      if let access = expression.as(MemberAccessExprSyntax.self) { return try member(access) }
      if let call = expression.as(FunctionCallExprSyntax.self) { return try self.call(call) }
      if let infix = expression.as(InfixOperatorExprSyntax.self) { return try operation(infix) }
      if let prefix = expression.as(PrefixOperatorExprSyntax.self), prefix.operator.text == "-" {
        return "(-\(try value(prefix.expression)))"
      }
      if let part = expression.as(SubscriptCallExprSyntax.self), part.arguments.count == 1, let index = part.arguments.first?.expression,
        !mentionsObject(index)
      {
        return "\(try value(part.calledExpression))[\(index.trimmedDescription)]"
      }
      if let test = expression.as(IsExprSyntax.self) { return "\(try value(test.expression)).is(\(test.type.trimmedDescription).self)" }
      if expression.is(TernaryExprSyntax.self) {
        throw MacroError(at: expression, "a condition cannot contain ?:; combine two conditions with || and &&")
      }
      if expression.is(AsExprSyntax.self) {
        throw MacroError(at: expression, "a condition cannot cast objects; fetch objects of that class")
      }
      throw MacroError(at: expression, "a store cannot evaluate this; \(Self.advice)")
    }

    private static let advice = "compare properties with values, or use a typed closure: Book.all.where { $0[\\.title].like(\"*sea*\") }"

    /// Members that are not properties in a key path but refer to the value or collection at its end.
    private static let ownMembers: Set<String> = ["count", "isEmpty", "first", "last", "rawValue"]

    private mutating func member(_ access: MemberAccessExprSyntax) throws -> String {
      guard let base = access.base else { throw MacroError(at: access, "a store cannot evaluate this; \(Self.advice)") }
      let name = access.declName.baseName.text
      let object = try value(base)
      if Self.ownMembers.contains(name), !isObject(base) { return "\(object).\(name)" }
      return "\(object)[\\.\(name)]"
    }

    private func isObject(_ expression: ExprSyntax) -> Bool {
      Self.bare(expression).as(DeclReferenceExprSyntax.self).map { objects[$0.baseName.text] != nil } ?? false
    }

    /// Calls with an equivalent in typed queries, by name and argument labels.
    private static let calls = [
      "hasPrefix(_:)": "hasPrefix", "starts(with:)": "hasPrefix", "hasSuffix(_:)": "hasSuffix", "contains(_:)": "contains",
      "lowercased()": "lowercased", "uppercased()": "uppercased",
    ]
    /// Calls with a closure over the members of a collection.
    private static let memberCalls = [
      "contains": "any", "contains(where:)": "any", "allSatisfy": "all", "allSatisfy(_:)": "all", "filter": "where", "filter(_:)": "where",
    ]

    private mutating func call(_ call: FunctionCallExprSyntax) throws -> String {
      guard let access = call.calledExpression.as(MemberAccessExprSyntax.self), let base = access.base,
        call.additionalTrailingClosures.isEmpty
      else { throw MacroError(at: call, "a store cannot call functions; \(Self.advice)") }
      let name = access.declName.baseName.text
      guard mentionsObject(base) else {
        // A list or range captured from the surrounding code.
        guard name == "contains", call.trailingClosure == nil, call.arguments.count == 1, let argument = call.arguments.first,
          argument.label == nil
        else { throw MacroError(at: call, "on values of the surrounding code, only contains(_:) is supported; \(Self.advice)") }
        return "\(base.trimmedDescription).contains(\(try value(argument.expression)))"
      }
      if let closure = call.trailingClosure ?? call.arguments.first?.expression.as(ClosureExprSyntax.self) {
        let label = call.trailingClosure == nil ? "\(name)(\(call.arguments.first?.label?.text ?? "_"):)" : name
        guard let own = Self.memberCalls[label], call.arguments.count == (call.trailingClosure == nil ? 1 : 0) else {
          throw MacroError(at: access.declName, "on members, only contains, allSatisfy and filter are supported, not \(name)")
        }
        return "\(try value(base)).\(own) \(try self.closure(closure, named: "_member\(objects.count)"))"
      }
      let labels = call.arguments.map { ($0.label?.text ?? "_") + ":" }.joined()
      guard let own = Self.calls["\(name)(\(labels))"] else {
        throw MacroError(at: access.declName, "a store cannot evaluate \(name)(\(labels)); \(Self.advice)")
      }
      var arguments: [String] = []
      for argument in call.arguments { arguments.append(try value(argument.expression)) }
      return "\(try value(base)).\(own)(\(arguments.joined(separator: ", ")))"
    }

    // MARK: Operators

    private static let mirrored = ["==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "+": "+", "*": "*"]
    private static let operators = Set(mirrored.keys).union(["-", "/", "%", "??"])

    private static func name(of infix: InfixOperatorExprSyntax) -> String? {
      // Objects are identical if their IDs are equal.
      switch infix.operator.as(BinaryOperatorExprSyntax.self)?.operator.text {
      case "===": "=="
      case "!==": "!="
      case let name: name
      }
    }

    private mutating func operation(_ infix: InfixOperatorExprSyntax) throws -> String {
      guard let name = Self.name(of: infix) else { throw MacroError(at: infix.operator, "a condition cannot change anything") }
      if name == "&&" || name == "||" {
        throw MacroError(at: infix.operator, "a store cannot compare conditions; combine them with && and ||")
      }
      guard Self.operators.contains(name) else { throw MacroError(at: infix.operator, "a store has no operator \(name)") }
      let (left, right) = (try value(infix.leftOperand), try value(infix.rightOperand))
      if mentionsObject(infix.leftOperand) { return "(\(left) \(name) \(right))" }
      guard let mirrored = Self.mirrored[name] else {
        throw MacroError(at: infix.leftOperand, "the left side of \(name) must be a property; \(Self.advice)")
      }
      return "(\(right) \(mirrored) \(left))"
    }

    // MARK: Looking

    /// Returns an expression without surrounding parentheses, `?`, and `!`, which have no meaning in a query: a missing value stays
    /// missing.
    private static func bare(_ expression: ExprSyntax) -> ExprSyntax {
      if let tuple = expression.as(TupleExprSyntax.self), tuple.elements.count == 1, let element = tuple.elements.first,
        element.label == nil
      {
        return bare(element.expression)
      }
      if let chain = expression.as(OptionalChainingExprSyntax.self) { return bare(chain.expression) }
      if let forced = expression.as(ForceUnwrapExprSyntax.self) { return bare(forced.expression) }
      return expression
    }

    private func mentionsObject(_ expression: some SyntaxProtocol) -> Bool {
      if let name = expression.as(DeclReferenceExprSyntax.self)?.baseName.text { return objects[name] != nil }
      return expression.children(viewMode: .sourceAccurate).contains { mentionsObject($0) }
    }
  }
#endif
