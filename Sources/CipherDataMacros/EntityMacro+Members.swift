#if Macros
  import SwiftSyntax
  import SwiftSyntaxBuilder

  extension ParsedEntity {
    /// Returns the start of the class's own slots or to-many relationships, followed by a plus sign; empty for a class without a
    /// superentity.
    func base(_ part: String) -> String { superclass.map { "\($0).\(Self.layoutName($0)).\(part) + " } ?? "" }

    /// The functions that change to-many relationships, except for those that the class declares itself.
    var mutators: [DeclSyntax] {
      properties.filter(\.isToMany).flatMap { property -> [DeclSyntax] in
        guard case .toMany(let isOrdered) = property.kind else { return [] }
        let (suffix, type) = (Self.capitalized(property.name), property.type)
        let at = "at: \(base("toMany"))\(property.place), of: self"
        let modifier = Self.modifier(property.setterAccess ?? property.access)
        var functions: [(name: String, rest: String)] = [
          ("addTo\(suffix)", "(_ value: \(type)) { GeneratedCode.addToToMany(value, \(at)) }"),
          ("addTo\(suffix)", "(_ values: \(property.declaredType)) { for value in values { GeneratedCode.addToToMany(value, \(at)) } }"),
          ("removeFrom\(suffix)", "(_ value: \(type)) { GeneratedCode.removeFromToMany(value, \(at)) }"),
          (
            "removeFrom\(suffix)",
            "(_ values: \(property.declaredType)) { for value in values { GeneratedCode.removeFromToMany(value, \(at)) } }"
          ),
        ]
        if isOrdered {
          functions += [
            (
              "insertInto\(suffix)",
              "(_ value: \(type), at position: Int) { GeneratedCode.insertIntoToMany(value, position: position, \(at)) }"
            ),
            (
              "insertInto\(suffix)",
              "(_ values: [\(type)], at position: Int) { GeneratedCode.insertIntoToMany(values, position: position, \(at)) }"
            ),
            ("removeFrom\(suffix)", "(at position: Int) { GeneratedCode.removeFromToMany(position: position, \(at)) }"),
            ("removeFrom\(suffix)", "(at positions: some Sequence<Int>) { GeneratedCode.removeFromToMany(positions: positions, \(at)) }"),
            (
              "replace\(suffix)",
              "(at position: Int, with value: \(type)) { GeneratedCode.replaceInToMany(position: position, with: value, \(at)) }"
            ),
            (
              "replace\(suffix)",
              "(at positions: Range<Int>, with values: [\(type)]) { GeneratedCode.replaceInToMany(positions, with: values, \(at)) }"
            ),
          ]
        }
        return functions.filter { !memberNames.contains($0.name) }.map { function in
          """
          /// Changes `\(raw: property.name)`.
          \(raw: modifier)nonisolated final func \(raw: function.name)\(raw: function.rest)
          """
        }
      }
    }

    /// The properties that stream values that can be stored externally.
    var streams: [DeclSyntax] {
      properties.filter {
        $0.isAttribute && $0.options.contains("externalStorage") && $0.options.isDisjoint(with: ["transient", "derived"])
      }
      .map { property in
        var name = property.name + "Stream"
        while memberNames.contains(name) { name += "Value" }
        let place = base("slots") + property.place
        return """
          /// The value of `\(raw: property.name)`, read and written in chunks.
          \(raw: Self.modifier(property.setterAccess ?? property.access))nonisolated final var \(raw: name): ExternalData? {
            get { GeneratedCode.externalData(at: \(raw: place), of: self) }
            set { GeneratedCode.setExternalData(newValue, at: \(raw: place), of: self) }
          }
          """
      }
    }

    /// The overrides that call the class's validation functions; empty if no attribute has one.
    var rules: [DeclSyntax] {
      let validated = properties.filter { $0.options.contains("validated") }
      guard !validated.isEmpty else { return [] }
      let names = validated.map { "\"\($0.name)\"" }.joined(separator: ", ")
      let cases = validated.map { property in
        let function = property.isOptional ? "validateOptional" : "validate"
        return "case \"\(property.name)\": try \(function)(&value, forKey: key, by: validate\(Self.capitalized(property.name)))"
      }
      return [
        """
        /// The keys that a save validates by calling `validateValue(_:forKey:)`.
        \(raw: access)nonisolated override class var keysWithCustomValidation: [String] { super.keysWithCustomValidation + [\(raw: names)] }
        """,
        """
        /// Validates a value by the class's function for the key, and by the model.
        \(raw: access)nonisolated override func validateValue(_ value: inout Any?, forKey key: String) throws {
          switch key {
          \(raw: cases.joined(separator: "\n  "))
          default: break
          }
          try super.validateValue(&value, forKey: key)
        }
        """,
      ]
    }

    private static func modifier(_ access: String) -> String { access.isEmpty ? "" : access + " " }

    private static func capitalized(_ name: String) -> String { name.prefix(1).uppercased() + name.dropFirst() }
  }
#endif
