import Foundation
package import ObjectModel

/// Completes commands, entities, options, key paths, and keywords of the predicate language.
package struct ShellCompletion: Sendable {
  /// The result of a completion.
  package struct Completions: Sendable, Hashable {
    /// The text to insert; empty if the candidates have no common continuation, or there are none.
    package var insertion = ""
    /// The possible completions.
    package var candidates: [String] = []

    /// Creates a result without completions.
    package init() {}

    init(insertion: String, candidates: [String]) {
      self.insertion = insertion
      self.candidates = candidates
    }
  }

  private static let conditionKeywords = [
    "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "IN", "BETWEEN", "CONTAINS", "BEGINSWITH", "ENDSWITH", "LIKE", "MATCHES", "SEARCH",
    "TRUE",
    "FALSE", "NIL", "SELF", "SUBQUERY", "TRUEPREDICATE", "FALSEPREDICATE",
  ]
  private static let aggregates = ["average(", "count(", "max(", "median(", "min(", "sum("]
  private let model: CompiledModel

  package init(_ model: CompiledModel) { self.model = model }

  /// Returns the completion of the text before the cursor.
  package func completions(_ text: String) -> Completions {
    let line = Array(text.drop { $0.isWhitespace })
    guard let space = line.firstIndex(where: \.isWhitespace) else {
      return Self.choose(String(line), among: ShellGrammar.commandNames, suffix: " ")
    }
    let command = String(line[..<space])
    guard let parts = try? ShellTokenizer.parts(of: Array(line[space...]), allowsOpenQuote: true) else { return Completions() }
    let word = String(line[space...].reversed().prefix { !$0.isWhitespace }.reversed())
    let option = parts.last { $0.isOption }.map { String($0.text.prefix { $0 != "=" }) }
    if word.hasPrefix("-"), option == nil || option == word || word == "-" || word == "--" {
      return Self.choose(word, among: ShellGrammar.optionNames(of: command), suffix: " ")
    }
    let words = parts.first.flatMap { $0.isOption ? nil : $0 }.map { String($0.text).split(separator: " ").map(String.init) } ?? []
    guard let option else {
      // The word after the command, then options.
      guard words.count < 2, words.first ?? "" == word else {
        return word.isEmpty ? Self.choose("", among: ShellGrammar.optionNames(of: command), suffix: " ") : Completions()
      }
      return Self.choose(word, among: firstArguments(of: command), suffix: " ")
    }
    guard let value = parts.last, !value.isOption || word.isEmpty else { return Completions() }
    let isQuoted = value.isOption ? false : Self.isInsideQuotes(value.text)
    let name = words.first ?? Self.value(of: "--entity", in: parts)
    return isQuoted ? Completions() : self.value(of: option, word: word, entity: name.flatMap { model.entity(named: $0) })
  }

  /// Returns the value of an option on the line.
  private static func value(of option: String, in parts: [ShellTokenizer.Part]) -> String? {
    zip(parts, parts.dropFirst()).first { name, value in
      name.isOption && !value.isOption && String(name.text.prefix { $0 != "=" }) == option
    }.map { String($1.text) }
  }

  private func firstArguments(of command: String) -> [String] {
    switch command {
    case "help": ShellGrammar.commandNames
    case "format": OutputFormat.allCases.map(\.rawValue)
    case _ where ShellGrammar.takesEntity(command): model.entities.map(\.name).sorted()
    default: []
    }
  }

  private func value(of option: String, word: String, entity: CompiledEntity?) -> Completions {
    // Brackets, operators, and quotation marks separate words.
    let word = String(word.reversed().prefix { $0.isLetter || $0.isNumber || "_.@".contains($0) }.reversed())
    switch option {
    case "--entity": return Self.choose(word, among: model.entities.map(\.name).sorted(), suffix: " ")
    case "--format": return Self.choose(word, among: OutputFormat.allCases.map(\.rawValue), suffix: " ")
    case "--where", "--having": return key(word, of: entity, and: Self.cased(Self.conditionKeywords, like: word) + aggregates(option))
    case "--set": return key(word, of: entity, and: [])
    case "--select": return key(word, of: entity, and: Self.aggregates + Self.cased(["AS", "DISTINCT"], like: word))
    case "--sort": return key(word, of: entity, and: ["asc", "desc", "relevance"])
    case "--group-by": return key(word, of: entity, and: [])
    case "--properties": return key(word, of: entity, and: ["@entity", "@id"])
    default: return Completions()
    }
  }

  private func aggregates(_ option: String) -> [String] { option == "--having" ? Self.aggregates : [] }

  /// Completes the last key of a path.
  private func key(_ word: String, of entity: CompiledEntity?, and words: [String]) -> Completions {
    guard var entity else { return Completions() }
    var keys = word.split(separator: ".", omittingEmptySubsequences: false).map(String.init)[...]
    let isAtStart = keys.count == 1
    while keys.count > 1, let key = keys.first, let relationship = entity.relationships.first(where: { $0.name == key }) {
      entity = model.entities[relationship.destinationEntity]
      keys.removeFirst()
    }
    // Parts of composites have dotted names.
    let names = entity.propertyNames.sorted()
    return Self.choose(keys.joined(separator: "."), among: isAtStart ? names + words : names + ["@count"], suffix: "")
  }

  // MARK: Help

  /// Returns the words with a prefix, and their common continuation.
  private static func choose(_ typed: String, among words: [String], suffix: String) -> Completions {
    let candidates = words.filter { $0.hasPrefix(typed) }
    guard let first = candidates.first else { return Completions() }
    let common = candidates.dropFirst().reduce(first) { $0.commonPrefix(with: $1) }
    return Completions(insertion: common.dropFirst(typed.count) + (candidates.count == 1 ? suffix : ""), candidates: candidates)
  }

  /// Keywords are case-insensitive; completions use the case of the typed prefix.
  private static func cased(_ words: [String], like word: String) -> [String] {
    word.first?.isLowercase ?? false ? words.map { $0.lowercased() } : words
  }

  /// Returns whether a value ends inside a string. Quotation marks around the whole value are ignored.
  private static func isInsideQuotes(_ value: ArraySlice<Character>) -> Bool {
    var open: Character?
    var isEscaped = false
    let isWhole = value.first.map(ShellTokenizer.isQuote) ?? false
    for character in isWhole ? value.dropFirst() : value {
      if isEscaped {
        isEscaped = false
      } else if character == "\\" {
        isEscaped = open != nil
      } else if character == open {
        open = nil
      } else if open == nil, ShellTokenizer.isQuote(character), !(isWhole && character == value.first) {
        open = character
      }
    }
    return open != nil
  }
}
