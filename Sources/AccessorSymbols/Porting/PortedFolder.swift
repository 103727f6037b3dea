// PortedFolder: what a source that is ported has to know of those beside it.

/// What a source that is ported has to know of those beside it.
package struct PortedFolder: Sendable {
  /// The names that stand in sources about managed objects.
  let namesOfObjects: Set<String>
  /// How many types of a name are declared.
  let types: [String: Int]
  /// The names of properties and methods that some class overrides.
  let overridden: Set<String>

  /// Reads sources.
  ///
  /// - Parameter sources: Their texts.
  package init(_ sources: [String]) {
    var (names, types, overridden): (Set<String>, [String: Int], Set<String>) = ([], [:], [])
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
      if isOfObjects { names.formUnion(tokens.compactMap(\.name)) }
    }
    (namesOfObjects, self.types, self.overridden) = (names, types, overridden)
  }
}
