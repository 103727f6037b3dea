extension SourcePort {
  // MARK: Initializers

  /// Adds the initializer for stored objects. A class that overrides `init(entity:insertInto:)` inherits no other initializer. If only the
  /// metatype is known, the initializer must be `required`.
  mutating func completeInitializer(_ token: SourceToken, _ cursor: TokenCursor) {
    guard cursor.position > 0, cursor.token(after: 1)?.isMark("(") == true, cursor.token(after: 2)?.word == "entity" else { return }
    var first = cursor.position
    var modifiers: [String: Int] = [:]
    while first > 0, let word = cursor.tokens[first - 1].word,
      ["override", "public", "open", "internal", "package", "private", "fileprivate", "required"].contains(word)
    {
      first -= 1
      modifiers[word] = first
    }
    guard modifiers["override"] != nil else { return }
    var following = cursor
    following.position += 1
    let parameters = following.position
    following.skipBracketed()
    guard following.tokens[parameters..<following.position].contains(where: { $0.word == "insertInto" }), following.isAt("{") else {
      return
    }
    following.skipBracketed()
    let access = Self.access(ofClassAround: cursor.position, cursor.tokens)
    // A required initializer must be as visible as its class.
    if let place = modifiers["private"] ?? modifiers["fileprivate"] ?? (access.isEmpty ? nil : modifiers["internal"]) {
      edits.append((cursor.tokens[place].range.lowerBound..<cursor.tokens[place + 1].range.lowerBound, access))
    }
    if modifiers["required"] == nil { edits.append((token.range.lowerBound..<token.range.lowerBound, "required ")) }
    guard !Self.hasSeedInitializer(following.tokens, around: cursor.position) else { return }
    let end = following.tokens[following.position - 1].range.upperBound
    let indentation = indentation(of: cursor.tokens[first])
    let lines = [
      "", "", "#if !canImport(ObjectiveC)", "  // Contexts make objects of stored rows by it.",
      "  \(access)required init(_ seed: ManagedObjectSeed) { super.init(seed) }", "#endif",
    ]
    edits.append((end..<end, lines.map { $0.isEmpty ? $0 : indentation + $0 }.joined(separator: "\n")))
  }

  /// Returns whether the class around a token declares the initializer for stored objects.
  private static func hasSeedInitializer(_ tokens: [SourceToken], around position: Int) -> Bool {
    func reach(_ positions: some Sequence<Int>, leaving brace: Unicode.Scalar, entering other: Unicode.Scalar) -> Bool {
      var depth = 0
      for position in positions {
        if tokens[position].isMark(other) { depth += 1 }
        if tokens[position].isMark(brace) { depth -= 1 }
        if depth < 0 { return false }
        if tokens[position].word == "ManagedObjectSeed" { return true }
      }
      return false
    }
    return reach(position..<tokens.count, leaving: "}", entering: "{")
      || reach(stride(from: position, through: 0, by: -1), leaving: "{", entering: "}")
  }

  /// Returns the access modifier of the class around a position.
  private static func access(ofClassAround position: Int, _ tokens: [SourceToken]) -> String {
    guard let brace = TokenCursor.openers(tokens, before: position).last, let keyword = TokenCursor.keyword(tokens, ofBraceAt: brace) else {
      return ""
    }
    let modifiers = Set(tokens[start(ofDeclarationAt: keyword, tokens)..<keyword].compactMap(\.word))
    if !modifiers.isDisjoint(with: ["public", "open"]) { return "public " }
    return modifiers.contains("package") ? "package " : ""
  }

  /// Returns the start of a declaration, including modifiers and attributes.
  static func start(ofDeclarationAt keyword: Int, _ tokens: [SourceToken]) -> Int {
    var first = keyword
    while first > 0 {
      if let word = tokens[first - 1].word, modifiers.contains(word) {
        first -= 1
        continue
      }
      var attribute = first - 1
      if tokens[attribute].isMark(")") { attribute = TokenCursor.opener(tokens, ofBracketAt: attribute) - 1 }
      // `private(set)`.
      if attribute >= 0, let word = tokens[attribute].word, modifiers.contains(word) {
        first = attribute
        continue
      }
      guard attribute > 0, tokens[attribute].name != nil, tokens[attribute - 1].isMark("@") else { return first }
      first = attribute - 1
    }
    return first
  }

  private static let modifiers: Set<String> = [
    "public", "open", "package", "internal", "private", "fileprivate", "final", "required", "override", "static", "nonisolated", "dynamic",
  ]

  // MARK: Classes that accessors cannot name

  /// Handles a class with `@NSManaged` properties that is private to its file or local to a function: the accessors are in another file.
  mutating func visitClass(_ token: SourceToken, _ cursor: TokenCursor) {
    guard let name = cursor.token(after: 1)?.name, cursor.token(after: 2)?.isMark(":") == true else { return }
    var following = cursor
    while let next = following.token, !next.isMark("{") {
      if next.isMark("}") { return }
      following.position += 1
    }
    let parents = cursor.tokens[cursor.position..<following.position].contains { $0.word == "NSManagedObject" }
    let hasManaged = !following.skipBracketed().isEmpty
    guard parents || hasManaged else { return }
    if let brace = TokenCursor.openers(cursor.tokens, before: cursor.position).last, !TokenCursor.isOfType(cursor.tokens, braceAt: brace) {
      if folder.types[name] ?? 0 > 1 {
        return remark(
          token, "a function declares the class \(name), whose accessors are in another file: declare it outside, with a distinct name")
      }
      return localClasses.append(cursor.position)
    }
    let first = Self.start(ofDeclarationAt: cursor.position, cursor.tokens)
    for place in first..<cursor.position where ["private", "fileprivate"].contains(cursor.tokens[place].word) {
      edits.append((cursor.tokens[place].range.lowerBound..<cursor.tokens[place + 1].range.lowerBound, ""))
    }
  }

  /// Moves classes that functions declare to the end of the source.
  mutating func moveLocalClasses(_ tokens: [SourceToken]) {
    var moved: [String] = []
    for place in localClasses {
      let first = tokens[Self.start(ofDeclarationAt: place, tokens)]
      var following = TokenCursor(tokens)
      following.position = place
      while let next = following.token, !next.isMark("{") { following.position += 1 }
      following.skipBracketed()
      let whole = first.range.lowerBound..<tokens[following.position - 1].range.upperBound
      let indentation = indentation(of: first)
      let lines = text(of: whole, applying: takeEdits(in: whole)).split(separator: "\n", omittingEmptySubsequences: false)
      moved.append(
        lines.map { $0.hasPrefix(indentation) ? String($0.dropFirst(indentation.utf8.count)) : String($0) }.joined(separator: "\n"))
      edits.append((wholeLines(around: whole), ""))
    }
    if moved.isEmpty { return }
    let isEnded = bytes.last.map { $0 == UInt8(ascii: "\n") } ?? true
    edits.append((bytes.count..<bytes.count, (isEnded ? "\n" : "\n\n") + moved.joined(separator: "\n\n") + "\n"))
  }

  /// Returns the whole lines of a range if they contain nothing else; otherwise the range.
  private func wholeLines(around range: Range<Int>) -> Range<Int> {
    var (first, last) = (range.lowerBound, range.upperBound)
    while first > 0, bytes[first - 1] == UInt8(ascii: " ") || bytes[first - 1] == UInt8(ascii: "\t") { first -= 1 }
    guard first == 0 || bytes[first - 1] == UInt8(ascii: "\n"), last < bytes.count, bytes[last] == UInt8(ascii: "\n") else { return range }
    last += 1
    // Keep only one blank line.
    if first > 1, bytes[first - 2] == UInt8(ascii: "\n"), last < bytes.count, bytes[last] == UInt8(ascii: "\n") { last += 1 }
    return first..<last
  }

  /// Removes and returns the edits in a range.
  mutating func takeEdits(in range: Range<Int>) -> [(range: Range<Int>, text: String)] {
    let inner = edits(in: range)
    edits.removeAll { range.contains($0.range.lowerBound) && $0.range.upperBound <= range.upperBound }
    return inner
  }

  /// Returns the edits in a range, in order.
  private func edits(in range: Range<Int>) -> [(range: Range<Int>, text: String)] {
    edits.filter { range.contains($0.range.lowerBound) && $0.range.upperBound <= range.upperBound }.sorted {
      ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound)
    }
  }

  // MARK: Extensions

  /// Repeats extensions of `NSObject` for `NSManagedObject` if sources about managed objects use their members: on Linux, `NSManagedObject`
  /// is not an `NSObject`.
  mutating func completeExtensions(_ tokens: [SourceToken]) {
    for place in extensions {
      let body = Self.body(tokens, of: place)
      let members = Self.members(tokens, of: body)
      guard !members.isDisjoint(with: folder.namesOfObjects), !Self.extendsObjects(tokens, by: members) else { continue }
      let start = Self.start(ofDeclarationAt: place, tokens)
      let whole = tokens[place + 2].range.lowerBound..<tokens[body.upperBound].range.upperBound
      let modifiers = text(of: tokens[start].range.lowerBound..<tokens[place + 1].range.lowerBound, applying: [])
      let lines = [
        "", "", "#if !canImport(ObjectiveC)", "// A managed object is no NSObject on Linux.",
        "\(modifiers)NSManagedObject \(text(of: whole, applying: edits(in: whole)))", "#endif",
      ]
      edits.append((whole.upperBound..<whole.upperBound, lines.joined(separator: "\n")))
      needsImport = true
    }
  }

  /// Returns the positions of the tokens between the braces of an extension, and of the closing brace.
  private static func body(_ tokens: [SourceToken], of place: Int) -> Range<Int> {
    var cursor = TokenCursor(tokens)
    cursor.position = place + 2
    cursor.skipBracketed()
    return place + 3..<max(place + 3, cursor.position - 1)
  }

  /// Returns the names of an extension's members.
  private static func members(_ tokens: [SourceToken], of body: Range<Int>) -> Set<String> {
    var (names, cursor): (Set<String>, TokenCursor) = ([], TokenCursor(tokens))
    cursor.position = body.lowerBound
    while cursor.position < body.upperBound, let token = cursor.token {
      if TokenCursor.isOpening(token) {
        cursor.skipBracketed()
        continue
      }
      if let word = token.word, ["func", "var", "let"].contains(word), let name = cursor.token(after: 1)?.name { names.insert(name) }
      cursor.position += 1
    }
    return names
  }

  /// Returns whether the source already extends `NSManagedObject` with one of the members.
  private static func extendsObjects(_ tokens: [SourceToken], by members: Set<String>) -> Bool {
    tokens.indices.dropLast(2).contains { place in
      tokens[place].word == "extension" && tokens[place + 1].word == "NSManagedObject" && tokens[place + 2].isMark("{")
        && !Self.members(tokens, of: body(tokens, of: place)).isDisjoint(with: members)
    }
  }
}

// MARK: - Properties that the plugin generates

extension SourcePort {
  /// The compilation condition for properties that the plugin otherwise generates.
  static let condition = "canImport(ObjectiveC) || \(AccessorSource.switchName)"

  /// Adds a condition to `@NSManaged` properties that is false on Linux, where the plugin generates them with accessors that the compiler
  /// can optimize.
  ///
  /// Properties that are private to their file are not changed, and neither are those that a class overrides, because members of extensions
  /// cannot be overridden.
  mutating func leaveProperties(_ places: [Int], _ tokens: [SourceToken]) {
    var blocks: [(first: Int, last: Int)] = []
    for place in places {
      guard let declaration = declaration(at: place, tokens) else { continue }
      if let last = blocks.last, last.last + 1 == declaration.lowerBound {
        blocks[blocks.count - 1].last = declaration.upperBound - 1
      } else {
        blocks.append((declaration.lowerBound, declaration.upperBound - 1))
      }
    }
    for block in blocks {
      let indentation = indentation(of: tokens[block.first])
      let lines = wholeLines(of: tokens[block.first].range.lowerBound..<tokens[block.last].range.upperBound)
      edits.append((lines.lowerBound..<lines.lowerBound, "\(indentation)#if \(Self.condition)\n"))
      edits.append((lines.upperBound..<lines.upperBound, "\(indentation)#endif\n"))
    }
  }

  /// Returns the tokens of a declaration with `@NSManaged` if they fill whole lines; `nil` if the declaration must not be changed.
  private func declaration(at place: Int, _ tokens: [SourceToken]) -> Range<Int>? {
    var cursor = TokenCursor(tokens)
    cursor.position = place
    while let word = cursor.token, word.word != "var" {
      // Methods would gain nothing.
      if word.isMark("}") || word.word == "func" { return nil }
      cursor.position += 1
    }
    let keyword = cursor.position
    let first = Self.start(ofDeclarationAt: keyword, tokens)
    while let token = cursor.token, !token.isMark("}"), !(token.beginsLine && cursor.position > keyword && Self.begins(token)) {
      if TokenCursor.isOpening(token) { cursor.skipBracketed() } else { cursor.position += 1 }
    }
    let declaration = first..<cursor.position
    guard keyword + 1 < cursor.position, let name = tokens[keyword + 1].name, !folder.overridden.contains(name),
      // Other code on the lines would be removed, too.
      tokens[first].beginsLine, cursor.token?.beginsLine ?? true, !tokens[declaration].contains(where: { $0.isMark(";") })
    else { return nil }
    for word in first..<keyword {
      if tokens[word].word == "override" { return nil }
      // Only the setter can be private.
      if ["private", "fileprivate"].contains(tokens[word].word), !tokens[word + 1].isMark("(") { return nil }
    }
    return declaration
  }

  /// Returns whether a token at the start of a line begins a declaration and does not continue the preceding one.
  private static func begins(_ token: SourceToken) -> Bool {
    switch token.kind {
    case .word(let word): word != "where"
    case .mark: token.isMark("@")
    case .directive: true
    case .escaped, .arrow, .literal: false
    }
  }
}
