// PortedFolder: what a source that is ported has to know of those beside it.

/// What a source that is ported has to know of those beside it.
package struct PortedFolder: Sendable {
  /// The names that stand in sources about managed objects.
  let namesOfObjects: Set<String>
  /// How many types of a name are declared.
  let types: [String: Int]

  /// Reads sources.
  ///
  /// - Parameter sources: Their texts.
  package init(_ sources: [String]) {
    var (names, types): (Set<String>, [String: Int]) = ([], [:])
    for source in sources {
      let tokens = SourceLexer.tokens(of: source)
      var isOfObjects = false
      for (position, token) in tokens.enumerated() {
        if token.word == "NSManagedObject" { isOfObjects = true }
        guard let word = token.word, ["class", "struct", "enum", "actor", "protocol", "typealias"].contains(word),
          position + 1 < tokens.count,
          let name = tokens[position + 1].name, name.first?.isUppercase ?? false
        else { continue }
        types[name, default: 0] += 1
      }
      if isOfObjects { names.formUnion(tokens.compactMap(\.name)) }
    }
    (namesOfObjects, self.types) = (names, types)
  }
}
