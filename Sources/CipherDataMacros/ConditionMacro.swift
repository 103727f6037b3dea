// ConditionMacro: a closure over a class, which the compiler has checked as plain Swift, as the typed condition that a store is asked.

#if Macros
  import SwiftDiagnostics
  import SwiftSyntax
  import SwiftSyntaxBuilder
  import SwiftSyntaxMacros

  /// `#FetchCondition`.
  struct ConditionMacro: ExpressionMacro {
    static func expansion(
      of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
    ) throws -> ExprSyntax {
      let closure = node.trailingClosure ?? node.arguments.first?.expression.as(ClosureExprSyntax.self)
      do {
        guard let closure else { throw Mistake(at: node, "#FetchCondition takes a closure that is written here, with one expression") }
        var translator = ConditionTranslator()
        let body = try translator.closure(closure, named: "_object")
        let type = node.genericArgumentClause.map { "FetchCondition\($0.trimmedDescription)" } ?? "FetchCondition"
        return "\(raw: type)\(raw: body)"
      } catch let mistake as Mistake { throw DiagnosticsError(diagnostics: [mistake.diagnostic]) }
    }
  }

  /// Writes conditions over properties as conditions over their key paths: `$0.author?.name == "Ada"` becomes `_object[\.author][\.name] == "Ada"`.
  ///
  /// Each comparison is a statement of its own, and what joins them takes two named results: the compiler solves them one by one, however many they are.
  struct ConditionTranslator {
    /// What stands for the objects that closures are given, by the names that these have for them.
    private var objects: [String: String] = [:]
    /// The statements of the closure that is being written.
    private var lines: [String] = []
    private var resultCount = 0

    // MARK: Closures

    /// A closure over an object as one that makes a condition.
    ///
    /// - Parameter name: What stands for the object in it.
    mutating func closure(_ closure: ClosureExprSyntax, named name: String) throws -> String {
      guard closure.statements.count == 1, let statement = closure.statements.first else {
        throw Mistake(at: closure, "write one expression; join several conditions with &&")
      }
      if statement.item.is(DeclSyntax.self) {
        throw Mistake(at: statement, "declare it before the condition, which takes values from around it")
      }
      let returned = statement.item.as(ReturnStmtSyntax.self)?.expression
      guard let expression = returned ?? statement.item.as(ExprSyntax.self) else {
        throw Mistake(at: statement, "a store cannot be asked a statement; write one expression, with && and ||")
      }
      let outer = (objects, lines)
      defer { (objects, lines) = outer }
      objects[try Self.parameter(of: closure)] = name
      lines = []
      let result = try condition(expression)
      let body = (lines + [result]).joined(separator: "\n")
      return "{ \(name) -> FetchPredicate in\n\(body)\n}"
    }

    /// What a closure calls the object that it is given.
    private static func parameter(of closure: ClosureExprSyntax) throws -> String {
      guard let clause = closure.signature?.parameterClause else { return "$0" }
      if let list = clause.as(ClosureShorthandParameterListSyntax.self), list.count == 1, let name = list.first?.name.text { return name }
      if let list = clause.as(ClosureParameterClauseSyntax.self)?.parameters, list.count == 1, let parameter = list.first {
        return (parameter.secondName ?? parameter.firstName).text
      }
      throw Mistake(at: closure, "the closure takes one object")
    }

    // MARK: Conditions

    /// The name of the result of a condition, whose statements are added.
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

    /// An expression that says the same of key paths.
    private mutating func value(_ expression: ExprSyntax) throws -> String {
      // What speaks of no object is a value from around the condition.
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
        throw Mistake(at: expression, "a store is not asked ?:; join two conditions with || and &&")
      }
      if expression.is(AsExprSyntax.self) { throw Mistake(at: expression, "a store casts no objects; fetch objects of that class") }
      throw Mistake(at: expression, "a store cannot be asked this; \(Self.advice)")
    }

    private static let advice = "compare properties with values, or use a typed closure: Book.all.where { $0[\\.title].like(\"*sea*\") }"

    /// What is no property behind a path, but says something of the value or the members there.
    private static let ownMembers: Set<String> = ["count", "isEmpty", "first", "last", "rawValue"]

    private mutating func member(_ access: MemberAccessExprSyntax) throws -> String {
      guard let base = access.base else { throw Mistake(at: access, "a store cannot be asked this; \(Self.advice)") }
      let name = access.declName.baseName.text
      let object = try value(base)
      if Self.ownMembers.contains(name), !isObject(base) { return "\(object).\(name)" }
      return "\(object)[\\.\(name)]"
    }

    private func isObject(_ expression: ExprSyntax) -> Bool {
      Self.bare(expression).as(DeclReferenceExprSyntax.self).map { objects[$0.baseName.text] != nil } ?? false
    }

    /// Calls of which a typed query has one of the same meaning, by their names and the labels of what they are given.
    private static let calls = [
      "hasPrefix(_:)": "hasPrefix", "starts(with:)": "hasPrefix", "hasSuffix(_:)": "hasSuffix", "contains(_:)": "contains",
      "lowercased()": "lowercased", "uppercased()": "uppercased",
    ]
    /// Those that are given a closure over members.
    private static let memberCalls = [
      "contains": "any", "contains(where:)": "any", "allSatisfy": "all", "allSatisfy(_:)": "all", "filter": "where", "filter(_:)": "where",
    ]

    private mutating func call(_ call: FunctionCallExprSyntax) throws -> String {
      guard let access = call.calledExpression.as(MemberAccessExprSyntax.self), let base = access.base,
        call.additionalTrailingClosures.isEmpty
      else { throw Mistake(at: call, "a store does not call functions; \(Self.advice)") }
      let name = access.declName.baseName.text
      guard mentionsObject(base) else {
        // A list or range from around the condition.
        guard name == "contains", call.trailingClosure == nil, call.arguments.count == 1, let argument = call.arguments.first,
          argument.label == nil
        else { throw Mistake(at: call, "of values from around the condition only contains(_:) is asked; \(Self.advice)") }
        return "\(base.trimmedDescription).contains(\(try value(argument.expression)))"
      }
      if let closure = call.trailingClosure ?? call.arguments.first?.expression.as(ClosureExprSyntax.self) {
        let label = call.trailingClosure == nil ? "\(name)(\(call.arguments.first?.label?.text ?? "_"):)" : name
        guard let own = Self.memberCalls[label], call.arguments.count == (call.trailingClosure == nil ? 1 : 0) else {
          throw Mistake(at: access.declName, "of members a store is asked contains, allSatisfy and filter, not \(name)")
        }
        return "\(try value(base)).\(own) \(try self.closure(closure, named: "_member\(objects.count)"))"
      }
      let labels = call.arguments.map { ($0.label?.text ?? "_") + ":" }.joined()
      guard let own = Self.calls["\(name)(\(labels))"] else {
        throw Mistake(at: access.declName, "a store is not asked \(name)(\(labels)); \(Self.advice)")
      }
      var arguments: [String] = []
      for argument in call.arguments { arguments.append(try value(argument.expression)) }
      return "\(try value(base)).\(own)(\(arguments.joined(separator: ", ")))"
    }

    // MARK: Operators

    private static let mirrored = ["==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "+": "+", "*": "*"]
    private static let operators = Set(mirrored.keys).union(["-", "/", "%", "??"])

    private static func name(of infix: InfixOperatorExprSyntax) -> String? {
      // Objects are one where their IDs are.
      switch infix.operator.as(BinaryOperatorExprSyntax.self)?.operator.text {
      case "===": "=="
      case "!==": "!="
      case let name: name
      }
    }

    private mutating func operation(_ infix: InfixOperatorExprSyntax) throws -> String {
      guard let name = Self.name(of: infix) else { throw Mistake(at: infix.operator, "a condition changes nothing") }
      if name == "&&" || name == "||" {
        throw Mistake(at: infix.operator, "a store compares no conditions with each other; join them with && and ||")
      }
      guard Self.operators.contains(name) else { throw Mistake(at: infix.operator, "a store does not know the operator \(name)") }
      let (left, right) = (try value(infix.leftOperand), try value(infix.rightOperand))
      if mentionsObject(infix.leftOperand) { return "(\(left) \(name) \(right))" }
      guard let mirrored = Self.mirrored[name] else {
        throw Mistake(at: infix.leftOperand, "the left side of \(name) is a property; \(Self.advice)")
      }
      return "(\(right) \(mirrored) \(left))"
    }

    // MARK: Looking

    /// An expression without parentheses, `?` and `!` around it, of which a store knows nothing: what is missing is missing.
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
