/// Information about the other sources in the folder of a ported source.
package struct PortedFolder: Sendable {
  /// The names that occur in sources about managed objects.
  let namesOfObjects: Set<String>
  /// The number of declared types for each name.
  let types: [String: Int]
  /// The names of properties and methods that at least one class overrides.
  let overridden: Set<String>

  /// The calls of methods that can take a notification, by type and method name.
  private let calls: [String: [String: String]]
  /// The types that observe notifications by selectors and remove themselves as observers before `deinit`.
  let typesWithTokens: Set<String>

  /// Returns the call of a type's method with a notification. If only one type has a method of that name, it can be a supertype's.
  func call(of method: String, in type: String) -> String? {
    if let own = calls[type]?[method] { return own }
    let others = calls.values.compactMap { $0[method] }
    return others.count == 1 ? others[0] : nil
  }

  /// Returns whether the tokens at the cursor are `removeObserver(self …)` of a notification center.
  static func removesItself(_ cursor: TokenCursor) -> Bool {
    guard cursor.token?.word == "removeObserver", cursor.follows("."), cursor.token(after: 1)?.isMark("(") == true,
      cursor.token(after: 2)?.word == "self", let next = cursor.token(after: 3)
    else { return false }
    return next.isMark(")") || next.isMark(",") && cursor.token(after: 4)?.word == "name"
  }

  /// Scans sources.
  ///
  /// - Parameter sources: The texts of the sources.
  package init(_ sources: [String]) {
    var (names, types, overridden): (Set<String>, [String: Int], Set<String>) = ([], [:], [])
    var (calls, observing, removing): ([String: [String: String]], Set<String>, Set<String>) = ([:], [], [])
    let observes = sources.contains { $0.contains("addObserver") }
    for source in sources {
      let tokens = SourceLexer.tokens(of: source)
      var isOfObjects = false
      for (position, token) in tokens.enumerated() {
        if token.word == "NSManagedObject" { isOfObjects = true }
        if token.word == "override", let keyword = tokens[position...].firstIndex(where: { ["var", "func"].contains($0.word) }),
          keyword + 1 < tokens.count, let name = tokens[keyword + 1].name
        {
          overridden.insert(name)
        }
        guard let word = token.word, ["class", "struct", "enum", "actor", "protocol", "typealias"].contains(word),
          position + 1 < tokens.count,
          let name = tokens[position + 1].name, name.first?.isUppercase ?? false
        else { continue }
        types[name, default: 0] += 1
      }
      if observes { Self.readObservers(tokens, &calls, &observing, &removing) }
      if isOfObjects { names.formUnion(tokens.compactMap(\.name)) }
    }
    (namesOfObjects, self.types, self.overridden) = (names, types, overridden)
    (self.calls, typesWithTokens) = (calls, observing.intersection(removing))
  }

  /// Records the notification observers of a source.
  private static func readObservers(
    _ tokens: [SourceToken], _ calls: inout [String: [String: String]], _ observing: inout Set<String>, _ removing: inout Set<String>
  ) {
    var (open, cursor): ([Int], TokenCursor) = ([], TokenCursor(tokens))
    while let token = cursor.token {
      let type = { open.reversed().lazy.compactMap { TokenCursor.type(tokens, atBrace: $0) }.first }
      switch token.word {
      case "func":
        if let name = cursor.token(after: 1)?.name, let type = type(), let call = call(of: name, cursor) {
          calls[type, default: [:]][name] = call
        }
      case "addObserver" where cursor.token(after: 2)?.word == "self" && cursor.token(after: 4)?.word == "selector":
        if let type = type() { observing.insert(type) }
      case "removeObserver" where removesItself(cursor) && !SourcePort.isInDeinit(cursor):
        if let type = type() { removing.insert(type) }
      default: break
      }
      if token.isMark("{") { open.append(cursor.position) }
      if token.isMark("}") { _ = open.popLast() }
      cursor.position += 1
    }
  }

  /// Returns the call of the method declared at the cursor with a notification; `nil` if it takes other arguments.
  private static func call(of method: String, _ cursor: TokenCursor) -> String? {
    var following = cursor
    following.position += 2
    guard following.isAt("(") else { return nil }
    let first = following.position + 1
    following.skipBracketed()
    let parameter = following.tokens[first..<max(first, following.position - 1)]
    guard let label = parameter.first else { return "\(method)()" }
    // `_ note: NSNotification` and `note: NSNotification`.
    guard let name = label.name, !parameter.contains(where: { $0.isMark(",") }) else { return nil }
    let types = parameter.drop { !$0.isMark(":") }.compactMap(\.word)
    guard types.contains(where: ["Notification", "NSNotification", "Any", "AnyObject"].contains) else { return nil }
    let argument = types.contains("NSNotification") ? "notification as NSNotification" : "notification"
    return name == "_" ? "\(method)(\(argument))" : "\(method)(\(name): \(argument))"
  }
}
