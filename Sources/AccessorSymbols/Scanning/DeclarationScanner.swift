/// A scanner for the declarations of a source. It skips the bodies of functions.
struct DeclarationScanner {
  private(set) var result: ScannedSource
  private var cursor: TokenCursor
  private var conditions = ConditionStack()
  /// The attributes and modifiers before the next declaration.
  private var prefix = Prefix()

  init(_ tokens: [SourceToken], _ empty: ScannedSource) {
    cursor = TokenCursor(tokens)
    result = empty
  }

  mutating func run() {
    while cursor.token != nil {
      scan(in: DeclarationContext(), access: nil)
      // An unbalanced brace, which the compiler rejects.
      cursor.position += 1
    }
  }

  private struct Prefix {
    var attributes: Set<String> = []
    var access: DeclaredAccess?
    var setterAccess: DeclaredAccess?
    var isOfType = false
    var isManaged: Bool { attributes.contains("NSManaged") }
  }

  // MARK: Declarations

  /// Scans declarations up to the closing brace.
  private mutating func scan(in context: DeclarationContext, access: DeclaredAccess?) {
    while let token = cursor.token, !token.isMark("}") {
      switch token.kind {
      case .directive(let name, let condition):
        conditions.note(name, condition)
        cursor.position += 1
        // Attributes can be inside `#if` and `#endif`, followed by the declaration.
        continue
      case .mark(UInt8(ascii: "@")):
        cursor.position += 1
        prefix.attributes.insert(cursor.takeAttribute())
        continue
      case .mark(UInt8(ascii: "{")), .mark(UInt8(ascii: "(")), .mark(UInt8(ascii: "[")): skipBody()
      case .word(let word) where !isMember:
        if takeModifier(word) { continue }
        declare(word, context, access)
      default: cursor.position += 1
      }
      prefix = Prefix()
    }
  }

  /// Whether the word is a member name after a dot.
  private var isMember: Bool { cursor.position > 0 && cursor.tokens[cursor.position - 1].isMark(".") }

  private mutating func skipBody() { result.managedInFunctions += cursor.skipBracketed() }

  private mutating func takeModifier(_ word: String) -> Bool {
    if let access = DeclaredAccess(rawValue: word) {
      cursor.position += 1
      if cursor.isAt("("), cursor.token(after: 1)?.word == "set" {
        cursor.skipBracketed()
        prefix.setterAccess = access
      } else {
        prefix.access = access
      }
      return true
    }
    switch word {
    case "class":
      guard let next = cursor.token(after: 1)?.word, ["func", "var", "let", "subscript"].contains(next) || Self.modifiers.contains(next)
      else { return false }
      prefix.isOfType = true
    case "static": prefix.isOfType = true
    case _ where Self.modifiers.contains(word): break
    default: return false
    }
    cursor.position += 1
    if cursor.isAt("("), cursor.token?.touchesPrevious == true { cursor.skipBracketed() }
    return true
  }

  private static let modifiers: Set<String> = [
    "final", "override", "dynamic", "lazy", "weak", "unowned", "nonisolated", "required", "convenience", "mutating", "nonmutating",
    "indirect", "optional", "distributed", "prefix", "postfix", "infix", "isolated", "async", "consuming", "borrowing", "static",
  ]

  private mutating func declare(_ word: String, _ context: DeclarationContext, _ access: DeclaredAccess?) {
    switch word {
    case "import": declareImport()
    case "class", "actor": declareType(.classType, context, access)
    case "struct": declareType(.structure, context, access)
    case "enum": declareType(.enumeration, context, access)
    case "protocol": declareType(.protocolType, context, access)
    case "extension": declareExtension(context)
    case "typealias": declareAlias(context, access)
    case "var", "let": declareProperties(context, access)
    case "func": declareMethod(context, access)
    case "init", "subscript": skipSignature()
    case "case", "associatedtype", "operator", "precedencegroup", "macro": skipRest()
    default: cursor.position += 1
    }
  }

  private mutating func declareImport() {
    cursor.position += 1
    let kinds: Set<String> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
    if let word = cursor.token?.word, kinds.contains(word), cursor.token(after: 1)?.beginsLine == false { cursor.position += 1 }
    if let module = cursor.token?.name {
      result.imports.append(
        DeclaredImport(module: module, isTestable: prefix.attributes.contains("testable"), conditions: conditions.current))
    }
    while let token = cursor.token, !token.beginsLine, !token.isMark(";") { cursor.position += 1 }
  }

  private mutating func declareType(_ kind: NominalKind, _ context: DeclarationContext, _ access: DeclaredAccess?) {
    cursor.position += 1
    guard let name = cursor.token?.name, cursor.token?.beginsLine == false else { return }
    let line = cursor.line
    cursor.position += 1
    let isGeneric = cursor.isAt("<")
    if isGeneric { cursor.skipAngled() }
    // A contextual keyword such as `actor` can also be a name.
    guard cursor.isAt(":") || cursor.isAt("{") || cursor.token?.word == "where" else { return }
    let inherited = takeInherited()
    let own = prefix.access ?? access ?? .internal
    result.types.append(
      DeclaredType(
        context: context, name: name, kind: .nominal(kind), inherited: inherited, access: own, isGeneric: isGeneric,
        conditions: conditions.current, line: line))
    if kind == .protocolType { return cursor.skipPastBody() }
    scanBody(
      in: DeclarationContext(
        path: context.path + [name], isExtension: false, isOfFile: context.isOfFile || own.isOfFile,
        isGeneric: context.isGeneric || isGeneric), access: nil)
  }

  private mutating func declareExtension(_ context: DeclarationContext) {
    cursor.position += 1
    let type = cursor.takeType()
    _ = takeInherited()
    let access = prefix.access
    guard case .named(let path, let arguments) = type else { return cursor.skipPastBody() }
    scanBody(in: DeclarationContext(path: path, isExtension: true, isGeneric: !arguments.isEmpty), access: access)
  }

  private mutating func scanBody(in context: DeclarationContext, access: DeclaredAccess?) {
    prefix = Prefix()
    guard cursor.take("{") else { return }
    scan(in: context, access: access)
    _ = cursor.take("}")
  }

  /// Parses the types after a type's colon, up to its body.
  private mutating func takeInherited() -> [TypeSyntax] {
    var types: [TypeSyntax] = []
    if cursor.take(":") {
      repeat {
        // `@unchecked Sendable`, `~Copyable`.
        _ = cursor.take("~")
        types.append(cursor.takeType())
      } while cursor.take(",")
    }
    while let token = cursor.token, !token.isMark("{"), !token.isMark("}") { cursor.position += 1 }
    return types
  }

  private mutating func declareAlias(_ context: DeclarationContext, _ access: DeclaredAccess?) {
    cursor.position += 1
    guard let name = cursor.token?.name else { return }
    let line = cursor.line
    cursor.position += 1
    let isGeneric = cursor.isAt("<")
    if isGeneric { cursor.skipAngled() }
    guard cursor.take("=") else { return }
    let type = cursor.takeType()
    result.types.append(
      DeclaredType(
        context: context, name: name, kind: .alias(type), inherited: [], access: prefix.access ?? access ?? .internal,
        isGeneric: isGeneric, conditions: conditions.current, line: line))
  }

  // MARK: Members

  private mutating func declareProperties(_ context: DeclarationContext, _ access: DeclaredAccess?) {
    cursor.position += 1
    var untyped: [(String, Int)] = []
    repeat {
      guard let name = cursor.token?.name else { return skipRest() }
      let line = cursor.line
      cursor.position += 1
      // In `var first, second: Int`, both have the type.
      untyped.append((name, line))
      if cursor.take(":") {
        let type = cursor.takeType()
        for (name, line) in untyped { note(.property(type), name, line, context, access) }
        untyped = []
      }
      if cursor.isAt("=") {
        cursor.position += 1
        skipRest(orComma: true)
      }
      if cursor.isAt("{") { skipBody() }
    } while cursor.take(",")
    for (name, line) in untyped { note(.property(nil), name, line, context, access) }
  }

  private mutating func declareMethod(_ context: DeclarationContext, _ access: DeclaredAccess?) {
    cursor.position += 1
    guard prefix.isManaged, let name = cursor.token?.name else { return skipSignature() }
    let line = cursor.line
    cursor.position += 1
    if cursor.isAt("<") { cursor.skipAngled() }
    let parameters = takeParameters()
    var result: TypeSyntax = .tuple([])
    var effects: [String] = []
    while let word = cursor.token?.word, ["async", "throws", "rethrows"].contains(word) {
      effects.append(word)
      cursor.position += 1
      if cursor.isAt("(") { cursor.skipBracketed() }
    }
    if cursor.token?.kind == .arrow {
      cursor.position += 1
      result = cursor.takeType()
    }
    if !effects.isEmpty { result = .unsupported(effects.joined(separator: " ")) }
    note(.method(parameters, result: result), name, line, context, access)
  }

  private mutating func takeParameters() -> [ManagedDeclaration.Parameter] {
    var parameters: [ManagedDeclaration.Parameter] = []
    guard cursor.take("(") else { return [] }
    while let token = cursor.token, !token.isMark(")"), !token.isMark("}") {
      let start = cursor.position
      while cursor.take("@") { _ = cursor.takeAttribute() }
      let label = cursor.token?.name
      while cursor.token?.name != nil { cursor.position += 1 }
      if cursor.take(":") { parameters.append(.init(label: label == "_" ? nil : label, type: cursor.takeType())) }
      while let token = cursor.token, !token.isMark(","), !token.isMark(")"), !token.isMark("}") {
        if token.isMark("(") || token.isMark("[") || token.isMark("{") { cursor.skipBracketed() } else { cursor.position += 1 }
      }
      if !cursor.take(","), cursor.position == start { cursor.position += 1 }
    }
    _ = cursor.take(")")
    return parameters
  }

  private mutating func note(
    _ kind: ManagedDeclaration.Kind, _ name: String, _ line: Int, _ context: DeclarationContext, _ access: DeclaredAccess?
  ) {
    // The compiler rejects `@NSManaged` on static members.
    guard prefix.isManaged, !prefix.isOfType else { return }
    result.managed.append(
      ManagedDeclaration(
        context: context, name: name, kind: kind, access: prefix.access ?? access ?? .internal, setterAccess: prefix.setterAccess,
        conditions: conditions.current, line: line))
  }

  // MARK: What is passed over

  /// Skips a function's signature and body, which contain no declarations to scan.
  private mutating func skipSignature() {
    while let token = cursor.token, !token.isMark("("), !token.isMark("{"), !token.isMark("}") { cursor.position += 1 }
    if cursor.isAt("(") { skipBody() }
    skipRest()
    if cursor.isAt("{") { skipBody() }
  }

  /// Skips to the next declaration or to the body.
  private mutating func skipRest(orComma: Bool = false) {
    var isFirst = true
    while let token = cursor.token, !token.isMark("}"), !token.isMark(";") {
      if orComma, token.isMark(",") { return }
      if !isFirst, token.beginsLine, beginsDeclaration(token) { return }
      if case .directive = token.kind { return }
      if token.isMark("{"), !orComma { return }
      if token.isMark("(") || token.isMark("[") || token.isMark("{") { skipBody() } else { cursor.position += 1 }
      isFirst = false
    }
  }

  private func beginsDeclaration(_ token: SourceToken) -> Bool {
    if token.isMark("@") { return true }
    guard let word = token.word else { return false }
    return Self.keywords.contains(word) || Self.modifiers.contains(word) || DeclaredAccess(rawValue: word) != nil
  }

  private static let keywords: Set<String> = [
    "import", "class", "actor", "struct", "enum", "protocol", "extension", "typealias", "var", "let", "func", "init", "deinit",
    "subscript", "case", "associatedtype", "operator", "precedencegroup", "macro",
  ]
}

extension TokenCursor {
  /// Advances past the next body in braces.
  mutating func skipPastBody() {
    while let token, !token.isMark("{"), !token.isMark("}") { position += 1 }
    if isAt("{") { skipBracketed() }
  }
}

/// The `#if` conditions at the current position of a scanner.
struct ConditionStack {
  /// For each open `#if`, the conditions of earlier branches and that of the current branch; `nil` after `#else`.
  private var open: [(passed: [String], here: String?)] = []

  mutating func note(_ directive: String, _ condition: String) {
    switch directive {
    case "if": open.append(([], condition))
    case "elseif", "else":
      guard let last = open.popLast() else { return }
      open.append((last.passed + (last.here.map { [$0] } ?? []), directive == "else" ? nil : condition))
    default: _ = open.popLast()
    }
  }

  /// The conditions, outermost first.
  var current: [String] {
    open.flatMap { frame in frame.passed.map { "!(\($0))" } + (frame.here.map { [$0] } ?? []) }
  }
}
