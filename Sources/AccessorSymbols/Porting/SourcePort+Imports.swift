extension SourcePort {
  /// The replacement of an Apple module on Linux.
  private struct Substitute {
    var module: String
    /// The required dependency of the target.
    var advice: String
  }

  private static let substitutes: [String: Substitute] = {
    let logging = Substitute(
      module: "UnifiedLogging", advice: "the product UnifiedLogging of CipherData has Logger, OSLog and os_log: add it to the target")
    let combine = Substitute(
      module: "OpenCombine",
      advice:
        "the package OpenCombine has most of it: add its products OpenCombine, OpenCombineFoundation and OpenCombineDispatch to the target")
    return ["os": logging, "OSLog": logging, "Combine": combine]
  }()

  /// Wraps imports such as `import UIKit` in `#if canImport(…)`. If a target has a substitute for a module, it is imported instead.
  mutating func guardImport(_ token: SourceToken, _ cursor: TokenCursor) {
    let isOfOne = cursor.token(after: 1)?.word.map(Self.kindsOfImports.contains) ?? false
    guard let module = cursor.token(after: isOfOne ? 2 : 1)?.word, BuildConditions.appleModules.contains(module) else { return }
    let substitute = Self.substitutes[module]
    let advice = substitute.map { "\($0.advice), or put" } ?? "put"
    remark(token, "import \(module): the module is not there on Linux; \(advice) what needs it behind #if canImport(\(module))")
    var (first, last) = (cursor.position, cursor.position + 1)
    while first > 0, !cursor.tokens[first].beginsLine { first -= 1 }
    while last + 1 < cursor.tokens.count, !cursor.tokens[last + 1].beginsLine { last += 1 }
    let whole = cursor.tokens[first].range.lowerBound..<cursor.tokens[last].range.upperBound
    var lines = ["#if canImport(\(module))", text(of: whole, applying: [])]
    if let substitute {
      // Attributes of the import belong to the module.
      let modifiers = cursor.tokens[first..<cursor.position].compactMap(\.word).filter(Self.modifiersOfImports.contains)
        .map { $0 == "_exported" ? "@_exported " : $0 + " " }.joined()
      lines += ["#elseif canImport(\(substitute.module))", "\(modifiers)import \(substitute.module)"]
      if module == "Combine" {
        for part in Self.partsOfCombine(cursor.tokens) { lines += ["#if canImport(\(part))", "\(modifiers)import \(part)", "#endif"] }
      }
    }
    lines.append("#endif")
    edits.append((whole, lines.joined(separator: "\n" + indentation(of: cursor.tokens[first]))))
  }

  private static let kindsOfImports: Set<String> = ["typealias", "struct", "class", "enum", "protocol", "let", "var", "func"]
  private static let modifiersOfImports: Set<String> = ["public", "package", "internal", "fileprivate", "private", "_exported"]

  /// Returns the modules of OpenCombine whose publishers and schedulers a source uses: it has separate modules for those of Foundation and
  /// Dispatch.
  private static func partsOfCombine(_ tokens: [SourceToken]) -> [String] {
    var parts: Set<String> = []
    for (position, token) in tokens.enumerated() {
      guard let word = token.word else { continue }
      if word == "DispatchQueue" { parts.insert("OpenCombineDispatch") }
      if wordsOfFoundation.contains(word) { parts.insert("OpenCombineFoundation") }
      // `center.publisher(for: …)`, but not the publisher of a sequence.
      if word == "publisher", position + 2 < tokens.count, tokens[position + 1].isMark("("), tokens[position + 2].word == "for" {
        parts.insert("OpenCombineFoundation")
      }
    }
    return parts.sorted(by: >)
  }

  private static let wordsOfFoundation: Set<String> = [
    "dataTaskPublisher", "JSONDecoder", "JSONEncoder", "PropertyListDecoder", "PropertyListEncoder", "RunLoop", "OperationQueue", "Timer",
  ]

  /// Adds an import to a source that uses classes of Core Data without importing it: on Apple's systems, an import in another file is
  /// enough.
  mutating func completeImports(_ tokens: [SourceToken]) {
    var (first, imports): (SourceToken?, Bool) = (nil, false)
    for (position, token) in tokens.enumerated() where token.word == "import" && position + 1 < tokens.count {
      if first == nil { first = token }
      if tokens[position + 1].word == "CoreData" || tokens[position + 1].word == "CipherData" { imports = true }
    }
    guard !imports, let first, first.beginsLine, needsImport || tokens.contains(where: { $0.word.map(Self.isOfCoreData) ?? false }) else {
      return
    }
    edits.insert((first.range.lowerBound..<first.range.lowerBound, "import CoreData\n"), at: 0)
  }

  private static func isOfCoreData(_ word: String) -> Bool {
    ["NSManagedObject", "NSPersistent", "NSFetchRequest", "NSFetchedResults", "NSEntityDescription", "NSBatch", "NSMergePolicy"].contains {
      word.hasPrefix($0)
    }
  }
}
